"""`rankframe demo`: the data that ships with rankframe, evaluated, and what to try next."""

from __future__ import annotations

from pathlib import Path

from rankframe.base.errors import UnreadableInputError

EXAMPLES = """
  rankframe demo
"""


def demo() -> None:
    """Evaluate the data that ships with rankframe, and say what to try next."""
    from rich.console import Console

    import rankframe as rf
    from rankframe.cli import tables as show
    from rankframe.cli.decision_tables import comparison_table
    from rankframe.metrics.names import resolve

    console = Console()
    data = _demo_data()
    names = ["ndcg@10", "map", "mrr@10", "recall@20", "lag", "judged@10"]
    runs = {name: data / "shop" / f"{name}.parquet" for name in ("bm25", "dense", "hybrid")}
    qrels = data / "shop" / "qrels.parquet"
    results = {name: rf.evaluate(qrels, run, names) for name, run in runs.items()}
    show.say(console, "A shop's search: three systems, ~2,000 queries, grades 0 to 3.\n")
    console.print(show.summary_table(results, resolve(names), console.width))
    show.say(console, "\nIs the difference real, and is it there in every locale?\n")
    found = rf.compare(
        qrels,
        runs,
        ["ndcg@10"],
        baseline="bm25",
        queries=data / "shop" / "queries.parquet",
        by="locale",
    )
    console.print(comparison_table(found, console.width))
    for line in (
        "\nTry next:",
        f"  cd {data / 'shop'}",
        "  rankframe evaluate qrels.parquet hybrid.parquet -m ndcg@1,3,10 --ledger",
        "  rankframe compare qrels.parquet bm25.parquet hybrid.parquet -m map --test wilcoxon",
        "  rankframe diff qrels.parquet bm25.parquet hybrid.parquet -m ndcg@10",
        "  rankframe agree bm25.parquet dense.parquet -m rbo -m overlap@10",
        "  rankframe metrics ndcg",
        "  rankframe evaluate --help",
    ):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _demo_data() -> Path:
    """The demo data: inside an installed package, or beside its sources."""
    here = Path(__file__).resolve().parents[1]
    for folder in (here / "data", here.parent.parent / "data"):
        if (folder / "shop" / "qrels.parquet").is_file():
            return folder
    raise UnreadableInputError("the demo data", "it is not installed with this copy of rankframe")
