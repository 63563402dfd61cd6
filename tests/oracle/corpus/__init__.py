"""The graphs of the corpus, a file a subject; importing this package registers them all, in order."""

from . import linear  # isort: skip
from . import branching, parallel, sends, commands  # isort: skip
from . import breakpoints, interrupts, travel, updates, waiting  # isort: skip
from . import reducers, channels, chat, schemas, managed  # isort: skip
from . import failures, deferred, durability, policies, runnables, context, streaming, streams, threads  # isort: skip
from . import delta, messages_full, own_channels  # isort: skip
from . import nested, nested_past, streams_inside  # isort: skip
from . import handlers, functional  # isort: skip

__all__ = [
    "branching",
    "breakpoints",
    "channels",
    "chat",
    "commands",
    "deferred",
    "delta",
    "context",
    "durability",
    "failures",
    "functional",
    "handlers",
    "interrupts",
    "linear",
    "managed",
    "messages_full",
    "own_channels",
    "nested",
    "nested_past",
    "parallel",
    "policies",
    "reducers",
    "runnables",
    "schemas",
    "sends",
    "streaming",
    "streams",
    "streams_inside",
    "threads",
    "travel",
    "updates",
    "waiting",
]
