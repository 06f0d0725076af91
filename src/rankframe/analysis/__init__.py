"""Turn values per query into decisions: compare, diff, gate, bounds, curves, fusion and tuning.

How results are shown is left to `present`.
"""
