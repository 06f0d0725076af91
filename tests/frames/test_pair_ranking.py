"""One of two rankings on the rows of the pair frame."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankframe.frames.pair_sides import Ranking
from rankframe.kernel.batch import Batch
from rankframe.kernel.ranking import RankedBatch


def test_a_ranking_has_nothing_where_it_lacks_a_document() -> None:
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["x", "y"], "score": [2.0, 2.0]})
    ranked = RankedBatch.from_batch(Batch.from_table(run), "doc_desc")
    at = np.array([1, -1, 0])
    ranking = Ranking(ranked, np.array([2]), np.array([2, 0, 1], np.int32), lambda: at)
    assert ranking.present.tolist() == [True, False, True]
    assert ranking.tied_rank.tolist() == [1.5, 0.0, 1.5]
    assert ranking.score is not None
    assert ranking.score.tolist() == [2.0, 0.0, 2.0]
