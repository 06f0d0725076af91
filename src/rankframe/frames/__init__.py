"""Build, from matches and ranks, the tables (frames) on which metric expressions run.

The columns of a frame are flat arrays over all queries. Each column is computed only if a metric
needs it.
"""
