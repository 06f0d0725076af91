"""Metadata of the files of a result: what they were made from, and how."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.engine.ledger import POLICY
from rankframe.io.outputs import read_about
from rankframe.io.remote import Remote


def about_frame(
    frame: str, metrics: Sequence[str], ledger: pl.DataFrame, inputs: Mapping[str, str]
) -> dict[str, Any]:
    """Return the metadata of a file with a frame: what it was made from, and how."""
    notes = dict(zip(ledger["item"], ledger["note"], strict=True))
    counts = dict(zip(ledger["item"], ledger["value"], strict=True))
    return {
        "frame": frame,
        "metrics": list(metrics),
        "policies": {
            item.removeprefix(POLICY): note
            for item, note in notes.items()
            if item.startswith(POLICY)
        },
        "inputs": {
            side: {"name": name, "rows": int(counts.get(f"{side}_rows") or 0)}
            for side, name in inputs.items()
        },
    }


def names_in_file(path: Path | Remote) -> dict[str, str]:
    """Return the names of the inputs of a stored frame; none of one that an old version wrote."""
    if isinstance(path, Path):
        inputs = read_about(path).get("inputs") if path.is_file() else None
    else:
        inputs = read_about(io.BytesIO(path.read())).get("inputs")
    if not isinstance(inputs, dict):
        return {}
    sides = {
        side: attributes
        for side, attributes in inputs.items()
        if isinstance(attributes, dict) and "name" in attributes
    }
    return {side: str(attributes["name"]) for side, attributes in sides.items()}
