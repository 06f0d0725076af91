"""Measure how fast rankframe and other tools compute the same numbers: `python -m benchmarks`."""
