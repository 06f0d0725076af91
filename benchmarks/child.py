"""One contender in a process of its own: `python -m benchmarks.child NAME QRELS RUN [WARM_UP…]`.

Prints one line of JSON: wall and CPU seconds from files to numbers (imports apart), the peak memory
of the process as the operating system saw it, and the values.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from benchmarks.contenders import BOUNDED, CONTENDERS


def main() -> None:
    name, *paths = sys.argv[1:]
    qrels, run, *small = map(Path, paths)
    contender = (CONTENDERS | BOUNDED)[name]
    if small:  # imports and just-in-time compilation are not what is measured
        contender(small[0], small[1])
    wall, cpu = time.perf_counter(), time.process_time()
    values = contender(qrels, run)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak, "values": values}))


if __name__ == "__main__":
    main()
