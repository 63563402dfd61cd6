"""Makes `import-map.md`: one Lithograph import for every public LangGraph import, and what is not there yet.

    python docs/import_map.py

It asks both packages, so both must be installed; a test fails when the page is another than what this makes.
The same name in one of our rooms counts as the same thing; what is called otherwise, or lies in a package
that need not be installed, is named below.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).with_name("import-map.md")

ROOMS = ("lithograph.graph", "lithograph.store", "lithograph.projections", "lithograph.eventlog.serde")
"""Where a name is looked for, in this order."""

MODULES = (
    "langgraph.graph",
    "langgraph.graph.state",
    "langgraph.graph.message",
    "langgraph.types",
    "langgraph.constants",
    "langgraph.errors",
    "langgraph.config",
    "langgraph.runtime",
    "langgraph.func",
    "langgraph.channels",
    "langgraph.managed",
    "langgraph.pregel",
    "langgraph.checkpoint.base",
    "langgraph.checkpoint.memory",
    "langgraph.checkpoint.sqlite",
    "langgraph.checkpoint.sqlite.aio",
    "langgraph.checkpoint.postgres",
    "langgraph.checkpoint.postgres.aio",
    "langgraph.checkpoint.serde.base",
    "langgraph.checkpoint.serde.jsonplus",
    "langgraph.checkpoint.serde.encrypted",
    "langgraph.store.base",
    "langgraph.store.memory",
    "langgraph.store.sqlite",
    "langgraph.store.postgres",
    "langgraph.cache.base",
    "langgraph.cache.memory",
    "langgraph.prebuilt",
    "langgraph.callbacks",
    "langgraph.stream",
    "langgraph.typing",
    "langgraph.warnings",
)

NAMES: dict[str, tuple[str, ...]] = {
    "langgraph.config": ("get_config", "get_store", "get_stream_writer"),
    "langgraph.constants": ("START", "END", "TAG_HIDDEN", "TAG_NOSTREAM"),
    "langgraph.checkpoint.base": (
        "BaseCheckpointSaver",
        "Checkpoint",
        "CheckpointMetadata",
        "CheckpointTuple",
        "ChannelVersions",
        "copy_checkpoint",
        "empty_checkpoint",
        "create_checkpoint",
        "get_checkpoint_id",
    ),
    "langgraph.checkpoint.memory": ("InMemorySaver", "MemorySaver", "PersistentDict"),
    "langgraph.checkpoint.sqlite": ("SqliteSaver",),
    "langgraph.checkpoint.sqlite.aio": ("AsyncSqliteSaver",),
    "langgraph.checkpoint.postgres": ("PostgresSaver", "ShallowPostgresSaver"),
    "langgraph.checkpoint.postgres.aio": ("AsyncPostgresSaver", "AsyncShallowPostgresSaver"),
    "langgraph.checkpoint.serde.base": ("SerializerProtocol", "CipherProtocol"),
    "langgraph.checkpoint.serde.jsonplus": ("JsonPlusSerializer",),
    "langgraph.checkpoint.serde.encrypted": ("EncryptedSerializer",),
    "langgraph.store.base": (
        "BaseStore",
        "Item",
        "SearchItem",
        "Op",
        "GetOp",
        "SearchOp",
        "PutOp",
        "ListNamespacesOp",
        "MatchCondition",
        "NamespacePath",
        "NamespaceMatchType",
        "Result",
        "IndexConfig",
        "TTLConfig",
        "InvalidNamespaceError",
    ),
    "langgraph.store.memory": ("InMemoryStore",),
    "langgraph.store.sqlite": ("SqliteStore", "AsyncSqliteStore"),
    "langgraph.store.postgres": ("PostgresStore", "AsyncPostgresStore"),
    "langgraph.cache.base": ("BaseCache",),
    "langgraph.cache.memory": ("InMemoryCache",),
}
"""Modules without an `__all__` that means it, or that need not be installed: their public names."""

RENAMED: dict[str, str] = {
    "langgraph.checkpoint.memory.MemorySaver": "lithograph.projections.InMemorySaver",
    "langgraph.checkpoint.sqlite.SqliteSaver": "lithograph.projections.EventLogSaver",
    "langgraph.checkpoint.sqlite.aio.AsyncSqliteSaver": "lithograph.projections.EventLogSaver",
    "langgraph.checkpoint.postgres.PostgresSaver": "lithograph.projections.EventLogSaver",
    "langgraph.checkpoint.postgres.aio.AsyncPostgresSaver": "lithograph.projections.EventLogSaver",
    "langgraph.store.sqlite.SqliteStore": "lithograph.store.EventLogStore",
    "langgraph.store.sqlite.AsyncSqliteStore": "lithograph.store.EventLogStore",
    "langgraph.store.postgres.PostgresStore": "lithograph.store.EventLogStore",
    "langgraph.store.postgres.AsyncPostgresStore": "lithograph.store.EventLogStore",
}
"""What is called otherwise here."""

NEVER: dict[str, str] = {
    "langgraph.prebuilt": "agents and tools are no part of Lithograph; they are built of nodes",
    "langgraph.warnings": "nothing is deprecated here",
    "langgraph.typing": "type variables of LangGraph's own annotations",
    "langgraph.checkpoint.postgres.ShallowPostgresSaver": "a log keeps the past",
    "langgraph.checkpoint.postgres.aio.AsyncShallowPostgresSaver": "a log keeps the past",
    "langgraph.checkpoint.memory.PersistentDict": "a log on disk: EventLog(path)",
    "langgraph.graph.MessageGraph": "removed in LangGraph 1; StateGraph(MessagesState)",
    "langgraph.graph.message.MessageGraph": "removed in LangGraph 1; StateGraph(MessagesState)",
}
"""Modules and names that have no counterpart, and why."""

_AT = "a path or SQLite connection names the log's folder, `fc.db` → `fc.db.lithograph`"
LIMITED = {
    "langgraph.checkpoint.sqlite.SqliteSaver": _AT,
    "langgraph.checkpoint.sqlite.aio.AsyncSqliteSaver": _AT,
}
"""What cannot be done yet with a name that is there, or is otherwise."""

HEAD = """\
# Import map

One Lithograph import for every public LangGraph import (LangGraph {version}). Made by
`python docs/import_map.py`, which asks both packages, so that what is listed can be imported. *Not yet* means
that it is wanted and missing.

`compile(checkpointer=…)` takes an `EventLog`, so most programs need no saver:
`from lithograph.eventlog import EventLog`. `RunnableConfig` is in `lithograph.graph`; langchain-core's is the
same thing and works too.

**{there} of {total} names are there.** {missing} are not there yet, {never} will not come.
"""


class Entry(NamedTuple):
    """A public LangGraph name and its full name here, if it is there; `never` says why it will not be."""

    module: str
    name: str
    target: str | None
    never: str | None


def public_names(module: str) -> tuple[str, ...]:
    """Return the public names of a LangGraph module."""
    if module in NAMES:
        return NAMES[module]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = importlib.import_module(module)
    return tuple(found.__all__)


def entries() -> Iterator[Entry]:
    """Yield every public name with its counterpart."""
    for module in MODULES:
        for name in public_names(module):
            full = f"{module}.{name}"
            places = [RENAMED[full]] if full in RENAMED else [f"{room}.{name}" for room in ROOMS]
            target = next((place for place in places if _exists(place)), None)
            never = None if target else NEVER.get(full, NEVER.get(module))
            yield Entry(module, name, target, never)


def page() -> str:
    """Return the whole page."""
    from importlib.metadata import version

    found = list(entries())
    there, never = sum(bool(each.target) for each in found), sum(bool(each.never) for each in found)
    head = HEAD.format(
        version=version("langgraph"),
        there=there,
        total=len(found),
        missing=len(found) - there - never,
        never=never,
    )
    parts = [head]
    for module in MODULES:
        parts += [f"## {module}", "", "| LangGraph | Lithograph |", "|---|---|"]
        parts += [_row(each) for each in found if each.module == module]
        parts.append("")
    return "\n".join(parts)


def _row(entry: Entry) -> str:
    if entry.target:
        room, _, name = entry.target.rpartition(".")
        limit = LIMITED.get(f"{entry.module}.{entry.name}")
        return f"| `{entry.name}` | `from {room} import {name}`{f' ({limit})' if limit else ''} |"
    return f"| `{entry.name}` | {'never: ' + entry.never if entry.never else '*not yet*'} |"


def _exists(full: str) -> bool:
    module, _, name = full.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        return False


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
