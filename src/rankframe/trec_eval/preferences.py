"""Count the preferences between documents that a run fulfils: trec_eval's `prefs_*`.

In a subgroup of judgments, a document of a higher level is preferred to one of a lower level. In a
group with several subgroups, preferences are transitive: from a over b and b over c follows a over
c. A run fulfils a preference if it has both documents with the preferred one first, or only the
preferred one (the preference is then implied).

A frame has a row for each preference of many queries; measures are expressions over groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, QUERY, RELEVANCE
from rankframe.kernel.segments import ranges, segment_lengths, segment_starts
from rankframe.trec_eval.grouped import GROUP_NUMBER as _NUMBER
from rankframe.trec_eval.grouped import PLACE, RETRIEVED, SUBGROUP, refusal

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Pairs that are counted together, unless one query has more.
_PAIRS_AT_ONCE: Final = 1 << 22
_PARTIAL: Final = "_partial"

_LEVEL, _IN_PLACE = pl.col(RELEVANCE), pl.col("first") < pl.col("second")
# Whether both documents of a preference were retrieved, or at least one.
_BOTH, _ANY = pl.col("lacking") == 0, pl.col("lacking") < 2
# The preferences of a group: all, those with both documents retrieved, those with at least one;
# those that the run fulfils, implied ones included, and those with both documents retrieved.
_COUNTS: Final = {
    "possible": pl.len().cast(pl.Int64),
    "possible_ret": _BOTH.sum().cast(pl.Int64),
    "possible_imp": _ANY.sum().cast(pl.Int64),
    "fulfilled": (_IN_PLACE & _ANY).sum().cast(pl.Int64),
    "fulfilled_ret": (_IN_PLACE & _BOTH).sum().cast(pl.Int64),
}


def _ratio(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    return pl.when(below > 0).then(above / below).otherwise(0.0)


def _total(shares: pl.Expr) -> pl.Expr:
    """Sum in the order of the rows, rounding each sum, as the C program does."""
    return shares.cum_sum().last().fill_null(0.0)


def _mean(shares: pl.Expr) -> pl.Expr:
    """Average over the groups of a query; 0 if the sum is undefined, as in the C program."""
    total = _total(shares)
    return pl.when(total.is_nan()).then(0.0).otherwise(total / pl.len())


def _sum_ratio(above: str, below: str) -> pl.Expr:
    return _ratio(pl.col(above).sum(), pl.col(below).sum())


def _mean_ratio(above: str, below: str) -> pl.Expr:
    return _mean(_ratio(pl.col(above), pl.col(below)))


def _pair_ratio(fulfilled: pl.Expr, possible: pl.Expr) -> pl.Expr:
    return _ratio(_total(pl.col("share").filter(fulfilled)), possible)


# Measures in the order in which trec_eval prints them: over the groups of a query, or (`prefs_pair`
# and its like) over the pairs of documents with any preference.
PREFERENCE_VALUES: Final = {
    "prefs_num_prefs_poss": pl.col("possible").sum().cast(pl.Float64),
    "prefs_num_prefs_ful": pl.col("fulfilled").sum().cast(pl.Float64),
    "prefs_num_prefs_ful_ret": pl.col("fulfilled_ret").sum().cast(pl.Float64),
    "prefs_simp": _sum_ratio("fulfilled", "possible"),
    "prefs_pair": _pair_ratio(_ANY, pl.len()),
    "prefs_avgjg": _mean_ratio("fulfilled", "possible"),
    "prefs_avgjg_Rnonrel": _mean(pl.col("balanced")),
    "prefs_simp_ret": _sum_ratio("fulfilled_ret", "possible_ret"),
    "prefs_pair_ret": _pair_ratio(_BOTH, _BOTH.sum()),
    "prefs_avgjg_ret": _mean_ratio("fulfilled_ret", "possible_ret"),
    "prefs_avgjg_Rnonrel_ret": _mean(pl.col("balanced_ret")),
    "prefs_simp_imp": _sum_ratio("fulfilled", "possible_imp"),
    "prefs_pair_imp": _pair_ratio(_ANY, _ANY.sum()),
    "prefs_avgjg_imp": _mean_ratio("fulfilled", "possible_imp"),
}


def preference_values(rows: pl.DataFrame, measures: Sequence[str], name: str) -> pl.DataFrame:
    """Return a column for each measure, and a row for each judged query.

    `rows`: judgments with their places (see `grouped.place_documents`).
    `name`: the judgments, as errors name them.
    """
    # At most, each document of a group is compared with all others.
    pairs = pl.len().over(_NUMBER).cast(pl.Int64).cum_sum()
    rows = rows.with_columns((pairs // _PAIRS_AT_ONCE).alias("batch"))
    rows = rows.with_columns(pl.col("batch").last().over(QUERY))
    batches = rows.partition_by("batch", maintain_order=True)
    return pl.concat(_values(batch, measures, name) for batch in batches)


def _values(rows: pl.DataFrame, measures: Sequence[str], name: str) -> pl.DataFrame:
    documents, preferred, other = _preferences(rows, name)
    places = documents[PLACE]
    preferences = documents.select("query", _NUMBER, RETRIEVED)[preferred].with_columns(
        places[preferred].alias("first"), places[other].alias("second")
    )
    lacking = (pl.col(c).ge(pl.col(RETRIEVED)).cast(pl.Int8) for c in ("first", "second"))
    preferences = preferences.with_columns(pl.sum_horizontal(lacking).alias("lacking"))
    groups = documents.select(QUERY, "query", _NUMBER).unique(_NUMBER, maintain_order=True)
    groups = _count(preferences, groups)
    for suffix in ("", "_ret"):
        if f"prefs_avgjg_Rnonrel{suffix}" in measures:
            keeps = _kept(documents, suffix)
            fewer = preferences.filter(pl.Series(keeps[preferred] & keeps[other]))
            shares = _balanced_shares(documents, groups, _count(fewer, groups), suffix)
            groups = groups.with_columns(shares.alias(f"balanced{suffix}"))
    of_pairs = {m: PREFERENCE_VALUES[m] for m in measures if m.startswith("prefs_pair")}
    of_groups = {m: PREFERENCE_VALUES[m] for m in measures if m not in of_pairs}
    values = groups.group_by(QUERY, "query", maintain_order=True).agg(**of_groups)
    if of_pairs:
        pairs = _pairs(preferences).group_by("query", maintain_order=True).agg(**of_pairs)
        values = values.join(pairs, on="query", how="left", maintain_order="left")
    return values.select(QUERY, pl.col(measures).fill_null(0.0))


def _count(preferences: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Count the preferences of each group."""
    counts = preferences.group_by(_NUMBER).agg(**_COUNTS)
    groups = groups.select(QUERY, "query", _NUMBER)
    groups = groups.join(counts, on=_NUMBER, how="left", maintain_order="left")
    return groups.with_columns(pl.col(list(_COUNTS)).fill_null(0))


def _pairs(preferences: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of documents with any preference, and the share that the run fulfils.

    They are in the order of the C program, so that sums round alike.
    """
    low, high = pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second")
    width = pl.max_horizontal("first", "second").max() + 1
    key = ((pl.col("query").cast(pl.Int64) * 3 + pl.col("lacking")) * width + low) * width + high
    pairs = preferences.group_by(key.alias("pair")).agg(
        pl.col("query", "lacking").first(), (_IN_PLACE.sum() / pl.len()).alias("share")
    )
    return pairs.sort("pair")


def _preferences(rows: pl.DataFrame, name: str) -> tuple[pl.DataFrame, Ints, Ints]:
    """Return the documents of each group, and the numbers of preferred and other documents."""
    rows = rows.with_columns(
        pl.col(_NUMBER) - pl.col(_NUMBER).first(),
        pl.struct(_NUMBER, SUBGROUP).rle_id().alias("part"),
        pl.struct(_NUMBER, SUBGROUP, RELEVANCE).rle_id().alias("step"),
    )
    several = pl.col("part").min() < pl.col("part").max()
    rows = rows.with_columns(several.over(_NUMBER).alias(_PARTIAL))
    zero, above = ((test).any().over(_NUMBER, DOC) for test in (_LEVEL == 0, _LEVEL > 0))
    unlike = rows.filter(_PARTIAL, zero & above)
    if unlike.height:
        problem = "the level is 0 in one subgroup of its group, above 0 in another"
        raise refusal(unlike, name, problem)
    # The rows of a document in one group; its level is that of the last subgroup.
    documents = rows.group_by(_NUMBER, PLACE).agg(
        pl.col(QUERY, RETRIEVED, _PARTIAL).first(), _LEVEL.last()
    )
    documents = documents.sort(_NUMBER, PLACE).with_row_index("document")
    documents = documents.with_columns(pl.col(QUERY).rle_id().alias("query"))
    numbers = documents.select(_NUMBER, PLACE, pl.col("document").cast(pl.Int64))
    joined = rows.join(numbers, on=[_NUMBER, PLACE], how="left", maintain_order="left")
    document = joined["document"].to_numpy()
    # Rows are sorted by level: the row's document is preferred to all lower levels of its subgroup.
    subgroup, level = rows["part"].to_numpy(), rows["step"].to_numpy()
    below = np.append(segment_starts(level), rows.height)[level + 1]
    ends = np.append(segment_starts(subgroup), rows.height)[subgroup + 1]
    preferred = np.repeat(document, ends - below)
    other = document[ranges(below, ends - below)]
    partial = documents[_PARTIAL].to_numpy()[preferred]
    if not partial.any():
        return documents, preferred, other
    group = documents[_NUMBER].to_numpy()
    more_preferred, more_other = _closed(group, preferred[partial], other[partial])
    conflict = group[more_preferred[more_preferred == more_other]]
    if len(conflict):
        problem = "its group prefers some document to itself, over others"
        raise refusal(rows.filter(pl.col(_NUMBER) == conflict[0]), name, problem)
    return (
        documents,
        np.concatenate((preferred[~partial], more_preferred)),
        np.concatenate((other[~partial], more_other)),
    )


def _closed(group: Ints, preferred: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Return the transitive closure of preferences, batched by groups of similar size.

    `group`: the group of each document.
    """
    starts = segment_starts(group)
    sizes = segment_lengths(starts, len(group))
    group = group[preferred]
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


# `prefs_avgjg_Rnonrel`: the share of fulfilled preferences in each group, with equally many
# non-relevant and relevant documents (suffix "_ret": among retrieved documents only). If there are
# fewer non-relevant documents, some that no run retrieves are added; if there are more, only the
# first of them count. As in the C program, in groups without subgroups these are also compared with
# all others of the lowest level.

_SEEN, _RELEVANT = pl.col(PLACE) < pl.col(RETRIEVED), _LEVEL > 0
_LOWEST = _LEVEL.min().over(_NUMBER) == _LEVEL


def _in_partial(partial: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(_PARTIAL).then(partial).otherwise(whole)


def _limit(suffix: str) -> pl.Expr:
    """Count the relevant documents of a group, as many as non-relevant ones count."""
    return (_RELEVANT & _SEEN if suffix else _RELEVANT).sum().cast(pl.Int64)


def _kept(documents: pl.DataFrame, suffix: str) -> Flags:
    """Flag the documents that count if there are too many non-relevant ones."""
    many = _in_partial(_LEVEL == 0, _LOWEST)
    first = _in_partial(_limit("").over(_NUMBER), _limit(suffix).over(_NUMBER))
    rows = documents.with_columns(many.alias("many"), first.alias("limit"))
    many = pl.col("many")
    keeps = ~many | (many.cum_sum().over(_NUMBER) <= pl.col("limit"))
    return rows.select(keeps).to_series().to_numpy()


def _balanced_shares(
    documents: pl.DataFrame, groups: pl.DataFrame, fewer: pl.DataFrame, suffix: str
) -> pl.Series:
    """Return the share of each group; NaN without any pair to compare.

    `fewer`: the counts of preferences between documents that are kept.
    """
    nonrelevant = _in_partial(_LEVEL == 0, ~_RELEVANT)
    documents = documents.with_columns(_LOWEST.alias("lowest"))
    lowest = pl.col("lowest")
    counted: dict[str, Any] = {
        "total": _limit(""),
        "found": _limit("_ret"),
        "limit": _limit(suffix),
        "nonrelevant": (nonrelevant & _SEEN if suffix else nonrelevant).sum(),
        "lowest": (lowest & _SEEN if suffix else lowest).sum(),
        "seen": (lowest & _SEEN).sum(),
    }
    sums = documents.group_by(_NUMBER, maintain_order=True).agg(
        pl.col(_PARTIAL).first(), **{name: sum_.cast(pl.Int64) for name, sum_ in counted.items()}
    )
    lacking = pl.col("limit") - pl.col("nonrelevant")
    # Pairs of a document of the lowest level with one of the first `limit` of them: the n-th of
    # them (from 0) has min(n, seen) retrieved documents before it.
    seen, first = pl.col("seen"), pl.min_horizontal("limit", "lowest")
    full = pl.min_horizontal(first - 1, seen).clip(0)
    in_order = full * (full + 1) // 2 + (first - 1 - full).clip(0) * seen
    sides = [
        pl.when(lacking >= 0)
        .then(groups[f"{count}{suffix}"] + lacking * pl.col(relevant))
        .otherwise(fewer[f"{count}{suffix}"] + _in_partial(pl.lit(0), more))
        for count, relevant, more in (
            ("fulfilled", "found", in_order),
            ("possible", "total", first * pl.col("lowest")),
        )
    ]
    return sums.select(sides[0] / sides[1]).to_series()
