"""`rankframe fuse`: several runs of the same queries into one; `rankframe fusions`: how."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.cli.completion import methods
from rankframe.cli.options import COLUMNS, MAX_MEMORY, Given, Overwrite, Quiet, output_option, takes
from rankframe.cli.support import check_outputs, open_inputs, progress_bar
from rankframe.core.errors import OptionError
from rankframe.core.messages import number_of
from rankframe.core.options import Storage
from rankframe.core.wording import plain_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rankframe.analysis.fusion.norms import Norm
    from rankframe.analysis.fusion.registry import Definition

EXAMPLES = """
  rankframe fuse bm25.parquet dense.parquet -o hybrid.parquet

  rankframe fuse bm25.parquet dense.parquet --method "rrf(k=20)" --depth 100 --k-max 10 \\
    -o hybrid.trec

  rankframe fuse words=bm25.parquet vectors=dense.parquet --method wsum --norm min_max \\
    --weights .3,.7 -o hybrid.parquet

  rankframe fuse bm25.parquet dense.parquet --method posfuse --qrels qrels.parquet \\
    -o hybrid.parquet
"""
REFERENCE_EXAMPLES = """
  rankframe fusions

  rankframe fusions rrf
"""


@takes(FusionPolicies, Storage, shared=(COLUMNS, MAX_MEMORY))
def fuse(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="Two runs or more; NAME=RUN names one."),
    ],
    *,
    output: Annotated[
        Path,
        output_option("--output", "-o", help="The fused run; the ending chooses the format."),
    ],
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A method, with parameters; see `rankframe fusions`.",
            autocompletion=methods,
        ),
    ] = "rrf",
    norm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Norm of scores, for methods that use scores (default: min_max)."
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="X,X,...", help="One for each run, or NAME=X,NAME=X,..."),
    ] = None,
    qrels: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Judgments, for trained methods."),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    how: Given,
) -> None:
    """Fuse runs of the same queries into one, such as lexical and vector search."""
    judgments, sources = open_inputs(qrels, runs)
    check_outputs([judgments, *sources.values()], output)

    from rankframe.analysis.fusion.fuse import Fusion
    from rankframe.analysis.fusion.names import resolve
    from rankframe.analysis.fusion.runs import named_runs

    chosen = resolve(
        method, list(named_runs(sources)), norm=norm, weights=_weights(weights, list(sources))
    )
    with progress_bar(" + ".join(sources), quiet=quiet) as report:
        fusion = Fusion.open(
            sources,
            chosen,
            FusionPolicies.from_options(how),
            qrels=judgments,
            columns=how["columns"],
            max_memory=how["max_memory"],
        )
        written = fusion.write(output, overwrite=overwrite, on_progress=report)
    rows, queries = number_of(written.rows, "row"), number_of(written.queries, "query")
    by = f" by {chosen.norm.name}" if chosen.norm is not None else ""
    summary = f"{output}: {rows} of {queries}, {chosen.label}{by} of {', '.join(sources)}"
    print(plain_text(summary), file=sys.stderr)


def _weights(text: str | None, runs: list[str]) -> list[float] | dict[str, float] | None:
    """Read numbers with commas between them, each perhaps behind the name of its run."""
    if text is None:
        return None
    parts = [part.rpartition("=") for part in text.split(",")]
    try:
        numbers = [float(number) for _, _, number in parts]
    except ValueError:
        raise OptionError(
            f"--weights reads numbers with commas between them, e.g. "
            f"{','.join(['.5'] * len(runs))}, not {text!r}."
        ) from None
    names = [name.strip() for name, _, _ in parts]
    if not any(names):
        return numbers
    if not all(names) or len(set(names)) < len(names):
        raise OptionError(f"--weights has a name for each number once, or none, not {text!r}.")
    return dict(zip(names, numbers, strict=True))


def fusions(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="A method or a norm, in full.", autocompletion=methods
        ),
    ] = None,
) -> None:
    """Show all methods and norms of fusion, or one with its formula and parameters."""
    from rich.console import Console

    from rankframe.analysis.fusion.names import parse
    from rankframe.analysis.fusion.norms import NORMS
    from rankframe.present.terminal.render import print_line

    console = Console()
    if name is None:
        console.print(_all())
        print_line(console, "One in full: rankframe fusions rrf. Written name(parameter=value).")
        return
    key = name.strip().lower().replace("-", "_")
    if key in NORMS and key not in ("max", "sum"):
        console.print(_norm_page(NORMS[key]))
        return
    console.print(_page(parse(name)[0]))
    if key in NORMS:  # a method and a norm have this name
        console.print("\n", _norm_page(NORMS[key]))


def _all() -> RenderableType:
    """Render a table per family of methods, and one of the norms."""
    from rich.console import Group

    from rankframe.analysis.fusion.methods import METHODS
    from rankframe.analysis.fusion.norms import NORMS
    from rankframe.analysis.fusion.registry import Family
    from rankframe.present.terminal.render import reference_list

    tables = [
        reference_list(family, [(method.signature, method.summary) for method in METHODS.values()
                                if method.family == family])
        for family in get_args(Family)
    ]  # fmt: skip
    norms = [(norm.name, norm.summary) for norm in NORMS.values()]
    return Group(*tables, reference_list("Norms of scores (--norm)", norms))


def _page(method: Definition) -> RenderableType:
    """Render one method: what it means, how it is computed, how it is written."""
    from rankframe.present.terminal.render import reference_page

    facts = {"written": method.signature, "formula": method.formula}
    facts |= {parameter: str(limits) for parameter, limits in method.limits.items()}
    looks = "scores after a norm, min_max unless you say otherwise" if method.scored else "ranks"
    facts["looks at"] = looks
    if method.trained:
        facts["needs"] = "judgments (--qrels)"
    if method.synonyms:
        facts["also"] = ", ".join(method.synonyms)
    return reference_page(method.summary, facts, method.notes)


def _norm_page(norm: Norm) -> RenderableType:
    from rankframe.present.terminal.render import reference_page

    looks = "scores" if norm.scored else "ranks"
    facts = {"norm": norm.name, "formula": norm.formula, "looks at": looks}
    return reference_page(norm.summary, facts)
