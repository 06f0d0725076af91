"""Exact sums, resampling, intervals, and tests of significance over numbers that belong to queries.

The only room that may use scipy, and only where it is needed. No metric is known here by its name.
"""
