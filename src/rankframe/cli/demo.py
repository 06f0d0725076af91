"""`rankframe demo`: evaluate the bundled data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = """
  rankframe demo

  rankframe demo movies
"""


def demo(
    name: Annotated[
        Literal["shop", "movies"],
        typer.Argument(metavar="[shop|movies]", help="The search of a shop, or a recommender."),
    ] = "shop",
) -> None:
    """Evaluate the bundled data, and suggest what to try next."""
    from rich.console import Console

    {"shop": _shop, "movies": _movies}[name](Console())


def _shop(console: Console) -> None:
    import rankframe as rf
    from rankframe.metrics.names import resolve
    from rankframe.present.terminal import result_tables as show
    from rankframe.present.terminal.analysis_tables import comparison_table
    from rankframe.present.terminal.render import print_line

    shop = rf.example("shop")
    names = ["ndcg@10", "map", "mrr@10", "recall@20", "lag", "judged@10"]
    results = {name: rf.evaluate(shop.qrels, run, names) for name, run in shop.runs.items()}
    print_line(console, "A shop's search: three systems, ~2,000 queries, grades 0 to 3.\n")
    console.print(show.summary_table(results, resolve(names), console.width))
    print_line(console, "\nIs the difference real, and is it there in every locale?\n")
    found = rf.compare(
        shop.qrels,
        shop.runs,
        ["ndcg@10"],
        baseline="bm25",
        queries=shop.queries,
        by="locale",
    )
    console.print(comparison_table(found, console.width))
    _say_next(
        console,
        f"cd {shop.folder}",
        "rankframe evaluate qrels.parquet hybrid.parquet -m ndcg@1,3,10 --ledger",
        "rankframe compare qrels.parquet bm25.parquet hybrid.parquet -m map --test wilcoxon",
        "rankframe diff qrels.parquet bm25.parquet hybrid.parquet -m ndcg@10",
        "rankframe agree bm25.parquet dense.parquet -m rbo -m overlap@10",
        "rankframe demo movies",
        "rankframe metrics ndcg",
        "rankframe evaluate --help",
    )


def _movies(console: Console) -> None:
    import rankframe as rf
    from rankframe.engine.prepare import RUN_FRAMES
    from rankframe.metrics.names import resolve
    from rankframe.present.terminal import result_tables as show
    from rankframe.present.terminal.analysis_tables import comparison_table
    from rankframe.present.terminal.render import print_line

    movies = rf.example("movies")
    tables: dict[str, Any] = {"train": movies.train, "items": movies.items}
    names = [
        "ndcg@10", "recall@10", "coverage@10", "gini@10", "novelty@10", "long_tail@10",
        "serendipity@10",
    ]  # fmt: skip
    results = {
        name: rf.evaluate(movies.qrels, run, names, rel=4, **tables)
        for name, run in movies.runs.items()
    }
    print_line(
        console, "A recommender: three systems, 600 users, 1,500 films, 4 stars are a success."
    )
    print_line(console, "Which is accurate, and which shows more than what everybody knows?\n")
    console.print(show.summary_table(results, resolve(names, *RUN_FRAMES), console.width))
    print_line(console, "\nHow many genres, are they what the user watches, and do lists differ?\n")
    names = ["diversity(by=genres)@10", "calibration(by=genres)@10", "personalisation@10"]
    results = {
        name: rf.evaluate(None, run, names, **tables, ci=None) for name, run in movies.runs.items()
    }
    console.print(show.summary_table(results, resolve(names, *RUN_FRAMES), console.width))
    print_line(console, "\nIs the difference to the most popular films real?\n")
    names = ["ndcg@10", "coverage@10"]
    found = rf.compare(movies.qrels, movies.runs, names, baseline="popular", rel=4, **tables)
    console.print(comparison_table(found, console.width))
    runs, items_flag = "popular.parquet als.parquet", "--items items.parquet"
    _say_next(
        console,
        f"cd {movies.folder}",
        f"rankframe evaluate ratings.parquet {runs} --rel 4 -m ndcg@10 -m coverage@10 {items_flag}",
        f"rankframe plot tradeoff ratings.parquet {runs} --rel 4 {items_flag}",
        f"rankframe plot exposure {runs} {items_flag} -k 10",
        f"rankframe plot popularity {runs} --train train.parquet -k 10",
        "rankframe metrics novelty",
    )


def _say_next(console: Console, *lines: str) -> None:
    for line in ("\nTry next:", *(f"  {line}" for line in lines)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
