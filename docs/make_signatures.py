"""The options that functions share, in their signatures: from where they are declared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generated import SOURCE, write

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.core import options
from rankframe.core.option import Options, declared
from rankframe.core.options import Comparing, Intervals, PairPolicies, Policies, SharedPolicies
from rankframe.io.storage import Storage


@dataclass(frozen=True)
class Taker:
    """A function that takes groups of options."""

    module: str
    function: str
    groups: tuple[type[Options], ...]
    # where another default is meant
    defaults: Mapping[str, Any] = field(default_factory=dict)
    # where not all of a group is
    without: tuple[str, ...] = ()
    # where only those are meant that say what a frame holds
    frame_only: bool = False

    def names(self, group: type[Options]) -> list[str]:
        """The options of a group that it takes."""
        return [n for n in group.names(frame_only=self.frame_only) if n not in self.without]


TAKERS = (
    Taker("engine/judge.py", "judge", (Policies, Storage), frame_only=True),
    Taker(
        "engine/retrieved_frame.py", "retrieved", (Policies, Storage),
        without=("missing", "no_relevant", "no_overlap", "judged_only"),
    ),
    Taker("engine/pair.py", "pair", (PairPolicies, Storage), frame_only=True),
    Taker(
        "engine/exposure.py", "exposure", (Policies, Storage), frame_only=True,
        without=("rel", "relevance", "judged_only"),
    ),
    Taker("analysis/fusion/stacked_frame.py", "stack", (FusionPolicies, Storage),
          frame_only=True),
    Taker("analysis/fusion/fuse.py", "fuse", (FusionPolicies, Storage)),
    Taker("engine/evaluate.py", "evaluate", (Policies, Intervals, Storage)),
    Taker("spark/entry.py", "evaluate", (Policies, Intervals)),
    Taker("engine/agree.py", "agree", (PairPolicies, Intervals, Storage)),
    Taker("spark/entry.py", "agree", (PairPolicies, Intervals)),
    Taker("analysis/compare.py", "compare", (Comparing, SharedPolicies, Intervals, Storage)),
    Taker(
        "analysis/gate.py", "gate", (Comparing, SharedPolicies, Storage),
        without=("test", "correction", "permutations"),
    ),
    Taker(
        "analysis/tuning/tune.py", "tune", (Comparing, SharedPolicies, Intervals, Storage),
        without=("unpaired",),
    ),
    Taker("analysis/diff.py", "diff", (Policies, Storage)),
    Taker("analysis/curves/curve.py", "curve", (Policies, Intervals, Storage),
          defaults={"ci": None}),
    Taker("present/report/report.py", "report", (Comparing, SharedPolicies, Intervals, Storage)),
)  # fmt: skip


def written() -> dict[Path, str]:
    """What the modules of these functions should hold."""
    modules: dict[Path, str] = {}
    for taker in TAKERS:
        path = SOURCE / taker.module
        source = modules.get(path) or path.read_text(encoding="utf-8")
        modules[path] = signed(taker, source)
    return modules


def signed(taker: Taker, source: str) -> str:
    """The source of a module, with the signature of a function as its options are declared."""
    for group in taker.groups:
        source = _with_group(taker, group, source)
    return source


def _with_group(taker: Taker, group: type[Options], source: str) -> str:
    """The options of one group together, where the first of them is."""
    (function,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == taker.function
    )
    names = taker.names(group)
    places = [one.lineno for one in function.args.kwonlyargs if one.arg in names]
    if not places:
        raise SystemExit(f"{taker.module}: {taker.function} takes none of {', '.join(names)}.")
    lines = source.splitlines(keepends=True)
    kept = [line for at, line in enumerate(lines, start=1) if at not in places]
    first = min(places) - 1
    return "".join([*kept[:first], *_parameters(group, taker), *kept[first:]])


def _parameters(group: type[Options], taker: Taker) -> Iterator[str]:
    for one, _, _ in declared(group):
        if one.name not in taker.names(group):
            continue
        kind = re.sub(r"\b[A-Z]\w+", _qualified, str(one.type))
        default = taker.defaults.get(one.name, one.default)
        yield f"    {one.name}: {kind} = {_literal(default)},\n"


def _qualified(name: re.Match[str]) -> str:
    return f"options.{name[0]}" if hasattr(options, name[0]) else name[0]


def _literal(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:_}" if type(value) is int else repr(value)


if __name__ == "__main__":
    write(written())
