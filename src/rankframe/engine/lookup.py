"""Look up a run in judgments: judgments are indexed in memory, and the run is read once."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import replace

import numpy as np
import polars as pl

from rankframe.core.columns import DOC, JUDGED_FRAME, QUERY, SCORE
from rankframe.core.errors import BadValueError
from rankframe.core.options import Duplicates, JudgedOptions, Policies
from rankframe.core.records import record
from rankframe.frames.judgments import NO_SUBTOPIC, IndexedJudgments, index_judgments
from rankframe.frames.matches import Listing, RunMatches
from rankframe.io.batches import Batches
from rankframe.io.input_table import InputTable, comparable
from rankframe.kernel.batch import HASHES, as_text, hashed
from rankframe.kernel.duplicates import deduplicate
from rankframe.kernel.reading import OnProgress, ignore_progress, read_batches, read_if_contiguous
from rankframe.kernel.segments import spread


@record
class Lookup:
    """Match a run with judgments: judgments are indexed in memory, the run is read on demand."""

    judgments: IndexedJudgments
    run: Batches
    policies: Policies
    # whether the mean rank of ties is needed, and whether scores are needed (across queries)
    tied_rank: bool
    scores: bool
    # whether all documents of judged queries are needed, and their ids
    listed: bool = False
    ids: bool = False

    @classmethod
    def from_inputs(
        cls,
        qrels: InputTable,
        run: InputTable,
        policies: Policies,
        columns: Collection[str],
        *,
        listed: bool = False,
        ids: bool = False,
        at_once: int | None = None,
        as_text: bool = False,
    ) -> Lookup:
        """Read and index the judgments; the run is read later.

        Args:
            qrels: the judgments.
            run: the run.
            policies: the policies of the evaluation.
            columns: the columns of the judged frame that are needed.
            listed: whether all documents of judged queries are needed.
            ids: whether the ids of these documents are needed.
            at_once: how many bytes of the inputs may be read ahead.
            as_text: whether ids are compared as text, whatever their types.
        """
        left, right = (qrels.frame, run.frame) if as_text else comparable(qrels, run)
        # Judgments that are held for several runs are prepared once.
        cache = {} if qrels.cache is None else qrels.cache
        key = IndexedJudgments, *left.collect_schema().items(), policies.duplicates
        if key not in cache:
            cache[key] = read_judgments(qrels, left, policies.duplicates, at_once)
        pooled = any(map(JUDGED_FRAME.of_whole_input, columns)) and SCORE in run.mapping
        batches = Batches(run, right, at_once)
        return cls(cache[key], batches, policies, "tied_rank" in columns, pooled, listed, ids)

    def found(self, on_progress: OnProgress = ignore_progress) -> RunMatches:
        """Return the run matched with the judgments; reuse cached matches of an earlier reading."""
        cache = self.run.scanned.cache
        if cache is None:
            return read_batches(self.run, self.nothing_found, on_progress)
        found = cache.get(self._key)
        if found is None or not self._is_enough(found):
            found = cache[self._key] = read_batches(self.run, self.nothing_found, on_progress)
        return found

    def found_if_contiguous(self, on_progress: OnProgress = ignore_progress) -> RunMatches | None:
        """Match the run in one pass; return None if a query is not contiguous."""
        return read_if_contiguous(self.run, self.nothing_found, on_progress)

    @property
    def _key(self) -> Hashable:
        """Return the key under which the matches of the run are cached."""
        # These options are applied while the run is opened: they need not be part of the key.
        done = ("unit", "train", "exclude_seen")
        names = [name for name in JudgedOptions.__annotations__ if name not in done]
        options = (getattr(self.policies, name) for name in names)
        scanned = self.run.scanned
        return RunMatches, *options, *scanned.mapping.items(), scanned.distance

    def _is_enough(self, found: RunMatches) -> bool:
        """Tell whether cached matches have every column that this lookup needs."""
        listing = found.listing
        return (
            found.judgments is self.judgments
            and self.tied_rank <= (found.whole.tied_rank is not None)
            and self.scores <= (found.whole.score is not None)
            and (not self.listed or (listing is not None and self.ids <= listing.docs))
        )

    def nothing_found(self) -> RunMatches:
        """Return an empty accumulator of matches, to which batches of the run are added."""
        listing = None
        if self.listed:
            listing = Listing(tied_rank=self.tied_rank, docs=self.ids, k_max=self.policies.k_max)
        return RunMatches(
            self.judgments,
            self.policies,
            tied_rank=self.tied_rank,
            scores=self.scores,
            listing=listing,
        )


def read_judgments(
    qrels: InputTable, frame: pl.LazyFrame, duplicates: Duplicates, at_once: int | None = None
) -> IndexedJudgments:
    """Read, check and index judgments.

    `frame` has the columns of the judgments, with ids in the type in which they are compared.
    """
    table = Batches(qrels, frame, at_once).whole()
    judgments, repeat = index_judgments(table)
    if repeat:
        rows = table.drop(HASHES, strict=False)
        if duplicates == "error":
            rows = rows.cast({QUERY: pl.String, DOC: pl.String})
        best = deduplicate(rows, qrels.role, duplicates, numbered=qrels.numbered)
        if best.height < table.height:
            judgments, _ = index_judgments(hashed(best.lazy()).collect(engine="in-memory"))
    _refuse_several_weights(judgments, qrels.role)
    return replace(judgments, rows_read=table.height)


def _refuse_several_weights(judgments: IndexedJudgments, role: str) -> None:
    groups = judgments.subtopics
    if groups is None or groups.weights is None or not len(groups.document):
        return
    order, begins = groups.instances(judgments.starts, judgments.height)
    grouped, weights = groups.group[order[begins]] != NO_SUBTOPIC, groups.weights[order]
    lowest, highest = (pick.reduceat(weights, begins) for pick in (np.minimum, np.maximum))
    bad = np.flatnonzero(grouped & (lowest != highest))
    if len(bad):
        row = order[begins[bad[0]]]
        different = weights != spread(
            np.where(grouped, lowest, weights[begins]), begins, len(weights)
        )
        query = as_text(judgments.queries)[int(judgments.code[groups.document[row]])]
        raise BadValueError(
            role,
            "another weight than others of their subtopic",
            int(np.count_nonzero(different & (groups.group[order] != NO_SUBTOPIC))),
            f"{groups.names[int(groups.group[row])]!r} of query_id {query!r}: "
            f"{lowest[bad[0]]:g} and {highest[bad[0]]:g}",
            "Give each subtopic one weight",
        )
