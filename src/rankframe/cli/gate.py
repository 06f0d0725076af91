"""`rankframe gate`: a run against a stored baseline, under rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from rankframe.cli.options import (
    COLUMNS,
    HIGHER_IS_BETTER,
    LOWER_IS_BETTER,
    MAX_MEMORY,
    QUERIES,
    WEIGHT,
    Given,
    Quiet,
    Rules,
    output_option,
    takes,
)
from rankframe.cli.support import (
    NOTHING,
    check_outputs,
    open_sources,
    progress_bar,
    split_name,
    tell_if_every_relevant,
)
from rankframe.core.errors import OptionError
from rankframe.core.options import Comparing, SharedPolicies, Storage

EXAMPLES = """
  rankframe gate qrels.parquet dense.parquet --baseline main \\
    -r "ndcg@10: no worse than -0.5% at 95%"

  rankframe gate qrels.parquet new=dense.parquet --baseline main \\
    --rules gate.toml --junit gate.xml --format markdown

  rankframe gate results/dense --baseline main --rules gate.toml

The last one evaluates nothing: both are stored results.

The baseline: rankframe evaluate qrels.parquet bm25.parquet -m ndcg@10 -o main

Exit code 0: pass, 1: fail, 2: could not decide (bad input, too few queries or
judgments).
"""


@takes(
    SharedPolicies, Storage,
    shared=(COLUMNS, MAX_MEMORY, LOWER_IS_BETTER, HIGHER_IS_BETTER, QUERIES, WEIGHT),
    unpaired=Comparing,
)  # fmt: skip
def gate(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="QRELS RUN", help="Judgments and a run (NAME=RUN names it); or a stored result."
        ),
    ],
    *,
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline", "-b", metavar="STORED", help="A stored result, or its per-query file."
        ),
    ],
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule", "-r", metavar="RULE", help="E.g. 'ndcg@10: no worse than -0.5% at 95%'."
        ),
    ] = None,
    rules: Rules = None,
    min_queries: Annotated[
        int | None, typer.Option(help="With fewer queries, nothing is decided (default: 30).")
    ] = None,
    min_judged: Annotated[
        list[str] | None,
        typer.Option(
            metavar="K=SHARE", help="E.g. 10=0.5: with less of the top 10 judged, no decision."
        ),
    ] = None,
    style: Annotated[
        Literal["table", "json", "markdown"], output_option("--format", help="How to print.")
    ] = "table",
    json_file: Annotated[Path | None, output_option("--json", help="Write JSON there.")] = None,
    junit: Annotated[Path | None, output_option(help="Write JUnit XML there.")] = None,
    quiet: Quiet = False,
    how: Given,
) -> None:
    """Check a run against a stored baseline and rules.

    Exit code 0: pass, 1: fail, 2: undecided, or something is wrong.
    """
    from rich.console import Console

    import rankframe as rf
    from rankframe.io.outputs import write_file
    from rankframe.present.terminal.analysis_tables import verdict_table

    if len(sources) > 2:
        raise OptionError(f"a gate takes QRELS and RUN, or one stored result, not {len(sources)}.")
    qrels, (name, run) = sources[:-1], split_name(sources[-1])
    before, stored = split_name(baseline)
    if name is not None and name == before:
        raise OptionError(f"run and baseline are both named {name!r}. Give each its own name.")
    opened = open_sources([*qrels, run, stored])
    judgments = opened[0] if qrels and qrels[0] != NOTHING else None
    check_outputs([*opened, how["queries"], rules], json_file, junit)
    with progress_bar("deciding", quiet=quiet) as report:
        verdict = rf.gate(
            judgments,
            opened[-2],
            opened[-1],
            rules_from(rule, rules),
            min_queries=min_queries,
            min_judged=_shares(min_judged),
            progress=report,
            **how,
        )
    verdict = verdict.named(baseline=before, candidate=name)
    tell_if_every_relevant(verdict.every_relevant and bool(qrels))
    for target, text in ((json_file, verdict.to_json), (junit, verdict.to_junit)):
        if target:
            write_file(target, lambda path, text=text: path.write_text(text(), encoding="utf-8"))
    if style == "table":
        Console().print(verdict_table(verdict))
    else:
        print(verdict.to_json() if style == "json" else verdict.to_markdown())
    raise typer.Exit(verdict.exit_code)


def rules_from(texts: list[str] | None, file: Path | None) -> dict[str, Any]:
    """Join the rules of a file and single rules."""
    from rankframe.analysis.gate_rules import read_table

    table = {} if file is None else read_table(file)
    rules = table.get("rules", [])
    if not isinstance(rules, list):  # refused when the rules are read
        return table
    return {**table, "rules": [*rules, *(texts or ())]}


def _shares(texts: list[str] | None) -> dict[int, float]:
    """Read K=SHARE pairs; a share alone is of the top 10.

    >>> _shares(["0.5", "20=0.4"])
    {10: 0.5, 20: 0.4}
    """
    shares: dict[int, float] = {}
    for item in texts or ():
        depth, equals, share = item.rpartition("=")
        try:
            shares[int(depth) if equals else 10] = float(share)
        except ValueError as error:
            raise OptionError(f"--min-judged reads K=SHARE, e.g. 10=0.5, not {item!r}.") from error
    return shares
