"""Several runs fused into one: norms of scores, methods that combine them, and `fuse`.

A method is a function of what runs say of each document, registered with its formula. Runs are
brought together in the stacked frame; a user's own method is an expression over it.
"""

from rankframe.analysis.fusion import ranks, scores, trained, votes
from rankframe.analysis.fusion.norms import NORMS
from rankframe.analysis.fusion.registry import METHODS, Definition

# Families register their methods as they are imported.
__all__ = ["METHODS", "NORMS", "Definition", "ranks", "scores", "trained", "votes"]
