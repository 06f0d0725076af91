"""The pair frame for users: lazy, and no more of it than is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Unpack

import polars as pl

from rankframe.core.columns import PAIR_FRAME, QUERY
from rankframe.core.errors import OptionError
from rankframe.core.options import PairOptions, PairPolicies, Storage, is_count, takes_options
from rankframe.engine.pairing import Pairing
from rankframe.frames.lazy_frame import lazy_frame
from rankframe.io.inputs import Columns, Source, open_ranking, refuse_absent_columns


@takes_options(PairOptions, PairPolicies, Storage)
def pair(
    a: Source,
    b: Source,
    *,
    columns: Columns | None = None,
    cutoffs: Sequence[int] = (),
    **options: Unpack[PairOptions],
) -> pl.LazyFrame:
    """Return the pair frame of two rankings, for your own expressions.

    One row per document that either ranking has. The frame is lazy, as that of `judge`.

    Args:
        a: the first ranking, the reference, as in `agree`.
        b: the second ranking.
        columns: names in your data, for both or as {"a": {...}, "b": {...}}.
        cutoffs: each adds the columns that compare only the top k (`concordant_top10`, …).

    >>> a = {"q1": {"x": 3.0, "y": 2.0, "z": 1.0}}
    >>> b = {"q1": {"y": 3.0, "x": 2.0, "w": 1.0}}
    >>> rf.pair(a, b).select("doc_id", "rank_a", "rank_b", "depth", "overlap").collect()
    shape: (4, 5)
    ┌────────┬────────┬────────┬───────┬─────────┐
    │ doc_id ┆ rank_a ┆ rank_b ┆ depth ┆ overlap │
    │ ---    ┆ ---    ┆ ---    ┆ ---   ┆ ---     │
    │ str    ┆ i64    ┆ i64    ┆ i64   ┆ i64     │
    ╞════════╪════════╪════════╪═══════╪═════════╡
    │ x      ┆ 1      ┆ 2      ┆ 1     ┆ 0       │
    │ y      ┆ 2      ┆ 1      ┆ 2     ┆ 2       │
    │ z      ┆ 3      ┆ null   ┆ 3     ┆ 2       │
    │ w      ┆ null   ┆ 3      ┆ 4     ┆ 2       │
    └────────┴────────┴────────┴───────┴─────────┘
    """
    policies = PairPolicies.from_options(options)
    wrong = [cutoffs] if not isinstance(cutoffs, Iterable) else [
        k for k in cutoffs if not is_count(k)
    ]  # fmt: skip
    if wrong:
        raise OptionError(f"cutoffs are whole numbers of at least 1, not {wrong[0]!r}.")
    sides = (
        open_ranking(a, "a", columns, order=policies.order),
        open_ranking(b, "b", columns, order=policies.order),
    )
    refuse_absent_columns(columns, *sides)

    def make(needed: set[str]) -> pl.DataFrame:
        names = {QUERY, *needed}
        frames = Pairing.of(*sides, policies).each(lambda pairs: pairs.frame(names))
        return pl.concat(frames).sort(QUERY, maintain_order=True)

    return lazy_frame(PAIR_FRAME.schema_at(ties="wab", k=cutoffs), make)
