"""Numbers and names as people read them, the same in tables, pages and messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from rankframe.base.options import Average

UNDEFINED = "undefined"
# What Markdown takes for more than a letter; an underscore only at the edge of a word.
_MARKDOWN = re.compile(r"([\\`*\[\]|]|(?<!\w)_|_(?!\w))")


class Shown(Protocol):
    """What a number is of: a metric."""

    @property
    def average(self) -> Average:
        """How it is averaged."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """Whether more of it is better."""
        ...


def number_text(value: float | None, metric: Shown | None = None) -> str:
    """A value: four digits, or a whole number for what is summed up.

    >>> number_text(0.12345), number_text(None)
    ('0.1235', 'undefined')
    """
    if value is None:
        return UNDEFINED
    return f"{value:,.0f}" if metric is not None and metric.average == "sum" else f"{value:.4f}"


def signed_text(value: float | None, metric: Shown | None = None) -> str:
    """A difference, with its sign; nothing has none.

    >>> signed_text(-0.00001), signed_text(0.5)
    ('+0.0000', '+0.5000')
    """
    if value is None:
        return UNDEFINED
    whole = metric is not None and metric.average == "sum"
    rounded = round(value, 0 if whole else 4) + 0.0  # no minus in front of nothing
    return f"{rounded:+,.0f}" if whole else f"{rounded:+.4f}"


def percent_text(value: float | None, digits: int = 1) -> str:
    """A relative difference, with its sign.

    >>> percent_text(0.1234), percent_text(None)
    ('+12.3%', '')
    """
    return "" if value is None else f"{round(value, digits + 2) + 0.0:+.{digits}%}"


def share_text(value: float | None) -> str:
    """A share of something."""
    return "" if value is None else f"{value:.0%}"


def count_text(value: float | None) -> str:
    """An entry of a ledger: a count, or a share."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == int(value) else f"{value:.1%}"


def p_text(p_value: float | None) -> str:
    """A p value.

    >>> p_text(0.00001), p_text(0.0312)
    ('<0.0001', '0.0312')
    """
    if p_value is None:
        return "–"
    return "<0.0001" if p_value < 0.0001 else f"{p_value:.4f}"


def best_of(metric: Shown, values: Sequence[float | None]) -> float | None:
    """The best of some values; None where none is known."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return max(known) if metric.higher_is_better else min(known)


def markdown_text(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> print(markdown_text("a|b *new* bm25_v1"))
    a\|b \*new\* bm25_v1
    """
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split())).replace("<", "&lt;")


def markdown_row(cells: Sequence[str]) -> str:
    """A row of a table from cells that are Markdown already."""
    return f"| {' | '.join(cells)} |"
