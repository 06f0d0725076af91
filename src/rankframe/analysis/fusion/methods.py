"""All methods of fusion: families register their methods when they are imported."""

from rankframe.analysis.fusion import ranks, scores, trained, votes
from rankframe.analysis.fusion.norms import NORMS
from rankframe.analysis.fusion.registry import METHODS, Definition

__all__ = ["METHODS", "NORMS", "Definition", "ranks", "scores", "trained", "votes"]
