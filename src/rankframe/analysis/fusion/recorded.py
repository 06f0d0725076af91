"""What a fused run says of itself where it was written: how it was fused, and of which runs."""

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
from rankframe.io.sources.writers import About, read_about


@dataclass(frozen=True)
class Recorded:
    """How a run was fused."""

    # a registered method, and as it was written
    name: str
    label: str
    norm: str | None
    weights: tuple[float, ...] | None
    depth: int | None
    # by their names: what each run was read from
    runs: Mapping[str, str]

    def parts(self, systems: Mapping[str, Source]) -> tuple[str, ...] | None:
        """Those of some systems that were fused, in the order of the weights: called alike, or read
        from where they were read then. None where some are not among them.
        """
        by_file: dict[str, str] = {}
        for system, source in systems.items():
            if isinstance(source, str | os.PathLike):
                by_file.setdefault(describe(source, "run"), system)
        found = [name if name in systems else by_file.get(of) for name, of in self.runs.items()]
        known = tuple(name for name in found if name is not None)
        return known if len(set(known)) == len(self.runs) else None


def about_fusion(
    method: Method, policies: FusionPolicies, runs: Mapping[str, InputTable]
) -> dict[str, Any]:
    """What is written into the file of a fused run."""
    own = method.definition is None
    return {
        "frame": "run",
        "fusion": {
            "name": None if method.definition is None else method.definition.name,
            "method": str(method.expression) if own else method.label,
            "norm": None if method.norm is None else method.norm.name,
            "parameters": dict(method.params),
            "depth": policies.depth,
        },
        "policies": policies.described(),
        "inputs": {name: {"name": run.name} for name, run in runs.items()},
    }


def recorded(source: Source) -> Recorded | None:
    """What a file says of its fusion; None where it is none, or was not written by `fuse`."""
    if not isinstance(source, str | os.PathLike):
        return None
    try:
        path = Path(os.path.expanduser(os.fspath(source)))  # noqa: PTH111 (as where it is opened)
        about = read_about(path) if path.is_file() else {}
    except (OSError, ValueError):  # no path at all
        return None
    return _read(about)


def _read(about: About) -> Recorded | None:
    said, inputs = about.get("fusion"), about.get("inputs")
    if not (isinstance(said, dict) and isinstance(inputs, dict) and said.get("name") in METHODS):
        return None
    weights = said.get("parameters", {}).get("weights")
    return Recorded(
        said["name"],
        str(said.get("method")),
        said.get("norm"),
        None if weights is None else tuple(weights),
        said.get("depth"),
        {name: str(of.get("name")) for name, of in inputs.items() if isinstance(of, dict)},
    )
