"""Pages that several tests look at: of the demo data, and one in which every name means harm."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import rankframe as rf

WHEN = "2026-01-02 03:04 UTC"
ROOT = Path(__file__).parents[3]
SHOP = ROOT / "data" / "shop"
RUNS = {name: SHOP / f"{name}.parquet" for name in ("bm25", "dense", "hybrid")}
HOSTILE = {
    "tag": "<script>document.title='owned'</script>",
    "image": "<img src=x onerror=\"document.title='owned'\">",
    "quotes": "\"'><b>bold</b>`",
    "emoji": "😀 🏴‍☠️ ñ",
    "long": "x" * 40_000,
    "longer": "x" * 40_001,
    "astral": "😀" * 500,
    # some of these end the process that draws them
    "controls": "a\0\x01\x07\v\f\x1b[31m\x9b\ufffe",
    "lines": "a\nb\u2028c\u2029d",
    "close": "</title></style></script><h1>owned</h1>",
}


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of the demo data."""
    return rf.report(
        SHOP / "qrels.parquet",
        RUNS,
        ["ndcg@10", "map", "lag", "num_rel_ret"],
        output=tmp_path_factory.mktemp("shop") / "report.html",
        title="Shop search",
        queries=SHOP / "queries.parquet",
        by=["locale"],
        date=WHEN,
    )


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report in which every name means harm."""
    ids = list(HOSTILE.values())
    qrels = {query: {doc: at % 3 for at, doc in enumerate(ids)} for query in ids}
    one = {query: {doc: float(at) for at, doc in enumerate(ids)} for query in ids}
    other = {query: {doc: -float(at) for at, doc in enumerate(ids)} for query in ids}
    attributes = pl.DataFrame({"query_id": ids, "kind": ids, "text": ids})
    folder = tmp_path_factory.mktemp("hostile")
    titles = folder / "\"'><b>bold`.parquet"
    pl.DataFrame({"doc_id": ids, "title": ids}).write_parquet(titles)
    own = (pl.col("rank") <= 2).any().alias(HOSTILE["image"])
    return rf.report(
        qrels,
        {HOSTILE["tag"]: one, HOSTILE["quotes"]: other},
        ["ndcg@3", own],
        output=folder / "report.html",
        title=HOSTILE["close"],
        queries=attributes,
        by="kind",
        titles=titles,
        query_text=dict(zip(ids, ids, strict=True)),
        rules=["ndcg@3: no worse than -1%"],
        command=HOSTILE["close"],
    )
