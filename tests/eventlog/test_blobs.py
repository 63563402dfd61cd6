"""Large values: chunked, stored once within a scope, checked when read."""

from __future__ import annotations

import pytest
from lithograph.eventlog import BlobRef, EventLog, StreamName, StreamWrite, lift_blob
from lithograph.eventlog.blobs import CHUNK_BYTES, BlobChunk, blob_digest, blob_stream
from lithograph.eventlog.errors import IntegrityError, MalformedValue, ScopeErased
from lithograph.eventlog.events import Recorded

A, B = StreamName("thread", "a"), StreamName("thread", "b")


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 50 * CHUNK_BYTES + 7])
def test_large_value_comes_back(log: EventLog, size: int) -> None:
    """A value of any size comes back equal, over several appends if need be."""
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    assert log.get_blob(log.put_blob(A, data)) == data


def test_value_is_stored_once_within_its_scope(log: EventLog) -> None:
    """A value is one blob within a scope; in another scope it is another, with another digest."""
    first = log.put_blob(A, b"x" * 100_000)
    position = log.log_head().position
    assert log.put_blob(A, b"x" * 100_000) == first
    assert log.log_head().position == position
    other = log.put_blob(B, b"x" * 100_000)
    assert other.digest != first.digest
    assert log.log_head().position == position + 1


def test_fork_shares_its_sources_blobs(log: EventLog) -> None:
    """A thread in the scope of another one finds what that one stored."""
    ref = log.put_blob(A, b"x" * 100_000)
    log.append([StreamWrite(B, 0, [log.stamp(Recorded("t", b""))], scope=log.scope_of(A))])
    assert log.put_blob(B, b"x" * 100_000) == ref


def test_interrupted_store_is_continued(log: EventLog) -> None:
    """A value of which only some chunks were stored is completed, not stored anew."""
    data = b"y" * (3 * CHUNK_BYTES)
    scope = log.scope_of(A)
    digest = blob_digest(log.engine.key(scope) or b"", data)
    chunk = BlobChunk(digest, 0, data[:CHUNK_BYTES])
    log.append([StreamWrite(blob_stream(scope, digest), 0, [log.stamp(chunk)], scope)])
    ref = log.put_blob(A, data)
    assert ref.position == 1
    assert log.log_head().position == 3
    assert log.get_blob(ref) == data


def test_reference_survives_as_an_array(log: EventLog) -> None:
    """A `BlobRef` in an event comes back as a list that `lift_blob` lifts; anything else is refused."""
    ref = log.put_blob(A, b"z" * 70_000)
    log.append([StreamWrite(A, 0, [log.stamp(Recorded("t", [ref, None]))])])
    event = log.read()[-1].event
    assert isinstance(event, Recorded)
    assert lift_blob(event.data[0]) == ref == lift_blob(ref)
    for wrong in (None, b"bytes", [1, 2, 3], [b"d", 1]):
        with pytest.raises(MalformedValue):
            lift_blob(wrong)


def test_wrong_reference_is_refused(log: EventLog) -> None:
    """A reference that does not fit what is stored raises `IntegrityError`, whatever is wrong with it."""
    ref = log.put_blob(A, b"z" * 200_000)
    log.record("t", b"")
    for wrong in (
        BlobRef(ref.digest, ref.size - 1, ref.position),
        BlobRef(ref.digest, ref.size + CHUNK_BYTES, ref.position),
        BlobRef(bytes(32), ref.size, ref.position),
        BlobRef(ref.digest, ref.size, 3),
        BlobRef(ref.digest, ref.size, 99),
        BlobRef(ref.digest, ref.size, 0),
    ):
        with pytest.raises(IntegrityError):
            log.get_blob(wrong)


def test_erased_scope_gives_nothing(log: EventLog) -> None:
    """A value whose scope key was destroyed raises `ScopeErased`."""
    ref = log.put_blob(A, b"z" * 70_000)
    log.engine.destroy_key(log.scope_of(A))
    with pytest.raises(ScopeErased):
        log.get_blob(ref)
