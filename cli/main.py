"""The console script: says what to install when the extra is missing, and hands over to `app`."""

from __future__ import annotations

import sys

_NEEDED = ("typer", "rich")


def main() -> None:
    """Run `lithograph …` and exit: 0 fine, 1 a finding, 2 wrong usage or a log that cannot be opened."""
    try:
        from .app import run
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in _NEEDED:
            raise
        sys.stderr.write("lithograph: the command line is an extra: pip install 'lithograph[cli]'\n")
        sys.exit(2)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
