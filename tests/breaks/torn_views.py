"""Views torn in every way: whatever became of their rows, pages and files, no answer is wrong and no process dies."""

from __future__ import annotations

from .entry import Break

_VIEWS = "tests/projections/test_view_damage.py tests/projections/test_views.py tests/projections/test_rungs.py"
_PAGES = f"tests/eventlog/test_pages.py {_VIEWS}"
_ROWS, _PAGE_FILE, _RUNGS = "eventlog/derived.py", "eventlog/pages.py", "projections/rungs.py"

TORN_VIEWS = (
    Break(
        "a long list out of views is what its commit recorded",
        _RUNGS,
        "            if chain.ends[chunks] != (digest, length, sizes):\n",
        "            if chain.ends[chunks][1] != length:\n",
        _VIEWS,
    ),
    Break(
        "how a long list lies in views is what was written",
        _RUNGS,
        "            if chain.ends[chunks] != (digest, length, sizes):\n",
        "            if chain.ends[chunks][:2] != (digest, length):\n",
        _VIEWS,
    ),
    Break(
        "a value that is folded out of views is what its commit recorded",
        _RUNGS,
        "        if digest and whole_digest(key, self._values.raw(cell.value)) != digest:\n",
        "        if False:\n",
        "tests/laws/test_views.py",
    ),
    Break(
        "an older row in its place is missed",
        _ROWS,
        "        tally = tally.plus(stored)\n",
        '        tally = tally.plus(b"")\n',
        _VIEWS,
    ),
    Break(
        "rows that come twice are damage",
        _ROWS,
        "        if row[0] <= last:\n",
        "        if False:\n",
        _PAGES,
    ),
    Break(
        "a writer looks at pages before LMDB believes them",
        _ROWS,
        "        self._check()\n        transaction_id, ",
        "        transaction_id, ",
        _PAGES,
    ),
    Break(
        "views whose form is another one are computed again",
        _ROWS,
        "        return (self.layout, self.log_id, self.epoch) == (LAYOUT, identity.log_id, identity.epoch)\n",
        "        return (self.log_id, self.epoch) == (identity.log_id, identity.epoch)\n",
        _VIEWS,
    ),
    Break(
        "views of an earlier life of the log are computed again",
        _ROWS,
        "        return (self.layout, self.log_id, self.epoch) == (LAYOUT, identity.log_id, identity.epoch)\n",
        "        return self.layout == LAYOUT\n",
        f"{_VIEWS} tests/projections/test_rebuild_views.py",
    ),
    Break(
        "who reads views goes on when their folder is removed",
        _PAGE_FILE,
        "        return (status.st_dev, status.st_ino) == self.identity\n",
        "        return True\n",
        _PAGES,
    ),
    Break(
        "a page in the place of another one is damage",
        _PAGE_FILE,
        "            if found == number and flags == kind and fits",
        "            if flags == kind and fits",
        _PAGES,
    ),
    Break(
        "a file of views that was cut is damage",
        _PAGE_FILE,
        "            if os.fstat(self._file).st_size < (meta.last_page + 1) * self.page_size:\n",
        "            if not meta.last_page:\n",
        _PAGES,
    ),
    Break(
        "pages that are named twice are damage",
        _PAGE_FILE,
        "            if len(set(numbers)) < len(numbers):\n",
        "            if not numbers:\n",
        _PAGES,
    ),
    Break(
        "a list of free pages that cannot be is damage",
        _PAGE_FILE,
        "            self._check_free(pages)\n",
        "            pass\n",
        _PAGES,
    ),
    Break(
        "a damaged page raises nothing that has no name",
        _PAGE_FILE,
        "    except struct.error as error:\n",
        "    except LookupError as error:\n",
        _PAGES,
    ),
    Break(
        "what is read while somebody writes is read again",
        _PAGE_FILE,
        "            else:\n                if self._is_as_it_was(snapshot):\n                    return result\n",
        "            else:\n                return result\n",
        _PAGES,
    ),
    Break(
        "two writers of views exclude each other",
        _ROWS,
        "        except BlockingIOError:\n            yield False\n",
        "        except BlockingIOError:\n            yield True\n",
        f"{_VIEWS} tests/projections/test_rebuild_views.py",
    ),
)
