"""Format numbers and names for tables, pages and messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, Protocol

from rankframe.core.options import Average

UNDEFINED = "undefined"
# Characters that are markup in Markdown; an underscore only at the edge of a word, a tilde only at
# the edge of the text.
_MARKDOWN = re.compile(r"([\\`*\[\]|$]|(?<![^\W_])_|_(?![^\W_])|~(?=\S)|(?<=\S)~)")
_ENTITY = re.compile(r"&(?=#?\w+;)")
# Text that a spreadsheet reads as a formula; numbers, which may begin like a formula.
_FORMULA, _NUMBER = re.compile(r"\s*[=+\-@]"), re.compile(r"[+-]?\d+([.,]\d*)?([eE][+-]?\d+)?")
# Invisible characters with an effect: commands of terminals, ends of lines, changes of direction,
# characters that XML forbids. They are shown as Python writes them.
UNSEEN: Final[dict[str, str]] = {
    chr(code): repr(chr(code))[1:-1]
    for code in (
        *range(32), *range(127, 160), 0x2028, 0x2029, *range(0x202A, 0x202F),
        *range(0x2066, 0x206A), *range(0xFDD0, 0xFDF0),
        *(plane << 16 | last for plane in range(17) for last in (0xFFFE, 0xFFFF)),
    )
}  # fmt: skip


class Shown(Protocol):
    """Define the attributes of a metric that decide how its numbers are shown."""

    @property
    def average(self) -> Average:
        """Return the method that averages the values of queries."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """Tell whether higher values are better."""
        ...


def plain_text(text: str, limit: int | None = None) -> str:
    r"""Escape invisible characters as Python does, and cut the text after `limit` characters.

    >>> print(plain_text("a\x1b[31m\tb"), plain_text("x" * 20, 5))
    a\x1b[31m\tb xxxx…
    """
    if limit is not None:
        text = text[: limit + 1]  # bounds the work for a long text
    shown = text.translate(_escapes())
    return shown if limit is None or len(shown) <= limit else shown[: limit - 1] + "…"


@cache
def _escapes() -> dict[int, str]:
    """Return how to show invisible characters, and surrogates (bytes of names that are no text)."""
    return str.maketrans(UNSEEN | {chr(code): f"\\u{code:x}" for code in range(0xD800, 0xE000)})


def distinct_texts(texts: Iterable[str], limit: int) -> dict[str, str]:
    """Return each text as `plain_text` shows it, with a number added if several would look alike.

    >>> list(distinct_texts(["xxx1", "xxx2", "xx…"], 3).values())
    ['xx… (2)', 'xx… (3)', 'xx…']
    """
    shown = {text: plain_text(text, limit) for text in texts}
    used = dict.fromkeys((text for text, label in shown.items() if text == label), 1)
    for text, label in shown.items():
        if text == label:
            continue
        numbered = label
        while numbered in used:
            used[label] += 1
            numbered = f"{label} ({used[label]})"
        used[numbered] = 1
        shown[text] = numbered
    return shown


def cell_text(text: str) -> str:
    """Write text for a cell of a spreadsheet, so that it is never a formula.

    >>> cell_text("=1+1"), cell_text("-0.5"), cell_text("a-b")
    ("'=1+1", '-0.5', 'a-b')
    """
    shown = plain_text(text)
    return f"'{shown}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else shown


def number_text(value: float | None, metric: Shown | None = None) -> str:
    """Write a value with four decimals, or a sum as a whole number.

    >>> number_text(0.12345), number_text(None)
    ('0.1235', 'undefined')
    """
    if value is None:
        return UNDEFINED
    return f"{value:,.0f}" if metric is not None and metric.average == "sum" else f"{value:.4f}"


def signed_text(value: float | None, metric: Shown | None = None) -> str:
    """Write a difference with its sign and four decimals, or as a whole number.

    >>> signed_text(-0.00001), signed_text(0.5)
    ('+0.0000', '+0.5000')
    """
    if value is None:
        return UNDEFINED
    whole = metric is not None and metric.average == "sum"
    rounded = round(value, 0 if whole else 4) + 0.0  # turns -0.0 into 0.0
    return f"{rounded:+,.0f}" if whole else f"{rounded:+.4f}"


def range_text(
    low: float | None, high: float | None, metric: Shown | None = None, *, signed: bool = False
) -> str:
    """Write an interval, or "" without an interval.

    >>> range_text(0.1, 0.25), range_text(-0.1, 0.25, signed=True)
    ('0.1000 to 0.2500', '-0.1000 to +0.2500')
    """
    text = signed_text if signed else number_text
    return "" if low is None else f"{text(low, metric)} to {text(high, metric)}"


def percent_text(value: float | None, digits: int = 1) -> str:
    """Write a relative difference as a percentage with its sign.

    >>> percent_text(0.1234), percent_text(None)
    ('+12.3%', '')
    """
    return "" if value is None else f"{round(value, digits + 2) + 0.0:+.{digits}%}"


def share_text(value: float | None) -> str:
    """Write a share as a percentage."""
    return "" if value is None else f"{value:.0%}"


def count_text(value: float | None) -> str:
    """Write an entry of a ledger: a count, or a share."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == int(value) else f"{value:.1%}"


def p_text(p_value: float | None) -> str:
    """Write a p value with four decimals, or "<0.0001".

    >>> p_text(0.00001), p_text(0.0312)
    ('<0.0001', '0.0312')
    """
    if p_value is None:
        return "–"
    return "<0.0001" if p_value < 0.0001 else f"{p_value:.4f}"


def best_of(metric: Shown, values: Sequence[float | None]) -> float | None:
    """Return the best value of a metric among several, or None if all are undefined."""
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    return max(defined) if metric.higher_is_better else min(defined)


def markdown_text(text: str) -> str:
    r"""Escape text for Markdown, on one line.

    >>> print(markdown_text("a|b *new* bm25_v1"))
    a\|b \*new\* bm25_v1
    """
    escaped = _ENTITY.sub("&amp;", plain_text(" ".join(text.split()))).replace("<", "&lt;")
    return _MARKDOWN.sub(r"\\\1", escaped)


def outcomes_text(row: Mapping[str, Any]) -> str:
    """Write wins/ties/losses, or "" if they are unknown.

    >>> outcomes_text({"wins": 3, "ties": 1_000, "losses": 0})
    '3/1,000/0'
    """
    counts = [row[name] for name in ("wins", "ties", "losses")]
    return "" if None in counts else "/".join(f"{count:,}" for count in counts)
