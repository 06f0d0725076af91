"""Define what all makers of pages share: tables, sections between markers, and writing files.

A maker is a module with a function `written()`: by path, what each of its files should hold. A
section that is made stands between `<!-- NAME: written by docs/make.py -->` and `<!-- /NAME -->`;
the rest of its page is written by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "rankframe"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_sections(page: Path, sections: Mapping[str, str]) -> str:
    """Return the text of a page with the content of its generated sections, given by name."""
    text = page.read_text(encoding="utf-8")
    for name, content in sections.items():
        begin, end = f"<!-- {name}: written by docs/make.py -->\n", f"<!-- /{name} -->\n"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"{page.name} has no place for {name!r}: {begin}{end}")
        before, rest = text.split(begin)
        text = f"{before}{begin}{content}\n{end}{rest.split(end)[1]}"
    return text


def stale(files: Mapping[Path, str]) -> list[Path]:
    """Return the paths of files whose content differs from the text in `files`."""
    return [
        path
        for path, text in files.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def write(files: Mapping[Path, str]) -> list[Path]:
    """Write the files whose content differs from the text in `files`; return their paths."""
    changed = stale(files)
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    return changed
