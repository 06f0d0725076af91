"""Compute exact sums, bootstrap intervals and significance tests over values per query.

The only package that imports scipy.
"""
