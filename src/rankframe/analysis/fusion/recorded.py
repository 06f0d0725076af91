"""Record in the file of a fused run how it was fused, and of which runs; read that again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankframe.analysis.fusion.names import Method
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.registry import METHODS
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Source, describe
from rankframe.io.outputs import read_about


@dataclass(frozen=True)
class Recorded:
    """Hold how a run was fused."""

    # of a registered method, and as it was written
    name: str
    label: str
    norm: str | None
    weights: tuple[float, ...] | None
    depth: int | None
    # what each run was read from, by the names of the runs
    runs: Mapping[str, str]

    def parts(self, systems: Mapping[str, Source]) -> tuple[str, ...] | None:
        """Return the systems that were fused, in the order of the weights; None if one is missing.

        A system is a fused run if it has its name, or was read from the same place.
        """
        by_place: dict[str, str] = {}
        for system, source in systems.items():
            if isinstance(source, str | os.PathLike):
                by_place.setdefault(describe(source, "run"), system)
        found = [
            name if name in systems else by_place.get(place) for name, place in self.runs.items()
        ]
        parts = tuple(name for name in found if name is not None)
        return parts if len(set(parts)) == len(self.runs) else None


def about_fusion(
    method: Method, policies: FusionPolicies, runs: Mapping[str, InputTable]
) -> dict[str, Any]:
    """Return what is written into the file of a fused run."""
    definition = method.definition
    return {
        "frame": "run",
        "fusion": {
            "name": None if definition.own else definition.name,
            "method": definition.formula if definition.own else method.label,
            "norm": None if method.norm is None else method.norm.name,
            "parameters": dict(method.params),
            "depth": policies.depth,
        },
        "policies": policies.described(),
        "inputs": {name: {"name": run.name} for name, run in runs.items()},
    }


def recorded(source: Source) -> Recorded | None:
    """Return how the run in a file was fused; None if `fuse` did not write it."""
    if not isinstance(source, str | os.PathLike):
        return None
    try:
        path = Path(os.path.expanduser(os.fspath(source)))  # noqa: PTH111 (as where it is opened)
        about = read_about(path) if path.is_file() else {}
    except (OSError, ValueError):  # no path at all
        return None
    fusion, inputs = about.get("fusion"), about.get("inputs")
    if not (isinstance(fusion, dict) and isinstance(inputs, dict)):
        return None
    if fusion.get("name") not in METHODS:
        return None
    weights = fusion.get("parameters", {}).get("weights")
    return Recorded(
        fusion["name"],
        str(fusion.get("method")),
        fusion.get("norm"),
        None if weights is None else tuple(weights),
        fusion.get("depth"),
        {name: str(run.get("name")) for name, run in inputs.items() if isinstance(run, dict)},
    )
