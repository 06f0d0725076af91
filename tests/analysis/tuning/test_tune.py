"""The whole of tuning: by hand, by brute force, the same in any order, and what is refused."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.tuning.folds import deal
from rankframe.core.errors import RankframeError
from rankframe.stats.bootstrap import hash_ids

FAST: dict[str, Any] = {"replicates": 100, "folds": 3}
Run = dict[str, dict[str, float]]
ROOT = Path(__file__).parents[3]


def data(
    seed: int, queries: int = 17, runs: int = 2
) -> tuple[dict[str, dict[str, int]], dict[str, Run]]:
    """Judgments and runs with ties, documents that some run lacks, and a query that one does."""
    rng = random.Random(seed)
    docs = [f"d{number}" for number in range(9)]
    names = [f"q{number}" for number in range(queries)]
    qrels = {q: {d: rng.choice([0, 0, 1, 2]) for d in rng.sample(docs, 5)} for q in names}
    found: dict[str, Run] = {}
    for number in range(runs):
        found[f"run{number}"] = {
            q: {
                d: rng.choice([0.1, 0.5, 0.9, rng.random()]) + 0.3 * qrels[q].get(d, 0)
                for d in rng.sample(docs, rng.randint(2, 7))
            }
            for q in names
            if (q, number) != ("q3", 1)
        }
    return qrels, found


def mean(values: list[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction()) / len(values)


def brute(
    qrels: Any,
    runs: dict[str, Run],
    fusions: list[tuple[str, str | None]],
    metric: str,
    **options: Any,
) -> dict[str, Any]:
    """Fuse and evaluate each candidate by itself, and choose for each fold by the others."""
    folds, higher = options.pop("folds"), options.pop("higher", True)
    asked = {"ci": None, **options}

    def values(run: Any) -> dict[str, float]:
        return dict(rf.evaluate(qrels, run, metric, **asked).per_query.iter_rows())

    tried = [values(rf.fuse(runs, name, norm=norm).collect()) for name, norm in fusions]
    alone = [values(run) for run in runs.values()]
    plain = values(rf.fuse(runs, "rrf(k=60)").collect())
    queries = sorted(q for q in plain if all(one[q] is not None for one in (*tried, *alone, plain)))
    every = pl.Series(sorted(plain))
    fold = dict(zip(every, deal(hash_ids(every), folds, 0).tolist(), strict=True))

    def best(some: list[dict[str, float]], without: int | None) -> int:
        worth = [mean([one[q] for q in queries if fold[q] != without]) for one in some]
        worth = worth if higher else [-one for one in worth]
        return next(at for at, one in enumerate(worth) if one > max(worth) - Fraction(1e-12))

    chosen = [best(tried, number) for number in range(folds)]
    runs_chosen = [best(alone, number) for number in range(folds)]
    tuned = {q: tried[chosen[fold[q]]][q] for q in queries}
    single = {q: alone[runs_chosen[fold[q]]][q] for q in queries}
    return {
        "values": [float(mean([one[q] for q in queries])) for one in tried],
        "runs": [float(mean([one[q] for q in queries])) for one in alone],
        "best": fusions[best(tried, None)],
        "chosen": [fusions[at] for at in chosen],
        "tuned": tuned,
        "single": single,
        "plain": {q: plain[q] for q in queries},
    }


def check(
    found: rf.Tuning, expected: dict[str, Any], fusions: list[tuple[str, str | None]]
) -> None:
    rows = {(row["fusion"], row["norm"]): row for row in found.candidates.to_dicts()}
    assert set(rows) == set(fusions)
    for fusion, value in zip(fusions, expected["values"], strict=True):
        assert rows[fusion]["value"] == pytest.approx(value, abs=1e-12)
    assert found.runs["value"].to_list() == pytest.approx(expected["runs"], abs=1e-12)
    assert (found.best["method"], found.best.get("norm")) == expected["best"]
    assert found.folds.select("fusion", "norm").rows() == expected["chosen"]
    kept = found.per_query.drop_nulls()
    for column, values in (("tuned", "tuned"), ("best_run", "single"), ("rrf", "plain")):
        ours = dict(kept.select("query_id", column).iter_rows())
        assert ours == pytest.approx(expected[values], abs=1e-12)
    stored = {
        name: pl.DataFrame({"query_id": list(expected[of]), "map": list(expected[of].values())})
        for name, of in (("tuned", "tuned"), ("single", "single"), ("rrf", "plain"))
    }
    for row, name in zip(found.against.head(2).to_dicts(), ("single", "rrf"), strict=True):
        pair = {name: stored[name], "tuned": stored["tuned"]}
        (theirs,) = rf.compare(None, pair, baseline=name, replicates=100).table.to_dicts()
        for column in ("baseline_value", "value", "difference", "p_value"):
            assert row[column] == pytest.approx(theirs[column], abs=1e-12), column


def grid(runs: int, steps: int = 4) -> list[str]:
    def points(left: int, units: int) -> list[list[int]]:
        if left == 1:
            return [[units]]
        return [[n, *rest] for n in range(units + 1) for rest in points(left - 1, units - n)]

    return [f"wsum(weights={[n / steps for n in point]})" for point in points(runs, steps)]


# --- by brute force


@pytest.mark.parametrize(("metric", "runs"), [("ndcg@5", 2), ("mrr", 2), ("precision@3", 3)])
def test_it_is_what_fusing_and_evaluating_each_by_itself_gives(metric: str, runs: int) -> None:
    qrels, given = data(runs, runs=runs)
    fusions: list[tuple[str, str | None]] = [(f"rrf(k={k})", None) for k in (1, 60)]
    fusions += [(name, norm) for norm in ("min_max", "zmuv", "rank") for name in grid(runs)]
    fusions += [(name, norm) for name in ("mnz", "max") for norm in ("min_max", "zmuv", "rank")]
    fusions += [("condorcet", None)]
    found = rf.tune(
        qrels, given, ["rrf", "wsum", "mnz", "max", "condorcet"], metric,
        norms=["min_max", "zmuv", "rank"], grid={"k": [1, 60], "weights": 0.25}, **FAST,
    )  # fmt: skip
    check(found, brute(qrels, given, fusions, metric, folds=3), fusions)


@pytest.mark.parametrize(
    "options", [{"k_max": 3}, {"judged_only": True}, {"rel": 2}, {"no_relevant": "skip"}]
)
def test_policies_are_those_of_an_evaluation(options: dict[str, Any]) -> None:
    qrels, given = data(5)
    fusions: list[tuple[str, str | None]] = [(name, "min_max") for name in grid(2)]
    found = rf.tune(qrels, given, "wsum", "map", grid={"weights": 0.25}, **FAST, **options)
    expected = brute(qrels, given, fusions, "map", folds=3, **options)
    check(found, expected, fusions)


def test_less_may_be_better_and_some_queries_undefined() -> None:
    qrels, given = data(6)
    fusions: list[tuple[str, str | None]] = [(name, "min_max") for name in grid(2)]
    found = rf.tune(qrels, given, "wsum", "lag", grid={"weights": 0.25}, **FAST)
    expected = brute(qrels, given, fusions, "lag", folds=3, higher=False)
    assert found.candidates["value"].is_sorted()
    check(found, expected, fusions)
    assert found.count("queries_undefined") == len(qrels) - len(expected["tuned"]) > 0


def test_what_is_trained_never_sees_what_it_is_valued_by() -> None:
    qrels, given = data(7, queries=20)
    found = rf.tune(qrels, given, ["posfuse", "mapfuse", "rrf(k=60)"], "ndcg@5", **FAST)
    queries = found.per_query["query_id"].to_list()
    fold = dict(zip(queries, (found.per_query["fold"] - 1).to_list(), strict=True))

    def values(name: str, unseen: set[int]) -> dict[str, float]:
        judged = {q: qrels[q] for q in queries if fold[q] not in unseen}
        run = rf.fuse(given, name, qrels=None if name.startswith("rrf") else judged)
        return dict(rf.evaluate(qrels, run.collect(), "ndcg@5", ci=None).per_query.iter_rows())

    names = ["posfuse", "mapfuse", "rrf(k=60)"]
    tuned: dict[str, float] = {}
    for number in range(3):
        worth = []
        for name in names:
            others = [
                values(name, {number, other})[q]
                for other in range(3) if other != number
                for q in queries if fold[q] == other
            ]  # fmt: skip
            worth.append(mean(others))
        best = names[worth.index(max(worth))]
        assert found.folds["fusion"][number] == best
        applied = values(best, {number})
        tuned |= {q: applied[q] for q in queries if fold[q] == number}
    assert dict(found.per_query.select("query_id", "tuned").iter_rows()) == pytest.approx(tuned)
    rows = {row["fusion"]: row["value"] for row in found.candidates.to_dicts()}
    for name in names:
        own = [values(name, {n})[q] for n in range(3) for q in queries if fold[q] == n]
        assert rows[name] == pytest.approx(float(mean(own)), abs=1e-12)


def test_a_search_for_a_fold_does_not_look_at_it() -> None:
    qrels, given = data(8, queries=24, runs=4)
    options: Any = {**FAST, "budget": 24}
    found = rf.tune(qrels, given, "wsum", "ndcg@5", **options)
    assert found.candidates.height > 24  # several searches, of so many each
    changed = found.per_query.filter(pl.col("fold") == 1)["query_id"]
    # Whatever the judgments of a fold are, the same is chosen for it.
    other = {
        q: {d: 2 - g for d, g in of.items()} if q in changed else of for q, of in qrels.items()
    }
    again = rf.tune(other, given, "wsum", "ndcg@5", **options)
    assert found.folds["fusion"][0] == again.folds["fusion"][0]
    assert found.folds["value"][0] != again.folds["value"][0]
    assert rf.tune(qrels, given, "wsum", "ndcg@5", **options).candidates.equals(found.candidates)


# --- by hand


def test_by_hand() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(8)}
    # The document is second in both, below another one each: together it is first.
    one = {q: {"x": 1.0, "a": 0.9, "y": 0.0} for q in qrels}
    other = {q: {"z": 1.0, "a": 0.9, "y": 0.0} for q in qrels}
    found = rf.tune(
        qrels, {"one": one, "other": other}, "wsum", "mrr", grid={"weights": 0.5}, folds=2
    )
    assert found.candidates.select("fusion", "value", "folds").rows() == [
        ("wsum(weights=[0.5, 0.5])", 1.0, 2),
        ("wsum(weights=[0.0, 1.0])", 0.5, 0),
        ("wsum(weights=[1.0, 0.0])", 0.5, 0),
    ]
    assert (found.value, found.in_sample, found.improved) == (1.0, 1.0, True)
    assert found.runs.rows()[0][:2] == ("one", 0.5)
    against = found.against.to_dicts()
    assert [row["baseline"] for row in against] == ["one", "rrf(k=60)"]
    assert [row["difference"] for row in against] == [0.5, 0.0]
    assert [row["improved"] for row in against] == [True, False]
    fused = found.fuse({"other": other, "one": one}).collect()
    assert fused.filter(pl.col("rank") == 1)["doc_id"].unique().to_list() == ["a"]
    assert fused.equals(rf.fuse({"one": one, "other": other}, **found.best).collect())


def test_two_runs_of_a_kind_gain_nothing() -> None:
    qrels, given = data(9, queries=40)
    found = rf.tune(qrels, {"a": given["run0"], "b": given["run0"]}, "wsum", "ndcg@5", **FAST)
    assert not found.improved
    assert "no improvement over a can be claimed" in found.headline
    assert found.against["difference"][0] == 0


# --- the same bits


def test_the_order_of_rows_changes_nothing() -> None:
    qrels, given = data(10, queries=30, runs=3)
    expected = rf.tune(qrels, given, ["rrf", "wsum", "posfuse"], "ndcg@5", **FAST)
    rng = random.Random(1)

    def shuffled(rows: dict[str, dict[str, Any]], column: str) -> pl.DataFrame:
        flat = [(q, d, float(v)) for q, of in rows.items() for d, v in of.items()]
        rng.shuffle(flat)
        return pl.DataFrame(flat, schema=["query_id", "doc_id", column], orient="row")

    frames = {name: shuffled(run, "score") for name, run in given.items()}
    found = rf.tune(
        shuffled(qrels, "relevance"), frames, ["rrf", "wsum", "posfuse"], "ndcg@5", **FAST
    )
    for name in ("candidates", "against", "folds", "runs", "per_query"):
        assert getattr(found, name).equals(getattr(expected, name)), name


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, given = data(11, queries=30, runs=3)
    expected = rf.tune(qrels, given, ["rrf", "wsum"], "ndcg@5", **FAST)
    for name, value in (
        ("analysis.fusion.runs._LARGEST_BLOCK", 20),
        ("analysis.tuning.evaluator._KEPT_ROWS", 0),
        ("analysis.tuning.evaluator._RANK_BYTES", 1),
    ):
        monkeypatch.setattr(f"rankframe.{name}", value)
        found = rf.tune(qrels, given, ["rrf", "wsum"], "ndcg@5", **FAST)
        assert found.candidates.equals(expected.candidates), name
        assert found.per_query.equals(expected.per_query), name


def bits() -> str:
    """Everything that is found by methods of all kinds, listed and searched, as text."""
    qrels, given = data(12, queries=300, runs=3)
    own = (pl.col("normalised") / pl.col("rank")).sum().alias("own")
    found = rf.tune(qrels, given, ["rrf", "wsum", "posfuse", "mapfuse", own], "ndcg@5",
                    norms=["min_max", "zmuv"], budget=12, grid={"k": [1, 60]}, **FAST)  # fmt: skip
    frames = (found.candidates, found.against, found.folds, found.runs, found.per_query)
    return "\n".join(frame.write_json() for frame in frames)


def test_pieces_and_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, code = (
        bits(),
        "from tests.analysis.tuning.test_tune import bits; print(bits(), end='')",
    )
    for threads in (1, 2, 4):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "POLARS_MAX_THREADS": str(threads)},
            cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout == expected, threads
    for pieces in (2, 50):
        monkeypatch.setattr(
            "rankframe.analysis.fusion.runs.count_partitions", lambda *_, n=pieces: n
        )
        assert bits() == expected, pieces


def test_a_limit_is_for_all_that_is_held(refusal) -> None:
    qrels, given = data(13)
    expected = rf.tune(qrels, given, metric="mrr", **FAST)
    found = rf.tune(qrels, given, metric="mrr", max_memory="300MB", **FAST)
    assert found.candidates.equals(expected.candidates)
    refusal(rf.tune, qrels, given, metric="mrr", max_memory=10_000, **FAST)


def test_units_are_fused_as_fuse_does_it() -> None:
    qrels, given = data(15, queries=30)
    unit = pl.col("doc_id").replace({"d1": "d0", "d3": "d2", "d5": "d4"})
    judged = {q: {d: g for d, g in of.items() if d not in ("d1", "d3", "d5")}
              for q, of in qrels.items()}  # fmt: skip
    found = {}
    for gaps in ("renumbered", "kept"):
        fused = rf.fuse(given, "rrf(k=1)", unit=unit, unit_ranks=gaps)
        expected = rf.evaluate(judged, fused, "ndcg@5", ci=None)["ndcg@5"]
        tuned = rf.tune(judged, given, "rrf(k=1)", "ndcg@5", unit=unit, unit_ranks=gaps, **FAST)
        assert tuned.in_sample == expected
        alone = rf.evaluate(judged, given["run0"], "ndcg@5", unit=unit, unit_ranks=gaps, ci=None)
        assert tuned.runs["value"][0] == alone["ndcg@5"]
        found[gaps] = tuned.fuse(given).collect()
        assert found[gaps].equals(fused.collect())
    assert not found["kept"].equals(found["renumbered"])


# --- methods of one's own


def test_an_expression_is_tried_beside_names() -> None:
    qrels, given = data(14, queries=30)
    own = (pl.col("normalised") / pl.col("rank")).sum()
    by_rank = (-pl.col("rank")).max()
    first = rf.metric(pl.col("rank").min(), "first", higher_is_better=False)
    for metric in ("ndcg@5", first):
        found = rf.tune(qrels, given, [own.alias("own"), "rrf(k=60)", by_rank], metric,
                        norms=["min_max", "zmuv"], missing="zero", **FAST)  # fmt: skip
        rows = found.candidates.select("fusion", "norm", "value").rows()
        assert {row[:2] for row in rows} == {
            ("own", "min_max"), ("own", "zmuv"), ("rrf(k=60)", None), (str(by_rank), None),
        }  # fmt: skip
    found = rf.tune(qrels, given, own.alias("own"), "ndcg@5", **FAST)
    assert found.best["norm"] == "min_max"
    expected = rf.evaluate(qrels, rf.fuse(given, own), "ndcg@5", ci=None)["ndcg@5"]
    assert found.in_sample == expected
    again = rf.evaluate(qrels, rf.fuse(given, **found.best), "ndcg@5", ci=None)["ndcg@5"]
    assert again == expected


# --- averages of other kinds


@pytest.mark.parametrize(
    "metric", ["recall(average=micro)@3", "map(average=geometric)", "num_relevant_retrieved"]
)
def test_averages_are_those_of_an_evaluation(metric: str) -> None:
    qrels, given = data(12)
    found = rf.tune(qrels, given, "wsum", metric, grid={"weights": 0.5}, **FAST)
    for row in found.candidates.to_dicts():
        run = rf.fuse(given, row["fusion"], norm=row["norm"]).collect()
        value = rf.evaluate(qrels, run, metric, ci=None)[metric]
        assert row["value"] == pytest.approx(value, abs=1e-12)


def test_queries_are_weighed() -> None:
    qrels, given = data(13)
    weights = pl.DataFrame({"query_id": list(qrels), "views": range(1, len(qrels) + 1)})
    asked: Any = {"queries": weights, "weight": "views"}
    metric = "ndcg(average=weighted)@5"
    found = rf.tune(qrels, given, "wsum", metric, grid={"weights": 0.5}, **FAST, **asked)
    best = rf.fuse(given, **found.best).collect()
    expected = rf.evaluate(qrels, best, metric, ci=None, **asked)[metric]
    assert found.in_sample == pytest.approx(expected, abs=1e-12)


def test_whole_numbers_as_ids() -> None:
    qrels, given = data(14)

    def numbered(rows: dict[str, dict[str, Any]], column: str) -> pl.DataFrame:
        flat = [(int(q[1:]), int(d[1:]), float(v)) for q, of in rows.items() for d, v in of.items()]
        return pl.DataFrame(flat, schema=["query_id", "doc_id", column], orient="row")

    frames = {name: numbered(run, "score") for name, run in given.items()}
    found = rf.tune(numbered(qrels, "relevance"), frames, "wsum", "map", **FAST)
    expected = rf.tune(qrels, given, "wsum", "map", **FAST)
    ours, theirs = (
        dict(one.candidates.select("fusion", "value").iter_rows()) for one in (found, expected)
    )
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_queries_that_a_run_lacks(refusal) -> None:
    qrels, given = data(15)
    found = rf.tune(qrels, given, "rrf", "map", **FAST)
    said = "run1: 5.9% of the judged queries are not in the run. They are scored 0"
    assert said in [caveat.text for caveat in found.caveats]
    skipped = rf.tune(qrels, given, "rrf", "map", missing="skip", **FAST)
    assert skipped.per_query.filter(pl.col("tuned").is_null())["query_id"].to_list() == ["q3"]
    assert skipped.count("queries_tuned_by") == 16
    refusal(rf.tune, qrels, given, "rrf", "map", missing="error", **FAST)


# --- what is refused

QRELS, RUNS = data(1)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"runs": {"a": RUNS["run0"]}}, "fusion needs at least two runs, and there is 1"),
        ({"runs": ["x.parquet", "x.parquet"]}, "two runs are named"),
        ({"metric": "ndgc@10"}, "unknown metric 'ndgc@10'. Did you mean 'ndcg@10'"),
        ({"metric": ["map", "mrr"]}, "tuned for one metric, not for 'map', 'mrr'"),
        ({"metric": "auc(pool=true)"}, "has no value for each query to tune by"),
        ({"metric": "rbo"}, "compares two rankings"),
        ({"methods": "wsun"}, "unknown method 'wsun'. Did you mean 'wsum'"),
        ({"methods": []}, "methods are names, one or several, not []"),
        ({"methods": 3}, "methods are names, one or several, not 3"),
        ({"norms": "minmax"}, "norm"),
        ({"methods": "rrf", "grid": {"phi": [0.5]}}, "has 'phi', and no method that is tried"),
        ({"methods": "rrf(k=60)", "grid": {"k": [1]}}, "has 'k', and no method that is tried"),
        ({"grid": {"weights": 0.3}}, "the step of weights must divide 1"),
        ({"grid": {"weights": [[0.5, 0.5, 0.5]]}}, "lists of 2 numbers, one for each run"),
        ({"grid": {"k": []}}, "has numbers to try for 'k', not []"),
        ({"grid": {"k": ["a"]}}, "has numbers to try for 'k'"),
        ({"grid": {"k": [-5]}}, "k must be"),
        ({"grid": [1]}, "grid maps parameters of fusion to values"),
        ({"folds": 1}, "folds must be a whole number of at least 2"),
        ({"folds": 18}, "folds=18 is too many for 17 queries"),
        ({"folds": 2, "methods": "mapfuse"}, "mapfuse is trained: it needs at least 3 folds"),
        ({"budget": 0}, "budget must be a whole number of at least 1"),
        ({"budget": 1.5}, "budget must be a whole number of at least 1"),
        ({"qrels": {"other": {"a": 1}}}, "no"),
        ({"runs": {"a": {q: list(of) for q, of in RUNS["run0"].items()}, "b": RUNS["run1"]}},
         "has an order but no scores"),
        ({"missing": "maybe"}, "missing"),
        ({"test": "anova"}, "test"),
        ({"metric": "recall(average=micro)@3", "test": "sign"}, "not a plain mean"),
    ],
)  # fmt: skip
def test_what_cannot_be_tuned_is_refused(changed: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {
        "qrels": QRELS,
        "runs": RUNS,
        "methods": ["rrf", "wsum"],
        "metric": "map",
    }
    asked = {**given, **changed}
    with pytest.raises(RankframeError) as error:
        rf.tune(asked.pop("qrels"), asked.pop("runs"), asked.pop("methods"), **asked)
    assert said in str(error.value)


def test_runs_of_other_queries_are_refused(refusal) -> None:
    half = {q: of for q, of in RUNS["run0"].items() if q < "q14"}
    rest = {q: of for q, of in RUNS["run1"].items() if q >= "q14"}
    refusal(rf.tune, QRELS, {"a": half, "b": rest}, "rrf", "map", **FAST)


def test_progress_is_told() -> None:
    told: list[Any] = []
    rf.tune(QRELS, RUNS, "wsum", "map", progress=told.append, **FAST)
    assert any(one.unit == "documents" and one.stage == "12 of 12 fusions" for one in told)
    assert all(one.rows <= one.total_rows for one in told)


def test_progress_goes_on_from_piece_to_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankframe.analysis.fusion.runs.count_partitions", lambda *_: 3)
    told: list[Any] = []
    rf.tune(*data(1), "rrf(k=1)", "map", progress=told.append, **FAST)
    ranked = [one for one in told if one.unit == "documents"]
    rows = [one.rows for one in ranked]
    assert len(rows) > 1
    assert rows == sorted(set(rows))
    assert rows[-1] == ranked[-1].total_rows
