"""`PageFile`: the rows of an LMDB file, read without LMDB, whom a damaged page may make end the process.

Here a page is looked at before it is used: whether it is the one that was asked for, of the kind that it has to be, and
whether what it says lies within it. Whatever the file holds, a read ends with rows or with `CorruptionError`. For who
is about to write, which LMDB does, `check` and `sound_row` look at all that LMDB may come by on the way.

A read begins with the meta page of the last commit and takes no lock. LMDB writes over a page at the earliest in the
second transaction after the last one that had it, so when the file is at most one commit further in the end, nothing
was written over; otherwise the work is done again. Only a read that is too long for that keeps writers off its pages
through LMDB's table of readers. The file is held open: it may be removed or replaced meanwhile.

The format is that of LMDB 0.9 on a machine of 64 bits. Read next: `derived`, whose rows these are.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple, TypeVar
from weakref import finalize

from .environments import open_environment
from .errors import CorruptionError, LithographError

_MAGIC: Final = 0xBEEFC0DE
_FORMAT: Final = 1
_META: Final = Struct("=QHHHHIIQQIHHQQQQQIHHQQQQQQQ")
_TREE: Final = Struct("=IHHQQQQQ")
_HEADER: Final = Struct("=QHHHH")
_LARGE: Final = Struct("=QHHI")
_NODE: Final = Struct("=IHH")
_PAGE_NUMBER: Final = Struct("=Q")
_BRANCH, _LEAF, _OVERFLOW, _META_PAGE = 1, 2, 4, 8
_IS_LARGE, _IS_TREE = 1, 2
"""Flags of a row: its value has pages of its own; it is a table."""
_INTEGER_KEYS: Final = 8
_DEEPEST: Final = 32
_PAGE_SIZES: Final = frozenset(1 << power for power in range(9, 17))
_TRIES: Final = 3
T = TypeVar("T")


class Root(NamedTuple):
    """Where a tree begins, and over how many pages one gets to its rows: 0 when it has none."""

    page: int
    depth: int


class Meta(NamedTuple):
    """What the meta page of a commit says."""

    transaction: int
    last_page: int
    free: Root
    """Which pages are free, by the transaction that freed them."""
    main: Root
    """The tables."""


class Page:
    """A branch or a leaf: its bytes, and where its nodes are."""

    __slots__ = ("data", "nodes")

    def __init__(self, data: bytes, nodes: tuple[int, ...]) -> None:
        self.data = data
        self.nodes = nodes

    def key(self, node: int) -> bytes:
        """Return a node's key."""
        return self.data[node + 8 : node + 8 + _NODE.unpack_from(self.data, node)[2]]

    def child(self, node: int) -> int:
        """Return the number of the page that a node of a branch names."""
        low, high, _ = _NODE.unpack_from(self.data, node)
        return low | high << 32


class PageFile:
    """A file of pages, open to be read for as long as somebody holds this. Thread-safe, and good in a forked child."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        finalize(self, os.close, self._file)
        status = os.fstat(self._file)
        self.identity = (status.st_dev, status.st_ino)
        self.page_size = self._first_page_size()
        self._snapshot: Snapshot | None = None

    def is_in_place(self) -> bool:
        """Tell whether the path still leads to this file."""
        try:
            status = os.stat(self.path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self.identity

    def last_transaction(self) -> int:
        """Return the id of the last transaction; raises `CorruptionError`."""
        return max(self._metas()).transaction

    def read(self, work: Callable[[Snapshot], T]) -> T:
        """Return `work(snapshot)`, which may be called again; raises `CorruptionError` for pages that cannot be."""
        for _ in range(_TRIES):
            snapshot = self._at(max(self._metas()))
            try:
                result = _bounded(work, snapshot)
            except LithographError:
                if self._is_as_it_was(snapshot):
                    raise
            else:
                if self._is_as_it_was(snapshot):
                    return result
        return self._read_beside_writers(work)

    def complaints(self) -> list[str]:
        """Return what is wrong with the two meta pages, which are written in turn and have no checksum."""
        first = second = 0
        for _ in range(_TRIES):
            first, second = (meta.transaction for meta in self._metas())
            if abs(first - second) == 1 or first == second == 0:
                return []
        return [f"{self.path} has meta pages of transactions {first} and {second}, which cannot be"]

    def page(self, number: int, kind: int) -> Page:
        """Return a page; raises `CorruptionError` when it is another one, or of another kind."""
        size = self.page_size
        data = os.pread(self._file, size, self._offset(number))
        if len(data) == size:
            found, _, flags, lower, upper = _HEADER.unpack_from(data)
            fits = _HEADER.size <= lower <= upper <= size and not lower % 2
            count = (lower - _HEADER.size) // 2
            # A branch leads to two pages or more, and a leaf is there because of a row.
            if found == number and flags == kind and fits and count >= (2 if kind == _BRANCH else 1):
                return Page(data, struct.unpack_from(f"={count}H", data, _HEADER.size))
        raise self.damaged(number)

    def large(self, number: int, length: int) -> bytes:
        """Return the value that has pages of its own."""
        count = -(-(_LARGE.size + length) // self.page_size)
        if self._offset(number + count) > os.fstat(self._file).st_size:
            raise self.damaged(number)
        data = os.pread(self._file, _LARGE.size + length, self._offset(number))
        if len(data) < _LARGE.size + length:
            raise self.damaged(number)
        found, _, flags, pages = _LARGE.unpack_from(data)
        if (found, flags, pages) != (number, _OVERFLOW, count):
            raise self.damaged(number)
        return data[_LARGE.size :]

    def damaged(self, number: int) -> CorruptionError:
        """Return what to raise for a page."""
        return CorruptionError(f"{self.path} is damaged at page {number}")

    def _offset(self, number: int) -> int:
        offset = number * self.page_size
        if offset >= 1 << 62:
            raise self.damaged(number)
        return offset

    def _read_beside_writers(self, work: Callable[[Snapshot], T]) -> T:
        environment = open_environment(self.path.parent, (), read_only=True)
        try:
            return environment.read(lambda transaction: _bounded(work, self._of_transaction(transaction.id())))
        finally:
            environment.close()

    def _of_transaction(self, transaction: int) -> Snapshot:
        for meta in self._metas():
            if meta.transaction == transaction:
                return self._at(meta)
        raise CorruptionError(f"{self.path} was replaced")

    def _at(self, meta: Meta) -> Snapshot:
        known = self._snapshot
        if known is None or known.meta != meta:
            if os.fstat(self._file).st_size < (meta.last_page + 1) * self.page_size:
                raise CorruptionError(f"{self.path} has been cut short")
            known = self._snapshot = Snapshot(self, meta)
        return known

    def _is_as_it_was(self, snapshot: Snapshot) -> bool:
        return max(self._metas()).transaction <= snapshot.meta.transaction + 1

    def _metas(self) -> tuple[Meta, Meta]:
        data = os.pread(self._file, self.page_size + _META.size, 0)
        if len(data) < self.page_size + _META.size:
            raise CorruptionError(f"{self.path} has been cut short")
        return self._meta(data, 0), self._meta(data, 1)

    def _meta(self, data: bytes, number: int) -> Meta:
        found = _META.unpack_from(data, number * self.page_size)
        page, _, kind, _, _, magic, version = found[:7]
        free, main = found[9:17], found[17:25]
        last_page, transaction = found[25:]
        right = (number, _META_PAGE, _MAGIC, _FORMAT, self.page_size, _INTEGER_KEYS, 0)
        if (page, kind, magic, version, free[0], free[1], main[1]) != right:
            raise self.damaged(number)
        return Meta(transaction, last_page, _root(free), _root(main))

    def _first_page_size(self) -> int:
        data = os.pread(self._file, _META.size, 0)
        size = _META.unpack(data)[9] if len(data) == _META.size else 0
        if size not in _PAGE_SIZES:
            raise self.damaged(0)
        return size


class Snapshot:
    """A file's tables as of one transaction. Thread-safe; good while the read goes on that it was made for."""

    def __init__(self, file: PageFile, meta: Meta) -> None:
        self.meta = meta
        self._file = file
        self._branches: dict[int, Page] = {}
        self._roots: dict[str, Root] = {}
        self._sound: dict[int, Page] = {}
        """Pages whose nodes were looked at, by number."""

    def get(self, table: str, key: bytes) -> bytes | None:
        """Return a row's value, or `None`."""
        return self._get(self._root(table), key)

    def rows(self, table: str, low: bytes, high: bytes | None, *, values: bool = True) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows with keys from `low` up to and including `high`, as they lie; values empty unless wanted."""
        root = self._root(table)
        return self._rows(root.page, root.depth, low, high, values=values)

    def check(self) -> None:
        """Look at every page that LMDB may come by when it writes, but for those on the way to the rows written."""
        self._check(self.meta.main, leaves=True)
        self._check(self.meta.free, leaves=True)
        for _transaction, pages in self._rows(*self.meta.free, b"", None):
            self._check_free(pages)
        for name, _record in self._rows(*self.meta.main, b"", None, values=False):
            self._check(self._root(name.decode("latin-1")), leaves=False)

    def sound_row(self, table: str, key: bytes) -> bytes | None:
        """Return a row's value, or `None`, with a look at each byte that LMDB goes by when it puts another there."""
        return self._get(self._root(table), key, page_of=self._check_page)

    def _root(self, table: str) -> Root:
        root = self._roots.get(table)
        if root is None:
            record = self._get(self.meta.main, table.encode("latin-1"), _IS_TREE)
            if record is None or len(record) != _TREE.size or _TREE.unpack(record)[1]:
                raise CorruptionError(f"{self._file.path} lacks the table {table!r}")
            root = self._roots[table] = _root(_TREE.unpack(record))
        return root

    def _page(self, number: int, kind: int) -> Page:
        if kind == _LEAF:
            return self._file.page(number, kind)
        page = self._branches.get(number)
        if page is None:
            page = self._branches[number] = self._file.page(number, kind)
        return page

    def _get(
        self, root: Root, key: bytes, flags: int = 0, *, page_of: Callable[[int, int], Page] | None = None
    ) -> bytes | None:
        if not root.depth:
            return None
        page_of = page_of or self._page
        number = root.page
        for _ in range(root.depth - 1):
            page = page_of(number, _BRANCH)
            number = page.child(page.nodes[_branch_of(page, key)])
        page = page_of(number, _LEAF)
        place = bisect_left(page.nodes, key, key=page.key)
        if place == len(page.nodes) or page.key(page.nodes[place]) != key:
            return None
        return self._value(page, page.nodes[place], flags)

    def _rows(
        self, number: int, depth: int, low: bytes, high: bytes | None, *, values: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        if depth > 1:
            page = self._page(number, _BRANCH)
            first = _branch_of(page, low)
            for place in range(first, len(page.nodes)):
                node = page.nodes[place]
                if high is not None and place > first and page.key(node) > high:
                    return
                yield from self._rows(page.child(node), depth - 1, low, high, values=values)
        elif depth:
            page = self._page(number, _LEAF)
            for node in page.nodes[bisect_left(page.nodes, low, key=page.key) :]:
                key = page.key(node)
                if high is not None and key > high:
                    return
                yield key, self._value(page, node) if values else b""

    def _value(self, page: Page, node: int, expected: int = 0) -> bytes:
        length, flags, key_length = _NODE.unpack_from(page.data, node)
        start = node + _NODE.size + key_length
        if flags == expected:
            return page.data[start : start + length]
        if flags != _IS_LARGE:
            raise CorruptionError(f"{self._file.path} is damaged: a row is of a kind that is not written")
        return self._file.large(_PAGE_NUMBER.unpack_from(page.data, start)[0], length)

    def _check(self, root: Root, *, leaves: bool) -> None:
        numbers = [root.page] if root.depth else []
        for _ in range(root.depth - 1):
            pages = [self._check_page(number, _BRANCH) for number in numbers]
            numbers = [page.child(node) for page in pages for node in page.nodes]
            if len(set(numbers)) < len(numbers):
                raise CorruptionError(f"{self._file.path} is damaged: pages are named twice")
        for number in numbers if leaves else ():
            self._check_page(number, _LEAF)

    def _check_page(self, number: int, kind: int) -> Page:
        """Return a page; raises `CorruptionError` unless its nodes fill what it says that they do."""
        known = self._sound.get(number)
        if known is not None:
            return known
        page = self._page(number, kind)
        upper = _HEADER.unpack_from(page.data)[4]
        filled = 0
        for node in page.nodes:
            length, flags, key_length = _NODE.unpack_from(page.data, node)
            held = 0 if kind == _BRANCH else _PAGE_NUMBER.size if flags & _IS_LARGE else length
            size = _NODE.size + key_length + held
            if node < upper or node + size > len(page.data):
                raise self._file.damaged(number)
            filled += size + size % 2
        if filled != len(page.data) - upper:
            raise self._file.damaged(number)
        self._sound[number] = page
        return page

    def _check_free(self, pages: bytes) -> None:
        count, *numbers = memoryview(pages).cast("Q") if pages and not len(pages) % 8 else [-1]
        named = numbers[: max(count, 0)]
        falling = all(before > after for before, after in pairwise(named))
        if len(named) != count or not falling or (named and not 1 < named[-1] <= named[0] <= self.meta.last_page):
            raise CorruptionError(f"{self._file.path} is damaged: its list of free pages cannot be")


def _branch_of(page: Page, key: bytes) -> int:
    """Return the place of the node that leads to a key; the first node has none of its own."""
    return bisect_right(page.nodes, key, 1, key=page.key) - 1


def _root(tree: tuple[int, ...]) -> Root:
    depth, page = tree[2], tree[7]
    if depth > _DEEPEST:
        raise CorruptionError(f"a tree of depth {depth} cannot be")
    return Root(page, depth)


def _bounded(work: Callable[[Snapshot], T], snapshot: Snapshot) -> T:
    try:
        return work(snapshot)
    except struct.error as error:
        raise CorruptionError(f"a page is damaged: what it says lies outside of it ({error})") from error
