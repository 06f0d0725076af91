"""Render the first screen of a report: verdicts, sentences on systems, a table, and caveats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.analysis.systems import Lack
from rankframe.analysis.verdict import TONES, Verdict, check_name
from rankframe.core.messages import number_of
from rankframe.core.records import record
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
from rankframe.metrics.names import Metric
from rankframe.present.report import html
from rankframe.present.report.model import Material, of_all_queries, of_slices
from rankframe.present.tables import number_cell

Mark = Literal["up", "down", "same"]
Row = Mapping[str, Any]

_MOST_NAMED = 3  # slices or metrics in a sentence
_FEW_DIFFERENT = 10  # queries in which two systems differ
_FEW_QUERIES = 30
_LITTLE_JUDGED = 0.5
_MOST_FAILED = 3


class Style(NamedTuple):
    """Hold the words and the style class with which an outcome is displayed."""

    symbol: str
    tone: Tone
    label: str
    verb: str


STYLES: Final[dict[Mark, Style]] = {
    "up": Style("▲", "good", "better", "is better than"),
    "down": Style("▼", "bad", "worse", "is worse than"),
    "same": Style("≈", "", "not told apart", "cannot be told apart from"),
}


@record
class Sentence:
    """Hold the sentence about a system, and whether it is better, worse, or neither."""

    system: str
    text: str
    mark: Mark = "same"


def summary(material: Material) -> str:
    """Render verdicts, a sentence per system, a small table, and caveats."""
    found = material.found
    return html.section(
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
        f'aria-label="{STYLES[sentence.mark].label}">'
        f"{'•' if alone else STYLES[sentence.mark].symbol}</span>"
        f'<span class="said"><b>{html.text(sentence.system)}</b>{":" if alone else ""} '
        f"{_emphasised(sentence)}</span></li>"
        for sentence in sentences(found)
    ]
    best = leader(found)
    lead = f"<p>{html.escaped(best)}</p>" if best else ""
    return f'{lead}<ul class="findings">{"".join(items)}</ul>'


def _emphasised(sentence: Sentence) -> str:
    """Render a sentence with its verb in colour."""
    if sentence.mark == "same":
        return html.escaped(sentence.text)
    verb = " ".join(sentence.text.split(" ", 2)[:2])
    return f'<b class="is">{html.escaped(verb)}</b>{html.escaped(sentence.text.removeprefix(verb))}'


def _verdict(index: int, name: str, verdict: Verdict) -> str:
    """Render the gate's checks of a system."""
    checks = verdict.table()
    rules, verdicts, slices, *rest = range(len(checks.columns))
    shown = checks.take([verdicts, rules, *([slices] if verdict.sliced else []), *rest])
    details = html.fold("The rules, one by one", html.table(f"gate-{index}", shown), kind="plain")
    failed = [
        f"<li>{html.escaped(check_name(row))}: {html.escaped(row['reason'])}</li>"
        for row in verdict.checks.to_dicts()
        if row["status"] in ("fail", "undecided")
    ]
    more = len(failed) - _MOST_FAILED
    if more > 0:
        failed = [*failed[:_MOST_FAILED], f"<li>and {more} more</li>"]
    why = f"<ul>{''.join(failed)}</ul>" if failed else ""
    word = f'<b class="{html.CLASSES[TONES[verdict.status]]}">{verdict.note.lead}</b>'
    return (
        f'<div class="verdict {verdict.status}">{word} '
        f"<b>{html.text(name)}</b>: {html.escaped(verdict.note.text)}{why}{details}</div>"
    )


def headline(found: Comparison) -> str:
    """Render a table of values, intervals and changes: a row per system, a column per metric."""
    values, pairs = (
        {(row["metric"], row["system"]): row for row in of_all_queries(frame).to_dicts()}
        for frame in (found.systems, found.table)
    )
    best = {
        metric.label: best_of(metric, [values[metric.label, name]["value"] for name in found.names])
        for metric in found.metrics
    }
    rows = []
    for name in found.names:
        keys = [(metric.label, name) for metric in found.metrics]
        cells = [
            _value_cell(values[key], pairs.get(key), metric, best[metric.label])
            for key, metric in zip(keys, found.metrics, strict=True)
        ]
        queries = max(values[key]["queries"] for key in keys)
        rows.append([name, *cells, number_cell(queries, f"{queries:,}")])
    table = Table.from_texts(["system"], [*best, found.vocabulary.render("queries")], rows)
    remark = f"Below each value its interval, {found.note('policy_ci')}. The best in bold."
    if pairs:
        remark += (
            f" ▲ ▼: better or worse than {found.baseline} ({found.note('policy_significant')}, "
            f"{found.note('policy_correction')}; test: {found.note('policy_test')})."
        )
    return html.table("headline", table) + html.note(remark)


def _value_cell(row: Row, pair: Row | None, metric: Metric, best: float | None) -> Cell:
    cell = Cell(
        number_text(row["value"], metric),
        bold=row["value"] is not None and row["value"] == best,
        detail=range_text(row["ci_low"], row["ci_high"], metric),
        value=row["value"],
    )
    if pair is None or pair["difference"] is None:
        return cell
    mark = _mark(pair, metric)
    sign = "" if mark == "same" else f"{STYLES[mark].symbol} "
    return replace(cell, tone=STYLES[mark].tone, mark=f"{sign}{percent_text(pair['relative'])}")


def _caveats(found: Comparison, sampled: str) -> str:
    drawn = found.vocabulary.render(f"curves are drawn of {sampled}")
    texts = [*caveats(found), *([drawn] if sampled else [])]
    if not texts:
        none = "Caveats: none found. Every query is in every run."
        return html.note(found.vocabulary.render(none))
    warned = set(map(str, found.caveats))
    items = "".join(
        f"<li{' class=warning' if caveat in warned else ''}>{html.escaped(caveat)}.</li>"
        for caveat in texts
    )
    return f'<h3>Caveats</h3><ul class="limits">{items}</ul>'


def sentences(found: Comparison) -> list[Sentence]:
    """Write a sentence for each system other than the baseline; for a single system, its value."""
    first = found.metrics[0]
    if found.table.is_empty():
        said = [_alone(found, name, first) for name in found.names]
    else:
        whole = of_all_queries(found.table, metric=first.label)
        said = [_against(found, row, first) for row in whole.to_dicts()]
    return [replace(each, text=found.vocabulary.render(each.text)) for each in said]


def leader(found: Comparison) -> str:
    """Return a sentence on which of three or more systems has the best value; "" if fewer."""
    first = found.metrics[0]
    whole = of_all_queries(found.systems, metric=first.label)
    top = best_of(first, whole["value"].to_list())
    if len(found.names) < 3 or top is None:
        return ""
    best = whole.filter(value=top)["system"].to_list()
    return (
        f"{' and '.join(best[:_MOST_NAMED])} {'has' if len(best) == 1 else 'have'} the best "
        f"{first.label} of {len(found.names)} systems: {number_text(top, first)}."
    )


def caveats(found: Comparison) -> list[str]:
    """List what limits the conclusion: missing queries, unjudged documents, little data."""
    first = found.metrics[0]
    texts = [*map(str, found.caveats), *map(str, found.lacks)]
    unpaired = found.ledger.filter(item="queries_unpaired").filter(pl.col("value") > 0)
    notes = unpaired.select("value", "note").rows()  # allowed: a ledger
    texts += [f"{value:,.0f} queries {note}" for value, note in notes]
    whole = of_all_queries(found.systems, metric=first.label)
    texts += _judged(whole.to_dicts(), first, found.lacks)
    for row in of_all_queries(found.table, metric=first.label).to_dicts():
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
    few, total = (
        of_slices(found.systems, **values).select("by", "slice").n_unique()
        for values in ({"small": True}, {})
    )
    if few:
        texts.append(f"{few} of {number_of(total, 'slice')} have fewer than {_FEW_QUERIES} queries")
    return [found.vocabulary.render(text) for text in dict.fromkeys(texts)]


def _judged(rows: Sequence[Row], metric: Metric, lacks: Sequence[Lack]) -> list[str]:
    """Return a sentence for each system with a low judged share."""
    # In the average of judged shares, a query that is missing from a run has a share of 0.
    answered = {lack.system: 1 - lack.queries / lack.judged for lack in lacks}
    shares = {row["system"]: row["judged"] / answered.get(row["system"], 1.0)
              for row in rows if row["judged"] is not None}  # fmt: skip
    depth = metric.params.get("k") or 10
    return [
        f"{share_text(share)} of the top {depth} of {system} are judged; "
        "the rest counts as not relevant"
        for system, share in shares.items()
        if share < _LITTLE_JUDGED
    ]


def _alone(found: Comparison, name: str, metric: Metric) -> Sentence:
    (whole,) = of_all_queries(found.systems, system=name, metric=metric.label).to_dicts()
    text = f"{metric.label} {number_text(whole['value'], metric)}"
    text += _interval(found, whole, metric, number_text)
    text += f", over {number_of(whole['queries'], 'query')}"
    sliced = of_slices(found.systems, system=name, metric=metric.label, small=False)
    sliced = sliced.drop_nulls("value").sort("value", descending=not metric.higher_is_better)
    if sliced.height > 1:
        worst = sliced.row(0, named=True)
        text += f"; worst in {_slice(worst)} ({number_text(worst['value'], metric)})"
    return Sentence(name, text + ".")


def _interval(
    found: Comparison, row: Row, metric: Metric, write: Callable[[float, Metric], str]
) -> str:
    """Format an interval as text to follow a number; "" without an interval."""
    if row["ci_low"] is None:
        return ""
    low, high = (write(row[side], metric) for side in ("ci_low", "ci_high"))
    how = found.note("policy_ci").split(",")[0]  # begins with the confidence, if it is known
    return f", {f'{how} ' if how.endswith('%') else ''}{low} to {high}"


def _against(found: Comparison, row: Row, metric: Metric) -> Sentence:
    system, base = row["system"], row["baseline"]
    if row["difference"] is None:
        return Sentence(system, f"cannot be compared with {base}: {metric.label} is undefined.")
    if not row["wins"] and not row["losses"] and not row["difference"]:
        return Sentence(system, f"has the same {metric.label} as {base} in every query.")
    mark, share = _mark(row, metric), percent_text(row["relative"])
    text = f"{STYLES[mark].verb} {base}: {metric.label} {signed_text(row['difference'], metric)}"
    text += f" ({share})" if share else ""
    text += _interval(found, row, metric, signed_text)
    if mark == "same" and row["p_corrected"] is not None:
        significant = found.note("policy_significant").split(" below")[0]
        text += f" ({significant} {p_text(row['p_corrected'])})"
    clauses = [*_in_slices(found, row, metric, mark), *_by_others(found, row, mark)]
    return Sentence(system, "; ".join([text, *clauses]) + ".", mark)


def _in_slices(found: Comparison, row: Row, metric: Metric, mark: Mark) -> list[str]:
    """Return sentences about slices with another outcome, or a sentence that no slice is worse."""
    slices = of_slices(found.table, metric=metric.label, system=row["system"]).to_dicts()
    texts = []
    for other in ("down", "up") if slices else ():
        if other == mark:
            continue
        differing = [part for part in slices if _mark(part, metric) == other]
        if differing:
            differing.sort(key=lambda part: -abs(part["relative"] or part["difference"]))
            named = [f"{_slice(part)} {_relative(part, metric)}" for part in differing]
            lead = "but " if mark != "same" else ""
            texts.append(f"{lead}{STYLES[other].label} in {_first(named)}")
        elif other == "down":
            texts.append(f"not significantly worse in any of {number_of(len(slices), 'slice')}")
    return texts


def _by_others(found: Comparison, row: Row, mark: Mark) -> list[str]:
    """Return sentences on which other metrics agree with the outcome, and which differ."""
    rows = of_all_queries(found.table, system=row["system"])
    rows = rows.filter(pl.col("metric") != row["metric"])
    by_mark: dict[Mark, list[str]] = {"down": [], "up": [], "same": []}
    for other in rows.to_dicts():
        metric = found.metric(other["metric"])
        by_mark[_mark(other, metric)].append(f"{metric.label} {_relative(other, metric)}")
    texts = []
    for which, named in by_mark.items():
        if named and which != "same":
            lead = "also " if which == mark else "but " if mark != "same" else ""
            texts.append(f"{lead}{STYLES[which].label} by {_first(named)}")
    return texts


def _mark(row: Row, metric: Metric) -> Mark:
    """Return "up" or "down" if a system is significantly better or worse, else "same"."""
    if not row["significant"] or not row["difference"]:
        return "same"
    return "up" if (row["difference"] > 0) == metric.higher_is_better else "down"


def _relative(row: Row, metric: Metric) -> str:
    return percent_text(row["relative"]) or signed_text(row["difference"], metric)


def _slice(row: Row) -> str:
    return f"{row['by']} {row['slice']}"


def _first(named: Sequence[str]) -> str:
    """Join the first few of `named`, and add how many others there are."""
    more = len(named) - _MOST_NAMED
    return ", ".join(named[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
