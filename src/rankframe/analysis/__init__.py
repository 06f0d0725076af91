"""Turn values per query into decisions: compare, diff, gate, bounds, curves, fusion and tuning.

The package `present` shows the results.
"""
