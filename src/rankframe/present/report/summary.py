"""The first screen of a report: verdicts, a sentence per system, a small table, and caveats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.analysis.verdict import TONES, Verdict, check_name
from rankframe.core.messages import number_of
from rankframe.core.table import Cell, Table, Tone
from rankframe.core.wording import (
    best_of,
    number_text,
    p_text,
    percent_text,
    range_text,
    share_text,
    signed_text,
)
from rankframe.engine.ledger import EVERY_RELEVANT
from rankframe.metrics.names import Metric
from rankframe.present.report.model import Material
from rankframe.present.report.page import (
    STYLES,
    escaped,
    fold,
    note,
    number,
    render_table,
    section,
    text,
)

Mark = Literal["up", "down", "same"]
Row = Mapping[str, Any]

_MOST_NAMED = 3  # slices or metrics in a sentence
_FEW_DIFFERENT = 10  # queries in which two systems differ
_FEW_QUERIES = 30
_LITTLE_JUDGED = 0.5
_JUDGED_APART = 0.1  # of how much was judged of two systems


_MOST_FAILED = 3
_MARKS = {"up": "▲", "down": "▼", "same": "≈"}
_TONES: Final[dict[Mark, Tone]] = {"up": "good", "down": "bad", "same": ""}
_LABELS = {"up": "better", "down": "worse", "same": "not told apart"}


@dataclass(frozen=True)
class Sentence:
    """Hold the sentence about a system, and whether it is better, worse, or neither."""

    system: str
    text: str
    mark: Mark


def summary(material: Material) -> str:
    """Render verdicts, a sentence per system, a small table, and caveats."""
    found = material.found
    return section(
        "summary",
        "What was found",
        *(_verdict(index, *named) for index, named in enumerate(material.verdicts.items())),
        _findings(found),
        headline(found),
        _caveats(found, material.sampled),
    )


def _findings(found: Comparison) -> str:
    alone = found.table.is_empty()
    items = [
        f'<li class="{sentence.mark}"><span class="mark" role="img" '
        f'aria-label="{_LABELS[sentence.mark]}">'
        f"{'•' if alone else _MARKS[sentence.mark]}</span>"
        f'<span class="said"><b>{text(sentence.system)}</b>{":" if alone else ""} '
        f"{_emphasised(sentence)}</span></li>"
        for sentence in sentences(found)
    ]
    best = leader(found)
    return (
        f"<p>{escaped(best)}</p>" if best else ""
    ) + f'<ul class="findings">{"".join(items)}</ul>'


def _emphasised(sentence: Sentence) -> str:
    """Render a sentence with its verb in colour."""
    if sentence.mark == "same":
        return escaped(sentence.text)
    verb = " ".join(sentence.text.split(" ", 2)[:2])
    return f'<b class="is">{escaped(verb)}</b>{escaped(sentence.text.removeprefix(verb))}'


def _verdict(index: int, name: str, verdict: Verdict) -> str:
    """Render what the rules of a gate say of a system."""
    checks = verdict.table()
    rules, verdicts, slices, *rest = range(len(checks.columns))
    shown = checks.take([verdicts, rules, *([slices] if verdict.sliced else []), *rest])
    details = fold("The rules, one by one", render_table(f"gate-{index}", shown), kind="plain")
    failed = [
        f"<li>{escaped(check_name(row))}: {escaped(row['reason'])}</li>"
        for row in verdict.checks.to_dicts()
        if row["status"] in ("fail", "undecided")
    ]
    more = len(failed) - _MOST_FAILED
    if more > 0:
        failed = [*failed[:_MOST_FAILED], f"<li>and {more} more</li>"]
    why = f"<ul>{''.join(failed)}</ul>" if failed else ""
    word = f'<b class="{STYLES[TONES[verdict.status]]}">{verdict.note.lead}</b>'
    return (
        f'<div class="verdict {verdict.status}">{word} '
        f"<b>{text(name)}</b>: {escaped(verdict.note.text)}{why}{details}</div>"
    )


def headline(found: Comparison) -> str:
    """Render systems down and metrics across: values, intervals, and changes."""
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
        cells: list[str | Cell] = [name]
        for metric in found.metrics:
            key = metric.label, name
            cells.append(_value(values[key], pairs.get(key), metric, best[metric.label]))
        queries = max(values[metric.label, name]["queries"] for metric in found.metrics)
        rows.append([*cells, number(queries, f"{queries:,}")])
    labels = [metric.label for metric in found.metrics]
    table = Table.from_texts(["system"], [*labels, "queries"], rows)
    remark = f"Below each value its interval, {found.note('policy_ci')}. The best in bold."
    if pairs:
        remark += (
            f" ▲ ▼: better or worse than {found.baseline} ({found.note('policy_significant')}, "
            f"{found.note('policy_correction')}; test: {found.note('policy_test')})."
        )
    return render_table("headline", table) + note(remark)


def _value(
    row: Mapping[str, Any], pair: Mapping[str, Any] | None, metric: Metric, best: float | None
) -> Cell:
    mark = ""
    tone: Tone = ""
    if pair is not None and pair["difference"] is not None:
        direction = _mark(pair, metric)
        tone = _TONES[direction]
        sign = "" if direction == "same" else f"{_MARKS[direction]} "
        mark = f"{sign}{percent_text(pair['relative'])}"
    return Cell(
        number_text(row["value"], metric),
        bold=row["value"] is not None and row["value"] == best,
        tone=tone,
        mark=mark,
        detail=range_text(row["ci_low"], row["ci_high"], metric),
        value=row["value"],
    )


def _caveats(found: Comparison, sampled: str) -> str:
    texts = [*caveats(found), *([f"curves are drawn of {sampled}"] if sampled else [])]
    if not texts:
        return note("Caveats: none found. Every query is in every run.")
    warned = set(found.warnings)
    items = "".join(
        f"<li{' class=warning' if caveat in warned else ''}>{escaped(caveat)}.</li>"
        for caveat in texts
    )
    return f'<h3>Caveats</h3><ul class="limits">{items}</ul>'


def sentences(found: Comparison) -> list[Sentence]:
    """Write a sentence for each system beside the baseline; for a single system, its value."""
    first = found.metrics[0]
    if found.table.is_empty():
        return [_alone(found, name, first) for name in found.names]
    whole = found.table.filter(pl.col("by").is_null(), pl.col("metric") == first.label)
    return [_against(found, row, first) for row in whole.to_dicts()]


def leader(found: Comparison) -> str:
    """Say which of three or more systems has the best value."""
    first = found.metrics[0]
    whole = found.systems.filter(
        pl.col("by").is_null(), pl.col("metric") == first.label, pl.col("value").is_not_null()
    )
    if len(found.names) < 3 or whole.is_empty():
        return ""
    top: Any = whole["value"].max() if first.higher_is_better else whole["value"].min()
    best = whole.filter(pl.col("value") == top)["system"].to_list()
    names = " and ".join(best[:_MOST_NAMED])
    return (
        f"{names} {'has' if len(best) == 1 else 'have'} the best {first.label} of "
        f"{len(found.names)} systems: {number_text(top, first)}."
    )


def caveats(found: Comparison) -> list[str]:
    """List what limits the conclusion: missing queries, unjudged documents, little data."""
    first = found.metrics[0]
    texts = list(found.warnings)
    texts += [str(lack) for lack in found.lacks if not lack.many]
    unpaired = found.ledger.filter(item="queries_unpaired").filter(pl.col("value") > 0)
    notes = unpaired.select("value", "note").rows()  # allowed: a ledger
    texts += [f"{value:,.0f} queries {note}" for value, note in notes]
    whole = found.systems.filter(pl.col("by").is_null(), pl.col("metric") == first.label)
    texts += _judged(whole.to_dicts(), first)
    pairs = found.table.filter(pl.col("by").is_null(), pl.col("metric") == first.label)
    for row in pairs.to_dicts():
        different = row["wins"] + row["losses"]
        if 0 < different < _FEW_DIFFERENT:
            texts.append(
                f"{row['system']} differs from {row['baseline']} in "
                f"{number_of(different, 'query')} only"
            )
        if row["undefined"]:
            texts.append(
                f"{first.label} is undefined for {row['system']} or {row['baseline']} in "
                f"{number_of(row['undefined'], 'query')}: left out"
            )
    queries = max(whole["queries"].to_list(), default=0)
    if queries < _FEW_QUERIES:
        texts.append(f"{number_of(queries, 'query')}: too few to rely on")
    small = found.systems.filter(pl.col("by").is_not_null(), pl.col("small"))
    if few := small.select("by", "slice").unique().height:
        parts = found.systems.filter(pl.col("by").is_not_null())
        total = parts.select("by", "slice").unique().height
        texts.append(f"{few} of {number_of(total, 'slice')} have fewer than {_FEW_QUERIES} queries")
    texts += [EVERY_RELEVANT] if found.every_relevant else []
    return list(dict.fromkeys(texts))


def _judged(rows: Sequence[Row], metric: Metric) -> list[str]:
    """List systems with few judged results, or with many more than another system."""
    judged = [row for row in rows if row["judged"] is not None]
    depth = metric.params.get("k") or 10
    texts = [
        f"{share_text(row['judged'])} of the top {depth} of {row['system']} are judged; "
        "the rest counts as not relevant"
        for row in judged
        if row["judged"] < _LITTLE_JUDGED
    ]
    if judged:
        highest, lowest = (pick(judged, key=lambda row: row["judged"]) for pick in (max, min))
        if highest["judged"] - lowest["judged"] >= _JUDGED_APART:
            texts.append(
                f"more of {highest['system']} is judged ({share_text(highest['judged'])} of the "
                f"top {depth}) than of {lowest['system']} ({share_text(lowest['judged'])}), which "
                "favours it"
            )
    return texts


def _alone(found: Comparison, name: str, metric: Metric) -> Sentence:
    mine = found.systems.filter(pl.col("system") == name, pl.col("metric") == metric.label)
    whole = mine.filter(pl.col("by").is_null()).to_dicts()[0]
    text = f"{metric.label} {number_text(whole['value'], metric)}"
    if whole["ci_low"] is not None:
        low, high = (number_text(whole[side], metric) for side in ("ci_low", "ci_high"))
        text += f", {_confidence(found)}{low} to {high}"
    text += f", over {number_of(whole['queries'], 'query')}"
    sliced = mine.filter(
        pl.col("by").is_not_null(), pl.col("value").is_not_null(), ~pl.col("small")
    )
    if sliced.height > 1:
        worst = sliced.sort("value", descending=not metric.higher_is_better).to_dicts()[0]
        text += f"; worst in {_slice(worst)} ({number_text(worst['value'], metric)})"
    return Sentence(name, text + ".", "same")


def _against(found: Comparison, row: Row, metric: Metric) -> Sentence:
    system, base = row["system"], row["baseline"]
    if row["difference"] is None:
        return Sentence(
            system, f"cannot be compared with {base}: {metric.label} is undefined.", "same"
        )
    if not row["wins"] and not row["losses"] and not row["difference"]:
        return Sentence(system, f"has the same {metric.label} as {base} in every query.", "same")
    mark = _mark(row, metric)
    verb = {"up": "is better than", "down": "is worse than", "same": "cannot be told apart from"}
    text = f"{verb[mark]} {base}: {metric.label} {_difference(row, metric)}"
    if row["ci_low"] is not None:
        low, high = (signed_text(row[side], metric) for side in ("ci_low", "ci_high"))
        text += f", {_confidence(found)}{low} to {high}"
    if mark == "same" and row["p_corrected"] is not None:
        text += (
            f" ({found.note('policy_significant').split(' below')[0]} {p_text(row['p_corrected'])})"
        )
    clauses = [*_in_slices(found, row, metric, mark), *_by_others(found, row, mark)]
    return Sentence(system, "; ".join([text, *clauses]) + ".", mark)


def _in_slices(found: Comparison, row: Row, metric: Metric, mark: Mark) -> list[str]:
    """Say in which slices the outcome differs, or that it is nowhere worse."""
    slices = found.table.filter(
        pl.col("by").is_not_null(),
        pl.col("metric") == metric.label,
        pl.col("system") == row["system"],
    ).to_dicts()
    if not slices:
        return []
    texts = []
    for other, word in (("down", "worse"), ("up", "better")):
        there = [part for part in slices if _mark(part, metric) == other]
        if other == mark:
            continue
        if there:
            there.sort(key=lambda part: -abs(part["relative"] or part["difference"]))
            named = [f"{_slice(part)} {_relative(part, metric)}" for part in there]
            texts.append(f"{'but ' if mark != 'same' else ''}{word} in {_some(named)}")
        elif other == "down":
            texts.append(f"not significantly {word} in any of {number_of(len(slices), 'slice')}")
    return texts


def _by_others(found: Comparison, row: Row, mark: Mark) -> list[str]:
    """Say which other metrics agree, and which differ."""
    rows = found.table.filter(
        pl.col("by").is_null(),
        pl.col("metric") != row["metric"],
        pl.col("system") == row["system"],
    ).to_dicts()
    by_mark: dict[str, list[str]] = {"up": [], "down": [], "same": []}
    for other in rows:
        metric = found.metric(other["metric"])
        by_mark[_mark(other, metric)].append(f"{metric.label} {_relative(other, metric)}")
    texts = []
    for which, word in (("down", "worse"), ("up", "better")):
        if named := by_mark[which]:
            lead = "also " if which == mark else "but " if mark != "same" else ""
            texts.append(f"{lead}{word} by {_some(named)}")
    return texts


def _mark(row: Row, metric: Metric) -> Mark:
    """Return whether a system is significantly better or worse."""
    if not row["significant"] or not row["difference"]:
        return "same"
    return "up" if (row["difference"] > 0) == metric.higher_is_better else "down"


def _difference(row: Row, metric: Metric) -> str:
    share = percent_text(row["relative"])
    return signed_text(row["difference"], metric) + (f" ({share})" if share else "")


def _relative(row: Row, metric: Metric) -> str:
    return percent_text(row["relative"]) or signed_text(row["difference"], metric)


def _slice(row: Row) -> str:
    return f"{row['by']} {row['slice']}"


def _some(named: Sequence[str]) -> str:
    more = len(named) - _MOST_NAMED
    return ", ".join(named[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _confidence(found: Comparison) -> str:
    """Return the confidence that stands before an interval."""
    how = found.note("policy_ci").split(",")[0]
    return f"{how} " if how.endswith("%") else ""
