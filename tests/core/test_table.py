"""Tables in every medium: written out in full for a small comparison."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from markdown_it import MarkdownIt

import rankframe as rf
from rankframe.core.table import Cell, Column, Note, Table, as_html, as_latex, as_markdown, as_text

QUERIES = [f"q{i}" for i in range(6)]


def values(ap: list[float], lag: list[float]) -> pl.DataFrame:
    return pl.DataFrame({"query_id": QUERIES, "map": ap, "lag": lag})


# The second one has the best map and the worst lag, each for sure; the third is as the first.
SYSTEMS = {
    "bm25_v1": values([0.125, 0.25, 0.375, 0.5, 0.5, 0.5], [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
    "A & 50%": values([0.375, 0.5, 0.625, 0.75, 0.75, 0.8125], [4.0, 5.0, 6.0, 7.0, 8.0, 9.5]),
    "x|{y}": values([0.25, 0.125, 0.375, 0.5, 0.5, 0.5], [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
}


def compared(systems: Any = SYSTEMS, **options: Any) -> rf.Comparison:
    options = {"ci": None} | options
    return rf.compare(None, systems, **options)


def test_markdown_against_a_baseline() -> None:
    assert (
        compared(baseline="bm25_v1").to_markdown()
        == """\
| system | map | lag |
| --- | ---: | ---: |
| bm25_v1 | 0.3750 | **5.5000** |
| A & 50% | **0.6354**<sup>†</sup> | 6.5833<sup>†</sup> |
| x\\|{y} | 0.3750 | **5.5000** |

Best in bold; † differs from bm25_v1 (corrected p below 0.05; test: t, hypothesis: equal means; \
correction: holm)."""
    )


def test_markdown_of_every_pair_names_systems_by_letters() -> None:
    found = compared(test="sign", correction="bh", confidence=0.9)
    assert (
        found.to_markdown()
        == """\
| system | map | lag |
| --- | ---: | ---: |
| (a) bm25_v1 | 0.3750<sup>b</sup> | **5.5000**<sup>b</sup> |
| (b) A & 50% | **0.6354**<sup>ac</sup> | 6.5833<sup>ac</sup> |
| (c) x\\|{y} | 0.3750<sup>b</sup> | **5.5000**<sup>b</sup> |

Best in bold; letters name the systems that it differs from (corrected p below 0.1; test: \
sign, hypothesis: as many wins as losses; correction: bh)."""
    )


def test_latex_against_a_baseline() -> None:
    assert compared(baseline="bm25_v1").to_latex().splitlines() == [
        r"\begin{table}",
        r"\centering",
        (
            r"\caption{Best in bold; $\dagger$ differs from bm25\_v1 "
            r"(corrected p below 0.05; test: t, hypothesis: equal means; correction: holm).}"
        ),
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"system & map & lag \\",
        r"\midrule",
        r"bm25\_v1 & 0.3750 & \textbf{5.5000} \\",
        r"A \& 50\% & \textbf{0.6354}$^{\dagger}$ & 6.5833$^{\dagger}$ \\",
        r"x\textbar{}\{y\} & 0.3750 & \textbf{5.5000} \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_latex_of_every_pair() -> None:
    lines = compared().to_latex().splitlines()
    assert lines[7:10] == [
        r"(a) bm25\_v1 & 0.3750$^{b}$ & \textbf{5.5000}$^{b}$ \\",
        r"(b) A \& 50\% & \textbf{0.6354}$^{ac}$ & 6.5833$^{ac}$ \\",
        r"(c) x\textbar{}\{y\} & 0.3750$^{b}$ & \textbf{5.5000}$^{b}$ \\",
    ]


ATTRIBUTES = pl.DataFrame({"query_id": QUERIES, "g": ["u"] * 3 + ["v_1"] * 3, "h": ["w"] * 6})


def test_slices_follow_one_another() -> None:
    found = compared(baseline="A & 50%", queries=ATTRIBUTES, by=[("g", "h")], test="sign")
    assert found.to_markdown().splitlines()[:-2] == [
        "| slice | system | map | lag |",
        "| --- | --- | ---: | ---: |",
        "| all queries | A & 50% | **0.6354** | 6.5833 |",
        "| all queries | bm25_v1 | 0.3750 | **5.5000** |",
        "| all queries | x\\|{y} | 0.3750 | **5.5000** |",
        "| g × h: u × w (few) | A & 50% | **0.5000** | 5.0000 |",
        "| g × h: u × w (few) | bm25_v1 | 0.2500 | **4.0000** |",
        "| g × h: u × w (few) | x\\|{y} | 0.2500 | **4.0000** |",
        "| g × h: v_1 × w (few) | A & 50% | **0.7708** | 8.1667 |",
        "| g × h: v_1 × w (few) | bm25_v1 | 0.5000 | **7.0000** |",
        "| g × h: v_1 × w (few) | x\\|{y} | 0.5000 | **7.0000** |",
    ]
    lines = found.to_latex().splitlines()
    assert lines[6:9] == [
        r"\midrule",
        r"\multicolumn{3}{l}{\emph{all queries}} \\",
        r"A \& 50\% & \textbf{0.6354} & 6.5833 \\",
    ]
    assert r"\multicolumn{3}{l}{\emph{g $\times$ h: v\_1 $\times$ w (few)}} \\" in lines
    assert lines.count(r"\midrule") == 3


def test_whole_numbers_and_what_is_undefined() -> None:
    frame = pl.DataFrame({"query_id": QUERIES, "num_retrieved": [1_000.0] * 6, "lag": [None] * 6},
                         schema_overrides={"lag": pl.Float64})  # fmt: skip
    more = frame.with_columns(num_retrieved=pl.lit(1_000.5))
    found = compared({"a": frame, "b": more}, test="sign")
    assert found.to_markdown().splitlines()[2:4] == [
        "| (a) a | 6,000<sup>b</sup> | – |",
        "| (b) b | **6,003**<sup>a</sup> | – |",
    ]
    assert r"(a) a & 6,000$^{b}$ & -- \\" in found.to_latex()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a_b", r"a\_b"), ("a&b", r"a\&b"), ("5%", r"5\%"), ("$x$", r"\$x\$"), ("#1", r"\#1"),
        ("{}", r"\{\}"), ("~^", r"\textasciitilde{}\textasciicircum{}"),
        ("a\\b", r"a\textbackslash{}b"), ("<s>", r"\textless{}s\textgreater{}"), ("é", "é"),
        ("†", r"$\dagger$"), ("a–b", "a--b"),
    ],
)  # fmt: skip
def test_names_are_escaped_for_latex(name: str, expected: str) -> None:
    systems = {name: SYSTEMS["bm25_v1"], "other": SYSTEMS["x|{y}"]}
    text = compared(systems, baseline=name).to_latex()
    assert f"\n{expected} & " in text
    assert f"differs from {expected} (" in text


def test_names_of_metrics_are_escaped_for_latex() -> None:
    frames = {
        name: frame.select("query_id", pl.col("map").alias("my_own & 1%"))
        for name, frame in SYSTEMS.items()
    }
    assert r"system & my\_own \& 1\% \\" in compared(frames).to_latex()


def test_more_systems_than_letters() -> None:
    systems = {f"s{i:02}": SYSTEMS["bm25_v1"] for i in range(27)} | {"z": SYSTEMS["A & 50%"]}
    lines = compared(systems).to_markdown().splitlines()
    assert lines[2].startswith("| (a) s00 | 0.3750 |")
    assert lines[28].startswith("| s26 |")
    # what has no letter is not named
    assert lines[29].startswith("| z | **0.6354**<sup>abcdefghijklmnopqrstuvwxyz</sup> |")


def test_names_with_commands_for_a_terminal_are_written_out() -> None:
    name = "a\x1b[1m\nb"
    qrels = {"q": {"x": 1}, "r": {"x": 1}}
    runs = {name: {"q": {"x": 1.0}, "r": {"x": 1.0}}, "c": {"q": {"y": 1.0}, "r": {"x": 1.0}}}
    found = rf.compare(qrels, runs, "map", baseline=name, no_overlap="zero")
    assert r"\textbackslash{}x1b[1m b" in found.to_latex()
    assert r"a\\x1b\[1m b" in found.to_markdown()
    assert "\x1b" not in found.to_latex() + found.to_markdown()


def test_details_have_differences_and_p_values() -> None:
    found = compared(baseline="bm25_v1")
    told = found.to_markdown(details=True)
    html = MarkdownIt("commonmark").enable("table").render(told)
    (table,) = (part for part in found.parts() if isinstance(part, Table))
    rows = table.rows
    assert html.count("<tr>") == 1 + len(rows)
    assert told.startswith("| metric | system | value | diff | % | p | raw p |")
    for row in rows:
        for cell in row[4:6]:
            text = f"<strong>{cell.text}</strong>" if cell.tone else cell.text
            assert f">{text}</td>" in html
    items = html.replace("&lt;", "<")
    assert all(f"<li>{text}</li>" in items for text in (found.legend, found.overview))


TABLE = Table(
    [Column("kind", numeric=False), Column("name", numeric=False), Column("none"), Column("value")],
    [
        [[Cell("x"), Cell("<a|b>"), Cell(""), Cell("1.5", bold=True, mark="†")]],
        [[Cell("x"), Cell("c\x1b"), Cell(""), Cell("-10", tone="bad", detail="few")],
         [Cell(""), Cell("d"), Cell(""), Cell("2")]],
        [[Cell("y"), Cell("e"), Cell(""), Cell("3")]],
    ],
)  # fmt: skip


def test_plain_text_is_aligned_and_leaves_out_empty_columns() -> None:
    assert as_text("head", [TABLE, Note("said", "lead"), Note("small")]).splitlines() == [
        "head",
        "  kind  name   value",
        "  x     <a|b>    1.5",
        "  x     c\\x1b    -10",
        "        d          2",
        "  y     e          3",
        "  lead: said",
        "  small",
    ]


def test_a_table_is_split_by_the_first_text_of_its_groups() -> None:
    x, y = TABLE.split()
    assert (x.title, y.title) == ("x", "y")
    assert [len(group) for group in x.groups] == [1, 2]
    assert y.titles == ["name", "none", "value"]


def test_emphasis_in_each_medium() -> None:
    html, markdown = as_html([TABLE]), as_markdown([TABLE])
    assert "<b>1.5</b>" in html
    assert '<span style="color:#c9541f">-10</span>' in html
    assert "&lt;a|b&gt;" in html
    assert "| **1.5**<sup>†</sup> |" in markdown
    assert "| **-10** (few) |" in markdown
    assert r"\textbf{1.5}$^{\dagger}$ \\" in as_latex([TABLE], "caption")


def test_notes_in_markdown_are_a_list_unless_there_is_one() -> None:
    assert as_markdown([Note("a"), Note("b")]) == "- a\n- b"
    assert as_markdown([Note("a", "Warning"), Note("b")]) == "**Warning**: a\n\nb"
