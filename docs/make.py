"""Write all generated pages and files: `python docs/make.py`; with `--check`, only list those that
are stale; with `--site`, build the site from the pages, into site/ (needs the extra `docs`).

Pages, tables, and the names that type checkers see. The charts are drawn where altair is installed;
whether they are as drawn is not checked.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import warnings
from importlib.util import find_spec

import make_caveats
import make_charts
import make_command_line
import make_how_it_works
import make_inputs
import make_metrics
import make_reference
import make_results
from generated import DOCS, ROOT, stale, write

import rankframe

MAKERS = (
    make_metrics,
    make_how_it_works,
    make_caveats,
    make_charts,
    make_reference,
    make_results,
    make_inputs,
    make_command_line,
)


def main() -> None:
    """Write all generated files, or with `--check`, exit with a list of those that are stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--site", action="store_true", help="build the site")
    asked = parser.parse_args()
    if asked.site:
        site()
        return
    check = asked.check
    # Examples are small: their caveats say nothing of the pages.
    warnings.filterwarnings("ignore", category=rankframe.RankframeWarning)
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


def site(*flags: str) -> None:
    """Build the site with mkdocs; a broken link is an error."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", *flags]
    # Else the theme advertises its successor.
    told = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=told, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
