"""One row a unit: the best of the documents that are part of it, by score or by rank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import RANK, SCORE, SCORE_REST
from rankframe.core.options import Policies
from rankframe.io.validate import one_of_each
from rankframe.kernel.keys import Keyed
from rankframe.kernel.rank import rank_run

_ASIDE = {SCORE: "_score_aside", SCORE_REST: "_rest_aside"}
_BACK = {aside: name for name, aside in _ASIDE.items()}


def by_rank(rows: pl.DataFrame, rank: NDArray[np.integer]) -> Keyed:
    """Of each unit the row of the best rank, which it keeps; scores stay beside it.

    >>> rows = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["u", "v", "u"]})
    >>> by_rank(rows, np.array([3, 2, 1])).frame.select("doc_id", "rank").rows()
    [('v', 2.0), ('u', 1.0)]
    """
    ranked = rows.rename(_ASIDE, strict=False).with_columns(
        pl.Series(RANK, rank.astype(np.float64))
    )
    best = one_of_each(Keyed(ranked), "run", "keep_best").frame
    return Keyed(best.rename(_BACK, strict=False))


def one_of_each_unit(run: Keyed, policies: Policies) -> tuple[Keyed, Policies]:
    """The best row of each unit, and the policies by which these rows are to be ranked."""
    if not policies.keeps_gaps:
        return one_of_each(run, "run", policies.run_duplicates), policies
    ranked = by_rank(run.frame, rank_run(run, ties=policies.ties).rank)
    return ranked, replace(policies, ranks="kept")
