"""Mutants that no test can tell from the original, each with the proof that it is equivalent.

The key is (file, function, text before, text after), so an entry dies with the code it is about.
"""

from __future__ import annotations

PROOFS: dict[tuple[str, str, str, str], str] = {
    (
        "projections/snapshot.py",
        "created_at",
        "_EPOCH + timedelta(microseconds=time_us)",
        "(timedelta(microseconds=time_us) + _EPOCH)",
    ): "adding a datetime and a timedelta commutes",
    (
        "graph/begin.py",
        "raised_here",
        "key in asked or key in raised",
        "(key in raised)",
    ): "`asked` are interrupts of a checkpoint of this thread, so each of them is among those it ever raised",
    (
        "graph/rules.py",
        "Rules.__init__",
        "type(channel).pass_step is not Channel.pass_step and channel.pass_step(Cell(None)) is not None",
        "(type(channel).pass_step is not Channel.pass_step or channel.pass_step(Cell(None)) is not None)",
    ): "a channel that gets in by this is asked in vain: what `pass_step` answers depends on the channel alone",
    (
        "graph/journal.py",
        "Journal.publish",
        "poke_views(self._log)",
        "pass",
    ): "views are derived: when they are written changes the time of a later read and nothing that it shows",
}
