"""Render the reference on a terminal: metrics, fusion methods and norms, as lists and pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rankframe.analysis.fusion import registry as fusion
from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.fusion.norms import NORMS, Norm
from rankframe.metrics import REGISTRY, Definition
from rankframe.metrics.metric import Family
from rankframe.metrics.names import signature


def metric_list() -> RenderableType:
    """Render all metrics, a table per family."""
    return _families(
        get_args(Family),
        (
            (metric.family, f"{metric.name}{'@k' if 'k' in metric.parameters else ''}", metric)
            for metric in REGISTRY.values()
        ),
    )


def metric_page(definition: Definition) -> RenderableType:
    """Render the reference of one metric: meaning, formula and spellings."""
    direction = "higher is better" if definition.higher_is_better else "lower is better"
    low, high = definition.bounds
    bounds = f"{'−∞' if low is None else f'{low:g}'} to {'∞' if high is None else f'{high:g}'}"
    facts = {
        "written": signature(definition),
        "formula": definition.formula,
        "range": f"{bounds}, {direction}",
        "summary": f"average={definition.average} unless you say otherwise",
        "also": ", ".join(definition.other_names),
    }
    return _page(definition.summary, facts, definition.notes)


def fusion_list() -> RenderableType:
    """Render all methods of fusion, a table per family, and the norms of scores."""
    methods = ((method.family, method.signature, method) for method in METHODS.values())
    norms = ((norm.name, norm.summary) for norm in NORMS.values())
    tables = _families(get_args(fusion.Family), methods)
    return Group(tables, reference_list("Norms of scores (--norm)", norms))


def method_page(method: fusion.Definition) -> RenderableType:
    """Render the reference of one fusion method: meaning, formula and spellings."""
    needs_scores = "scores after a norm, min_max unless you say otherwise"
    facts = {
        "written": method.signature,
        "formula": method.formula,
        **{parameter: str(limits) for parameter, limits in method.limits.items()},
        "looks at": needs_scores if method.scored else "ranks",
        "needs": "judgments (--qrels)" if method.trained else "",
        "also": ", ".join(method.synonyms),
    }
    return _page(method.summary, facts, method.notes)


def norm_page(norm: Norm) -> RenderableType:
    """Render one norm of scores."""
    looks = "scores" if norm.scored else "ranks"
    return _page(norm.summary, {"norm": norm.name, "formula": norm.formula, "looks at": looks})


def reference_list(title: str, rows: Iterable[tuple[str, str]]) -> RenderableType:
    """Render names with their meanings."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("meaning")
    for name, meaning in rows:
        table.add_row(Text(name), Text(meaning))
    return table


def _families(
    families: Iterable[str], entries: Iterable[tuple[str | None, str, Any]]
) -> RenderableType:
    """Render a table per family, of entries with their family, name and definition."""
    rows = list(entries)
    return Group(*(
        reference_list(family, ((row[1], row[2].summary) for row in rows if row[0] == family))
        for family in families
    ))  # fmt: skip


def _page(summary: str, facts: Mapping[str, str], notes: str = "") -> RenderableType:
    """Render one entry of a reference: meaning, facts that are not empty, and notes."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    for name, fact in facts.items():
        if fact:
            grid.add_row(name, Text(fact, style="bold" if name == "written" else ""))
    parts: list[RenderableType] = [Text(summary, style="bold"), Text(""), grid]
    if notes:
        paragraphs = [" ".join(p.split()) for p in notes.split("\n\n")]
        parts += [Text(""), Text("\n\n".join(paragraphs))]
    return Group(*parts)
