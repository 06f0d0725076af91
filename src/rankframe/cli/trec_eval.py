"""The command that stands in for trec_eval: the same options, the same lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import typer

from rankframe.base.errors import OutputError
from rankframe.cli.support import column_names, open_sources

EXAMPLES = """
  rankframe trec_eval qrels.txt run.txt

  rankframe trec_eval -q -c -M1000 -m all_trec qrels.txt run.txt > run.eval

  rankframe trec_eval -m P.5,10 -m ndcg_cut.10 -m recall.100 -l 2 qrels.parquet run.parquet

  rankframe trec_eval -q -c qrels.txt run.txt --check old_output.txt

-m takes trec_eval's measures, each with its own parameters, and the nicknames official, all_trec
and set. With --check: exit code 0 if every line agrees, 1 if some differ.
"""


def trec_eval(
    qrels: Annotated[
        str, typer.Argument(metavar="QRELS", help="Judgments: a file, glob, folder, or - (stdin).")
    ],
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run, likewise.")],
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--measure",
            metavar="NAME[.PARAMS]",
            help="A measure or nickname (repeat); else official.",
        ),
    ] = None,
    queries: Annotated[
        bool, typer.Option("-q", "--query_eval_wanted", help="Every query before the summary.")
    ] = False,
    no_summary: Annotated[bool, typer.Option("-n", "--nosummary", help="No summary.")] = False,
    complete: Annotated[
        bool,
        typer.Option(
            "-c", "--complete_rel_info_wanted", help="Judged queries that the run lacks count 0."
        ),
    ] = False,
    level: Annotated[
        int, typer.Option("-l", "--level_for_rel", help="The lowest grade that is relevant.")
    ] = 1,
    deepest: Annotated[
        int | None,
        typer.Option("-M", "--Max_retrieved_per_topic", help="Look at the top so many only."),
    ] = None,
    judged_only: Annotated[
        bool,
        typer.Option(
            "-J",
            "--Judged_docs_only",
            help="Drop unjudged documents, and those of negative grade, after the cut by -M.",
        ),
    ] = False,
    collection: Annotated[
        int | None,
        typer.Option("-N", "--Number_docs_in_coll", help="Documents in the collection."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An output of trec_eval: list the lines that differ."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=YOURS", help="A column of yours, e.g. query_id=user (repeat)."),
    ] = None,
) -> None:
    """What trec_eval does: its options, its measures, its lines, for any number of queries."""
    from rankframe.trec_eval.check import compare_output, measures_in, read_output
    from rankframe.trec_eval.evaluate import DEFAULT_MEASURES, TrecOptions, evaluate_trec

    options = TrecOptions(complete, level, deepest, judged_only, collection)
    output = None if check is None else read_output(check)
    unasked = DEFAULT_MEASURES if output is None else measures_in(output)
    judgments, documents = open_sources([qrels, run])
    found = evaluate_trec(
        judgments, documents, measure or unasked, options, columns=column_names(column)
    )
    checked = None if output is None else compare_output(output, found)
    if found.missing and not complete:
        print(
            f"rankframe: {found.missing:,} of {found.judged:,} judged queries are not in the run "
            "and were left out; -c counts them as 0.",
            file=sys.stderr,
        )
    with _standard_output() as file:
        if checked is None:
            found.write(file, queries=queries, summary=not no_summary)
        else:
            checked.write(file)
    raise typer.Exit(1 if checked is not None and checked.different.height else 0)


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    """Where lines go. A reader that leaves early is no error; a full disk is one."""
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write the lines: {error.strerror or error}.") from error
