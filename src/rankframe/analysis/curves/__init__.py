"""Curves as frames of points: ROC, precision–recall, a metric over its cutoffs, cumulative gain.

Points only: `plot` draws them.
"""
