"""Write the metric reference (docs/metrics.md) and the public names for type checkers and editors
(src/rankframe/__init__.pyi).
"""

from __future__ import annotations

import builtins
import inspect
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import get_args

from generated import DOCS, SOURCE, table, write

import rankframe
from rankframe.metrics import REGISTRY, Definition
from rankframe.metrics.metric import Family
from rankframe.metrics.names import signature

HEADER = """<!-- Written by docs/make.py. -->

# Metric reference

`rankframe metrics NAME` shows an entry of this page.

A judged document of a query has a grade g, and is *relevant* if g > 0 (or g ≥ `rel`). R is the
number of relevant documents, N the number of judged non-relevant documents, n the number of
retrieved documents. i is a rank from 1, and found(i) the number of relevant documents at ranks 1 to
i. Every metric also takes `average=`: `macro` (the mean over queries), `micro` (Σ numerators /
Σ denominators, for ratios), `geometric`, `weighted` or `sum`; for `evaluate` and `agree` also
`median`, `min`, or a quantile such as `average=quantile(q=0.1)`.

`gap(ndcg@10, by=group)` is the gap between the averages of a metric over slices by an attribute of
`queries`: the largest minus the smallest average or, with `kind=mean`, the mean difference between
two slices. The metric must have values per query. Slices of fewer than 30 queries are left out and
counted in the ledger. A smaller gap is better. `compare` tests the difference between the gaps of
two systems, and gate rules can refer to a gap ([intervals and tests](statistics.md#gaps)).

Each metric is also a function: `rf.ndcg(k=10)` is the expression `"ndcg@10"`. Names listed after
*Also* are accepted, too.
"""
STUB_HEADER = '"""The public names for type checkers, written by docs/make.py."""\n\n'


def written() -> dict[Path, str]:
    """Return the text of docs/metrics.md and of `__init__.pyi`, by path."""
    return {
        DOCS / "metrics.md": page(),
        SOURCE / "__init__.pyi": stub(),
    }


def page() -> str:
    """Return the text of the metric reference, with an entry for every metric."""
    parts = [HEADER, families(), ""]
    for family in get_args(Family):
        definitions = [d for d in REGISTRY.values() if d.family == family]
        module = sys.modules[definitions[0].build.__module__]
        _, _, notation = (inspect.getdoc(module) or "").partition("\n\n")
        parts.append(f"## {family}\n")
        parts += [f"{notation}\n"] if notation else []
        parts += map(_entry, definitions)
    return "\n".join(parts)


def _entry(definition: Definition) -> str:
    functions = {alias: f" (`rf.{alias}`)" for alias in definition.aliases}
    others = ", ".join(f"`{name}`{functions.get(name, '')}" for name in definition.other_names)
    also = f" Also: {others}." if others else ""
    better = "higher" if definition.higher_is_better else "lower"
    lines = [
        f"### {definition.name}\n",
        f"`{signature(definition)}`\n",
        f"{definition.summary}\n",
        f"> {definition.formula}\n",
        f"{definition.notes}\n" if definition.notes else "",
        f"{better.capitalize()} is better. Average: {definition.average}.{also}\n",
    ]
    return "\n".join(line for line in lines if line)


def families() -> str:
    """Return a Markdown table of metrics, with a row for each family."""
    rows = [(_family(family), _names(family)) for family in get_args(Family)]
    return table(["family", "names"], rows)


def _family(family: Family) -> str:
    pair = any(d.family == family and d.frame == "pair" for d in REGISTRY.values())
    return f"{family[0].lower()}{family[1:]}{' (`rf.agree`)' if pair else ''}"


def _names(family: Family) -> str:
    return " ".join(
        " ".join([f"`{d.name}`", *(f"(`{alias}`)" for alias in d.aliases)])
        for d in REGISTRY.values()
        if d.family == family
    )


def stub() -> str:
    """Return the text of `__init__.pyi`, which imports each public name from its module."""
    places = vars(rankframe)
    homes: dict[str, list[str]] = defaultdict(list)
    for name, home in places["_HOMES"].items():
        homes[f"rankframe.{home}"].append(name)
    for definition in REGISTRY.values():
        homes[definition.function.__module__].append(definition.name)
    imports = {home: f"from {home} import {_listed(names)}\n" for home, names in homes.items()}
    for name, home in places["_PACKAGES"].items():
        parent, _, last = f"rankframe.{home}".rpartition(".")
        imports[parent] = f"from {parent} import {last} as {name}\n"
    lines = [imports[home] for home in sorted(imports)]
    aliases = [
        f"{alias} = {d.name}{'  # noqa: A001' if hasattr(builtins, alias) else ''}\n"
        for d in REGISTRY.values()
        for alias in d.aliases
    ]
    public = ", ".join(f'"{name}"' for name in _sorted(rankframe.__all__))
    public = textwrap.fill(public, 100, initial_indent=" " * 4, subsequent_indent=" " * 4)
    return (
        STUB_HEADER
        + "".join(lines)
        + "\n__version__: str\n"
        + "".join(sorted(aliases))
        + f"\n__all__ = [\n{public},\n]  # fmt: skip\n"
    )


def _listed(names: list[str]) -> str:
    """Return names for an import statement, in parentheses if they do not fit on one line."""
    ordered = _sorted(names)
    if len(", ".join(ordered)) < 60:
        return ", ".join(ordered)
    return "(\n" + "".join(f"    {name},\n" for name in ordered) + ")"


def _sorted(names: list[str]) -> list[str]:
    """Sort names as the linter does: constants, then classes, then functions."""
    return sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


if __name__ == "__main__":
    write(written())
