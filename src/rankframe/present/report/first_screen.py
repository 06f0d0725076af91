"""The first screen of a report: what was found, how sure it is, the verdict, and what limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.analysis.verdict import Verdict, check_name
from rankframe.core.wording import best_of, number_text, percent_text
from rankframe.metrics.names import Metric
from rankframe.present.report.model import Material
from rankframe.present.report.page import (
    Cell,
    escaped,
    fold,
    note,
    number,
    section,
    table,
    text,
    words,
)
from rankframe.present.report.sentences import Sentence, leader, limits, sentences

_MOST_FAILED = 3
_MARKS = {"up": "▲", "down": "▼", "same": "≈"}
_SAID = {"up": "better", "down": "worse", "same": "not told apart"}


def summary(material: Material) -> str:
    """Sentences, verdicts, a small table, and limits."""
    found = material.found
    return section(
        "summary",
        "What was found",
        *(_verdict(at, *one) for at, one in enumerate(material.verdicts.items())),
        _findings(found),
        headline(found),
        _limits(found, material.sampled),
    )


def _findings(found: Comparison) -> str:
    alone = found.table.is_empty()
    items = [
        f'<li class="{one.mark}"><span class="mark" role="img" aria-label="{_SAID[one.mark]}">'
        f"{'•' if alone else _MARKS[one.mark]}</span>"
        f'<span class="said"><b>{text(one.system)}</b>{":" if alone else ""} '
        f"{_emphasised(one)}</span></li>"
        for one in sentences(found)
    ]
    best = leader(found)
    return (
        f"<p>{escaped(best)}</p>" if best else ""
    ) + f'<ul class="findings">{"".join(items)}</ul>'


def _emphasised(one: Sentence) -> str:
    """A sentence with its verb in the colour of its mark."""
    if one.mark == "same":
        return escaped(one.text)
    verb = " ".join(one.text.split(" ", 2)[:2])
    return f'<b class="is">{escaped(verb)}</b>{escaped(one.text.removeprefix(verb))}'


def _verdict(at: int, name: str, verdict: Verdict) -> str:
    """What the rules of a gate say of a system."""
    rows = [
        [
            Cell(
                f'<span class="{_style(status.text)}">{escaped(status.text)}</span>', is_text=True
            ),
            words(rule.text if of.text == "all" else f"{rule.text} [{of.text}]"),
            *(Cell(escaped(one.text), csv=one.text) for one in numbers),
            words(reason.text),
        ]
        for rule, status, of, *numbers, reason in verdict.table().rows
    ]
    header = ["verdict", "rule", *verdict.table().titles[3:]]
    checks = fold("The rules, one by one", table(f"gate-{at}", header, rows), kind="plain")
    failed = [
        f"<li>{escaped(check_name(row))}: {escaped(row['reason'])}</li>"
        for row in verdict.checks.to_dicts()
        if row["status"] in ("fail", "undecided")
    ]
    more = len(failed) - _MOST_FAILED
    if more > 0:
        failed = [*failed[:_MOST_FAILED], f"<li>and {more} more</li>"]
    why = f"<ul>{''.join(failed)}</ul>" if failed else ""
    word = f'<b class="{_style(verdict.status)}">{verdict.note.lead}</b>'
    return (
        f'<div class="verdict {verdict.status}">{word} '
        f"<b>{text(name)}</b>: {escaped(verdict.note.text)}{why}{checks}</div>"
    )


def _style(status: str) -> str:
    return {"pass": "up", "fail": "down", "undecided": "few"}.get(status, "ci")


def headline(found: Comparison) -> str:
    """Systems down, metrics across: values, intervals, and what differs from the baseline."""
    whole = found.systems.filter(pl.col("by").is_null())
    values = {(row["metric"], row["system"]): row for row in whole.to_dicts()}
    pairs = {
        (row["metric"], row["system"]): row
        for row in found.table.filter(pl.col("by").is_null()).to_dicts()
    }
    best = {
        metric.label: best_of(metric, [values[metric.label, name]["value"] for name in found.names])
        for metric in found.metrics
    }
    rows = []
    for name in found.names:
        cells = [words(name)]
        for metric in found.metrics:
            at = metric.label, name
            cells.append(_value(values[at], pairs.get(at), metric, best[metric.label]))
        queries = max(values[metric.label, name]["queries"] for metric in found.metrics)
        rows.append([*cells, number(queries, f"{queries:,}")])
    header = ["system", *(metric.label for metric in found.metrics), "queries"]
    said = f"Below each value its interval, {found.note('policy_ci')}. The best in bold."
    if pairs:
        said += (
            f" ▲ ▼: better or worse than {found.baseline} ({found.note('policy_significant')}, "
            f"{found.note('policy_correction')}; test: {found.note('policy_test')})."
        )
    return table("headline", header, rows) + note(said)


def _value(row: Mapping[str, Any], pair: Mapping[str, Any] | None, metric: Metric,
           best: float | None) -> Cell:  # fmt: skip
    shown = number_text(row["value"], metric)
    if row["value"] is not None and row["value"] == best:
        shown = f'<span class="best">{shown}</span>'
    change = ""
    if pair is not None and pair["difference"] is not None:
        share = percent_text(pair["relative"])
        good = (pair["difference"] > 0) == metric.higher_is_better
        mark = ("up" if good else "down") if pair["significant"] else ""
        sign = f"{_MARKS[mark]} " if mark else ""
        change = f' <span class="{mark or "ci"}">{sign}{escaped(share)}</span>'
    between = ""
    if row["ci_low"] is not None:
        low, high = (number_text(row[side], metric) for side in ("ci_low", "ci_high"))
        between = f'<br><span class="ci">{low} to {high}</span>'
    return Cell(f"{shown}{change}{between}", row["value"])


def _limits(found: Comparison, sampled: str) -> str:
    warned = set(found.warnings)
    said: Sequence[str] = [*limits(found), *([f"curves are drawn of {sampled}"] if sampled else [])]
    if not said:
        return note("What limits it: nothing that was looked for. Every query is in every run.")
    items = "".join(
        f"<li{' class=warning' if one in warned else ''}>{escaped(one)}.</li>" for one in said
    )
    return f'<h3>What limits it</h3><ul class="limits">{items}</ul>'
