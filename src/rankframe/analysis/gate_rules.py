"""Parse and check the rules of a gate: `ndcg@10: no worse than -0.5% at 95% per locale`."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Literal

from rankframe.analysis.stored import Names, names_of
from rankframe.core.errors import OptionError, UnreadableInputError
from rankframe.core.messages import Option, did_you_mean, number_of, sentences, shorten, shown
from rankframe.core.options import (
    LONGEST_NAME,
    Check,
    Intervals,
    is_count,
    is_listed,
    is_number,
    take_all,
)
from rankframe.core.records import record

Kind = Literal["no worse than", "better than", "at least", "at most"]
HOW: Final = (
    'A rule reads "METRIC: no worse than -0.5% at 95%" (or "better than 1%", "at least 0.4", '
    '"at most 12"), and may end in "where both are defined" and in "per ATTRIBUTE".'
)
_RULE: Final = re.compile(
    r"(?P<metric>.+):\s*(?P<kind>no worse than|better than|at least|at most)\s+"
    r"(?P<number>[-+−]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)\s*(?P<percent>%)?"
    r"(?:\s+at\s+(?P<confidence>[0-9]+(?:\.[0-9]+)?)\s*%)?"
    r"(?P<where>\s+where\s+both\s+are\s+defined)?"
    r"(?:\s+per\s+(?P<by>.+?))?\s*",
    re.IGNORECASE | re.DOTALL,
)
_JUDGED: Final = re.compile(r"min_judged@([0-9]{1,9})")
_DEFAULT_CONFIDENCE = 0.95
# With fewer queries that differ, a pass is marked: Student's t ignores differences that are too
# rare to be in the sample.
_FEW = 10
# The change (positive is better), its lower confidence bound, its p value, and how many queries
# differ.
Measured = tuple[float, float, float | None, int]


@record
class Rule:
    """Hold a condition on one metric, for all queries or for each slice."""

    text: str
    metric: str
    kind: Kind
    number: float
    # whether `number` is a share of the baseline's value
    relative: bool = False
    confidence: float = _DEFAULT_CONFIDENCE
    by: tuple[str, ...] | None = None
    # whether to ignore queries that are undefined for one side only
    where_both: bool = False

    @property
    def against_baseline(self) -> bool:
        """Tell whether the rule is about the change from the baseline, not the value alone."""
        return self.kind in ("no worse than", "better than")

    def check(
        self,
        before: float | None,
        after: float | None,
        queries: int,
        doubt: str = "",
        measure: Callable[[], Measured | str] = str,
        *,
        too_few: bool = False,
    ) -> dict[str, object]:
        """Check the rule on two values; return the status, the reason and the compared values.

        Args:
            before: the value of the baseline.
            after: the value of the candidate.
            queries: the number of queries.
            doubt: the reason why the rule cannot be decided; "" if it can.
            measure: a callback that returns the change, or the reason why there is none.
            too_few: whether `doubt` is that the slice is too small, so that the check is skipped.
        """
        measured, status, reason = None, "undecided", doubt
        if doubt:
            status = "skipped" if too_few else "undecided"
        elif after is None or (self.against_baseline and before is None):
            reason = f"{self.metric} is undefined"
        elif not self.against_baseline:
            passed = after >= self.number if self.kind == "at least" else after <= self.number
            status = "pass" if passed else "fail"
            reason = "" if passed else f"{after:.4f} is not {self.kind} {self.number:g}"
        elif isinstance(measured := measure(), str):
            measured, reason = None, measured
        else:
            status, reason = self._check_change(measured, queries)
        change, bound, p_value, differing = measured or (None, None, None, None)
        return {
            "rule": self.text,
            "metric": self.metric,
            "margin": self.number,
            "relative": self.relative,
            "confidence": self.confidence if self.against_baseline else None,
            "status": status,
            "reason": reason,
            "baseline_value": before,
            "value": after,
            "change": change,
            "bound": bound,
            "p_value": p_value,
            "queries": queries,
            "differing": differing,
        }

    def _check_change(self, measured: Measured, queries: int) -> tuple[str, str]:
        """Check a change by its lower bound; return the status and the reason."""
        change, bound, _, differing = measured
        if bound > self.number if self.kind == "better than" else bound >= self.number:
            few = f"{differing} of {number_of(queries, 'query')} differ, too few to trust the bound"
            return "pass", few if differing < _FEW else ""
        digits = "+.2%" if self.relative else "+.4f"
        return "fail", (
            f"may be {bound:{digits}} at {100 * self.confidence:g}% confidence "
            f"(measured {change:{digits}}), asked for {self.kind} {self.number:{digits}}"
        )


@record
class Demands:
    """Hold the rules of a gate, and the minimum data for a decision."""

    rules: tuple[Rule, ...]
    min_queries: int = 30
    # by depth: the share of the top k that must have been judged
    min_judged: Mapping[int, float] = field(default_factory=dict)
    # stored columns that are no known metric, by the direction that is better
    lower_is_better: tuple[str, ...] = ()
    higher_is_better: tuple[str, ...] = ()


_MINIMUM = Check(lambda value: is_count(value) and value >= 2, "a whole number of at least 2")
_DIRECTIONS: Final = ("lower_is_better", "higher_is_better")


def read_demands(
    rules: str | Path | Mapping[str, Any] | Iterable[str],
    *,
    min_queries: int | None = None,
    min_judged: Mapping[int, float] | None = None,
    lower_is_better: Names = (),
    higher_is_better: Names = (),
) -> Demands:
    """Read rules and minimums from texts, a TOML file, or its content; options override a file.

    >>> read_demands(["ndcg@10: no worse than -0.5% at 95%"]).rules[0].number
    -0.005
    """
    table = _table(rules)
    entries = ("rules", "min_queries", *_DIRECTIONS)
    unknown = [k for k in table if k not in entries and not _JUDGED.fullmatch(str(k))]
    if unknown:
        problem = f"rules have no entry {shown(unknown[0])}"
        near = did_you_mean(unknown[0], [*entries, "min_judged@10"])
        there_are = f"There are {', '.join(entries)} and min_judged@K"
        raise OptionError(*sentences((problem,), (near,), (there_are,)))
    texts = table.get("rules", [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise OptionError(f"rules must be a list of texts. {HOW}")
    if not texts:
        raise OptionError(f"there is no rule to decide by. {HOW}")
    parsed = tuple(map(parse_rule, texts))
    if twice := [rule.text for rule in parsed if parsed.count(rule) > 1]:
        raise OptionError(f"rule {twice[0]!r} occurs more than once.")
    shares = {int(m[1]): value for key, value in table.items() if (m := _JUDGED.fullmatch(key))}
    if not isinstance(min_judged, Mapping | None):
        problem = f" maps depths to shares, such as {{10: 0.5}}, and is {shown(min_judged)}."
        raise OptionError(Option("min_judged", bare=True), problem)
    shares |= min_judged or {}
    for depth, share in shares.items():
        if not is_count(depth):
            raise OptionError(f"min_judged is about the top 1 or more, not {shown(depth)}.")
        if not is_number(share) or not 0 <= share <= 1:
            raise OptionError(
                f"min_judged@{depth} must be a share from 0 to 1, not {shown(share)}."
            )
    minimum = min_queries if min_queries is not None else table.get("min_queries", 30)
    _MINIMUM.refuse("min_queries", minimum)
    directions = {
        option: (*names_of(option, table.get(option, ())), *names_of(option, more))
        for option, more in zip(_DIRECTIONS, (lower_is_better, higher_is_better), strict=True)
    }
    return Demands(parsed, minimum, shares, **directions)


def parse_rule(text: str) -> Rule:
    """Parse the text of a rule."""
    if len(text) > LONGEST_NAME:
        raise OptionError(
            f"a rule has at most {LONGEST_NAME:,} characters, and this one {len(text):,}: "
            f"{shorten(text)!r}. {HOW}"
        )
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise OptionError(f"cannot read the rule {text!r}. {HOW}")
    number = float(match["number"].replace("−", "-"))
    relative, confidence = match["percent"] is not None, match["confidence"]
    kind: Kind = " ".join(match["kind"].lower().split())  # pyright: ignore[reportAssignmentType]
    problem = ""
    if not math.isfinite(number):
        problem = f"{match['number']} is too large a number."
    elif kind == "no worse than" and number > 0:
        problem = (
            "how much worse it may be is written with a minus, such as "
            f"-{match['number'].lstrip('+')}{'%' if relative else ''}. "
            'To ask for more than before, write "better than".'
        )
    elif kind in ("at least", "at most") and relative:
        problem = f"{kind!r} takes a value of the metric, not a percentage."
    elif kind in ("at least", "at most") and confidence is not None:
        problem = (
            f"{kind!r} looks at the value itself, without a confidence: "
            f"leave out 'at {confidence}%'."
        )
    if problem:
        raise OptionError(f"rule {text!r}: {problem}")
    confidence = _DEFAULT_CONFIDENCE if confidence is None else float(confidence) / 100
    Intervals("t", confidence)  # refuses an invalid confidence
    by = tuple(re.split(r"\s*[,×]\s*", match["by"].strip())) if match["by"] else None
    return Rule(
        text.strip(),
        match["metric"].strip(),
        kind,
        number / 100 if relative else number,
        relative,
        confidence,
        by,
        match["where"] is not None,
    )


def _table(rules: str | Path | Mapping[str, Any] | Iterable[str]) -> dict[str, Any]:
    if isinstance(rules, Mapping):
        return dict(rules)
    if isinstance(rules, str) and (len(rules) > LONGEST_NAME or _RULE.fullmatch(rules.strip())):
        return {"rules": [rules]}  # one that is too long is refused when it is parsed
    if isinstance(rules, str) and not rules.lower().endswith(".toml"):
        raise OptionError(f"cannot read the rule {rules!r}. {HOW} A file of rules ends in .toml.")
    if isinstance(rules, str | Path):
        return read_table(rules)
    if not is_listed(rules):
        raise OptionError(f"rules are texts, or a file of them, not {shown(rules)}. {HOW}")
    return {"rules": take_all("rules", rules)}


def read_table(rules: str | Path) -> dict[str, Any]:
    """Read a TOML file of rules."""
    try:
        return tomllib.loads(Path(rules).expanduser().read_text(encoding="utf-8"))
    # no text, no TOML, or numbers of thousands of digits
    except (OSError, ValueError, RecursionError) as error:
        problem = str(error)
        if isinstance(error, FileNotFoundError):
            problem = "no such file"
        if isinstance(error, RecursionError):
            problem = "its tables or lists are nested too deeply"
        raise UnreadableInputError(str(rules), problem) from error
