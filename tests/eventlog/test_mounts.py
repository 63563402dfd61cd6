"""The file system of a path, from lines of `/proc/self/mountinfo` as kernels write them.

No NFS, SMB, 9P or SSH server was at hand: what is tested is that their lines are understood, not their behaviour.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lithograph.eventlog import EventLog
from lithograph.eventlog.engines import folder
from lithograph.eventlog.engines.folder import _NETWORK, _NETWORK_FUSE
from lithograph.eventlog.errors import NetworkFileSystem
from lithograph.eventlog.mounts import file_system_of, parse_mounts

LOCAL = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
24 27 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw,size=12334492k,nr_inodes=3083623,mode=755
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resv_strict,resuid=65534
25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684092k
"""
REMOTE = r"""
91 27 0:45 / /srv/nfs rw,relatime shared:52 - nfs4 files.example.org:/export/logs rw,vers=4.2,rsize=1048576,proto=tcp
92 27 0:46 /sub/tree /srv/old ro,nosuid shared:53 master:7 - nfs files.example.org:/old rw,vers=3,addr=192.0.2.7
93 27 0:47 / /srv/smb rw,relatime shared:54 propagate_from:2 - cifs //files.example.org/share rw,vers=3.1.1,uid=0
94 27 0:48 / /mnt/c rw,noatime - 9p C:\134 rw,dirsync,aname=drvfs;path=C:\134;uid=1000,trans=fd,rfd=8,wfd=8
95 27 0:49 / /srv/ssh rw,nosuid,nodev,relatime shared:61 - fuse.sshfs ada@example.org:/logs rw,user_id=1000
"""
TABLE = (LOCAL + REMOTE).encode()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/nfs/logs/audit.lithograph", "nfs4"),
        ("/srv/nfs", "nfs4"),
        ("/srv/nfs2", "ext4"),
        ("/srv/old/x", "nfs"),
        ("/srv/smb/x", "cifs"),
        ("/mnt/c/Users/ada", "9p"),
        ("/srv/ssh/x", "fuse.sshfs"),
        ("/srv", "ext4"),
        ("/dev/shm/x", "tmpfs"),
        ("/", "ext4"),
    ],
)
def test_recorded_lines(path: str, kind: str) -> None:
    """The longest mount above a path tells its type, whatever optional fields stand in between."""
    assert file_system_of(path.encode(), TABLE) == kind


def test_all_of_them_are_refused() -> None:
    """Every remote type among the recorded lines is one that a log refuses to lie on; no local one is."""
    kinds = {mount.kind for mount in parse_mounts(REMOTE.encode())}
    assert kinds == {"nfs4", "nfs", "cifs", "9p", "fuse.sshfs"}
    assert kinds <= _NETWORK | _NETWORK_FUSE
    assert not {mount.kind for mount in parse_mounts(LOCAL.encode())} & (_NETWORK | _NETWORK_FUSE)


def test_octal_escapes() -> None:
    r"""Spaces, tabs, line feeds, backslashes and letters of any script in a mount point are what they were."""
    line = rb"96 27 0:50 / /srv/my\040files\011\012\134x\043" + "é".encode() + b" rw - nfs4 host:/a\\040b rw\n"
    path = "/srv/my files\t\n\\x#é".encode()
    assert parse_mounts(TABLE + line)[-1].point == path
    assert file_system_of(path + b"/log", TABLE + line) == "nfs4"
    assert file_system_of(b"/srv/my", TABLE + line) == "ext4"


def test_bind_mount_of_a_folder_that_lies_on_a_server() -> None:
    """A folder of a server bound elsewhere, and a local folder bound below a server's, are what they are."""
    bound = TABLE + (
        b"101 27 0:45 /export/logs/mine /var/log/mine rw,relatime shared:52 - nfs4 files.example.org:/export/logs rw\n"
        b"102 91 254:0 /var/scratch /srv/nfs/scratch rw,relatime - ext4 /dev/vda rw\n"
    )
    assert file_system_of(b"/var/log/mine/log", bound) == "nfs4"
    assert file_system_of(b"/srv/nfs/scratch/log", bound) == "ext4"


def test_the_upper_of_two_mounts_on_one_folder_counts() -> None:
    """What is mounted over a mount hides it; and with it what was mounted further down."""
    over = TABLE + (
        b"110 91 0:60 / /srv/nfs rw - tmpfs tmpfs rw\n"
        b"111 27 0:61 / /data/inner rw - nfs4 host:/x rw\n"
        b"112 27 0:62 / /data rw - xfs /dev/vdb rw\n"
    )
    assert file_system_of(b"/srv/nfs/log", over) == "tmpfs"
    assert file_system_of(b"/data/inner/log", over) == "xfs"
    under = TABLE + b"120 27 0:63 / /a rw - xfs /dev/vdb rw\n121 120 0:64 / /a rw - nfs4 host:/x rw\n"
    assert file_system_of(b"/a/log", under) == "nfs4"
    beside = TABLE + b"130 27 0:65 / /b rw - xfs /dev/vdb rw\n131 27 0:66 / /b rw - nfs4 host:/x rw\n"
    assert file_system_of(b"/b/log", beside) == "nfs4"


@pytest.mark.parametrize("kind", ["nfs4", "nfs", "cifs", "9p", "fuse.sshfs"])
def test_a_log_does_not_lie_on_any_of_them(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log below a mount of each recorded type is refused with the type's name, and made when that is forced."""
    table = tmp_path / "mountinfo"
    point = str(tmp_path.resolve()).replace(" ", "\\040")
    table.write_text(f"{LOCAL}140 27 0:70 / {point} rw,relatime - {kind} host:/x rw\n")
    monkeypatch.setattr(folder, "_MOUNTS", table)
    with pytest.raises(NetworkFileSystem, match=kind):
        EventLog(tmp_path / "log")
    assert not (tmp_path / "log").exists()
    EventLog(tmp_path / "log", force_network=True).close()


def test_a_table_without_a_root() -> None:
    """In a jail whose root is no mount of its own the longest point above the path counts, the last of equal ones."""
    jail = b"91 27 0:45 / /srv rw - nfs4 host:/x rw\n95 91 0:46 / /srv/local rw - ext4 /dev/vda rw\n"
    assert file_system_of(b"/srv/log", jail) == "nfs4"
    assert file_system_of(b"/srv/local/log", jail) == "ext4"
    assert file_system_of(b"/elsewhere", jail) == ""
    twice = jail + b"96 91 0:47 / /srv rw - xfs /dev/vdb rw\n"
    assert file_system_of(b"/srv/log", twice) == "xfs"


def test_odd_lines_are_left_out() -> None:
    """Lines of another shape, and a table that is a circle, raise nothing and never hang."""
    assert parse_mounts(b"\n27 1 254:0 / / rw\nx y 0:1 / / rw - ext4 a rw\n27 1 254:0 / / rw - \n") == []
    assert file_system_of(b"/x", b"1 1 0:1 / / rw - ext4 a rw\n1 1 0:1 / / rw - xfs a rw\n") in ("ext4", "xfs")
    assert file_system_of(b"/x", b"") == ""


@pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="this system has no /proc/self/mountinfo")
def test_this_machines_table(tmp_path: Path) -> None:
    """This machine's own table is understood."""
    table = Path("/proc/self/mountinfo").read_bytes()
    kinds = [file_system_of(os.fsencode(path), table) for path in (Path("/proc"), Path("/sys"))]
    assert kinds == ["proc", "sysfs"]
    assert file_system_of(os.fsencode(tmp_path.resolve()), table)
