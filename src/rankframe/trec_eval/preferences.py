"""Preferences between documents, and how many of them a run fulfils: trec_eval's `prefs_*`.

In a subgroup of judgments, a document of a higher level is preferred to one of a lower level. Where
a group has several subgroups, what follows from its preferences is preferred, too: of a over b and
b over c, a over c. A preference is fulfilled by a run that has both with the preferred one first,
or only the preferred one (it is then implied).

Pairs of documents are counted for many queries at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, QUERY, RELEVANCE
from rankframe.kernel.segments import (
    number_segments,
    ranges,
    running_count,
    segment_lengths,
    segment_starts,
    sort_order,
    spread,
)
from rankframe.trec_eval.grouped import GROUP, PLACE, SUBGROUP, Placed, refusal

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Pairs that are worked on together, unless one query has more.
_PAIRS_AT_ONCE: Final = 1 << 22
_NUMBER: Final = "_group_number"


@dataclass(frozen=True)
class Preferences:
    """Some queries: their groups, the documents of each, and which is preferred to which."""

    # of each query: judged documents that were retrieved; they have the first places
    retrieved: Ints
    # of each group, its query, and whether it has several subgroups
    query: Ints
    partial: Flags
    # of each document of a group, by group and place
    group: Ints
    place: Ints
    level: NDArray[np.float64]
    # of each preference, by the numbers of these documents
    preferred: Ints
    other: Ints

    @property
    def ended(self) -> Ints:
        """Of each group, the place from which on documents were not retrieved."""
        return self.retrieved[self.query]


def preferences(given: Placed, name: str) -> Iterator[Preferences]:
    """Some queries after the other, in their order. `name`: what errors call the judgments."""
    rows = given.rows
    starts = segment_starts(rows[QUERY].rle_id().to_numpy())
    group = rows.select(pl.struct(QUERY, GROUP).rle_id().cast(pl.Int64)).to_series().to_numpy()
    sizes = segment_lengths(segment_starts(group), rows.height)
    # At the most all documents of a group are compared with all.
    pairs = np.add.reduceat(spread(sizes, segment_starts(group), rows.height), starts)
    firsts = segment_starts(np.cumsum(pairs) // _PAIRS_AT_ONCE)
    lasts = np.append(firsts[1:], len(starts))
    bounds = np.append(starts, rows.height)
    for first, after in zip(firsts.tolist(), lasts.tolist(), strict=True):  # allowed: many queries
        some = rows[int(bounds[first]) : int(bounds[after])]
        yield _of_some(some, given.retrieved[first:after], name)


def _of_some(rows: pl.DataFrame, retrieved: Ints, name: str) -> Preferences:
    query, group, subgroup, kind = (
        rows.select(pl.struct(keys).rle_id().cast(pl.Int64)).to_series().to_numpy()
        for keys in ([QUERY], [QUERY, GROUP], [QUERY, GROUP, SUBGROUP],
                     [QUERY, GROUP, SUBGROUP, RELEVANCE])
    )  # fmt: skip
    first_rows = segment_starts(group)
    parts = np.maximum.reduceat(subgroup, first_rows) - subgroup[first_rows] + 1
    partial = parts > 1
    rows = rows.with_columns(pl.Series(_NUMBER, group))
    _refuse_unlike(rows.filter(pl.Series(partial[group])), name)
    # The rows of a document in one group; its level is that of the last subgroup.
    place = rows[PLACE].cast(pl.Int64).to_numpy()
    order = np.lexsort((place, group))
    firsts = segment_starts(group[order] * (int(place.max()) + 1) + place[order])
    document = np.empty(rows.height, np.int64)
    document[order] = number_segments(firsts, rows.height)
    last = order[np.append(firsts[1:], rows.height) - 1]
    # Rows come by level: those of a subgroup below a row's own level are preferred less.
    below = np.append(segment_starts(kind), rows.height)[kind + 1]
    ends = np.append(segment_starts(subgroup), rows.height)[subgroup + 1]
    preferred = np.repeat(document, ends - below)
    other = document[ranges(below, ends - below)]
    found = Preferences(
        retrieved,
        query[first_rows],
        partial,
        group[last],
        place[last],
        rows[RELEVANCE].to_numpy()[last],
        preferred,
        other,
    )
    if not partial.any():
        return found
    of_partial = partial[found.group[preferred]]
    more = _closed(found, preferred[of_partial], other[of_partial])
    conflict = found.group[more[0][more[0] == more[1]]]
    if len(conflict):
        problem = "its group prefers some document to itself, over others"
        raise refusal(rows.filter(pl.col(_NUMBER) == conflict[0]), name, problem)
    return replace(
        found,
        preferred=np.concatenate((preferred[~of_partial], more[0])),
        other=np.concatenate((other[~of_partial], more[1])),
    )


def _refuse_unlike(rows: pl.DataFrame, name: str) -> None:
    """Level 0 says that a document is not relevant, in all subgroups of a group."""
    level = pl.col(RELEVANCE)
    zero, above = ((one).any().over(_NUMBER, DOC) for one in (level == 0, level > 0))
    unlike = rows.filter(zero & above)
    if unlike.height:
        raise refusal(
            unlike, name, "the level is 0 in one subgroup of its group, above 0 in another"
        )


def _closed(of: Preferences, preferred: Ints, other: Ints) -> tuple[Ints, Ints]:
    """The same with all that follow from them; groups of like size together."""
    starts = segment_starts(of.group)
    sizes = segment_lengths(starts, len(of.group))
    group = of.group[preferred]
    # Of sizes that need as many bits, none is twice another.
    width = np.frexp(sizes)[1][group]
    more: list[tuple[Ints, Ints]] = [(preferred[:0], other[:0])]
    for one in np.unique(width).tolist():
        chosen = width == one
        groups, at = np.unique(group[chosen], return_inverse=True)
        size = int(sizes[groups].max())
        links = np.zeros((len(groups), size, size), np.bool_)
        first = starts[group[chosen]]
        links[at, preferred[chosen] - first, other[chosen] - first] = True
        which, above, below = np.nonzero(_transitive(links))
        more.append((starts[groups[which]] + above, starts[groups[which]] + below))
    return np.concatenate([a for a, _ in more]), np.concatenate([b for _, b in more])


def _transitive(links: Flags) -> Flags:
    """Warshall's closure of many relations, eight links a byte."""
    size = links.shape[2]
    packed = np.packbits(links, axis=2)
    for middle in range(size):
        reaches = packed[:, :, middle >> 3] << (middle & 7) & 128
        through = np.where(reaches, 255, 0).astype(np.uint8)[:, :, None]
        packed |= through & packed[:, middle, None, :]
    return np.unpackbits(packed, axis=2, count=size).astype(np.bool_)


@dataclass(frozen=True)
class Counts:
    """Of each group: preferences between documents that were both retrieved, of which only one
    was, and neither; how many of them are fulfilled.
    """

    fulfilled: Ints
    possible: Ints
    fulfilled_implied: Ints
    possible_implied: Ints
    unseen: Ints

    @classmethod
    def of(cls, some: Preferences, chosen: Flags | slice = slice(None)) -> Counts:
        """Count the chosen ones."""
        preferred, other = some.preferred[chosen], some.other[chosen]
        group = some.group[preferred]
        ended, first, second = some.ended[group], some.place[preferred], some.place[other]
        both = (first < ended) & (second < ended)
        neither = (first >= ended) & (second >= ended)
        one = ~both & ~neither

        def count(flags: Flags) -> Ints:
            return np.bincount(group[flags], minlength=len(some.query))

        ahead = first < second
        return cls(count(both & ahead), count(both), count(one & ahead), count(one), count(neither))

    @property
    def all_fulfilled(self) -> Ints:
        """With those that are implied."""
        return self.fulfilled + self.fulfilled_implied

    @property
    def seen_possible(self) -> Ints:
        """Those of which a document was retrieved."""
        return self.possible + self.possible_implied

    @property
    def all_possible(self) -> Ints:
        """All there are."""
        return self.seen_possible + self.unseen

    def both(self, *, retrieved: bool) -> tuple[Ints, Ints]:
        """Those fulfilled and all; `retrieved`: between documents that were both retrieved."""
        if retrieved:
            return self.fulfilled, self.possible
        return self.all_fulfilled, self.all_possible


def by_group(some: Preferences, counts: Counts, *, retrieved: bool) -> NDArray[np.float64]:
    """The share of fulfilled preferences in each group, as if it had as many non-relevant documents
    as relevant ones (`prefs_avgjg_Rnonrel`); `retrieved`: among those retrieved only.

    Where there are fewer, some that no run retrieves are added; where there are more, only the
    first so many count. As the C program has it: of groups without subgroups, these are also
    compared with all others of the lowest level. NaN where there is nothing to compare.
    """
    starts = segment_starts(some.group)
    seen = some.place < some.ended[some.group]
    relevant = some.level > 0
    partial = some.partial[some.group]
    nonrelevant = np.where(partial, some.level == 0, ~relevant)

    def count(flags: Flags) -> Ints:
        return np.add.reduceat(flags, starts, dtype=np.int64)

    total, found = count(relevant), count(relevant & seen)
    wanted = found if retrieved else total
    lacking = wanted - count(nonrelevant & seen if retrieved else nonrelevant)
    lowest = some.level == spread(np.minimum.reduceat(some.level, starts), starts, len(some.level))
    many = np.where(partial, some.level == 0, lowest)
    first = np.where(some.partial, total, wanted)[some.group]
    keeps = ~many | (running_count(many, starts) <= first)
    fewer = Counts.of(some, keeps[some.preferred] & keeps[some.other])
    among = _among_lowest(count(lowest), count(lowest & seen), wanted, retrieved=retrieved)
    above, below = (
        np.where(lacking >= 0, all_of + lacking * more, some_of + np.where(some.partial, 0, extra))
        for all_of, more, some_of, extra in zip(
            counts.both(retrieved=retrieved),
            (found, total),
            fewer.both(retrieved=retrieved),
            among,
            strict=True,
        )
    )
    with np.errstate(invalid="ignore"):
        return above / below


def _among_lowest(all_of: Ints, seen: Ints, limit: Ints, *, retrieved: bool) -> tuple[Ints, Ints]:
    """The pairs of any document of the lowest level with one of the first so many of it: those in
    order, the first one retrieved, and all.
    """
    first = np.minimum(limit, seen if retrieved else all_of)
    # The n-th of them (from 0) has n before it, of which so many were retrieved: Σ min(n, seen).
    most = np.clip(np.minimum(first - 1, seen), 0, None)
    ordered = most * (most + 1) // 2 + np.clip(first - 1 - most, 0, None) * seen
    return ordered, first * (seen if retrieved else all_of)


@dataclass(frozen=True)
class PairRatios:
    """Of each query: its pairs of documents with any preference, and Σ over them of the share of
    preferences that the run fulfils; those with both retrieved, and with one.
    """

    both: Ints
    one: Ints
    neither: Ints
    of_both: NDArray[np.float64]
    of_all: NDArray[np.float64]

    @classmethod
    def of(cls, some: Preferences) -> PairRatios:
        """Count the preferences of all groups for and against each pair."""
        group = some.group[some.preferred]
        query = some.query[group]
        first, second = some.place[some.preferred], some.place[some.other]
        low, high = np.minimum(first, second), np.maximum(first, second)
        ended = some.retrieved[query]
        kind = (low >= ended).astype(np.int64) + (high >= ended)
        # In the order in which the C program adds them up, so that sums round alike.
        order = sort_order(query, kind, low, high)
        query, kind, low, high = (key[order] for key in (query, kind, low, high))
        new = np.ones(len(order), np.bool_)
        new[1:] = np.any([k[1:] != k[:-1] for k in (query, kind, low, high)], axis=0)
        starts = np.flatnonzero(new)
        forth = np.add.reduceat((first < second)[order], starts, dtype=np.int64)
        times = segment_lengths(starts, len(order))
        query, kind = query[starts], kind[starts]
        share = forth / times
        queries = len(some.retrieved)

        def count(flags: Flags) -> Ints:
            return np.bincount(query[flags], minlength=queries)

        def total(flags: Flags) -> NDArray[np.float64]:
            # one by one, each sum rounded
            return np.bincount(query[flags], share[flags], queries).astype(np.float64)

        return cls(
            count(kind == 0), count(kind == 1), count(kind == 2), total(kind == 0), total(kind < 2)
        )
