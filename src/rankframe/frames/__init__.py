"""Build the frames that metrics are expressions over, from matches and ranks.

The columns of a frame are flat arrays over all queries. Each column is computed only if a metric
needs it.
"""
