"""`Diff`: what changed between two runs, and how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import polars as pl

from rankframe.analysis.missing_queries import Lack
from rankframe.core.columns import QUERY, WEIGHT
from rankframe.core.errors import OptionError
from rankframe.core.messages import number_of, shown
from rankframe.core.table import Cell, Note, Table, as_cell, as_html
from rankframe.engine.exported import Exported
from rankframe.engine.ledger import EVERY_RELEVANT

SIDES: Final = ("a", "b")
# Names of the columns that follow the columns of the two runs.
DELTA, BETTER, WEIGHTED, SAME, TEXT = "delta", "better", "weighted", "same", "text"
_TAKEN: Final = (QUERY, DELTA, BETTER, WEIGHT, WEIGHTED, SAME, TEXT)
_LONGEST = 40  # characters of an id on the screen
_MOST_SHOWN = 5
_MOST_ATTRIBUTES = 4


@dataclass(frozen=True, repr=False, eq=False)
class Diff(Exported):
    """Hold what changed between run a (before) and run b (after), for one metric.

    summary: one row: metric, mean_a, mean_b (as `evaluate` averages each run), difference
        (mean_b − mean_a), and of how many queries b is better (wins), neither (ties) or a (losses),
        how many have no value in one run or in both (undefined), and all of them (queries).
    per_query: query_id, a, b, delta (b − a) and better ("b", "a", "same", or null where undefined),
        in byte order of query_id; with weights also weight and weighted (delta × weight).
    movers: the queries of per_query that changed most, the largest change first (with weights: the
        largest weighted one), and what is known of them: text, and their attributes.
    documents: for the movers, every document in the top k of either run: query_id, doc_id,
        relevance (null: unjudged), rank_a, rank_b (null: not retrieved) and change: "entered" or
        "left" the top k, or "up", "down" or "same" within it. Sorted by rank_b; documents that left
        come last. With titles also title.
    k: how deep documents were looked at.
    lacks: how many judged queries each run lacks, and what became of them.
    every_relevant: all judged documents count as relevant, of several grades, and nobody said so.
    names: what the runs are called. Where they have names, these stand for a and b: in the columns
        of per_query and movers, in better, and in the ranks of documents ("rank_bm25").

    `to_arrow()` and `to_pandas()` give the summary, or another of these frames by its name.
    """

    FRAMES = ("summary", "per_query", "movers", "documents")

    summary: pl.DataFrame
    per_query: pl.DataFrame
    movers: pl.DataFrame
    documents: pl.DataFrame
    k: int
    lacks: Sequence[Lack] = ()
    every_relevant: bool = False
    names: tuple[str, str] = SIDES

    def named(self, a: str, b: str) -> Self:
        """Return this change with other names for the two runs.

        >>> qrels, run = {"q": {"x": 1}}, {"q": {"x": 1.0}}
        >>> rf.diff(qrels, run, run, "mrr").named("old", "new").per_query.columns
        ['query_id', 'old', 'new', 'delta', 'better']
        """
        if (a, b) == self.names:
            return self
        new = check_names((a, b), [name for name in self.movers.columns if name not in self.names])
        called = dict(zip(self.names, new, strict=True))
        better = pl.col(BETTER).replace(called)
        values = (
            frame.with_columns(better).rename(called) if frame.width else frame
            for frame in (self.per_query, self.movers)
        )
        ranks = {f"rank_{old}": f"rank_{name}" for old, name in called.items()}
        documents = self.documents.rename(ranks) if self.documents.width else self.documents
        lacks = [replace(lack, system=called[lack.system]) for lack in self.lacks]
        per_query, movers = values
        return replace(self, per_query=per_query, movers=movers, documents=documents, lacks=lacks,
                       names=new)  # fmt: skip

    @property
    def ranks(self) -> tuple[str, str]:
        """The columns of documents with their ranks in both runs."""
        a, b = self.names
        return f"rank_{a}", f"rank_{b}"

    @property
    def described(self) -> list[str]:
        """The columns of movers that say more of a query than its values."""
        own = {QUERY, *self.names, DELTA, BETTER, WEIGHTED}
        return [name for name in self.movers.columns if name not in own]

    @property
    def _told(self) -> list[str]:
        """Return the warnings that a reader of the numbers needs."""
        return [*map(str, self.lacks), *([EVERY_RELEVANT] if self.every_relevant else [])]

    def __repr__(self) -> str:
        width = max((len(row[0]) for row in self._shown), default=0)
        moved = [
            f"  {query:<{width}}  {a} → {b}  {delta}  {better} better"
            + "".join(f", {name} {value}" for name, value in zip(self._more, more, strict=True))
            for query, a, b, delta, better, *more in self._shown
        ]
        notes = [f"  {line}" for line in self._told]
        head = [f"rankframe diff, {self._headline}", f"  {self._counted}"]
        return "\n".join([*head, *notes, *moved])

    def _repr_html_(self) -> str:
        rows = []
        for row in self._shown:
            cells = list(map(as_cell, row))
            tone = "good" if row[4] == _short(self.names[1]) else "bad"
            rows.append([*cells[:3], Cell(row[3], tone=tone), *cells[4:]])
        names = [_short(name) for name in (*self.names, DELTA, BETTER, *self._more)]
        table = Table.from_texts([QUERY], names, rows)
        notes = [Note(text) for text in (self._counted, *self._told)]
        return as_html([Note.from_headline(self._headline), *notes, table])

    @property
    def _more(self) -> list[str]:
        return self.described[:_MOST_ATTRIBUTES]

    @property
    def _shown(self) -> list[tuple[str, ...]]:
        a, b = self.names
        names = [QUERY, a, b, DELTA, BETTER, *self._more]
        return [
            (_short(query), f"{before:.4f}", f"{after:.4f}", f"{delta:+.4f}", _short(better),
             *(_told_text(name) for name in more))
            for query, before, after, delta, better, *more
            in self.movers.head(_MOST_SHOWN).select(names).rows()  # allowed: five rows
        ]  # fmt: skip

    @property
    def _headline(self) -> str:
        metric, a, b, difference = self.summary.row(0)[:4]
        before, after = ("undefined" if value is None else f"{value:.4f}" for value in (a, b))
        change = "" if difference is None else f" ({difference:+.4f})"
        if self.names != SIDES:
            before, after = (
                f"{value} ({_short(name)})"
                for value, name in zip((before, after), self.names, strict=True)
            )
        return f"{metric}: {before} → {after}{change}"

    @property
    def _counted(self) -> str:
        wins, ties, losses, undefined, queries = self.summary.row(0)[4:]
        text = (
            f"{number_of(queries, 'query')}: {wins:,} better in {_short(self.names[1])}, "
            f"{ties:,} the same, {losses:,} worse"
        )
        if undefined:
            text += f", {undefined:,} undefined (each mean is over the queries that its run has)"
        return text


def check_names(names: Any, taken: Sequence[str] = ()) -> tuple[str, str]:
    """Two names of runs, which columns can have."""
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != 2:
        raise OptionError(f'names takes two, ("before", "after"), not {shown(names)}.')
    a, b = names
    if not all(isinstance(name, str) and name for name in names) or a == b:
        raise OptionError(f"names are two different texts, not {shown(a)} and {shown(b)}.")
    for name in names:
        if name in (*_TAKEN, *taken):
            raise OptionError(
                f"a run cannot be named {name!r}: another column is called so. Give it another "
                f"name, such as {'run ' + name!r}."
            )
    return a, b


def _told_text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:g}" if isinstance(value, float) else _short(str(value))


def _short(text: str) -> str:
    """An id for the screen: on one line, and not too long."""
    readable = text if text.isprintable() else repr(text)
    return readable if len(readable) <= _LONGEST else readable[: _LONGEST - 1] + "…"
