"""`python -m benchmarks`: measure everything, and write benchmarks/README.md and its chart."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks import agreement, growth
from benchmarks.contenders import CONTENDERS
from benchmarks.data import SHAPES
from benchmarks.measure import as_json, compare
from benchmarks.page import write_page

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the size, once")
    parser.add_argument("--repeat", type=int, default=3, help="best of so many (default 3)")
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--rows", type=int, default=100_000_000, help="how far rows grow")
    parser.add_argument("--data", type=Path, default=HERE / ".data", help="where inputs are kept")
    parser.add_argument("--out", type=Path, default=None, help="where the page goes")
    options = parser.parse_args()
    scale = 100 if options.quick else 1
    shapes = [replace(SHAPES[n], queries=SHAPES[n].queries // scale) for n in options.shapes]
    results = compare(
        shapes,
        folder=options.data,
        repeat=1 if options.quick else options.repeat,
        contenders=options.only,
    )
    grown = {
        "rows": growth.rows(options.data, options.rows // scale),
        "metrics": growth.metrics(options.data, 1_000_000 // scale),
        "start": growth.start_up(options.data),
        "agreement": agreement.measure(options.data, scale),
    }
    out = options.out or (options.data / "quick" if options.quick else HERE)
    out.mkdir(parents=True, exist_ok=True)
    measured = {"results": as_json(results), **grown}
    (out / "results.json").write_text(json.dumps(measured, indent=1), encoding="utf-8")
    page = write_page(out)
    print(page, file=sys.stderr)


if __name__ == "__main__":
    main()
