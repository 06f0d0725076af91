"""Time one contender in its own process: `python -m benchmarks.child WAY QRELS RUN [WARM_UP…]`.

Prints one line of JSON: wall and CPU seconds from files to numbers, imports apart, and the values.
What the process took as a whole is seen from outside.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from benchmarks.contenders import load


def main() -> None:
    name, *paths = sys.argv[1:]
    qrels, run, *small = map(Path, paths)
    way = load(name)
    if small:  # just-in-time compilation is counted with the imports
        way(small[0], small[1])
    wall, cpu = time.perf_counter(), time.process_time()
    values = way(qrels, run)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": cpu, "values": values}))


if __name__ == "__main__":
    main()
