"""How fast rankframe is, beside other ways to the same numbers: `python -m benchmarks`."""
