"""Mutants that no test can tell from the original, each with the proof that it is equivalent.

The key is (file, function, text before, text after), so an entry dies with the code it is about.
"""

from __future__ import annotations

PROOFS: dict[tuple[str, str, str, str], str] = {}
