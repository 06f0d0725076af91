"""Why ids of two inputs may never match, guessed from some of each, for a message to say."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FLOAT = re.compile(r"\d+\.0")
_WHOLE = re.compile(r"\d+")
_PADDED = re.compile(r"0\d+")
# A part of a document: its id, a mark, and the number of the part.
_PART = re.compile(r".+(?:#|::|/|:|@|\||[-_.](?:chunk|part|passage|p|c)?[-_]?)\d+", re.IGNORECASE)
_MARK = re.compile(r"(?:#|::|/|:|@|\||[-_.](?:chunk|part|passage|p|c)?[-_]?)\d+$", re.IGNORECASE)
_UNKNOWN = "Is the key column right?"


def why_unlike(run_ids: Sequence[str], qrels_ids: Sequence[str]) -> str:
    """A sentence on how the ids of the two differ; or a question where nothing is known.

    >>> why_unlike(["doc17#3"], ["doc17"])
    "Are those of the run parts of documents ('doc17#3' of 'doc17')? Map them to what is judged."
    >>> why_unlike(["1.0", "2.0"], ["7"])
    'Those of the run went through floats: write them as whole numbers or text.'
    >>> why_unlike(["x"], ["y"])
    'Is the key column right?'
    """
    sides = (("run", run_ids, qrels_ids), ("qrels", qrels_ids, run_ids))
    for side, ids, others in sides:
        if _all(_FLOAT, ids) and _all(_WHOLE, others):
            return f"Those of the {side} went through floats: write them as whole numbers or text."
        if _all(_PADDED, ids) and _all(_WHOLE, others) and not any(map(_PADDED.fullmatch, others)):
            return f"Only those of the {side} begin with zeros: did the others lose theirs?"
        if any(one != one.strip() for one in ids) and not any(one != one.strip() for one in others):
            return f"Those of the {side} have blanks around them."
    if {one.casefold() for one in run_ids} & {one.casefold() for one in qrels_ids}:
        return "Some differ only in upper and lower case."
    if _all(_PART, run_ids) and not any(map(_PART.fullmatch, qrels_ids)):
        part = run_ids[0]
        return (
            f"Are those of the run parts of documents ({part!r} of {_MARK.sub('', part)!r})? "
            "Map them to what is judged."
        )
    return _UNKNOWN


def _all(pattern: re.Pattern[str], ids: Sequence[str]) -> bool:
    return bool(ids) and all(map(pattern.fullmatch, ids))
