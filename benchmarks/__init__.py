"""How fast rankframe is, beside other ways to get the same numbers. `python -m benchmarks --help`."""
