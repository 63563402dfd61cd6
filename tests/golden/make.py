"""Makes the golden log anew: `python -m tests.golden.make`. The log that is there is replaced.

That is for a format that changed, and needs a decision page that says why and names the digest that this prints.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from blake3 import blake3
from lithograph.eventlog import EventLog

from tests.golden.telling import tell
from tests.golden.tour import run_tour

GOLDEN = Path(__file__).parent / "format_0"
FILES = ("log/data.mdb", "keys/data.mdb", "told.json")


def digest() -> str:
    """Return what the golden log's decision page calls it by: a digest of its files."""
    return blake3(b"".join((GOLDEN / name).read_bytes() for name in FILES)).hexdigest()[:32]


def main() -> None:
    """Run the tour, keep the log without its views, and what a reader is told by it."""
    shutil.rmtree(GOLDEN, ignore_errors=True)
    run_tour(GOLDEN)
    with EventLog(GOLDEN, read_only=True) as log:
        told = tell(log)
    (GOLDEN / "told.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    shutil.rmtree(GOLDEN / "views")
    for lock in GOLDEN.glob("*/lock.mdb"):
        lock.unlink()
    print(f"{GOLDEN.name}: {len(told['records'])} records, digest {digest()}")


if __name__ == "__main__":
    main()
