"""Results of metrics over queries, documents and slices: summaries in the order of the metrics."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from scipy import stats

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.core.table import as_html
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.finish import replicates_for_gaps
from rankframe.engine.result import slices_table
from rankframe.io.queries import Attributes
from rankframe.metrics.names import resolve
from tests.support.oracles import Case, about
from tests.support.summaries import LAG, METRICS, evaluated, finish, parts, same_for_all, summary

RUN = {"u": ["a", "b"], "v": ["a"], "w": ["c"]}
USERS = {"query_id": ["u", "v", "w"], "kind": ["x", "y", "x"]}


def test_rows_are_in_the_order_that_was_asked_for() -> None:
    names = ["entropy@2", "recall@1", "coverage(count=true)@2", "popularity@2"]
    found = rf.evaluate(
        {"u": {"a": 1}, "v": {"b": 1}}, RUN, names, train={"q": ["a"]},
        queries=pl.DataFrame(USERS), by="kind",
    )  # fmt: skip
    assert found.summary["metric"].to_list() == names
    assert found.slices["metric"].to_list() == names * 2
    assert found.slices["slice"].to_list() == ["x"] * 4 + ["y"] * 4
    count = found.slices.filter(metric="coverage(count=true)@2")
    assert count["value"].to_list() == [3.0, 1.0]
    assert count["queries"].to_list() == [2, 1]
    assert found.per_query.columns == ["query_id", "recall@1", "popularity@2"]


def test_gaps_need_the_replicates_of_their_metrics_in_their_slices() -> None:
    names = ["gap(map, by=b)", "gap(mrr, by=b)", "gap(map, by=a)"]
    slices = tuple((by, ("x", "y")) for by in ("c", "a", "b"))
    attributes = Attributes(pl.DataFrame({"query_id": ["q"]}), slices)
    gaps = resolve(names, "judged", "gap")
    evaluation = prepare_evaluation(gaps, Policies(), attributes=attributes)
    assert evaluation.labels == ["map", "mrr"]
    assert replicates_for_gaps(evaluation) == {2: {0, 1}, 1: {0}}
    assert replicates_for_gaps(prepare_evaluation(gaps, Policies())) == {}


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("label", METRICS)
def test_value_and_queries(label: str) -> None:
    above, below = parts(label)
    row = summary()[label]
    assert row["value"] == pytest.approx(
        finish(label, above.sum() / below.sum(), len(above)), rel=1e-12
    )
    assert row["queries"] == len(above)


def test_the_case_has_undefined_values_and_zeros() -> None:
    values = evaluated().per_query
    assert 0 < values[LAG].null_count() < values.height - 2
    assert (values["gm_map"] == 0).any()


def test_other_seeds_draw_other_queries_and_change_nothing_else() -> None:
    one, other = (evaluated(replicates=100, seed=seed).summary for seed in (0, 1))
    assert one.drop("ci_low", "ci_high").equals(other.drop("ci_low", "ci_high"))
    for bound in ("ci_low", "ci_high"):
        assert (one[bound] != other[bound]).sum() >= len(METRICS) - 1
    assert one.equals(evaluated(replicates=100, seed=0).summary)


def test_both_kinds_of_intervals_are_about_as_wide() -> None:
    boot, by_t = summary(replicates=5_000), summary(ci="t")
    for label in METRICS:
        widths = [rows[label]["ci_high"] - rows[label]["ci_low"] for rows in (boot, by_t)]
        assert 0.85 < widths[0] / widths[1] < 1.15, label
        assert boot[label]["ci_low"] < boot[label]["value"] < boot[label]["ci_high"]


def test_more_confidence_is_wider() -> None:
    narrow, wide = (summary(confidence=c, replicates=300) for c in (0.5, 0.99))
    for label in METRICS:
        assert wide[label]["ci_low"] < narrow[label]["ci_low"]
        assert narrow[label]["ci_high"] < wide[label]["ci_high"]


def test_no_interval_where_none_is_asked_for() -> None:
    rows, with_them = summary(ci=None), summary()
    for label in METRICS:
        assert rows[label]["ci_low"] is None
        assert rows[label]["ci_high"] is None
        for same in ("value", "std", "queries"):
            assert rows[label][same] == with_them[label][same]


def test_any_number_of_threads_gives_the_same_bits() -> None:
    code = (
        "import json, polars as pl, rankframe as rf\n"
        "from tests.support.summaries import evaluated\n"
        "rows = [evaluated(ci=ci, replicates=100).summary.rows() for ci in ('t', 'bootstrap')]\n"
        "print(json.dumps([pl.thread_pool_size(), rows]))"
    )
    outputs = []
    for threads in ("1", "3"):
        environment = os.environ | {
            "POLARS_MAX_THREADS": threads,
            "PYTHONPATH": f"{ROOT}/src:{ROOT}",
        }
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        used, rows = json.loads(done.stdout)
        assert used == int(threads)
        outputs.append(rows)
    assert outputs[0] == outputs[1]
    here = [list(row) for row in evaluated(replicates=100).summary.rows()]
    assert outputs[0][1] == here


CONSTANT = ["recall", "gm_map", "recall(average=micro)", "num_retrieved"]


@pytest.mark.parametrize("method", ["bootstrap", "t"])
@pytest.mark.parametrize("queries", [2, 3, 50])
def test_constant_values_have_no_spread_and_no_width(queries: int, method: str) -> None:
    for label, row in summary(same_for_all(queries), CONSTANT, ci=method, replicates=100).items():
        assert row["std"] == 0.0, label
        assert row["ci_high"] - row["ci_low"] == 0.0, label
        # kept as multiples of 2^-40 for the bootstrap
        assert row["ci_low"] == pytest.approx(row["value"], rel=1e-11), label


@pytest.mark.parametrize("method", ["bootstrap", "t"])
def test_one_query_has_a_value_and_nothing_else(method: str) -> None:
    for label, row in summary(same_for_all(1), CONSTANT, ci=method).items():
        value = 1.0 if label == "num_retrieved" else about(1 / 3)
        assert row == {
            "value": value, "ci_low": None, "ci_high": None, "std": None, "queries": 1,
        }, label  # fmt: skip


@pytest.mark.parametrize("method", ["bootstrap", "t", None])
def test_no_query_has_nothing(method: str) -> None:
    rows = summary(same_for_all(5), CONSTANT, ci=method, rel=2, no_relevant="skip")
    nothing = dict.fromkeys(("value", "ci_low", "ci_high", "std")) | {"queries": 0}
    assert list(rows.values()) == [nothing] * len(CONSTANT)


@pytest.mark.parametrize("method", ["bootstrap", "t"])
def test_two_queries_have_an_interval(method: str) -> None:
    case = Case({"q": {"a": 1}, "p": {"a": 1}}, {"q": {"a": 1.0}, "p": {"b": 1.0}})
    row = summary(case, ["map"], ci=method)["map"]
    assert row["std"] == pytest.approx(math.sqrt(0.5), rel=1e-15)
    expected = (0.0, 1.0) if method == "bootstrap" else stats.t.interval(0.95, 1, 0.5, 0.5)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", ["bootstrap", "t"])
def test_a_metric_that_is_defined_once_or_never(method: str) -> None:
    case = Case({"q": {"a": 1}, "p": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}, "p": {"b": 1.0}})
    row = summary(case, ["lag"], ci=method)["lag"]
    assert row["queries"] == 1
    assert (row["ci_low"], row["std"]) == (None, None)
    never = Case(case.qrels, {"q": {"b": 1.0}, "p": {"b": 1.0}})
    row = summary(never, ["lag"], ci=method, no_overlap="zero")["lag"]
    assert row == dict.fromkeys(("value", "ci_low", "ci_high", "std")) | {"queries": 0}


def test_a_notebook_shows_slices() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    run = {"q1": {"a": 1.0}, "q2": {"b": 1.0}}
    known = pl.DataFrame({"query_id": ["q1", "q2"], "kind": ["<b>", "y"]})
    page = rf.evaluate(qrels, run, ["mrr", "map"], queries=known, by="kind")._repr_html_()
    page = page.replace(" style='text-align:right'", "")
    assert "kind: &lt;b&gt;</td><td>1.0000</td><td>1.0000</td><td>1 (few)</td>" in page
    assert "<th>mrr</th><th>map</th><th>queries</th>" in page
    assert "slice" not in rf.evaluate(qrels, run, "mrr")._repr_html_()
    many = pl.DataFrame({"by": "n", "slice": [str(n) for n in range(40)], "metric": "map",
                         "value": 0.5, "queries": 1, "small": True})  # fmt: skip
    page = as_html(slices_table(many, "queries"))
    assert page.count("<tr>") == 31
    assert "and 10 more" in page
