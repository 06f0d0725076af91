"""Define `Verdict`, the decision of a gate, for people and for pipelines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, Self
from xml.etree import ElementTree

import polars as pl

from rankframe.analysis.systems import Lack
from rankframe.core.caveats import Caveat
from rankframe.core.messages import number_of
from rankframe.core.options import TEXT
from rankframe.core.table import (
    Cell,
    Column,
    Note,
    Table,
    Tone,
    as_html,
    as_markdown,
    as_text,
    warning_notes,
)
from rankframe.core.vocabulary import Vocabulary
from rankframe.core.wording import number_text, percent_text, signed_text
from rankframe.engine.result import Exported

Status = Literal["pass", "fail", "undecided", "skipped"]
CHECK_SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("rule", "metric", "by", "slice"), pl.String),
    **dict.fromkeys(("baseline_value", "value", "change", "bound", "margin"), pl.Float64),
    "relative": pl.Boolean,
    **dict.fromkeys(("confidence", "p_value"), pl.Float64),
    **dict.fromkeys(("queries", "undefined_baseline", "undefined_candidate"), pl.Int64),
    "differing": pl.Int64,
    **dict.fromkeys(("judged_baseline", "judged", "condensed_value"), pl.Float64),
    **dict.fromkeys(("lower_bound", "upper_bound"), pl.Float64),
    **dict.fromkeys(("status", "reason"), pl.String),
}
# The version of the format of `to_json`. Added fields keep the version; other changes increase it.
JSON_SCHEMA = 1
_ALL = "all"  # the label of the checks over all queries
BASELINE, CANDIDATE = "baseline", "candidate"
_SIDES, _CHANGES = ("baseline_value", "value"), ("change", "bound")
TONES: dict[str, Tone] = {
    "pass": "good", "fail": "bad", "undecided": "doubtful", "skipped": "muted",
}  # fmt: skip
_CODES: dict[Status, int] = {"pass": 0, "fail": 1, "undecided": 2}
# Characters that XML 1.0 cannot represent.
_NO_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535), "�")


@dataclass(frozen=True)
class Verdict(Exported):
    """Hold the outcome of a gate.

    checks: a row for each rule and slice: both values, the change (positive is better) with its
        lower confidence bound, the number of queries that were tested, the number that were left
        out because the value is undefined for one run only, status ("pass", "fail", "undecided",
        "skipped") and reason. If the judged shares of the runs differ by more than 10 percentage
        points, also both shares, the candidate's value over judged documents alone, and its bounds.
    counted: the numbers of compared queries, and the minimum numbers for a decision.
    names: the names of the baseline and the candidate.

    `to_arrow()` and `to_pandas()` return the checks.
    """

    FRAMES = ("checks",)

    checks: pl.DataFrame
    counted: Mapping[str, Any]
    # counts of the judged queries that the run of the baseline or the candidate lacks
    lacks: Sequence[Lack] = ()
    # caveats with the role of the system that each is about; None: both systems
    by_role: Sequence[tuple[str | None, Caveat]] = ()
    names: tuple[str, str] = (BASELINE, CANDIDATE)
    # what texts call queries and documents
    vocabulary: Vocabulary = Vocabulary()  # noqa: RUF009 (frozen)

    def named(self, *, baseline: str | None = None, candidate: str | None = None) -> Self:
        """Return this verdict with other names for the systems."""
        for role, name in ((BASELINE, baseline), (CANDIDATE, candidate)):
            if name is not None:
                TEXT.refuse(role, name)
        names = baseline or self.names[0], candidate or self.names[1]
        called = dict(zip(self.names, names, strict=True))
        lacks = [replace(lack, system=called[lack.system]) for lack in self.lacks]
        return replace(self, lacks=lacks, names=names)

    @property
    def caveats(self) -> list[Caveat]:
        """Return the caveats, each with code, value and text: facts that can mislead a reader."""
        called: dict[str, str] = dict(zip((BASELINE, CANDIDATE), self.names, strict=True))
        return [
            caveat._replace(text=self.vocabulary.render(caveat.text)).about(role and called[role])
            for role, caveat in self.by_role
        ]

    @property
    def status(self) -> Status:
        """Return the verdict: "fail" if any check failed, else "undecided" or "pass".

        The verdict is also undecided if there is nothing to check.
        """
        statuses = set(self.checks["status"])
        if "fail" in statuses:
            return "fail"
        # Slices that are too small are ignored, but a rule with no other slices is undecided.
        decided = self.checks.filter(pl.col("status") != "skipped")["rule"].n_unique()
        if not statuses or "undecided" in statuses or decided < self.checks["rule"].n_unique():
            return "undecided"
        return "pass"

    @property
    def exit_code(self) -> int:
        """Return 0 for pass, 1 for fail, 2 for undecided."""
        return _CODES[self.status]

    @property
    def headline(self) -> str:
        """Return the verdict in one line."""
        counts = Counter(self.checks["status"])
        words = {
            "pass": "passed",
            "fail": "failed",
            "undecided": "could not be decided",
            "skipped": "skipped for too few queries",
        }
        parts = [f"{counts[status]} {word}" for status, word in words.items() if counts[status]]
        line = f"{self.status.upper()}: {', '.join(parts) or 'nothing was checked'} ({self._tested}"
        if self.counted["unpaired"]:
            done = self.counted["unpaired_done"]
            line += f", {self.counted['unpaired']:,} not on both sides: {done}"
        line += "".join(f", {lack}" for lack in self.lacks)
        if self.counted["without_attributes"]:
            line += f", {self.counted['without_attributes']:,} not in the frame of queries"
        return self.vocabulary.render(line + ")")

    @property
    def _tested(self) -> str:
        """Describe how many queries the rules were tested on: all, or a range of counts."""
        total = self.counted["queries"]
        tested = self.checks.filter(pl.col("status").is_in(["pass", "fail"]))
        counts = tested.group_by("rule").agg(pl.col("queries").sum())["queries"].sort().to_list()
        if not counts or counts[0] == total:
            return number_of(total, "query")
        highest = "" if counts[-1] == counts[0] else f" to {counts[-1]:,}"
        return f"{counts[0]:,}{highest} of {number_of(total, 'query')} tested"

    def to_json(self) -> str:
        """Write the verdict as JSON; docs/gate.md lists the fields."""
        return json.dumps(
            {
                "schema": JSON_SCHEMA,
                "status": self.status,
                "exit_code": self.exit_code,
                "headline": self.headline,
                "baseline": self.names[0],
                "candidate": self.names[1],
                "counted": dict(self.counted),
                "caveats": [caveat._asdict() for caveat in self.caveats],
                "checks": self.checks.to_dicts(),
            },
            indent=2,
            ensure_ascii=False,
        )

    def to_markdown(self) -> str:
        """Write a comment for a pull request: the verdict, a table for each rule, and reasons."""
        warned = warning_notes(self.caveats)
        return as_markdown([self.note, *self.rule_tables(), *warned, *self.reasons])

    @property
    def note(self) -> Note:
        """Return the headline, in the colour of the verdict."""
        return Note.from_headline(self.headline, TONES[self.status])

    @property
    def reasons(self) -> list[Note]:
        """Return why checks failed, could not be decided or were skipped."""
        return [
            Note(f"{row['status']}: {check_name(row)}: {row['reason']}", tone=TONES[row["status"]])
            for row in self.checks.to_dicts()
            if row["reason"]
        ]

    @property
    def sliced(self) -> bool:
        """Return whether any rule is checked on slices."""
        return self.checks["by"].null_count() < self.checks.height

    def rule_tables(self) -> list[Table]:
        """Return a table for each rule, titled with it."""
        return [
            table if table.rows[0][1].text != _ALL else table.without("slice")
            for table in self.table().without("why").split()
        ]

    def table(self) -> Table:
        """Return a row for each check, a group for each rule."""
        sides = [
            side if name == role else f"{side} ({name})"
            for side, role, name in zip(
                ("baseline", "now"), (BASELINE, CANDIDATE), self.names, strict=True
            )
        ]
        queries = self.vocabulary.render("queries")
        columns = [*(Column(name, numeric=False) for name in ("rule", "verdict", "slice")),
                   *map(Column, (*sides, "change", "at least", queries)),
                   Column("why", numeric=False)]  # fmt: skip
        groups = [
            [
                [
                    Cell(rule),
                    Cell(row["status"], tone=TONES[row["status"]]),
                    Cell(_ALL if row["by"] is None else f"{row['by']}: {row['slice']}"),
                    *(Cell(number_text(row[side]), value=row[side]) for side in _SIDES),
                    *(Cell(_change(row[change], row), value=row[change]) for change in _CHANGES),
                    Cell(f"{row['queries']:,}", value=row["queries"]),
                    Cell(row["reason"]),
                ]
                for row in rows
            ]
            for rule, rows in groupby(self.checks.to_dicts(), key=lambda row: row["rule"])
        ]
        return Table(columns, groups)

    def to_junit(self) -> str:
        """Write JUnit XML: a test case for each check."""
        counts = Counter(self.checks["status"])
        suite = ElementTree.Element(
            "testsuite",
            name="rankframe gate",
            tests=str(self.checks.height),
            failures=str(counts["fail"]),
            errors=str(counts["undecided"]),
            skipped=str(counts["skipped"]),
        )
        kinds = {"fail": "failure", "undecided": "error", "skipped": "skipped"}
        for row in self.checks.to_dicts():
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=f"rankframe.gate.{row['metric']}".translate(_NO_XML),
                name=check_name(row).translate(_NO_XML),
            )
            if kind := kinds.get(row["status"]):
                reason = row["reason"].translate(_NO_XML)
                ElementTree.SubElement(case, kind, message=reason)
            out = ElementTree.SubElement(case, "system-out")
            out.text = f"baseline {row['baseline_value']}, now {row['value']}"
        if self.caveats:
            output = ElementTree.SubElement(suite, "system-out")
            warnings = "\n".join(f"Warning: {caveat}." for caveat in self.caveats)
            output.text = warnings.translate(_NO_XML)
        ElementTree.indent(suite)
        text = ElementTree.tostring(suite, encoding="unicode")
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'

    def _repr_html_(self) -> str:
        table = self.table()
        shown = table if self.sliced else table.without("slice")
        return as_html([self.note, shown, *warning_notes(self.caveats)])

    def __repr__(self) -> str:
        checks = []
        for row in self.checks.to_dicts():
            reason = f": {row['reason']}" if row["reason"] else ""
            checks.append(Note(f"{row['status']:<9}  {check_name(row)}{reason}"))
        parts = [*checks, *warning_notes(self.caveats)]
        return as_text(f"rankframe gate: {self.headline}", parts)


def check_name(row: Mapping[str, Any]) -> str:
    """Return a name for a check: its rule, and its slice if it has one."""
    return row["rule"] + ("" if row["by"] is None else f" [{row['by']}: {row['slice']}]")


def _change(value: float | None, row: Mapping[str, Any]) -> str:
    if value is None:
        return ""
    return percent_text(value, 2) if row["relative"] else signed_text(value)
