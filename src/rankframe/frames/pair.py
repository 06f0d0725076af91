"""Two rankings of the same queries → the pair frame: one row per document that either has.

Rows are in the order of the first ranking, then of the second. A query has as many rows as there
are depths at which something new can be seen, so each row also stands for a depth: the first row
for depth 1, and so on. Measures over documents and measures over depths are sums over these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.arrays.codes import sorted_query_codes
from rankframe.arrays.keys import Keyed, match
from rankframe.arrays.segments import position, segment_starts, sort_order, spread
from rankframe.base import options
from rankframe.base.columns import DOC, PAIR_FRAME, QUERY, SCORE
from rankframe.base.errors import OptionError
from rankframe.base.options import PairPolicies, Unshared, is_count
from rankframe.frames.lazily import lazy_frame
from rankframe.frames.pair_depths import Overlaps
from rankframe.frames.pair_orders import Compared
from rankframe.frames.pair_ranking import Ranking
from rankframe.frames.rank import RankedRun, rank_again, rank_run
from rankframe.inputs.scan import Columns, Source, scan_ranking
from rankframe.inputs.validate import load_one_of_each


def pair(
    a: Source,
    b: Source,
    *,
    columns: Columns | None = None,
    order: options.Order = "columns",
    ties: options.Ties = "doc_desc",
    duplicates: options.Duplicates = "error",
    missing: options.Unshared = "shared",
    k_max: int | None = None,
    cutoffs: Sequence[int] = (),
) -> pl.LazyFrame:
    """The pair frame of two rankings, for expressions of your own; lazy, as `judge`.

    One row per document that either ranking has. Each of `cutoffs` adds the columns that compare
    the top k only (`concordant_top10`, …). The options are those of `agree`.

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
    policies = PairPolicies.given(locals(), frame_only=True)
    wrong = [cutoffs] if not isinstance(cutoffs, Iterable) else [
        k for k in cutoffs if not is_count(k)
    ]  # fmt: skip
    if wrong:
        raise OptionError(f"cutoffs are whole numbers of at least 1, not {wrong[0]!r}.")
    schema = PAIR_FRAME.schema
    schema |= {f"{name}_top{k}": schema[name] for k in cutoffs for name in PAIR_FRAME.parametric}
    sides = (scan_ranking(a, "a", columns, order=order), scan_ranking(b, "b", columns, order=order))

    def make(needed: set[str]) -> pl.DataFrame:
        ranked = [
            prepare_ranking(load_one_of_each(side, duplicates=duplicates), policies)
            for side in sides
        ]
        return Pairs(*ranked, missing=missing).frame(needed)

    return lazy_frame(schema, make)


def prepare_ranking(ranking: Keyed, policies: PairPolicies) -> RankedRun:
    """Rank a ranking's documents and cut it at `k_max`."""
    ranked = rank_run(ranking, ties=policies.ties, tied_rank=True)
    if policies.k_max is None:
        return ranked
    return rank_again(ranked, ranked.rank <= policies.k_max, ties=policies.ties)


class Pairs:
    """The rows of the pair frame as flat arrays; columns on demand."""

    def __init__(self, a: RankedRun, b: RankedRun, *, missing: Unshared = "shared") -> None:
        self._missing: Unshared = missing
        in_a, in_b = match(a.table, b.table)
        rows_a, rows_b = a.table.frame.height, b.table.frame.height
        # the rows of b that a lacks
        alone = np.ones(rows_b, np.bool_)
        alone[in_b] = False
        alone = np.flatnonzero(alone)
        at_b = np.full(rows_a + len(alone), -1)
        at_b[in_a] = in_b
        at_b[rows_a:] = alone
        at_a = np.where(np.arange(len(at_b)) < rows_a, np.arange(len(at_b)), -1)
        names = pl.concat([a.table.frame[QUERY], b.table.frame[QUERY].gather(alone)], rechunk=True)
        code, queries = sorted_query_codes(names)
        self.queries = queries.alias(QUERY)
        self.matched = len(in_a)
        rank_a, rank_b = _picked(a.rank, at_a), _picked(b.rank, at_b)
        last = int(rank_a.max(initial=0))
        order = sort_order(code, np.where(rank_a, rank_a, last + rank_b))
        self._from_a, self._from_b = at_a[order], at_b[order]
        self._ids = a.table.frame[DOC], b.table.frame[DOC]
        self.code = code[order]
        self.starts = segment_starts(self.code)
        self.a = self._ranking(a, self._from_a)
        self.b = self._ranking(b, self._from_b)
        self.shared = self.a.present & self.b.present

    @property
    def rows(self) -> int:
        """How many rows the frame has."""
        return len(self.code)

    @cached_property
    def n_shared(self) -> NDArray[np.int64]:
        """Documents that both rankings have, one number per query."""
        return np.add.reduceat(self.shared, self.starts, dtype=np.int64)

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """The pair frame with these columns (and no others computed)."""
        return pl.DataFrame({name: self._column(name) for name in columns})

    def _column(self, name: str) -> pl.Series:
        base, k = PAIR_FRAME.split(name)
        dtype = PAIR_FRAME.columns[base].type
        top = None if k is None else int(k)
        if base.startswith(("agreement", "unseen")):
            what, _, ties = base.rpartition("_") if base[-2] == "_" else (base, "", "")
            return pl.Series(name, self._overlaps.column(what, ties, top), dtype=dtype)
        if PAIR_FRAME.columns[base].parametric:
            return pl.Series(name, self._compared(top).column(base), dtype=dtype)
        makers: dict[str, Callable[[], NDArray[Any] | pl.Series]] = {
            QUERY: lambda: self.queries.gather(self.code),
            DOC: self._docs,
            "rank_a": lambda: _null_where(self.a.rank, ~self.a.present),
            "rank_b": lambda: _null_where(self.b.rank, ~self.b.present),
            "score_a": partial(self._score, self.a),
            "score_b": partial(self._score, self.b),
            "n_a": lambda: self._spread(self.a.length),
            "n_b": lambda: self._spread(self.b.length),
            "n_shared": lambda: self._spread(self.n_shared),
            "depth": lambda: position(self.starts, self.rows) + 1,
            "overlap": lambda: self._overlaps.untied,
        }
        return pl.Series(name, makers[base](), dtype=dtype)

    @cached_property
    def _overlaps(self) -> Overlaps:
        return Overlaps(self.a, self.b, self.starts)

    def _compared(self, k: int | None) -> Compared:
        if k not in self._views:
            self._views[k] = Compared(self.a, self.b, self.code, self._missing, k)
        return self._views[k]

    @cached_property
    def _views(self) -> dict[int | None, Compared]:
        return {}

    def _ranking(self, run: RankedRun, rows: NDArray[np.int64]) -> Ranking:
        assert run.tied_rank is not None  # whoever pairs rankings ranked them with it
        rank, table = _picked(run.rank, rows), run.table.frame
        return Ranking(
            rank,
            _picked(run.tied_rank, rows),
            _picked(table[SCORE].to_numpy(), rows) if SCORE in table.columns else None,
            np.add.reduceat(rank > 0, self.starts, dtype=np.int64),
        )

    def _docs(self) -> pl.Series:
        ours, theirs = self._ids
        both = pl.concat([ours, theirs], rechunk=True)
        return both.gather(np.where(self._from_a >= 0, self._from_a, len(ours) + self._from_b))

    def _score(self, ranking: Ranking) -> pl.Series:
        if ranking.score is None:
            return pl.Series([None], dtype=pl.Float64).new_from_index(0, self.rows)
        return _null_where(ranking.score, ~ranking.present)

    def _spread(self, per_query: NDArray[np.int64]) -> NDArray[np.int64]:
        return spread(per_query, self.starts, self.rows)


def _picked(values: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Values of the given rows, 0 where there is none (-1)."""
    picked = values[rows] if len(values) else np.zeros(len(rows), values.dtype)
    picked[rows < 0] = 0
    return picked


def _null_where(values: NDArray[Any], absent: NDArray[np.bool_]) -> pl.Series:
    flags, series = pl.Series("absent", absent), pl.Series("values", values)
    return pl.select(pl.when(~flags).then(series)).to_series()
