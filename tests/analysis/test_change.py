"""A diff as people see it: short, safe, and in words."""

from __future__ import annotations

import polars as pl

import rankframe as rf
from rankframe.analysis.diff import Diff


def test_what_is_printed_is_short_and_safe() -> None:
    script, long, lines = "<script>q</script>", "x" * 300, "two\nlines"
    qrels = {query: {"x": 1} for query in (script, long, lines, *"abcd")}
    before = {query: {"u": 2.0, "x": 1.0} for query in qrels}
    after = {query: {"x": 1.0} for query in qrels}
    found = rf.diff(qrels, before, after, rf.reciprocal_rank().alias("<b>"))
    assert repr(found).splitlines()[:3] == [
        "rankframe diff, <b>: 0.5000 → 1.0000 (+0.5000)",
        "  7 queries: 7 better in b, 0 the same, 0 worse",
        "  <script>q</script>  0.5000 → 1.0000  +0.5000  b better",
    ]
    assert len(repr(found).splitlines()) == 7
    page = found._repr_html_()
    assert "<b>&lt;b&gt;</b>: 0.5000" in page
    assert "<script>" not in page
    assert "&lt;script&gt;q&lt;/script&gt;</td><td style='text-align:right'>0.5000</td>" in page
    few = rf.diff(qrels, before, after, "mrr", only=[long, lines])
    assert repr(few).splitlines()[2].startswith("  'two\\nlines'")
    assert repr(few).splitlines()[3].startswith("  " + "x" * 39 + "…  0.5000")


def test_where_every_judged_document_is_relevant_that_is_said() -> None:
    qrels, run = {"q": {"a": 1, "b": 5}}, {"q": {"a": 1.0}}
    said = "every judged document counts as relevant, whatever its grade"
    found = rf.diff(qrels, run, run, "mrr")
    assert repr(found).splitlines()[2] == f"  {said}"
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
        "  q1   0.0000 → 1.0000  +1.0000  b better\n"
        "  q10  1.0000 → 0.2500  -0.7500  a better"
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
    assert len(repr(found).splitlines()) == 2 + 5
    assert found._repr_html_().count("<tr>") == 1 + 5


def test_names_stand_for_a_and_b() -> None:
    qrels, before = {"q": {"x": 1}}, {"q": {"u": 2.0, "x": 1.0}}
    found = rf.diff(qrels, before, {"q": {"x": 1.0}}, "mrr", names=("old", "<new>"))
    assert found.movers.columns == ["query_id", "old", "<new>", "delta", "better"]
    assert found.movers["better"].to_list() == ["<new>"]
    assert found.documents.columns[3:5] == ["rank_old", "rank_<new>"]
    assert found.ranks == ("rank_old", "rank_<new>")
    assert repr(found).splitlines() == [
        "rankframe diff, mrr: 0.5000 (old) → 1.0000 (<new>) (+0.5000)",
        "  1 query: 1 better in <new>, 0 the same, 0 worse",
        "  q  0.5000 → 1.0000  +0.5000  <new> better",
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
    for names, said in (
        (("x", "x"), "two different texts"),
        ("ab", "names takes two"),
        (("delta", "b"), "a run cannot be named 'delta'"),
        (("x", 5), "two different texts"),
    ):
        assert said in refusal(rf.diff, qrels, run, run, "mrr", names=names)
