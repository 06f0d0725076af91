"""Write docs/metrics.md from the registry: `python docs/make_metrics.py`."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from rankframe.metrics import REGISTRY, Definition
from rankframe.metrics.names import PRESETS, signature
from rankframe.metrics.registry import Family

HEADER = """# Metric reference

Written by `docs/make_metrics.py` from the registry; `rankframe metrics NAME` shows the same.

Per query: a judged document has a grade g and is *relevant* if g > 0 (or g ≥ `rel`). R is the
number of relevant documents, N of judged non-relevant ones, n of retrieved ones; i is a rank from 1
and found(i) the number of relevant documents at ranks 1 to i. Every metric also takes `average=`:
`macro` (the mean over queries), `micro` (Σ numerators / Σ denominators, for ratios), `geometric`,
`weighted` or `sum`.
"""


def page() -> str:
    """The whole page."""
    parts = [HEADER]
    for family in get_args(Family):
        parts.append(f"## {family}\n")
        parts += [_entry(d) for d in REGISTRY.values() if d.family == family]
    return "\n".join(parts)


def _entry(definition: Definition) -> str:
    presets = [name for name, (target, _) in PRESETS.items() if target == definition.name]
    others = ", ".join(f"`{name}`" for name in (*definition.synonyms, *presets))
    also = f" Also: {others}." if others else ""
    better = "higher" if definition.higher_is_better else "lower"
    lines = [
        f"### `{signature(definition)}`\n",
        f"{definition.summary}\n",
        f"> {definition.formula}\n",
        f"{definition.notes}\n" if definition.notes else "",
        f"{better.capitalize()} is better. Average: {definition.average}.{also}\n",
    ]
    return "\n".join(line for line in lines if line)


if __name__ == "__main__":
    Path(__file__).with_name("metrics.md").write_text(page(), encoding="utf-8")
