"""Compute curves as frames of points: ROC, precision–recall, metric by cutoff, cumulative gain.

The package computes points only; `plot` draws them.
"""
