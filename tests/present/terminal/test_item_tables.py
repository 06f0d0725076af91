"""Slices of the items as they are shown."""

from __future__ import annotations

import polars as pl
from rich.console import Console

import rankframe as rf
from rankframe.present.terminal.item_tables import item_tables, items_markdown

ITEMS = pl.DataFrame({"doc_id": list("abc"), "genre": ["drama", "drama", "[red]"]})
RESULT = rf.evaluate({"q": {"a": 1}}, {"q": {"a": 2.0, "c": 1.0}}, "mrr@2", items=ITEMS,
                     items_by="genre")  # fmt: skip


def test_tables_fit_a_terminal() -> None:
    console = Console(width=80)
    with console.capture() as shown:
        console.print(item_tables({"als": RESULT, "other": RESULT}))
    lines = [line.rstrip() for line in shown.get().splitlines() if line.strip()]
    assert lines[0] == "als, items by genre: in the top 2 of all lists"
    assert lines[3].split() == ["[red]", "1", "1", "100.0%", "50.0%", "38.7%", "0", "0.0%"]
    assert lines[4].split() == ["drama", "2", "1", "50.0%", "50.0%", "61.3%", "1", "100.0%"]
    assert max(map(len, lines)) <= 80


def test_markdown() -> None:
    (text,) = items_markdown({"als": RESULT})
    assert text.splitlines()[0] == "als, items by genre: in the top 2 of all lists:"
    assert text.splitlines()[-1] == "| drama | 2 | 1 | 50.0% | 50.0% | 61.3% | 1 | 100.0% |"
    none = rf.evaluate(None, {"q": {"a": 2.0}}, "coverage@1", items=ITEMS, items_by="genre")
    assert items_markdown({"als": none})[0].splitlines()[-1].endswith("|  |  |")
