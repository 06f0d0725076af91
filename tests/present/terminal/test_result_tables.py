"""How results look: names of the user's stay as they are, the best is bold, and nothing is lost."""

from __future__ import annotations

import io
import json

import polars as pl
import pytest
from markdown_it import MarkdownIt
from rich.console import Console, RenderableType

import rankframe as rf
from rankframe.engine.evaluation import RUN_FRAMES
from rankframe.metrics.names import resolve
from rankframe.present.terminal import result_tables as show
from rankframe.present.terminal.analysis_tables import ledger_table
from rankframe.present.terminal.reference_pages import metric_page
from rankframe.present.terminal.render import csv_text, print_line


def text(shown: RenderableType, *, colour: bool = False) -> str:
    """What a terminal would show."""
    file = io.StringIO()
    Console(file=file, width=100, force_terminal=colour).print(shown)
    return file.getvalue()


@pytest.fixture
def results(qrels: pl.DataFrame, run: pl.DataFrame) -> dict[str, rf.Result]:
    """Two runs with names that rich would read as markup."""
    better = run.filter(pl.col("doc_id") != "x")
    runs = {"[bold]a": run, "b [x]": better}
    return {name: rf.evaluate(qrels, of, ["mrr", "lag"]) for name, of in runs.items()}


METRICS = resolve(["mrr", "lag"])


def test_the_best_of_each_row_is_marked(results: dict[str, rf.Result]) -> None:
    shown = text(show.summary_table(results, METRICS, 100))
    assert "[bold]a" in shown
    assert "b [x]" in shown
    assert "0.7500 ±.2500" in shown
    coloured = text(show.summary_table(results, METRICS, 100), colour=True)
    assert "\x1b[1;32m1.0000" in coloured  # mrr of b
    assert "\x1b[1;32m0.0000" in coloured  # its lag: lower is better


def test_the_ledger_has_a_column_a_run(results: dict[str, rf.Result]) -> None:
    shown = text(ledger_table(show.ledger_of(results)))
    assert "queries_evaluated" in shown
    assert "policies: " in shown
    assert "ties: doc_desc" in " ".join(shown.split())


def test_the_ledger_says_of_each_run_what_orders_it() -> None:
    qrels, docs = {"q": {"a": 1}}, pl.DataFrame({"qid": ["q"], "doc": ["a"], "pos": [1]})
    runs = {"one": docs, "two": docs.rename({"pos": "prob"})}
    results = {name: rf.evaluate(qrels, run, "map") for name, run in runs.items()}
    shown = " ".join(text(ledger_table(show.ledger_of(results))).split())
    assert "one: by 'pos', the smallest first; two: by 'prob', the largest first" in shown
    assert "queries with judgments;" not in shown


def test_frames_say_which_run(results: dict[str, rf.Result]) -> None:
    assert show.summary_frame(results)["run"].unique().sort().to_list() == ["[bold]a", "b [x]"]
    assert show.per_query_frame(results).columns == ["run", "query_id", "mrr", "lag"]


def test_other_programs_get_every_digit(results: dict[str, rf.Result]) -> None:
    told = json.loads(show.results_text(results, METRICS, "json"))
    assert [entry["metrics"] for entry in told] == [dict(r.means) for r in results.values()]
    csv = pl.read_csv(show.results_text(results, METRICS, "csv").encode())
    assert csv.height == 4


def test_markdown_has_intervals_slices_and_what_to_know(
    qrels: pl.DataFrame, run: pl.DataFrame
) -> None:
    queries = pl.DataFrame({"query_id": ["q1", "q2"], "kind": ["a|b", "c"]})
    found = rf.evaluate(qrels, run, ["mrr"], queries=queries, by="kind")
    told = show.results_text({"old [x]": found, "n|w": found}, METRICS[:1], "markdown")
    html = MarkdownIt("commonmark").enable("table").render(told)
    assert html.count("<table>") == 2
    assert html.count("<tr>") == 5
    assert "<th>old [x]</th>" in html.replace(' style="text-align:right"', "")
    assert "<td>kind: a|b</td>" in html
    low, high = found.summary.row(0)[2:4]
    assert f"<strong>0.7500</strong> ({low:.4f} to {high:.4f})" in html
    assert "<li>Intervals: 95%, bootstrap, 1,000 replicates, seed 0.</li>" in html
    assert f"<li>n|w: {found.overview}</li>" in html
    bare = {"x": rf.evaluate(qrels, run, ["mrr"], ci=None)}
    assert "Intervals" not in show.results_text(bare, METRICS[:1], "markdown")


@pytest.mark.parametrize(("runs", "width", "tables", "intervals"), [
    (3, 100, 1, True), (3, 40, 3, True), (8, 200, 1, True), (8, 100, 1, False), (8, 60, 2, False),
])  # fmt: skip
def test_runs_without_room_stand_below_and_no_number_is_broken(
    results: dict[str, rf.Result], runs: int, width: int, tables: int, *, intervals: bool
) -> None:
    many = {f"run{at}": results["[bold]a"] for at in range(runs)}
    file = io.StringIO()
    Console(file=file, width=width).print(show.summary_table(many, METRICS, width))
    shown = file.getvalue()
    assert shown.count("queries ") - shown.count("queries evaluated") == tables
    assert shown.count("0.7500") == runs
    assert shown.count("±.2500") == (runs if intervals else 0)
    assert max(map(len, shown.splitlines())) <= width


def test_a_metric_has_a_page() -> None:
    definition = METRICS[0].definition
    assert definition is not None
    page = text(metric_page(definition))
    assert all(word in page for word in ("written", "formula", "range", "higher is better"))


def test_brackets_are_no_markup() -> None:
    file = io.StringIO()
    print_line(Console(file=file), "a [bold]word[/bold]")
    assert file.getvalue() == "a [bold]word[/bold]\n"


def test_csv_for_people_holds_no_formula_and_keeps_its_numbers() -> None:
    frame = pl.DataFrame({"run": ["=1+1", "a\x1b\n", None], "value": [-0.5, 1.0, None]})
    assert csv_text(frame) == "run,value\n'=1+1,-0.5\na\\x1b\\n,1.0\n,"
    assert frame["run"][0] == "=1+1"


def test_what_a_terminal_would_obey_is_shown(qrels: pl.DataFrame, run: pl.DataFrame) -> None:
    results = {"a\x1b[2J\nb": rf.evaluate(qrels, run, "mrr")}
    for shown in (
        show.summary_table(results, METRICS[:1], 100),
        ledger_table(show.ledger_of(results)),
    ):
        assert "\x1b" not in text(shown)
        assert r"a\x1b[2J\nb" in text(show.summary_table(results, METRICS[:1], 100))


ITEMS = pl.DataFrame({"doc_id": list("abc"), "genre": ["drama", "drama", "[red]"]})
RESULT = rf.evaluate({"q": {"a": 1}}, {"q": {"a": 2.0, "c": 1.0}}, "mrr@2", items=ITEMS,
                     items_by="genre")  # fmt: skip


def test_slices_of_items_fit_a_terminal() -> None:
    console = Console(width=80)
    with console.capture() as shown:
        console.print(show.item_tables({"als": RESULT, "other": RESULT}))
    lines = [line.rstrip() for line in shown.get().splitlines() if line.strip()]
    assert lines[0] == "als, items by genre: in the top 2 of all lists"
    assert lines[3].split() == ["[red]", "1", "1", "100.0%", "50.0%", "38.7%", "0", "0.0%"]
    assert lines[4].split() == ["drama", "2", "1", "50.0%", "50.0%", "61.3%", "1", "100.0%"]
    assert max(map(len, lines)) <= 80


def test_slices_of_items_in_markdown() -> None:
    lines = show.results_text({"als": RESULT}, resolve("mrr@2"), "markdown").splitlines()
    assert "**als, items by genre: in the top 2 of all lists**" in lines
    assert "| drama | 2 | 1 | 50.0% | 50.0% | 61.3% | 1 | 100.0% |" in lines
    names = ["coverage@1"]
    unjudged = rf.evaluate(None, {"q": {"a": 2.0}}, names, items=ITEMS, items_by="genre")
    metrics = resolve(names, *RUN_FRAMES)
    assert "hits" not in show.results_text({"als": unjudged}, metrics, "markdown")
