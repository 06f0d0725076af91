"""From files to a chart in a file: what `rankframe plot` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankframe.core.errors import OptionError, OutputError
from rankframe.io.output_paths import file_place
from rankframe.io.outputs import write_file
from rankframe.present.charts.chart_source import Material
from rankframe.present.charts.registry import CHARTS

_ENDINGS = (".png", ".svg", ".pdf", ".html")
_SCALE = 2  # of a picture of dots, for sharp screens


def draw(kind: str, material: Material, target: Path) -> None:
    """Draw it into a file, whole or not at all."""
    _ending(target)
    file_place(target)
    if kind not in CHARTS:
        raise OptionError.choice("kind", kind, list(CHARTS))
    save(CHARTS[kind].draw(material), target)


def save(chart: Any, target: Path) -> None:
    """A chart into a file, in the format that its ending says."""
    ending = _ending(target)
    options = {"scale_factor": _SCALE} if ending == ".png" else {}
    write_file(target, lambda path: chart.save(str(path), format=ending[1:], **options))


def _ending(target: Path) -> str:
    ending = target.suffix.lower()
    if ending not in _ENDINGS:
        raise OutputError(f"cannot draw into {target}: it should end in {', '.join(_ENDINGS)}.")
    return ending
