"""Evaluate a run against judgments in groups, one for each person who judged.

trec_eval reads such judgments with `-R prefs`, `-R qrels_prefs` and `-R qrels_jg`.

A group may have subgroups: levels are compared within a subgroup only.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE
from rankframe.core.errors import EmptyInputError, MalformedLineError, OptionError
from rankframe.core.options import Policies, Ties
from rankframe.engine.lookup import Lookup
from rankframe.frames.judged import JudgedFrame
from rankframe.io.formats.packing import unpacked, without_packing
from rankframe.io.formats.registry import TREC, reading
from rankframe.io.formats.trec_format import NUMBER_TEXT, whole_grades
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Source, describe
from rankframe.io.opening import open_table
from rankframe.io.sources.files import files_at
from rankframe.kernel.segments import ranges, segment_lengths, segment_starts
from rankframe.metrics.names import Metric
from rankframe.metrics.parts import collecting
from rankframe.trec_eval.sources import buffer_stream

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

GroupFormat: TypeAlias = Literal["prefs", "qrels_prefs", "qrels_jg"]

GROUP: Final = "group"
SUBGROUP: Final = "subgroup"
# The place of a document among the judged documents of its query, as trec_eval numbers them:
# retrieved documents by rank, then the others by id.
PLACE: Final = "place"
GROUP_NUMBER: Final = "_group_number"
# The number of judged documents of the query that were retrieved; whether the run has the query.
RETRIEVED, IN_RUN = "retrieved", "in_run"
LINE, NUMBER = "_line", "_number"

_IN_QRELS = (QUERY, GROUP, DOC, RELEVANCE)
_FIELDS: Final[dict[GroupFormat, tuple[str, ...]]] = {
    "prefs": (QUERY, GROUP, SUBGROUP, DOC, RELEVANCE),
    "qrels_prefs": _IN_QRELS,
    "qrels_jg": _IN_QRELS,
}
# Names of fields in errors.
_FIELD_NAMES: Final = {QUERY: "query", DOC: "document", RELEVANCE: "level"}
_WHITE = r"[ \t\f\v]+"


def read_groups(source: Source, kind: GroupFormat) -> pl.DataFrame:
    """Read judgments in groups: query_id, group, subgroup, doc_id, relevance, and the line."""
    source = buffer_stream(source)
    name = describe(source, "qrels")
    with reading(name):
        frames = [_parsed(text, kind, name) for text in _texts(source, kind)]
    rows = pl.concat(frames)
    if rows.is_empty():
        raise EmptyInputError("qrels", name)
    same = rows.filter(pl.struct(QUERY, GROUP, SUBGROUP, DOC).is_first_distinct().not_())
    _refuse(same, name, "its document stands in another line for the same query and group")
    return rows


def _texts(source: Source, kind: GroupFormat) -> list[str] | list[IO[bytes]]:
    if hasattr(source, "getvalue"):
        return [unpacked(source.getvalue(), "the open file")]
    if not isinstance(source, str | os.PathLike):
        raise OptionError(
            f"-R {kind} reads a text with lines of {_expected(kind)}, not {type(source).__name__}."
        )
    path = os.path.expanduser(source)  # noqa: PTH111 (pathlib's fails on an unknown user)
    return without_packing(files_at(path) or [path], TREC.packings)


def _expected(kind: GroupFormat) -> str:
    return (
        f"{len(_FIELDS[kind])} fields ({', '.join(_FIELD_NAMES.get(f, f) for f in _FIELDS[kind])})"
    )


def _parsed(text: str | IO[bytes], kind: GroupFormat, name: str) -> pl.DataFrame:
    fields = _FIELDS[kind]
    lines = pl.scan_lines(text, name=LINE, row_index_name=NUMBER, glob=False).collect()
    line = pl.col(LINE)
    lines = lines.with_columns(line.str.strip_chars("\ufeff \t\r\n\f\v"))
    lines = lines.with_columns(line.str.replace_all(_WHITE, " ")).filter(line != "")
    count = line.str.count_matches(" ", literal=True) + 1
    # As elsewhere, # begins a comment unless the line has all fields: the query id begins with #.
    whole_line = rf"^#\S+(?: \S+){{{len(fields) - 2}}} {NUMBER_TEXT}$"
    lines = lines.filter(~line.str.starts_with("#") | line.str.contains(whole_line))
    wrong = lines.filter(count != len(fields))
    _refuse(wrong, name, f"{kind} lines have {_expected(kind)}")
    split = line.str.split_exact(" ", len(fields) - 1).struct.rename_fields(list(fields))
    rows = lines.with_columns(split.struct.unnest())
    written = rows[RELEVANCE]
    level = pl.col(RELEVANCE)
    whole = kind == "qrels_jg"
    numbers = whole_grades(written) if whole else written.cast(pl.Float64, strict=False)
    rows = rows.with_columns(numbers.alias(RELEVANCE))
    if SUBGROUP not in fields:
        rows = rows.with_columns(pl.lit("0").alias(SUBGROUP))
    _refuse(rows.filter(level.is_finite().not_() | level.is_null()), name, "the level is no number")
    return rows.select(QUERY, GROUP, SUBGROUP, DOC, RELEVANCE, LINE, NUMBER)


def _refuse(bad: pl.DataFrame, name: str, problem: str) -> None:
    """Raise an error that quotes the first bad line, if there is a bad line."""
    if bad.height:
        number, text = bad.select(NUMBER, LINE).row(0)
        raise MalformedLineError(name, number + 1, text, problem, bad.height)


def place_documents(
    rows: pl.DataFrame, run: InputTable, ties: Ties, deepest: int | None
) -> pl.DataFrame:
    """Join judgments with a run: add the group number and, for each document, its rank and place.

    The place numbers the judged documents of a query from 0: the retrieved ones by rank, then the
    others. Also add the number of retrieved judged documents, and whether the run has the query.
    Rows are sorted by query (in byte order), group, subgroup and level, then place. `deepest`: the
    depth; with 0, no document is retrieved.
    """
    pairs = rows.select(QUERY, DOC, pl.lit(1.0).alias(RELEVANCE)).unique([QUERY, DOC])
    policies = Policies(ties=ties, k_max=deepest or None)
    lookup = Lookup.from_inputs(open_table(pairs, "qrels", None), run, policies, {DOC, RANK})
    judged = JudgedFrame(lookup.found().select(), settle=True)
    documents = judged.frame({QUERY, DOC, RANK})
    if deepest == 0:
        documents = documents.with_columns(pl.lit(None, pl.Int64).alias(RANK))
    documents = documents.sort(QUERY, RANK, DOC, nulls_last=True).with_columns(
        pl.int_range(pl.len()).over(QUERY).alias(PLACE),
        pl.col(RANK).count().over(QUERY).cast(pl.Int64).alias(RETRIEVED),
    )
    queries = pl.DataFrame({QUERY: judged.queries, IN_RUN: ~judged.missing})
    documents = documents.join(queries, on=QUERY, how="left")
    rows = rows.join(documents, on=[QUERY, DOC], how="left")
    by = [QUERY, GROUP, SUBGROUP, RELEVANCE, PLACE]
    rows = rows.sort(by, descending=[False, False, False, True, False])
    return rows.with_columns(pl.struct(QUERY, GROUP).rle_id().cast(pl.Int64).alias(GROUP_NUMBER))


def average_over_groups(
    rows: pl.DataFrame, metrics: Sequence[Metric], *, level: int, judged_only: bool
) -> pl.DataFrame:
    """Return the means of metrics over groups, with a row for each query.

    `judged_only`: drop documents without a grade in the group, or with a negative grade.
    """
    by = GROUP_NUMBER
    rows = rows.sort(by, RANK, nulls_last=True)
    relevant = pl.col("relevant")
    if judged_only:
        kept = pl.col(RANK).is_not_null() & (pl.col(RELEVANCE) >= 0)
        rows = rows.with_columns(pl.when(kept).then(kept.cum_sum().over(by)).alias(RANK))
    rows = rows.with_columns((pl.col(RELEVANCE) >= level).alias("relevant"))
    rows = rows.with_columns(
        relevant.cum_sum().over(by).alias("found"),
        relevant.sum().over(by).alias("relevant_total"),
    )
    with collecting() as parts:
        values = {metric.label: metric.expr() for metric in metrics}
    # Add in the order of ranks, then of groups, and round each sum, as the C program does.
    reduced = {
        name: expression.cum_sum().last() if how == "sum" else expression.first()
        for name, (expression, how) in parts.items()
    }
    groups = rows.group_by(by, maintain_order=True).agg(pl.col(QUERY).first(), **reduced)
    groups = groups.select(QUERY, **values)
    mean = pl.col(list(values)).cum_sum().last() / pl.len()
    return groups.group_by(QUERY, maintain_order=True).agg(mean)


# Preferences between documents: trec_eval's `prefs_*` ---------------------------------------------

# In a subgroup, a document of a higher level is preferred to one of a lower level. In a group with
# several subgroups, preferences are transitive: from a over b and b over c follows a over c. A run
# fulfils a preference if it has both documents with the preferred one first, or only the preferred
# one (the preference is then implied). A frame has a row for each preference of many queries;
# measures are expressions over groups.

# The number of pairs of documents in a batch, unless a single query has more.
_PAIRS_AT_ONCE: Final = 1 << 22
_PARTIAL: Final = "_partial"

_LEVEL, _IN_PLACE = pl.col(RELEVANCE), pl.col("first") < pl.col("second")
# Whether both documents of a preference were retrieved, or at least one.
_BOTH, _ANY = pl.col("lacking") == 0, pl.col("lacking") < 2
# Counts of the preferences of a group: all; with both documents retrieved; with at least one
# retrieved; fulfilled by the run, implied ones included; fulfilled with both documents retrieved.
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
    """Sum in the order of the rows, and round each partial sum, as the C program does."""
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


def evaluate_preferences(rows: pl.DataFrame, measures: Sequence[str], name: str) -> pl.DataFrame:
    """Evaluate measures of preferences: return a column per measure, and a row per judged query.

    `rows`: judgments with their places (see `place_documents`).
    `name`: the name of the judgments for errors.
    """
    # An upper bound: each document of a group is compared with all others.
    pairs = pl.len().over(GROUP_NUMBER).cast(pl.Int64).cum_sum()
    rows = rows.with_columns((pairs // _PAIRS_AT_ONCE).alias("batch"))
    rows = rows.with_columns(pl.col("batch").last().over(QUERY))
    batches = rows.partition_by("batch", maintain_order=True)
    return pl.concat(_values(batch, measures, name) for batch in batches)


def _values(rows: pl.DataFrame, measures: Sequence[str], name: str) -> pl.DataFrame:
    documents, preferred, other = _preferences(rows, name)
    places = documents[PLACE]
    preferences = documents.select("query", GROUP_NUMBER, RETRIEVED)[preferred].with_columns(
        places[preferred].alias("first"), places[other].alias("second")
    )
    lacking = (pl.col(c).ge(pl.col(RETRIEVED)).cast(pl.Int8) for c in ("first", "second"))
    preferences = preferences.with_columns(pl.sum_horizontal(lacking).alias("lacking"))
    groups = _count(preferences, documents.unique(GROUP_NUMBER, maintain_order=True))
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
    counts = preferences.group_by(GROUP_NUMBER).agg(**_COUNTS)
    groups = groups.select(QUERY, "query", GROUP_NUMBER)
    groups = groups.join(counts, on=GROUP_NUMBER, how="left", maintain_order="left")
    return groups.with_columns(pl.col(list(_COUNTS)).fill_null(0))


def _pairs(preferences: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of documents with any preference, and the share that the run fulfils.

    The pairs are in the order of the C program, so that sums have the same rounding.
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
        pl.col(GROUP_NUMBER) - pl.col(GROUP_NUMBER).first(),
        pl.struct(GROUP_NUMBER, SUBGROUP).rle_id().alias("part"),
        pl.struct(GROUP_NUMBER, SUBGROUP, RELEVANCE).rle_id().alias("step"),
    )
    several = pl.col("part").min() < pl.col("part").max()
    rows = rows.with_columns(several.over(GROUP_NUMBER).alias(_PARTIAL))
    zero, above = ((test).any().over(GROUP_NUMBER, DOC) for test in (_LEVEL == 0, _LEVEL > 0))
    problem = "the level is 0 in one subgroup of its group, above 0 in another"
    _refuse(rows.filter(_PARTIAL, zero & above), name, problem)
    # A document may have several rows in a group; its level is the level in the last subgroup.
    documents = rows.group_by(GROUP_NUMBER, PLACE).agg(
        pl.col(QUERY, RETRIEVED, _PARTIAL).first(), _LEVEL.last()
    )
    documents = documents.sort(GROUP_NUMBER, PLACE).with_row_index("document")
    documents = documents.with_columns(pl.col(QUERY).rle_id().alias("query"))
    numbers = documents.select(GROUP_NUMBER, PLACE, pl.col("document").cast(pl.Int64))
    joined = rows.join(numbers, on=[GROUP_NUMBER, PLACE], how="left", maintain_order="left")
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
    group = documents[GROUP_NUMBER].to_numpy()
    more_preferred, more_other = _closed(group, preferred[partial], other[partial])
    conflict = group[more_preferred[more_preferred == more_other]]
    in_conflict = rows.filter(pl.col(GROUP_NUMBER).is_in(conflict[:1]))
    _refuse(in_conflict, name, "its group prefers some document to itself, over others")
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
# fewer non-relevant documents, fictitious documents that no run retrieves are added; if there are
# more, only the first non-relevant documents count. As in the C program, in groups without
# subgroups these first documents are also compared with all others of the lowest level.

_RETRIEVED, _RELEVANT = pl.col(PLACE) < pl.col(RETRIEVED), _LEVEL > 0
_LOWEST = _LEVEL.min().over(GROUP_NUMBER) == _LEVEL


def _in_partial(partial: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(_PARTIAL).then(partial).otherwise(whole)


def _limit(suffix: str) -> pl.Expr:
    """Return an expression for the most non-relevant documents that count in a group.

    That is the number of relevant documents in the group.
    """
    return (_RELEVANT & _RETRIEVED if suffix else _RELEVANT).sum().cast(pl.Int64)


def _kept(documents: pl.DataFrame, suffix: str) -> Flags:
    """Flag the documents that count if a group has too many non-relevant ones (see `_limit`)."""
    many = _in_partial(_LEVEL == 0, _LOWEST)
    first = _in_partial(_limit("").over(GROUP_NUMBER), _limit(suffix).over(GROUP_NUMBER))
    rows = documents.with_columns(many.alias("many"), first.alias("limit"))
    many = pl.col("many")
    keeps = ~many | (many.cum_sum().over(GROUP_NUMBER) <= pl.col("limit"))
    return rows.select(keeps).to_series().to_numpy()


def _balanced_shares(
    documents: pl.DataFrame, groups: pl.DataFrame, fewer: pl.DataFrame, suffix: str
) -> pl.Series:
    """Return the share of fulfilled preferences in each group; NaN if there are no preferences.

    `fewer`: the counts of preferences between the documents that `_kept` flags.
    """
    nonrelevant = _in_partial(_LEVEL == 0, ~_RELEVANT)
    documents = documents.with_columns(_LOWEST.alias("lowest"))
    lowest = pl.col("lowest")
    counted: dict[str, Any] = {
        "total": _limit(""),
        "found": _limit("_ret"),
        "limit": _limit(suffix),
        "nonrelevant": (nonrelevant & _RETRIEVED if suffix else nonrelevant).sum(),
        "lowest": (lowest & _RETRIEVED if suffix else lowest).sum(),
        "retrieved": (lowest & _RETRIEVED).sum(),
    }
    sums = documents.group_by(GROUP_NUMBER, maintain_order=True).agg(
        pl.col(_PARTIAL).first(), **{name: sum_.cast(pl.Int64) for name, sum_ in counted.items()}
    )
    lacking = pl.col("limit") - pl.col("nonrelevant")
    # Pairs of a document of the lowest level with one of the first `limit` documents of that level.
    # The n-th document (from 0) has min(n, retrieved) retrieved documents before it.
    retrieved, first = pl.col("retrieved"), pl.min_horizontal("limit", "lowest")
    full = pl.min_horizontal(first - 1, retrieved).clip(0)
    in_order = full * (full + 1) // 2 + (first - 1 - full).clip(0) * retrieved
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
