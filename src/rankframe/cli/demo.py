"""`rankframe demo`: the data that ships with rankframe, evaluated, and what to try next."""

from __future__ import annotations

EXAMPLES = """
  rankframe demo
"""


def demo() -> None:
    """Evaluate the data that ships with rankframe, and say what to try next."""
    from rich.console import Console

    import rankframe as rf
    from rankframe.metrics.names import resolve
    from rankframe.terminal import tables as show
    from rankframe.terminal.decision_tables import comparison_table

    console = Console()
    shop = rf.example("shop")
    names = ["ndcg@10", "map", "mrr@10", "recall@20", "lag", "judged@10"]
    results = {name: rf.evaluate(shop.qrels, run, names) for name, run in shop.runs.items()}
    show.say(console, "A shop's search: three systems, ~2,000 queries, grades 0 to 3.\n")
    console.print(show.summary_table(results, resolve(names), console.width))
    show.say(console, "\nIs the difference real, and is it there in every locale?\n")
    found = rf.compare(
        shop.qrels,
        shop.runs,
        ["ndcg@10"],
        baseline="bm25",
        queries=shop.queries,
        by="locale",
    )
    console.print(comparison_table(found, console.width))
    for line in (
        "\nTry next:",
        f"  cd {shop.folder}",
        "  rankframe evaluate qrels.parquet hybrid.parquet -m ndcg@1,3,10 --ledger",
        "  rankframe compare qrels.parquet bm25.parquet hybrid.parquet -m map --test wilcoxon",
        "  rankframe diff qrels.parquet bm25.parquet hybrid.parquet -m ndcg@10",
        "  rankframe agree bm25.parquet dense.parquet -m rbo -m overlap@10",
        "  rankframe metrics ndcg",
        "  rankframe evaluate --help",
    ):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
