"""`"gap(ndcg@10, by=group)"`: how far a metric's averages over slices of queries are apart."""

from __future__ import annotations

import re
from typing import Any

from rankframe.core.errors import MetricParameterError
from rankframe.core.messages import shorten

_GAP = re.compile(r"gap\s*\((?P<inside>.*)\)", re.DOTALL | re.IGNORECASE)
_KINDS = ("range", "mean")
_FORM = "gap(ndcg@10, by=group)"


def inside_gap(text: str) -> tuple[str, dict[str, Any]] | None:
    """The name of a metric inside that of a gap, and the gap's own parameters; None: it is none.

    >>> inside_gap("gap(ndcg(gain=exp2)@10, by=group, kind=mean)")
    ('ndcg(gain=exp2)@10', {'kind': 'mean', 'by': 'group'})
    """
    found = _GAP.fullmatch(text.strip())
    if found is None:
        return None
    inner, *others = _split(found["inside"])
    params: dict[str, Any] = {"kind": "range"}
    said = f"{shorten(text)!r}: a gap reads {_FORM}"
    for one in others:
        key, equals, value = (part.strip() for part in one.partition("="))
        if not equals or key not in ("by", "kind") or not value:
            raise MetricParameterError(f"{said} or kind=mean, not {one.strip()!r}.")
        params[key] = value.strip("'\"")
    if not inner.strip() or "by" not in params:
        lacking = "the metric first" if not inner.strip() else "by=, an attribute of the queries"
        raise MetricParameterError(f"{said}: it lacks {lacking}.")
    if params["kind"] not in _KINDS:
        raise MetricParameterError(
            f"{shorten(text)!r}: kind is 'range', the largest less the least, or 'mean', of all "
            f"pairs, not {params['kind']!r}."
        )
    if _GAP.fullmatch(inner.strip()):
        raise MetricParameterError(f"{shorten(text)!r}: a gap of gaps is no gap between slices.")
    return inner.strip(), params


def _split(text: str) -> list[str]:
    """At commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:  # allowed: the letters of a name
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    # A cutoff may be several: ndcg@1,3.
    joined = [parts[0]]
    for part in parts[1:]:
        if part.strip().replace(".", "").isdigit():
            joined[-1] += f",{part}"
        else:
            joined.append(part)
    return joined
