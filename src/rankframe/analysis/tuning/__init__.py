"""Tuning of fusions: every candidate over the same queries, and what the best is worth on queries
that it was not chosen by.

Runs are read, ranked and matched with judgments once. Beyond that, only values per query are kept.
"""
