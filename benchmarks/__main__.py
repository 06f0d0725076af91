"""Run all benchmarks, and write benchmarks/README.md and its chart: `python -m benchmarks`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import cores, memory_commands, small
from benchmarks.layouts import LARGEST, LAYOUTS
from benchmarks.machine import describe
from benchmarks.measure import compare, compare_fed

HERE = Path(__file__).parent
_MEMORY_ROWS, _MEMORY_LIMIT = 5_000_000, "300MB"
PARTS = ("comparison", "cores", "small", "growth", "paths", "memory", "agreement")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the size, once")
    parser.add_argument("--repeat", type=int, default=3, help="median of so many (default 3)")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, metavar="PART",
                        help=f"of {', '.join(PARTS)}; none: write the page again")  # fmt: skip
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS),
                        metavar="LAYOUT", help=f"of {', '.join(LAYOUTS)}")  # fmt: skip
    parser.add_argument("--rows", type=int, default=LARGEST,
                        help="of the largest layout; the others in proportion")  # fmt: skip
    parser.add_argument("--grow", type=int, default=100_000_000, help="how far rows grow")
    parser.add_argument("--data", type=Path, default=HERE / ".data", help="where inputs are kept")
    parser.add_argument("--out", type=Path, default=None, help="where the page goes")
    options = parser.parse_args()
    scale = 100 if options.quick else 1
    out: Path = options.out or (options.data / "quick" if options.quick else HERE)
    out.mkdir(parents=True, exist_ok=True)
    stored = out / "results.json"
    measured: dict[str, Any] = json.loads(stored.read_text("utf-8")) if stored.exists() else {}
    for part in options.parts:
        if part == "comparison":
            rows, repeat = options.rows // scale, 1 if options.quick else options.repeat
            found = _comparison(options.layouts, options.data, rows, repeat)
            measured["comparison"] = _merged(measured, found)
        elif part == "growth":
            measured |= _growth(options.data, options.grow, scale)
        elif part == "paths":
            measured["paths"] = _paths(options.data, scale)
        elif part == "cores":
            rounds = 1 if options.quick else options.repeat
            measured["cores"] = cores.measure(options.data, scale, rounds)
        elif part == "small":
            measured["small"] = small.measure()
        elif part == "memory":
            rows = _MEMORY_ROWS // scale
            found = memory_commands.measure(options.data / f"memory-{rows}", rows, _MEMORY_LIMIT)
            measured["memory"] = {"rows": rows, "text": _MEMORY_LIMIT, "commands": list(found)}
        else:
            measured["agreement"] = _agreement(options.data, scale)
        measured["machine"] = measured.get("machine", {}) | {part: describe()}
        stored.write_text(json.dumps(measured, indent=1), encoding="utf-8")
    from benchmarks.page import write_page

    print(write_page(out), file=sys.stderr)


def _comparison(names: list[str], folder: Path, rows: int, repeat: int) -> dict[str, Any]:
    layouts = [LAYOUTS[name] for name in names]
    return {
        "scale": rows,
        "layouts": compare(layouts, folder=folder, rows=rows, repeat=repeat),
        "fed": compare_fed(folder=folder, rows=rows, repeat=repeat),
    }


def _merged(measured: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Add layouts that were measured before, if machine, versions and size were the same."""
    before = measured.get("comparison", {"scale": 0, "layouts": []})
    same = (before["scale"], measured.get("machine", {}).get("comparison")) == (
        found["scale"],
        describe(),
    )
    layouts = {one["layout"]: one for one in before["layouts"]} if same else {}
    layouts |= {one["layout"]: one for one in found["layouts"]}
    return found | {"layouts": [layouts[name] for name in LAYOUTS if name in layouts]}


# Imported when the comparison is done: a child inherits the peak memory of what starts it, and
# polars is not small.
def _growth(folder: Path, rows: int, scale: int) -> dict[str, Any]:
    from benchmarks import growth

    return {
        "rows": growth.rows(folder, rows // scale),
        "metrics": growth.metrics(folder, 1_000_000 // scale),
        "start": growth.start_up(folder),
    }


def _paths(folder: Path, scale: int) -> list[Any]:
    from benchmarks import paths

    return paths.measure(folder, 1_000_000 // scale)


def _agreement(folder: Path, scale: int) -> list[Any]:
    from benchmarks import agreement

    return agreement.measure(folder, scale)


if __name__ == "__main__":
    main()
