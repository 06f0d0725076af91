"""Segmented numpy: many queries in flat arrays, sorted, numbered, hashed and matched at once.

Numbers and strings in, numbers out: nothing here knows what a run, a judgment or a metric is.
"""
