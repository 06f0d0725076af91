"""Before and after: which queries changed, which documents moved, and what is refused."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.analysis.diff import Diff, diff
from tests.support.oracles import ODD_IDS, Case, Table, random_case

SHOP = Path(__file__).parents[2] / "data" / "shop"
QRELS, BM25, DENSE = (SHOP / f"{name}.parquet" for name in ("qrels", "bm25", "dense"))
FRAMES = ("summary", "per_query", "movers", "documents")

# q1 gets better, q2 worse, q3 stays; q4 is in a only, q5 in b only, q6 in neither.
JUDGED: Table = {
    "q1": {"x": 1, "y": 0}, "q2": {"x": 1}, "q3": {"x": 2},
    "q4": {"x": 1}, "q5": {"x": 1}, "q6": {"x": 1},
}  # fmt: skip
BEFORE: Table = {
    "q1": {"u": 9.0, "y": 8.0, "v": 7.0, "x": 6.0}, "q2": {"x": 2.0, "u": 1.0}, "q3": {"x": 1.0},
    "q4": {"u": 2.0, "x": 1.0},
}  # fmt: skip
AFTER: Table = {
    "q1": {"x": 9.0, "y": 8.0, "w": 7.0, "u": 6.0}, "q2": {"u": 2.0, "x": 1.0}, "q3": {"x": 5.0},
    "q5": {"x": 1.0},
}  # fmt: skip


def assert_same(one: Diff, other: Diff) -> None:
    for name in FRAMES:
        assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)


def as_frame(table: Table, value: str = "score") -> pl.DataFrame:
    rows = [(query, doc, float(v)) for query, docs in table.items() for doc, v in docs.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", value], orient="row")


def test_a_case_checked_by_hand() -> None:
    found = diff(JUDGED, BEFORE, AFTER, "mrr@3")
    assert found.per_query.rows() == [
        ("q1", 0.0, 1.0, 1.0, "b"),
        ("q2", 1.0, 0.5, -0.5, "a"),
        ("q3", 1.0, 1.0, 0.0, "same"),
        ("q4", 0.5, 0.0, -0.5, "a"),
        ("q5", 0.0, 1.0, 1.0, "b"),
        ("q6", 0.0, 0.0, 0.0, "same"),
    ]
    assert found.summary[:, :9].to_dicts() == [
        {"metric": "mrr@3", "mean_a": 2.5 / 6, "mean_b": 3.5 / 6,
         "difference": 3.5 / 6 - 2.5 / 6, "wins": 2, "ties": 2, "losses": 2, "undefined": 0,
         "queries": 6},
    ]  # fmt: skip
    # Equal changes, whatever their sign, come in order of the query.
    assert found.movers["query_id"].to_list() == ["q1", "q5", "q2", "q4"]
    assert found.movers.columns == found.per_query.columns
    assert found.k == 3
    assert found.documents.rows() == [
        ("q1", "x", 1.0, 4, 1, "entered"),
        ("q1", "y", 0.0, 2, 2, "same"),
        ("q1", "w", None, None, 3, "entered"),
        ("q1", "u", None, 1, 4, "left"),
        ("q1", "v", None, 3, None, "left"),
        ("q5", "x", 1.0, None, 1, "entered"),
        ("q2", "u", None, 2, 1, "up"),
        ("q2", "x", 1.0, 1, 2, "down"),
        ("q4", "u", None, 1, None, "left"),
        ("q4", "x", 1.0, 2, None, "left"),
    ]


def test_types_do_not_depend_on_what_was_found() -> None:
    full, empty = diff(JUDGED, BEFORE, AFTER, "mrr"), diff(JUDGED, BEFORE, BEFORE, "mrr")
    for name in FRAMES:
        assert getattr(full, name).schema == getattr(empty, name).schema, name
    assert dict(full.documents.schema) == {
        "query_id": pl.String, "doc_id": pl.String, "relevance": pl.Float64,
        "rank_a": pl.Int64, "rank_b": pl.Int64, "change": pl.String,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "k", "depth"),
    [("mrr", None, 10), ("mrr@2", None, 2), ("ndcg_cut_5", None, 5), ("mrr@2", 7, 7),
     (rf.recall(k=3).alias("r"), None, 3), ("ndcg@1000", None, 1000)],
)  # fmt: skip
def test_documents_go_as_deep_as_the_metric(metric: Any, k: int | None, depth: int) -> None:
    found = diff(JUDGED, BEFORE, AFTER, metric, k=k)
    assert found.k == depth
    within = found.documents.filter(pl.any_horizontal(pl.col("rank_a", "rank_b") <= depth))
    assert within.height == found.documents.height > 0


def test_lists_shorter_than_k_are_compared_whole() -> None:
    found = diff(JUDGED, BEFORE, AFTER, "mrr", k=1000, only=["q1"])
    assert found.documents.select("doc_id", "change").rows() == [
        ("x", "up"), ("y", "same"), ("w", "entered"), ("u", "down"), ("v", "left"),
    ]  # fmt: skip


def test_lower_may_be_better() -> None:
    qrels = {"q1": {"x": 1}, "q2": {"x": 1}, "q3": {"x": 1}}
    before = {"q1": {"u": 2.0, "x": 1.0}, "q2": {"x": 1.0}, "q3": {"u": 1.0}}
    after = {"q1": {"x": 1.0}, "q2": {"u": 3.0, "v": 2.0, "x": 1.0}, "q3": {"x": 1.0}}
    found = diff(qrels, before, after, "lag")
    assert found.per_query.rows() == [
        ("q1", 1.0, 0.0, -1.0, "b"),
        ("q2", 0.0, 2.0, 2.0, "a"),
        ("q3", None, 0.0, None, None),
    ]
    assert found.movers["query_id"].to_list() == ["q2", "q1"]
    assert found.summary.row(0)[4:9] == (1, 0, 1, 1, 3)
    own = diff(qrels, before, after, (pl.col("rank").max() - 1).alias("lag"))
    assert own.per_query["better"].to_list() == ["a", "b", None]


def test_a_query_of_one_run_only_is_kept_as_undefined() -> None:
    found = diff(JUDGED, BEFORE, AFTER, "mrr", missing="skip")
    assert found.per_query.filter(pl.col("delta").is_null()).rows() == [
        ("q4", 0.5, None, None, None),
        ("q5", None, 1.0, None, None),
    ]
    assert found.movers["query_id"].to_list() == ["q1", "q2"]
    assert found.summary.row(0)[1:3] == (
        rf.evaluate(JUDGED, BEFORE, "mrr", missing="skip")["mrr"],
        rf.evaluate(JUDGED, AFTER, "mrr", missing="skip")["mrr"],
    )
    assert found.summary.row(0)[4:9] == (1, 1, 1, 2, 5)
    assert "2 undefined" in repr(found)


def test_policies_may_leave_no_query_at_all() -> None:
    found = diff(JUDGED, BEFORE, AFTER, "mrr", rel=5, no_relevant="skip")
    assert found.summary.rows() == [("mrr", None, None, None, 0, 0, 0, 0, 0)]
    assert [getattr(found, name).height for name in FRAMES] == [1, 0, 0, 0]
    assert repr(found).startswith("rankframe diff, mrr: undefined → undefined\n  0 queries")


def test_not_a_number_is_undefined_and_infinities_compare() -> None:
    rank, relevance = pl.col("rank").max(), pl.col("relevance").max()
    own = (1 / (rank.fill_null(0) - 1) * (relevance - 1)).alias("odd")
    qrels = {"p": {"x": 1}, "q": {"x": 2}, "r": {"x": 2}}
    first, second = {"x": 1.0}, {"u": 2.0, "x": 1.0}
    before = {"p": first, "q": first, "r": first}
    found = diff(qrels, before, {"p": second, "q": first, "r": second}, own)
    assert found.per_query.rows() == [
        ("p", None, 0.0, None, None),
        ("q", float("inf"), float("inf"), 0.0, "same"),
        ("r", float("inf"), 1.0, float("-inf"), "a"),
    ]


def test_the_same_run_twice_moves_nothing() -> None:
    found = diff(JUDGED, BEFORE, BEFORE)
    assert found.movers.is_empty()
    assert found.documents.is_empty()
    assert found.summary.row(0)[3:] == (0.0, 0, 6, 0, 0, 6)
    assert repr(found).splitlines()[1] == "  6 queries: 0 better in b, 6 the same, 0 worse"
    assert "<table>" not in found._repr_html_()


def test_only_the_queries_asked_for() -> None:
    whole = diff(JUDGED, BEFORE, AFTER, "mrr@3")
    found = diff(JUDGED, BEFORE, AFTER, "mrr@3", only=["q4", "q3", "q1"])
    assert found.movers["query_id"].to_list() == ["q1", "q4"]
    assert_frame_equal(
        found.documents, whole.documents.filter(pl.col("query_id").is_in(["q1", "q4"]))
    )
    assert_frame_equal(found.summary, whole.summary)
    assert_frame_equal(found.per_query, whole.per_query)
    assert diff(JUDGED, BEFORE, AFTER, only=[]).movers.is_empty()
    qrels, a, b = ({int(q[1:]): docs for q, docs in t.items()} for t in (JUDGED, BEFORE, AFTER))
    asked = cast("list[str]", [1, 4])
    assert diff(qrels, a, b, "mrr@3", only=asked).movers["query_id"].to_list() == ["1", "4"]


@pytest.mark.parametrize(
    "only",
    [
        ["Q66"],
        ["q1", "qq2", "nix"],
        ["nix"],
        ["\ud800"],
        "q1",
        7,
    ],
)  # fmt: skip
def test_unknown_queries_are_refused(only: Any, refusal) -> None:
    refusal(diff, JUDGED, BEFORE, AFTER, only=only)


def test_what_rounding_adds_is_no_change() -> None:
    first = pl.col("rank").min() == 1
    metric = rf.metric(pl.when(first).then(0.3).otherwise(0.1 + 0.2), "about")
    found = diff(JUDGED, BEFORE, AFTER, metric)
    assert found.per_query["a"].n_unique() == 2
    assert found.movers.is_empty()
    assert found.summary.select("wins", "ties", "losses").row(0) == (0, 6, 0)


def brute_force(
    qrels: Table, a: Table, b: Table, values: tuple[dict[str, float], ...], most: int, k: int
) -> tuple[list[Any], list[Any]]:
    """Movers and documents by plain loops over dicts, from the values of each run."""

    def ranks(run: Table, query: str) -> dict[str, int]:
        scores = run.get(query, {})
        order = sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)
        return {doc: rank for rank, doc in enumerate(order, 1)}

    moved = []
    for query, before in values[0].items():
        after = values[1][query]
        if not math.isclose(after, before, rel_tol=1e-12):
            moved.append((query, before, after, after - before, "b" if after > before else "a"))
    moved.sort(key=lambda row: (-abs(row[3]), row[0].encode()))
    documents = []
    for query, *_ in moved[:most]:
        in_a, in_b = ranks(a, query), ranks(b, query)
        rows = []
        for doc in {*in_a, *in_b}:
            old, new = in_a.get(doc), in_b.get(doc)
            was, is_now = (rank is not None and rank <= k for rank in (old, new))
            if not was and not is_now:
                continue
            if was and is_now:
                assert old is not None
                assert new is not None
                change = "same" if old == new else "up" if new < old else "down"
            else:
                change = "left" if was else "entered"
            place = (new if is_now else float("inf"), old or float("inf"), doc.encode())
            rows.append((place, (query, doc, qrels[query].get(doc), old, new, change)))
        documents += [row for _, row in sorted(rows)]
    return moved[:most], documents


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("metric", "most", "k"), [("ndcg@5", 7, 5), ("map", 100, 3), ("hits", 4, 99)]
)
def test_agrees_with_brute_force(seed: int, metric: str, most: int, k: int) -> None:
    case, other = random_case(seed), random_case(seed + 1000)
    names = {f"q{i}": odd for i, odd in enumerate(ODD_IDS, 3)}

    def odd(table: Table) -> Table:
        return {
            names.get(query, query): {names.get(f"q{d[1:]}", d): v for d, v in docs.items()}
            for query, docs in table.items()
        }

    qrels, a, b = odd(case.qrels), odd(case.run), odd(other.run)
    del b[next(iter(b))]
    values = tuple(
        dict(rf.evaluate(qrels, run, metric).per_query.select("query_id", metric).iter_rows())
        for run in (a, b)
    )
    found = diff(qrels, a, b, metric, most=most, k=k)
    movers, documents = brute_force(qrels, a, b, values, most, k)
    assert found.movers.rows() == movers
    assert found.documents.rows() == documents
    assert found.per_query["query_id"].to_list() == sorted(qrels, key=str.encode)


CUTS = [{"k_max": 4}, {"judged_only": True}, {"k_max": 6, "judged_only": True}]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("policies", CUTS, ids=str)
def test_documents_are_ranked_in_the_list_as_it_is_cut(seed: int, policies: dict[str, Any]) -> None:
    case, other = random_case(seed), random_case(seed + 1000)
    qrels, runs = case.qrels, (case.run, other.run)
    values = tuple(
        dict(rf.evaluate(qrels, run, "ndcg@5", **policies).per_query.iter_rows()) for run in runs
    )
    a, b = (Case(qrels, run).cut(**policies).run for run in runs)
    movers, documents = brute_force(qrels, a, b, values, most=100, k=5)
    found = diff(qrels, *runs, "ndcg@5", most=100, **policies)
    assert found.movers.rows() == movers
    assert found.documents.rows() == documents
    assert documents != brute_force(qrels, *runs, values, most=100, k=5)[1]


def test_a_cut_list_by_hand() -> None:
    qrels = {"q": {"x": 1, "y": 0, "n": -1}}
    before = {"q": {"u": 5.0, "n": 4.0, "y": 3.0, "x": 2.0}}
    after = {"q": {"x": 5.0, "u": 4.0, "y": 3.0, "w": 2.0}}

    def documents(**policies: Any) -> list[tuple]:
        return diff(qrels, before, after, "mrr", **policies).documents.rows()

    assert documents(k_max=3) == [
        ("q", "x", 1.0, None, 1, "entered"),
        ("q", "u", None, 1, 2, "down"),
        ("q", "y", 0.0, 3, 3, "same"),
        ("q", "n", -1.0, 2, None, "left"),
    ]
    # a negative grade says: in the pool, but not judged
    assert documents(judged_only=True) == [
        ("q", "x", 1.0, 2, 1, "up"),
        ("q", "y", 0.0, 1, 2, "down"),
    ]
    assert documents(k_max=3, judged_only=True) == [
        ("q", "x", 1.0, None, 1, "entered"),
        ("q", "y", 0.0, 1, 2, "down"),
    ]


def test_a_run_without_a_judged_document_may_score_0(refusal) -> None:
    nothing = {query: {"nowhere": 1.0} for query in JUDGED}
    refusal(diff, JUDGED, nothing, AFTER, "mrr@3")
    found = diff(JUDGED, nothing, AFTER, "mrr@3", no_overlap="zero")
    assert found.per_query["a"].to_list() == [0.0] * 6
    assert found.per_query["b"].equals(diff(JUDGED, BEFORE, AFTER, "mrr@3").per_query["b"])
    assert found.documents.filter(doc_id="nowhere")["change"].unique().to_list() == ["left"]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ties", ["doc_desc", "doc_asc"])
def test_row_order_does_not_show(seed: int, ties: Any) -> None:
    case, other = random_case(seed), random_case(seed + 1000)
    frames = as_frame(case.qrels, "relevance"), as_frame(case.run), as_frame(other.run)
    qrels, a, b = (f.sample(fraction=1, shuffle=True, seed=seed) for f in frames)
    whole = diff(*frames, "ndcg@5", ties=ties, missing="skip")
    assert_same(whole, diff(qrels, a, b, "ndcg@5", ties=ties, missing="skip"))
    assert_same(whole, diff(case.qrels, case.run, other.run, "ndcg@5", ties=ties, missing="skip"))
    swapped = diff(frames[0], frames[2], frames[1], "ndcg@5", ties=ties, missing="skip")
    assert swapped.movers["query_id"].equals(whole.movers["query_id"])
    assert swapped.movers["delta"].equals(-whole.movers["delta"])


def test_tied_scores_are_placed_by_the_rule() -> None:
    qrels, tied = {"q": {"x": 1}}, as_frame({"q": {"w": 1.0, "z": 1.0, "x": 1.0}})
    apart = {"q": {"x": 3.0, "z": 2.0, "w": 1.0}}
    for ties, place in (("doc_desc", 2), ("as_given", 3)):
        found = diff(qrels, tied, apart, "mrr", ties=cast("Any", ties))
        assert found.documents.row(0) == ("q", "x", 1.0, place, 1, "up")
    assert diff(qrels, tied, apart, "mrr", ties="doc_asc").documents["rank_a"].to_list() == [
        2,
        3,
        1,
    ]


def test_a_run_in_row_order_needs_no_scores() -> None:
    qrels = {"q": {"x": 1}, "p": {"x": 1}}
    a, b = (
        pl.DataFrame({"query_id": ["q", "p"] * 3, "doc_id": [d for d in docs for _ in "qp"]})
        for docs in ("zyx", "xyz")
    )
    found = diff(qrels, a, b, "mrr", only=["q"], order="rows")
    assert found.documents.select("doc_id", "rank_a", "rank_b").rows() == [
        ("x", 3, 1), ("y", 2, 2), ("z", 1, 3),
    ]  # fmt: skip


def test_duplicates_may_be_resolved(refusal) -> None:
    a, b = as_frame(BEFORE), as_frame(AFTER)
    worse = b.with_columns(pl.col("score") - 100)
    twice = pl.concat([worse, b]).sample(fraction=1, shuffle=True, seed=1)
    grades = as_frame(JUDGED, "relevance")
    more = pl.concat([grades, grades.with_columns(pl.col("relevance") - 1)])
    assert_same(diff(more, a, twice, duplicates="keep_best"), diff(JUDGED, a, b))
    refusal(diff, JUDGED, a, twice)


def test_sources_that_can_be_read_once(tmp_path: Path) -> None:
    frames = as_frame(JUDGED, "relevance"), as_frame(BEFORE), as_frame(AFTER)
    whole = diff(*frames)
    qrels, a, b = (io.BytesIO(frame.write_csv().encode()) for frame in frames)
    assert_same(whole, diff(qrels, a, b))
    paths = [tmp_path / f"{name}.csv" for name in "qab"]
    for frame, path in zip(frames, paths, strict=True):
        frame.write_csv(path)
    assert_same(whole, diff(paths[0], paths[1], paths[2]))
    qrels, a, b = (frame.lazy() for frame in frames)
    assert_same(whole, diff(qrels, a, b))


def test_values_are_those_of_evaluate_on_real_data() -> None:
    found = diff(QRELS, BM25, DENSE, "ndcg@10", most=50)
    a, b = (rf.evaluate(QRELS, run, "ndcg@10") for run in (BM25, DENSE))
    assert found.summary.row(0)[1:3] == (a["ndcg@10"], b["ndcg@10"])
    assert found.per_query["a"].equals(a.per_query["ndcg@10"].alias("a"))
    assert found.per_query["b"].equals(b.per_query["ndcg@10"].alias("b"))
    assert found.movers.height == 50
    assert set(found.documents["query_id"]) == set(found.movers["query_id"])
    pairs = rf.pair(BM25, DENSE).select("query_id", "doc_id", "rank_a", "rank_b").collect()
    joined = found.documents.join(
        pairs, on=["query_id", "doc_id", "rank_a", "rank_b"], how="semi", nulls_equal=True
    )
    assert joined.height == found.documents.height


def test_columns_are_named_as_in_evaluate() -> None:
    qrels, a, b = as_frame(JUDGED, "relevance"), as_frame(BEFORE), as_frame(AFTER)
    a, b = (run.rename({"doc_id": "key"}) for run in (a, b))
    found = diff(qrels, a, b, columns={"run": {"doc_id": "key"}})
    assert_same(found, diff(JUDGED, BEFORE, AFTER))


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "ndcg@1,10"},
        {"metric": "ndcg(average=weighted)@5"},
        {"metric": "ndgc@10"},
        {"metric": "rbo"},
        {"metric": None},
        {"k": 0},
        {"k": True},
        {"most": 2.5},
        {"ties": "any"},
        {"missing": "error"},
        {"missing": "error", "a": JUDGED},
        {"b": {"q1": {"zz": 1.0}}},
        {"a": {"zz": {"x": 1.0}}},
        {"a": {"q1": {"x": float("nan")}}},
        {"b": {}},
        {"b": 7},
        {"b": "run.nowhere"},
        {"qrels": {"q1": {"x": None}}},
        {"qrels": as_frame(AFTER)},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(options: dict[str, Any], refusal) -> None:
    given = {"qrels": JUDGED, "a": BEFORE, "b": AFTER, **options}
    refusal(diff, **given)


KNOWN = pl.DataFrame(
    {"query_id": ["q1", "q2", "q3"], "locale": ["de", "fr", "en"], "traffic": [1.0, 50.0, 9.0],
     "text": ["one", "two", None]}
)  # fmt: skip
GRADED = {query: {"x": 1} for query in ("q1", "q2", "q3")}
FIRST = {query: {"x": 2.0, "u": 1.0} for query in GRADED}
THEN = {"q1": {"u": 2.0, "v": 1.5, "x": 1.0}, "q2": {"u": 2.0, "x": 1.0}, "q3": {"x": 1.0}}


def test_what_got_worse_by_weight_with_what_is_known_of_it() -> None:
    plain = rf.diff(GRADED, FIRST, THEN, "mrr", worse=True)
    assert plain.movers["query_id"].to_list() == ["q1", "q2"]
    found = rf.diff(GRADED, FIRST, THEN, "mrr", worse=True, queries=KNOWN, weight="traffic",
                    titles={"x": "An x"})  # fmt: skip
    assert found.movers.columns == [
        "query_id", "a", "b", "delta", "better", "weight", "weighted", "text", "locale",
    ]  # fmt: skip
    assert found.movers.select("query_id", "weighted", "text", "locale").rows() == [
        ("q2", -25.0, "two", "fr"),
        ("q1", pytest.approx(-2 / 3), "one", "de"),
    ]
    assert set(found.documents["title"].drop_nulls()) == {"An x"}
    assert found.per_query["weight"].to_list() == [1.0, 50.0, 9.0]
    assert found.summary["wins"][0] == 0
    better = rf.diff(GRADED, THEN, FIRST, "mrr", worse=True)
    assert better.movers.is_empty()


def test_weighted_averages_have_their_weights() -> None:
    name = "mrr(average=weighted)"
    found = rf.diff(GRADED, FIRST, THEN, name, queries=KNOWN, weight="traffic")
    expected = rf.evaluate(GRADED, THEN, name, queries=KNOWN, weight="traffic")[name]
    assert found.summary["mean_b"][0] == expected


def test_less_that_is_worse_is_worse() -> None:
    lower = rf.metric(pl.col("rank").min(), "first", higher_is_better=False)
    found = rf.diff(GRADED, FIRST, THEN, lower, worse=True)
    assert found.movers["query_id"].to_list() == ["q1", "q2"]


def test_what_is_printed_is_short_and_safe() -> None:
    script, long, lines = "<script>q</script>", "x" * 300, "two\nlines"
    qrels = {query: {"x": 1} for query in (script, long, lines, *"abcd")}
    before = {query: {"u": 2.0, "x": 1.0} for query in qrels}
    after = {query: {"x": 1.0} for query in qrels}
    qrels = {query: {"u": 0, "w": 0, **docs} for query, docs in qrels.items()}
    found = rf.diff(qrels, before, after, rf.reciprocal_rank().alias("<b>"))
    assert repr(found).splitlines()[:2] == [
        "rankframe diff, <b>: 0.5000 → 1.0000 (+0.5000)",
        "  7 queries: 7 better in b, 0 the same, 0 worse",
    ]
    assert repr(found).splitlines()[3].split() == [
        "<script>q</script>", "0.5000", "1.0000", "+0.5000", "b",
    ]  # fmt: skip
    assert len(repr(found).splitlines()) == 8
    page = found._repr_html_()
    assert "<b>&lt;b&gt;</b>: 0.5000" in page
    assert "<script>" not in page
    assert "&lt;script&gt;q&lt;/script&gt;</td><td style='text-align:right'>0.5000</td>" in page
    few = rf.diff(qrels, before, after, "mrr", only=[long, lines])
    assert repr(few).splitlines()[3].startswith("  two\\nlines")
    assert repr(few).splitlines()[4].startswith("  " + "x" * 39 + "…  0.5000")


def test_where_every_judged_document_is_relevant_that_is_said() -> None:
    qrels, run = {"q": {"a": 1, "b": 5}}, {"q": {"a": 1.0}}
    said = "every judged document counts as relevant, whatever its grade"
    found = rf.diff(qrels, run, run, "mrr")
    assert said in repr(found)
    assert [caveat.code for caveat in found.caveats] == ["all_relevant"]
    assert said in found._repr_html_()
    assert said not in repr(rf.diff(qrels, run, run, "mrr", rel=4))


def change(
    a: float | None, b: float | None, counts: tuple[int, ...], *movers: tuple[str, float, float]
) -> Diff:
    """A diff with these means, wins, ties, losses, undefined and movers."""
    apart = None if a is None or b is None else b - a
    names = ("metric", "mean_a", "mean_b", "difference", "wins", "ties", "losses", "undefined")
    row = ("map", a, b, apart, *counts, sum(counts))
    summary = pl.DataFrame([row], schema=[*names, "queries"], orient="row")
    moved = [(query, x, y, y - x, "b" if y > x else "a") for query, x, y in movers]
    schema = {"query_id": pl.String, "a": pl.Float64, "b": pl.Float64, "delta": pl.Float64}
    frame = pl.DataFrame(moved, schema={**schema, "better": pl.String}, orient="row")
    return Diff(summary, frame, frame, pl.DataFrame(), 10)


def test_one_line_says_what_changed_and_one_how_often() -> None:
    assert repr(change(0.25, 0.5, (1_200, 30, 4, 0), ("q1", 0.0, 1.0), ("q10", 1.0, 0.25))) == (
        "rankframe diff, map: 0.2500 → 0.5000 (+0.2500)\n"
        "  1,234 queries: 1,200 better in b, 30 the same, 4 worse\n"
        "  query_id       a       b    delta  better\n"
        "  q1        0.0000  1.0000  +1.0000  b\n"
        "  q10       1.0000  0.2500  -0.7500  a"
    )


def test_what_has_no_value_is_called_undefined() -> None:
    text = repr(change(None, 0.5, (0, 0, 0, 3)))
    assert text.splitlines() == [
        "rankframe diff, map: undefined → 0.5000",
        (
            "  3 queries: 0 better in b, 0 the same, 0 worse, 3 undefined (each mean is over the "
            "queries that its run has)"
        ),
    ]


def test_five_movers_are_shown() -> None:
    found = change(0.0, 1.0, (9, 0, 0, 0), *((f"q{n}", 0.0, 1.0) for n in range(9)))
    assert len(repr(found).splitlines()) == 2 + 1 + 5
    assert found._repr_html_().count("<tr>") == 1 + 5


def test_names_stand_for_a_and_b() -> None:
    qrels, before = {"q": {"x": 1, "u": 0}}, {"q": {"u": 2.0, "x": 1.0}}
    found = rf.diff(qrels, before, {"q": {"x": 1.0}}, "mrr", names=("old", "<new>"))
    assert found.movers.columns == ["query_id", "old", "<new>", "delta", "better"]
    assert found.movers["better"].to_list() == ["<new>"]
    assert found.documents.columns[3:5] == ["rank_old", "rank_<new>"]
    assert found.ranks == ("rank_old", "rank_<new>")
    assert repr(found).splitlines() == [
        "rankframe diff, mrr: 0.5000 (old) → 1.0000 (<new>) (+0.5000)",
        "  1 query: 1 better in <new>, 0 the same, 0 worse",
        "  query_id     old   <new>    delta  better",
        "  q         0.5000  1.0000  +0.5000  <new>",
    ]
    page = found._repr_html_().replace(" style='text-align:right'", "")
    assert "<th>old</th><th>&lt;new&gt;</th>" in page
    assert '<span style="color:#12875a">+0.5000</span>' in page
    again = found.named("a", "b")
    assert again.per_query.equals(rf.diff(qrels, before, {"q": {"x": 1.0}}, "mrr").per_query)
    swapped = again.named("b", "a")
    assert swapped.per_query.select("b", "a").row(0) == (0.5, 1.0)


def test_names_that_columns_cannot_have_are_refused(refusal) -> None:
    qrels = {"q": {"x": 1}}
    run = {"q": {"x": 1.0}}
    for names in (("x", "x"), "ab", ("delta", "b"), ("x", 5)):
        refusal(rf.diff, qrels, run, run, "mrr", names=names)
