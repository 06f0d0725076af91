"""Altair's charts, with HTML that brings its scripts along instead of fetching them.

Imported where the first chart is made: altair is an optional part.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair


class _Whole:
    def save(self, fp: Any, *args: Any, **options: Any) -> None:
        """Save it, as altair does."""
        kind = next(iter(args), None) or options.get("format") or Path(str(fp)).suffix[1:]
        if kind == "html":
            options.setdefault("inline", True)
        super().save(fp, *args, **options)  # type: ignore[misc]


class WholeChart(_Whole, altair.Chart):
    """One picture."""


class WholeLayerChart(_Whole, altair.LayerChart):
    """Pictures on top of each other."""


class WholeFacetChart(_Whole, altair.FacetChart):
    """The same picture of several parts."""
