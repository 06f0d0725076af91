"""Hook into mkdocs: run the notebooks, which are stored without outputs, and add them as pages."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

_LIMIT = 120  # seconds for a cell
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class NotebookPage(File):
    """Represent a notebook as a page of the site, under the name of the notebook."""

    def is_documentation_page(self) -> bool:
        """Return True: mkdocs treats the notebook like a page in Markdown."""
        return True


def on_files(files: Files, *, config: Any) -> Files:
    """Replace each notebook among the files of the site by its page."""
    for file in list(files):
        if not file.src_uri.endswith(".ipynb"):
            continue
        files.remove(file)
        path = Path(file.abs_src_path or "")
        text, drawings = as_page(executed(path), path.stem)
        page = NotebookPage(
            file.src_uri, None, config.site_dir, use_directory_urls=config.use_directory_urls
        )
        page.content_string = text
        page.generated_by = __name__
        page.dest_uri = file.src_uri.removesuffix(".ipynb") + ".html"
        files.append(page)
        for name, drawing in drawings.items():
            place = f"{Path(file.src_uri).parent.as_posix()}/{name}"
            files.append(File.generated(config, place, content=drawing))
    return files


def executed(path: Path) -> Any:
    """Run a notebook in a kernel of this Python, and return it with its outputs."""
    import nbformat  # noqa: PLC0415 (only a site needs it)
    from nbclient import NotebookClient  # noqa: PLC0415

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:  # what it writes is not kept
        place = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=_LIMIT, kernel_name="python3", resources=place).execute()
    return notebook


def as_page(notebook: Any, stem: str) -> tuple[str, dict[str, str]]:
    """Convert a notebook with outputs to Markdown; return it and its images by file name."""
    parts: list[str] = []
    drawings: dict[str, str] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            parts += _shown(output, stem, drawings)
    return "\n\n".join(parts) + "\n", drawings


def _shown(output: Any, stem: str, drawings: dict[str, str]) -> Iterator[str]:
    if output.output_type == "stream":
        yield f"```text\n{_COLOURS.sub('', output.text).rstrip()}\n```"
        return
    data: Mapping[str, str] = output.get("data", {})
    if "image/svg+xml" in data:
        name = f"{stem}-{len(drawings) + 1}.svg"
        drawings[name] = data["image/svg+xml"]
        yield f"![chart]({name})"
    elif "text/html" in data:
        # Markdown ends a block of HTML at the first empty line.
        yield '<div class="output">' + re.sub(r"\n\s*\n", "\n", data["text/html"]) + "</div>"
    elif "text/plain" in data:
        yield f"```text\n{data['text/plain']}\n```"
