"""Count the preferences between documents that a run fulfils: trec_eval's `prefs_*`.

In a subgroup of judgments, a document of a higher level is preferred to one of a lower level. In a
group with several subgroups, preferences are transitive: from a over b and b over c follows a over
c. A run fulfils a preference if it has both documents with the preferred one first, or only the
preferred one (the preference is then implied).

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
from rankframe.trec_eval.grouped import GROUP, PLACE, SUBGROUP, Placed, number_keys, refusal

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Pairs that are counted together, unless one query has more.
_PAIRS_AT_ONCE: Final = 1 << 22
_NUMBER: Final = "_group_number"


@dataclass(frozen=True)
class Preferences:
    """The groups of several queries, their documents, and which is preferred to which."""

    # by query: the number of judged documents that were retrieved; they have the first places
    retrieved: Ints
    # by group: its query, and whether it has several subgroups
    query: Ints
    partial: Flags
    # by document of a group, sorted by group and place
    group: Ints
    place: Ints
    level: NDArray[np.float64]
    # by preference: the numbers of these documents
    preferred: Ints
    other: Ints

    @property
    def ended(self) -> Ints:
        """Return the first place of each group that was not retrieved."""
        return self.retrieved[self.query]


def preferences(placed: Placed, name: str) -> Iterator[Preferences]:
    """Yield the preferences of several queries at a time, in their order.

    `name`: the judgments, as errors name them.
    """
    rows = placed.rows
    starts = segment_starts(rows[QUERY].rle_id().to_numpy())
    group = number_keys(rows, QUERY, GROUP)
    sizes = segment_lengths(segment_starts(group), rows.height)
    # At most, each document of a group is compared with all others.
    pairs = np.add.reduceat(spread(sizes, segment_starts(group), rows.height), starts)
    firsts = segment_starts(np.cumsum(pairs) // _PAIRS_AT_ONCE)
    lasts = np.append(firsts[1:], len(starts))
    bounds = np.append(starts, rows.height)
    for first, after in zip(firsts.tolist(), lasts.tolist(), strict=True):  # allowed: many queries
        chunk = rows[int(bounds[first]) : int(bounds[after])]
        yield _of_some(chunk, placed.retrieved[first:after], name)


def _of_some(rows: pl.DataFrame, retrieved: Ints, name: str) -> Preferences:
    query, group = number_keys(rows, QUERY), number_keys(rows, QUERY, GROUP)
    subgroup = number_keys(rows, QUERY, GROUP, SUBGROUP)
    level = number_keys(rows, QUERY, GROUP, SUBGROUP, RELEVANCE)
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
    # Rows are sorted by level: the row's document is preferred to all lower levels of its subgroup.
    below = np.append(segment_starts(level), rows.height)[level + 1]
    ends = np.append(segment_starts(subgroup), rows.height)[subgroup + 1]
    preferred = np.repeat(document, ends - below)
    other = document[ranges(below, ends - below)]
    result = Preferences(
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
        return result
    of_partial = partial[result.group[preferred]]
    more = _closed(result, preferred[of_partial], other[of_partial])
    conflict = result.group[more[0][more[0] == more[1]]]
    if len(conflict):
        problem = "its group prefers some document to itself, over others"
        raise refusal(rows.filter(pl.col(_NUMBER) == conflict[0]), name, problem)
    return replace(
        result,
        preferred=np.concatenate((preferred[~of_partial], more[0])),
        other=np.concatenate((other[~of_partial], more[1])),
    )


def _refuse_unlike(rows: pl.DataFrame, name: str) -> None:
    """Refuse a document of level 0 (not relevant) in one subgroup and above 0 in another."""
    level = pl.col(RELEVANCE)
    zero, above = ((test).any().over(_NUMBER, DOC) for test in (level == 0, level > 0))
    unlike = rows.filter(zero & above)
    if unlike.height:
        raise refusal(
            unlike, name, "the level is 0 in one subgroup of its group, above 0 in another"
        )


def _closed(prefs: Preferences, preferred: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Return the transitive closure of preferences, batched by groups of similar size."""
    starts = segment_starts(prefs.group)
    sizes = segment_lengths(starts, len(prefs.group))
    group = prefs.group[preferred]
    # Sizes with the same number of bits differ by less than a factor of 2.
    width = np.frexp(sizes)[1][group]
    more: list[tuple[Ints, Ints]] = [(preferred[:0], other[:0])]
    for bits in np.unique(width).tolist():
        chosen = width == bits
        groups, numbers = np.unique(group[chosen], return_inverse=True)
        size = int(sizes[groups].max())
        links = np.zeros((len(groups), size, size), np.bool_)
        first = starts[group[chosen]]
        links[numbers, preferred[chosen] - first, other[chosen] - first] = True
        which, above, below = np.nonzero(_transitive(links))
        more.append((starts[groups[which]] + above, starts[groups[which]] + below))
    return np.concatenate([a for a, _ in more]), np.concatenate([b for _, b in more])


def _transitive(links: Flags) -> Flags:
    """Return the transitive closure of many relations (Warshall), eight links a byte."""
    size = links.shape[2]
    packed = np.packbits(links, axis=2)
    for middle in range(size):
        reaches = packed[:, :, middle >> 3] << (middle & 7) & 128
        through = np.where(reaches, 255, 0).astype(np.uint8)[:, :, None]
        packed |= through & packed[:, middle, None, :]
    return np.unpackbits(packed, axis=2, count=size).astype(np.bool_)


@dataclass(frozen=True)
class Counts:
    """The number of preferences of each group, possible and fulfilled.

    Preferences are counted apart with both documents retrieved, with one (implied), and with none.
    """

    fulfilled: Ints
    possible: Ints
    fulfilled_implied: Ints
    possible_implied: Ints
    unseen: Ints

    @classmethod
    def of(cls, prefs: Preferences, chosen: Flags | slice = slice(None)) -> Counts:
        """Count the chosen preferences."""
        preferred, other = prefs.preferred[chosen], prefs.other[chosen]
        group = prefs.group[preferred]
        ended, first, second = prefs.ended[group], prefs.place[preferred], prefs.place[other]
        complete = (first < ended) & (second < ended)
        neither = (first >= ended) & (second >= ended)
        implied = ~complete & ~neither

        def count(flags: Flags) -> Ints:
            return np.bincount(group[flags], minlength=len(prefs.query))

        ahead = first < second
        return cls(
            count(complete & ahead),
            count(complete),
            count(implied & ahead),
            count(implied),
            count(neither),
        )

    @property
    def all_fulfilled(self) -> Ints:
        """Return the fulfilled preferences, implied ones included."""
        return self.fulfilled + self.fulfilled_implied

    @property
    def seen_possible(self) -> Ints:
        """Return the preferences with at least one document retrieved."""
        return self.possible + self.possible_implied

    @property
    def all_possible(self) -> Ints:
        """Return the number of all preferences."""
        return self.seen_possible + self.unseen

    def both(self, *, retrieved: bool) -> tuple[Ints, Ints]:
        """Return fulfilled and possible preferences; `retrieved`: with both documents retrieved."""
        if retrieved:
            return self.fulfilled, self.possible
        return self.all_fulfilled, self.all_possible


def by_group(prefs: Preferences, counts: Counts, *, retrieved: bool) -> NDArray[np.float64]:
    """Return the share of fulfilled preferences in each group, with equally many non-relevant and
    relevant documents (`prefs_avgjg_Rnonrel`); `retrieved`: among retrieved documents only.

    If there are fewer non-relevant documents, some that no run retrieves are added; if there are
    more, only the first of them count. As in the C program, in groups without subgroups these are
    also compared with all others of the lowest level. NaN without any pair to compare.
    """
    starts = segment_starts(prefs.group)
    retrieved_rows = prefs.place < prefs.ended[prefs.group]
    relevant = prefs.level > 0
    partial = prefs.partial[prefs.group]
    nonrelevant = np.where(partial, prefs.level == 0, ~relevant)

    def count(flags: Flags) -> Ints:
        return np.add.reduceat(flags, starts, dtype=np.int64)

    total, found = count(relevant), count(relevant & retrieved_rows)
    limit = found if retrieved else total
    lacking = limit - count(nonrelevant & retrieved_rows if retrieved else nonrelevant)
    lowest = prefs.level == spread(
        np.minimum.reduceat(prefs.level, starts), starts, len(prefs.level)
    )
    many = np.where(partial, prefs.level == 0, lowest)
    first = np.where(prefs.partial, total, limit)[prefs.group]
    keeps = ~many | (running_count(many, starts) <= first)
    fewer = Counts.of(prefs, keeps[prefs.preferred] & keeps[prefs.other])
    among = _among_lowest(count(lowest), count(lowest & retrieved_rows), limit, retrieved=retrieved)
    above, below = (
        np.where(lacking >= 0, all_of + lacking * more, some_of + np.where(prefs.partial, 0, extra))
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


def _among_lowest(
    all_of: Ints, retrieved_lowest: Ints, limit: Ints, *, retrieved: bool
) -> tuple[Ints, Ints]:
    """Count the pairs of a document of the lowest level with one of the first `limit` of them.

    Returns the pairs in order whose first document was retrieved, and all pairs.
    """
    first = np.minimum(limit, retrieved_lowest if retrieved else all_of)
    # The n-th of them (from 0) has min(n, retrieved) retrieved documents before it.
    full = np.clip(np.minimum(first - 1, retrieved_lowest), 0, None)
    ordered = full * (full + 1) // 2 + np.clip(first - 1 - full, 0, None) * retrieved_lowest
    return ordered, first * (retrieved_lowest if retrieved else all_of)


@dataclass(frozen=True)
class PairRatios:
    """The pairs of documents of each query with any preference.

    both, one, neither: the number of pairs with two, one or no documents retrieved.
    of_both, of_all: the sum of the shares of preferences that the run fulfils, over the pairs with
        both documents retrieved, and over those with any.
    """

    both: Ints
    one: Ints
    neither: Ints
    of_both: NDArray[np.float64]
    of_all: NDArray[np.float64]

    @classmethod
    def of(cls, prefs: Preferences) -> PairRatios:
        """Count the preferences of all groups for and against each pair."""
        group = prefs.group[prefs.preferred]
        query = prefs.query[group]
        first, second = prefs.place[prefs.preferred], prefs.place[prefs.other]
        low, high = np.minimum(first, second), np.maximum(first, second)
        ended = prefs.retrieved[query]
        kind = (low >= ended).astype(np.int64) + (high >= ended)
        # In the order of the C program, so that sums round alike.
        order = sort_order(query, kind, low, high)
        query, kind, low, high = (key[order] for key in (query, kind, low, high))
        new = np.ones(len(order), np.bool_)
        new[1:] = np.any([k[1:] != k[:-1] for k in (query, kind, low, high)], axis=0)
        starts = np.flatnonzero(new)
        forth = np.add.reduceat((first < second)[order], starts, dtype=np.int64)
        times = segment_lengths(starts, len(order))
        query, kind = query[starts], kind[starts]
        share = forth / times
        queries = len(prefs.retrieved)

        def count(flags: Flags) -> Ints:
            return np.bincount(query[flags], minlength=queries)

        def total(flags: Flags) -> NDArray[np.float64]:
            # rounding each sum, as the C program
            return np.bincount(query[flags], share[flags], queries).astype(np.float64)

        return cls(
            count(kind == 0), count(kind == 1), count(kind == 2), total(kind == 0), total(kind < 2)
        )
