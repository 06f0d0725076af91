"""`Verdict`: what a gate decided, for people and for pipelines."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self
from xml.etree import ElementTree

import polars as pl

from rankframe.analysis.missing_queries import Lack
from rankframe.core.messages import number_of
from rankframe.core.wording import (
    markdown_row,
    markdown_text,
    marked_html,
    number_text,
    percent_text,
    signed_text,
)
from rankframe.engine.exported import Exported
from rankframe.engine.ledger import EVERY_RELEVANT

Status = Literal["pass", "fail", "undecided", "skipped"]
CHECK_SCHEMA: dict[str, type[pl.DataType]] = {
    "rule": pl.String,
    "metric": pl.String,
    "by": pl.String,
    "slice": pl.String,
    "baseline_value": pl.Float64,
    "value": pl.Float64,
    "change": pl.Float64,
    "bound": pl.Float64,
    "margin": pl.Float64,
    "relative": pl.Boolean,
    "confidence": pl.Float64,
    "p_value": pl.Float64,
    "queries": pl.Int64,
    "undefined_baseline": pl.Int64,
    "undefined_candidate": pl.Int64,
    "differing": pl.Int64,
    "status": pl.String,
    "reason": pl.String,
}
# Of what `to_json` writes: fields may be added to it; whatever else changes, changes this number.
JSON_SCHEMA = 1
BASELINE, CANDIDATE = "baseline", "candidate"
_CODES: dict[Status, int] = {"pass": 0, "fail": 1, "undecided": 2}
# Characters that XML 1.0 has no way to write.
_NO_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535), "�")


@dataclass(frozen=True)
class Verdict(Exported):
    """The outcome of a gate.

    checks: a row for each rule and slice: values, the change (in the direction that is better) and
        its lower confidence bound, how many queries were tested and how many were left out because
        they are undefined for one side only, status ("pass", "fail", "undecided", "skipped") and
        reason.
    counted: what was compared, and what it takes to decide.
    names: what the baseline and the candidate are called.

    `to_arrow()` and `to_pandas()` give the checks.
    """

    FRAMES = ("checks",)

    checks: pl.DataFrame
    counted: Mapping[str, Any]
    # judged queries that the baseline's or the candidate's run lacks
    lacks: Sequence[Lack] = ()
    names: tuple[str, str] = (BASELINE, CANDIDATE)

    def named(self, *, baseline: str | None = None, candidate: str | None = None) -> Self:
        """The same verdict on systems of these names."""
        names = dict(zip((BASELINE, CANDIDATE), self.names, strict=True))
        new = (baseline or names[BASELINE], candidate or names[CANDIDATE])
        called = dict(zip(self.names, new, strict=True))
        lacks = [replace(lack, system=called[lack.system]) for lack in self.lacks]
        return replace(self, lacks=lacks, names=new)

    @property
    def every_relevant(self) -> bool:
        """Whether all judged documents count as relevant, of several grades, and nobody said so."""
        return bool(self.counted["every_relevant"])

    @property
    def warnings(self) -> list[str]:
        """What makes the verdict doubtful."""
        return [str(lack) for lack in self.lacks if lack.many]

    @property
    def status(self) -> Status:
        """One failed check fails all; one that cannot be decided leaves all undecided, and so does
        nothing to check.
        """
        found = set(self.checks["status"])
        if "fail" in found:
            return "fail"
        # A slice that is too small is passed over, a rule without any other one is not.
        decided = self.checks.filter(pl.col("status") != "skipped")["rule"].n_unique()
        if not found or "undecided" in found or decided < self.checks["rule"].n_unique():
            return "undecided"
        return "pass"

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 2 could not decide."""
        return _CODES[self.status]

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        counts = Counter(self.checks["status"])
        parts = [
            f"{counts[status]} {word}"
            for status, word in (
                ("pass", "passed"),
                ("fail", "failed"),
                ("undecided", "could not be decided"),
                ("skipped", "skipped for too few queries"),
            )
            if status in counts
        ] or ["nothing was checked"]
        word = {"pass": "PASS", "fail": "FAIL", "undecided": "UNDECIDED"}[self.status]
        line = f"{word}: {', '.join(parts)} ({self._tested}"
        if self.counted["unpaired"]:
            done = self.counted["unpaired_done"]
            line += f", {self.counted['unpaired']:,} not on both sides: {done}"
        line += "".join(f", {lack}" for lack in self.lacks if not lack.many)
        line += f", {EVERY_RELEVANT}" if self.every_relevant else ""
        if self.counted["without_attributes"]:
            line += f", {self.counted['without_attributes']:,} not in the frame of queries"
        return line + ")"

    @property
    def _tested(self) -> str:
        """How many queries the rules were tested on: all of them, or so many."""
        every = self.counted["queries"]
        tested = self.checks.filter(pl.col("status").is_in(["pass", "fail"]))
        counts = tested.group_by("rule").agg(pl.col("queries").sum())["queries"].sort().to_list()
        if not counts or counts[0] == every:
            return number_of(every, "query")
        most = "" if counts[-1] == counts[0] else f" to {counts[-1]:,}"
        return f"{counts[0]:,}{most} of {number_of(every, 'query')} tested"

    def to_json(self) -> str:
        """Everything, for other programs: the page on the gate lists the fields."""
        return json.dumps(
            {
                "schema": JSON_SCHEMA,
                "status": self.status,
                "exit_code": self.exit_code,
                "headline": self.headline,
                "baseline": self.names[0],
                "candidate": self.names[1],
                "counted": dict(self.counted),
                "warnings": self.warnings,
                "checks": self.checks.to_dicts(),
            },
            indent=2,
            ensure_ascii=False,
        )

    def to_markdown(self) -> str:
        """For a comment on a pull request: the verdict, a table for each rule, what limits it."""
        word, _, counted = self.headline.partition(": ")
        rules = dict.fromkeys(self.checks["rule"])
        limits = [
            f"{status}: {rule}{f' [{of}]' if of else ''}: {reason}"
            for rule, of, *_, status, reason in self.lines()
            if reason
        ] + [f"Warning: {warning}." for warning in self.warnings]
        listed = "\n".join(f"- {markdown_text(one)}" for one in limits)
        return "\n\n".join(
            [
                f"**{word}**: {markdown_text(counted)}",
                *(f"**{markdown_text(rule)}**\n\n{self._table(rule)}" for rule in rules),
                *([f"What limits it:\n\n{listed}"] if limits else []),
            ]
        )

    def _table(self, rule: str) -> str:
        """The checks of a rule as a table in Markdown."""
        lines = [line for line in self.lines() if line[0] == rule]
        sliced = any(of for _, of, *_ in lines)
        head = ["verdict", *(["slice"] if sliced else []), *map(markdown_text, self.header)]
        marks = ["---"] * (1 + sliced) + ["---:"] * len(self.header)
        rows = [
            [status, *([markdown_text(of)] if sliced else []), *map(markdown_text, numbers)]
            for _, of, *numbers, status, _ in lines
        ]
        return "\n".join(map(markdown_row, [head, marks, *rows]))

    def to_junit(self) -> str:
        """JUnit XML: a test case for each check."""
        counts = Counter(self.checks["status"])
        suite = ElementTree.Element(
            "testsuite",
            name="rankframe gate",
            tests=str(self.checks.height),
            failures=str(counts["fail"]),
            errors=str(counts["undecided"]),
            skipped=str(counts["skipped"]),
        )
        for row in self.checks.to_dicts():
            of = "" if row["by"] is None else f" [{row['by']}: {row['slice']}]"
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=f"rankframe.gate.{row['metric']}".translate(_NO_XML),
                name=f"{row['rule']}{of}".translate(_NO_XML),
            )
            kind = {"fail": "failure", "undecided": "error", "skipped": "skipped"}
            if row["status"] in kind:
                ElementTree.SubElement(
                    case, kind[row["status"]], message=row["reason"].translate(_NO_XML)
                )
            out = ElementTree.SubElement(case, "system-out")
            out.text = f"baseline {row['baseline_value']}, now {row['value']}"
        if self.warnings:
            told = ElementTree.SubElement(suite, "system-out")
            told.text = "\n".join(f"Warning: {one}." for one in self.warnings).translate(_NO_XML)
        ElementTree.indent(suite)
        text = ElementTree.tostring(suite, encoding="unicode")
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'

    @property
    def header(self) -> tuple[str, ...]:
        """What stands above the numbers of `lines`: baseline and now, with their names if any."""
        sides = [
            said if name == role else f"{said} ({name})"
            for said, role, name in zip(
                ("baseline", "now"), (BASELINE, CANDIDATE), self.names, strict=True
            )
        ]
        return (*sides, "change", "at least", "queries")

    def lines(self) -> list[tuple[str, ...]]:
        """What people read: rule, slice, the numbers under `header`, status, reason."""
        return [
            (
                row["rule"],
                "" if row["by"] is None else f"{row['by']}: {row['slice']}",
                number_text(row["baseline_value"]),
                number_text(row["value"]),
                _change(row["change"], relative=row["relative"]),
                _change(row["bound"], relative=row["relative"]),
                f"{row['queries']:,}",
                row["status"],
                row["reason"],
            )
            for row in self.checks.to_dicts()
        ]

    def _repr_html_(self) -> str:
        word, _, counted = self.headline.partition(": ")
        head = "".join(f"<th>{html.escape(one)}</th>" for one in ("", "rule", *self.header, "why"))
        body = "".join(
            f"<tr><td>{_marked(status)}</td><td style='text-align:left'>"
            f"{html.escape(rule + (f' [{of}]' if of else ''))}</td>"
            + "".join(f"<td>{html.escape(one)}</td>" for one in numbers)
            + f"<td style='text-align:left'>{html.escape(reason)}</td></tr>"
            for rule, of, *numbers, status, reason in self.lines()
        )
        warned = "".join(f"<p>Warning: {html.escape(one)}</p>" for one in self.warnings)
        return (
            f"<p><b>{_marked(self.status, word)}</b>: {html.escape(counted)}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{warned}"
        )

    def __repr__(self) -> str:
        shown = [f"  {row[7]:<9}  {row[0]}{' ' if row[1] else ''}{row[1]}"
                 f"{': ' if row[8] else ''}{row[8]}" for row in self.lines()]  # fmt: skip
        warned = [f"  Warning: {warning}" for warning in self.warnings]
        return "\n".join([f"rankframe gate: {self.headline}", *shown, *warned])


def _marked(status: str, word: str | None = None) -> str:
    """A status in the colour of what is better or worse, if it is either."""
    return marked_html(word or status, good={"pass": True, "fail": False}.get(status))


def _change(value: float | None, *, relative: bool) -> str:
    if value is None:
        return ""
    return percent_text(value, 2) if relative else signed_text(value)
