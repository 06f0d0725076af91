"""`rankframe metrics` and `rankframe fusions`: the reference; `rankframe demo`: a first look."""

from __future__ import annotations

from typing import Any, Literal

from rankframe.cli.completion import methods, metrics_of
from rankframe.cli.options import Argument, takes


@takes(Argument("name", str | None, "[NAME]", default=None, complete=metrics_of()))
def metrics(name: str | None) -> None:
    """Show all metrics, or one with its formula, parameters and synonyms.

    Flags:
        name: A metric to show in full, in any spelling: ndcg, nDCG@10, map_cut_10.

    Examples:
      rankframe metrics

      rankframe metrics nDCG@10
    """
    from rich.console import Console

    from rankframe.metrics.names import definition_of
    from rankframe.present.terminal import reference_pages as show
    from rankframe.present.terminal.render import print_line

    console = Console()
    if name is None:
        console.print(show.metric_list())
        print_line(console, "One in full: rankframe metrics ndcg. Written name(parameter=value)@k.")
        return
    console.print(show.metric_page(definition_of(name)))


@takes(Argument("name", str | None, "[NAME]", default=None, complete=methods))
def fusions(name: str | None) -> None:
    """Show all methods and norms of fusion, or one with its formula and parameters.

    Flags:
        name: A method or a norm, to show in full.

    Examples:
      rankframe fusions

      rankframe fusions rrf
    """
    from rich.console import Console

    from rankframe.analysis.fusion.names import parse
    from rankframe.analysis.fusion.norms import NORMS
    from rankframe.present.terminal import reference_pages as show
    from rankframe.present.terminal.render import print_line

    console = Console()
    if name is None:
        console.print(show.fusion_list())
        print_line(console, "One in full: rankframe fusions rrf. Written name(parameter=value).")
        return
    key = name.strip().lower().replace("-", "_")
    if key in NORMS and key not in ("max", "sum"):
        console.print(show.norm_page(NORMS[key]))
        return
    console.print(show.method_page(parse(name)[0]))
    if key in NORMS:  # a method and a norm have this name
        console.print("\n", show.norm_page(NORMS[key]))


@takes(Argument("name", Literal["shop", "movies"], "[shop|movies]", default="shop"))
def demo(name: Literal["shop", "movies"]) -> None:
    """Evaluate the bundled data, and suggest what to try next.

    Flags:
        name: The search of a shop, or a recommender of films.

    Examples:
      rankframe demo

      rankframe demo movies
    """
    from rich.console import Console

    import rankframe as rf
    from rankframe.engine.evaluation import RUN_FRAMES
    from rankframe.metrics.names import resolve
    from rankframe.present.terminal.analysis_tables import comparison_table
    from rankframe.present.terminal.render import print_line
    from rankframe.present.terminal.result_tables import summary_table

    console, data = Console(), rf.example(name)

    def evaluate(caption: str, metrics: str, qrels: Any = data.qrels, **options: Any) -> None:
        print_line(console, f"{caption}\n")
        names = metrics.split()
        results = {
            run: rf.evaluate(qrels, rows, names, **options) for run, rows in data.runs.items()
        }
        console.print(summary_table(results, resolve(names, *RUN_FRAMES), console.width))

    def compare(caption: str, metrics: str, **options: Any) -> None:
        print_line(console, f"\n{caption}\n")
        found = rf.compare(data.qrels, data.runs, metrics.split(), **options)
        console.print(comparison_table(found, console.width))

    if name == "shop":
        evaluate(
            "A shop's search: three systems, ~2,000 queries, grades 0 to 3.",
            "ndcg@10 map mrr@10 recall@20 lag judged@10",
        )
        compare(
            "Is the difference real, and is it there in every locale?",
            "ndcg@10", baseline="bm25", queries=data.queries, by="locale",
        )  # fmt: skip
    else:
        tables = {"train": data.train, "items": data.items}
        evaluate(
            "A recommender: three systems, 600 users, 1,500 films, 4 stars are a success.\n"
            "Which is accurate, and which shows more than what everybody knows?",
            "ndcg@10 recall@10 coverage@10 gini@10 novelty@10 long_tail@10 serendipity@10",
            rel=4, **tables,
        )  # fmt: skip
        evaluate(
            "\nHow many genres, are they what the user watches, and do lists differ?",
            "diversity(by=genres)@10 calibration(by=genres)@10 personalisation@10",
            None, ci=None, **tables,
        )  # fmt: skip
        compare(
            "Is the difference to the most popular films real?",
            "ndcg@10 coverage@10", baseline="popular", rel=4, **tables,
        )  # fmt: skip
    for line in ("\nTry next:", f"  cd {data.folder}", *_NEXT[name]):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


_FILMS, _ITEMS = "popular.parquet als.parquet", "--items items.parquet"
_NEXT = {
    "shop": (
        "  rankframe evaluate qrels.parquet hybrid.parquet -m ndcg@1,3,10 --ledger",
        "  rankframe compare qrels.parquet bm25.parquet hybrid.parquet -m map --test wilcoxon",
        "  rankframe diff qrels.parquet bm25.parquet hybrid.parquet -m ndcg@10",
        "  rankframe agree bm25.parquet dense.parquet -m rbo -m overlap@10",
        "  rankframe demo movies",
        "  rankframe metrics ndcg",
        "  rankframe evaluate --help",
    ),
    "movies": (
        f"  rankframe evaluate ratings.parquet {_FILMS} --rel 4 -m ndcg@10 -m coverage@10 {_ITEMS}",
        f"  rankframe plot tradeoff ratings.parquet {_FILMS} --rel 4 {_ITEMS}",
        f"  rankframe plot exposure {_FILMS} {_ITEMS} -k 10",
        f"  rankframe plot popularity {_FILMS} --train train.parquet -k 10",
        "  rankframe metrics novelty",
    ),
}
