"""Logs of other days: a golden one, older schemas, kinds that nobody here knows."""

from __future__ import annotations

from .entry import Break

_VERSIONS, _UNKNOWN = "tests/eventlog/test_versions.py", "tests/projections/test_unknown_kinds.py"
_GOLDEN = "tests/golden/test_golden.py"

VERSIONS = (
    Break(
        "the store refuses unknown changes of its items",
        "store/item_view.py",
        "if kind not in EVENTS and log",
        "if False and log",
        _UNKNOWN,
    ),
    Break(
        "the list of threads says that one is newer, from views",
        "projections/view_pass.py",
        "if not is_known(kind, header.schema):",
        "if False:",
        _UNKNOWN,
    ),
    Break(
        "the list of threads says that one is newer, without views",
        "projections/threads.py",
        "            newer = newer or ended is None\n",
        "",
        _UNKNOWN,
    ),
    Break(
        "older schemas are lifted",
        "eventlog/upcast.py",
        "return partial(_lifted, cls, steps) if steps else None",
        "return None",
        _VERSIONS,
    ),
    Break(
        "older schemas are lifted through every step",
        "eventlog/upcast.py",
        "for lift in steps:",
        "for lift in steps[:1]:",
        _VERSIONS,
    ),
    Break(
        "fields that do not fit their schema are malformed",
        "eventlog/upcast.py",
        "except (LookupError, TypeError, ValueError) as error:",
        "except LookupError as error:",
        _VERSIONS,
    ),
    Break(
        "what a step returns is checked",
        "eventlog/upcast.py",
        "Body(msgspec.convert(fields, cls),",
        "Body(cls(*fields),",
        _VERSIONS,
    ),
    Break(
        "lifting keeps who and why",
        "eventlog/upcast.py",
        "body.actor, body.reason",
        "None, None",
        _VERSIONS,
    ),
    Break(
        "an unknown kind is refused",
        "eventlog/codec.py",
        "if kind & SKIPPABLE:",
        "if True:",
        f"{_VERSIONS} {_UNKNOWN}",
    ),
    Break(
        "an unknown kind that is marked is skipped",
        "eventlog/codec.py",
        "if kind & SKIPPABLE:",
        "if False:",
        f"{_VERSIONS} {_UNKNOWN}",
    ),
    Break(
        "a newer schema is refused",
        "eventlog/codec.py",
        "and schema <= cls.schema",
        "",
        _VERSIONS,
    ),
    Break(
        "a thread that a later version went on with is not forked",
        "eventlog/forking.py",
        "        demand_known(record.header.kind, record.header.schema)\n        if record",
        "        if record",
        _UNKNOWN,
    ),
    Break(
        "a type's code is for ever",
        "eventlog/serde/format.py",
        "FRACTION = 21",
        "FRACTION = 40",
        _GOLDEN,
    ),
    Break(
        "an operation's number is for ever",
        "eventlog/events.py",
        "    ENTRIES = 18",
        "    ENTRIES = 28",
        _GOLDEN,
    ),
    Break(
        "a field's place is for ever",
        "eventlog/events.py",
        "    step: int\n    source: str\n",
        "    source: str\n    step: int\n",
        _GOLDEN,
    ),
)
