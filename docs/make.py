"""Make all that is generated: `python docs/make.py`; with `--check`, only say what is stale.

Pages, tables, the names that type checkers see, and the signatures that carry declared options. The
charts are drawn where altair is installed; whether they are as drawn is not checked.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.util import find_spec

import make_charts
import make_how_it_works
import make_metrics
import make_signatures
from generated import DOCS, ROOT, stale, write

MAKERS = (make_signatures, make_metrics, make_how_it_works, make_charts)


def main() -> None:
    """Make it, or end with what is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    # One after the other: the next one may write into the same page.
    changed = [
        path.relative_to(ROOT).as_posix()
        for maker in MAKERS
        for path in (stale if check else write)(maker.written())
    ]
    if check and changed:
        sys.exit(f"stale: {', '.join(changed)}. Run python docs/make.py.")
    for path in changed:
        print(f"wrote {path}")
    if not check and find_spec("altair") is not None:
        # By itself: what was just written is not what is imported here.
        subprocess.run([sys.executable, DOCS / "make_charts.py"], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
