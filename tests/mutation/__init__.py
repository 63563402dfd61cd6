"""Mutations of the loop, the tasks and the fold, each of which must make an oracle or law test fail."""
