"""Build the frames that metrics look at from matches and ranks.

Columns are flat arrays over all queries, computed only when a metric needs them.
"""
