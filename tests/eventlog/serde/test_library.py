"""Paths, patterns, addresses, fractions: exact, or refused; what this machine cannot have is `Opaque`."""

from __future__ import annotations

import ipaddress
import pathlib
import re
import subprocess
import sys
import textwrap
import warnings
from typing import Any

import pytest
from lithograph.eventlog.errors import UnsupportedTypeError
from lithograph.eventlog.serde import Opaque, Serializer
from lithograph.eventlog.serde import format as f
from lithograph.eventlog.serde.library import PATTERN_MAX

CODEC = Serializer()


def ext(code: int, payload: bytes) -> bytes:
    """Return the bytes of an extension."""
    return b"\xc8" + len(payload).to_bytes(2, "big") + bytes((code,)) + payload


def test_a_path_that_its_text_does_not_name_is_refused() -> None:
    """Some Pythons show a Windows path by a text that they read as another one; elsewhere it comes back."""
    path = pathlib.PureWindowsPath("./c:x")
    if pathlib.PureWindowsPath(str(path)) == path:
        assert CODEC.decode(CODEC.encode(path)) == path
        return
    with pytest.raises(UnsupportedTypeError, match="another one") as caught:
        CODEC.encode({"where": [path]})
    assert caught.value.path == "where[0]"


def test_every_flavour_of_path_is_its_own_type() -> None:
    """Pure paths stay pure, Posix and Windows paths stay what they are, and a path is no str."""
    for path in (
        pathlib.PurePosixPath("/a/b"),
        pathlib.PureWindowsPath("c:/a"),
        pathlib.Path("a/../b"),
        pathlib.PurePath(),
    ):
        back = CODEC.decode(CODEC.encode([path, str(path)]))
        assert [type(each) for each in back] == [type(path), str]
        assert (back[0], back[0].parts, str(back[0])) == (path, path.parts, str(path))


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (ext(f.PATH, bytes((2 if sys.platform == "win32" else 3,)) + b"c:/a"), "Path"),
        (ext(f.PATTERN, b"s\x00\x20(?P<a"), "regular expression"),
        (ext(f.PATTERN, b"s\x00\x20a{4294967296}"), "regular expression"),
        (ext(f.ZONE, b"zNowhere/Land"), "time zone Nowhere/Land"),
    ],
)
def test_what_this_machine_cannot_have_is_opaque(data: bytes, name: str) -> None:
    """A path of another system, a syntax of another Python, a zone nobody knows: shown, noted, kept as it was."""
    codec = Serializer()
    shown = codec.decode(b"\x91" + data)[0]
    assert type(shown) is Opaque
    assert name in shown.name
    assert shown.name in codec.unknown
    assert codec.decode(codec.encode([shown])) == [shown]


def test_a_pattern_that_python_warns_of_can_be_read() -> None:
    """Where warnings are errors such a pattern is shown as `Opaque`; elsewhere it comes back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = CODEC.encode(re.compile("[[a]"))
    re.purge()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert type(CODEC.decode(data)) is Opaque
        warnings.simplefilter("ignore")
        assert CODEC.decode(data) == re.compile("[[a]")


def test_patterns_that_cannot_come_back_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """One that prints when it is compiled, and one so long that compiling it costs memory without bound."""
    for pattern, why in ((re.compile("a", re.DEBUG), "debugging"), (re.compile("a" * (PATTERN_MAX + 1)), "at most")):
        with pytest.raises(UnsupportedTypeError, match=why):
            CODEC.encode([pattern])
    capsys.readouterr()


class Fraction:
    """A class that only has the name of one that is stored."""


class ZoneInfo:
    """Another one."""


class PurePath:
    """Another one."""


@pytest.mark.parametrize(
    "impostor", [Fraction, ZoneInfo, PurePath, type("Pattern", (), {}), type("IPv4Address", (), {})]
)
def test_a_class_is_not_known_by_its_name(impostor: Any) -> None:
    """Only the very classes of the standard library are stored; others of their names are refused."""
    with pytest.raises(UnsupportedTypeError, match="no stored form"):
        CODEC.encode([impostor()])


def test_subclasses_are_refused() -> None:
    """A subclass would come back as its base."""
    for base, args in ((pathlib.PurePosixPath, ("a",)), (ipaddress.IPv4Address, ("1.2.3.4",))):
        with pytest.raises(UnsupportedTypeError):
            CODEC.encode([type("Mine", (base,), {})(*args)])


def test_their_modules_are_not_imported_for_other_values() -> None:
    """Storing and reading other values imports none of the modules that nobody asked for."""
    code = """
        import sys
        from lithograph.eventlog.serde import Serializer
        before = set(sys.modules)
        Serializer().decode(Serializer().encode([1j, range(3), (1,), {2}, 2**80]))
        try: Serializer().encode([object()])
        except TypeError: print(sorted(set(sys.modules) - before))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert not {"fractions", "zoneinfo", "numpy", "pickle"} & set(re.findall(r"\w+", told))
