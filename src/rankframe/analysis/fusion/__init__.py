"""Several runs fused into one: norms of scores, methods that combine them, and `fuse`.

A method is a function of what runs say of each document, registered with its formula. Runs are
brought together in the stacked frame; a user's own method is an expression over it.
"""
