"""One of two rankings on the rows of the pair frame."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankframe.base.options import PairPolicies
from rankframe.frames.pair import Pairs, prepare_ranking
from rankframe.frames.pair_ranking import Ranking
from rankframe.inputs.scan import scan_ranking
from rankframe.inputs.validate import load_one_of_each


def test_a_document_is_there_if_it_has_a_rank() -> None:
    ranking = Ranking(np.array([1, 0, 2], np.int32), np.zeros(3), None, np.array([2]))
    assert ranking.present.tolist() == [True, False, True]


def test_both_rankings_lie_on_the_same_rows() -> None:
    a = {"q": {"x": 3.0, "y": 2.0, "z": 2.0}, "only a": {"x": 1.0}}
    b = {"q": {"z": 9.0, "w": 8.0}}
    sides = scan_ranking(a, "a"), scan_ranking(b, "b")
    ranked = [
        prepare_ranking(load_one_of_each(side, duplicates="error"), PairPolicies())
        for side in sides
    ]
    pairs = Pairs(*ranked)
    docs = pairs.frame(["query_id", "doc_id"])
    assert docs.rows() == [("only a", "x"), ("q", "x"), ("q", "z"), ("q", "y"), ("q", "w")]
    assert pairs.a.rank.tolist() == [1, 1, 2, 3, 0]
    assert pairs.b.rank.tolist() == [0, 0, 1, 0, 2]
    # equal scores share the mean of their places
    assert pairs.a.tied_rank.tolist() == [1, 1, 2.5, 2.5, 0]
    assert (pairs.a.length.tolist(), pairs.b.length.tolist()) == ([1, 3], [0, 2])
    assert pairs.b.present.tolist() == [False, False, True, False, True]
    assert pairs.a.score is not None
    assert pairs.a.score.tolist() == [1, 3, 2, 2, 0]


def test_without_scores_there_are_ranks_alone() -> None:
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["x", "y"]})
    keyed = load_one_of_each(scan_ranking(frame, "a"), duplicates="error")
    ranked = prepare_ranking(keyed, PairPolicies())
    pairs = Pairs(ranked, ranked)
    assert pairs.a.score is None
    assert pairs.a.rank.tolist() == pairs.a.tied_rank.tolist() == [1, 2]
