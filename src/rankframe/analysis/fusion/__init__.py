"""Fuse several runs into one: norms of scores, methods that combine scores or ranks, and `fuse`.

A method is a function that computes the fused score of each document from its ranks and scores in
the runs. It is registered with its formula. A user's own method is an expression over the stacked
frame, which has one row per run and document.
"""
