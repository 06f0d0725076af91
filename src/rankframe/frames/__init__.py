"""The judged and the pair frame: ranking, matching, and every column that metrics look at.

Columns are flat arrays over all queries, made when they are asked for. Nothing is averaged here.
"""
