"""Write the table of caveats in docs/caveats.md, from core/caveats.py."""

from __future__ import annotations

from pathlib import Path

from generated import DOCS, table, with_sections

from rankframe.core.caveats import CAVEATS

PAGE = DOCS / "caveats.md"


def written() -> dict[Path, str]:
    """Return the text of docs/caveats.md with its table of caveats, by path."""
    return {PAGE: with_sections(PAGE, {"caveats": caveats()})}


def caveats() -> str:
    """Return a table of codes with their thresholds, sentences and advice."""
    rows = [
        (f"`{code}`", f"{info.threshold:,g}", info.value, f"“{info.sentence}”", info.advice)
        for code, info in CAVEATS.items()
    ]
    return table(["code", "threshold", "measured value", "sentence", "what to do"], rows)
