"""One script for each figure that the README claims; `python -m benchmarks` runs all of them.

Read `machine` for what is printed beside every figure, `report` for how results are kept, then any of the parts.
"""
