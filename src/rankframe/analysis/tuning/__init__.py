"""Tune fusions: evaluate all candidates over the same queries, and estimate the value of the best
candidate on queries that did not choose it.

Runs are read, ranked and matched with judgments once. After that, only values per query are kept.
"""
