"""The graphs of the corpus, a file a subject; importing this package registers them all, in order."""

from . import linear  # isort: skip
from . import branching, parallel, sends  # isort: skip
from . import commands, breakpoints, interrupts, travel, updates  # isort: skip

__all__ = ["branching", "breakpoints", "commands", "interrupts", "linear", "parallel", "sends", "travel", "updates"]
