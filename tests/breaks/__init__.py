"""Breaks on purpose: what the tests of the log and its values were seen to notice. `__main__` runs them."""
