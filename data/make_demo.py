"""Make the demo data of rankframe: a shop's search and a movie recommender.

Everything is synthetic and comes from one seed, so a second run gives the same frames.

shop/    2,000 search queries (queries), graded judgments (qrels) and the rankings of three
         systems (bm25, dense, hybrid). A document has a hidden usefulness for a query; the
         judges and the systems each see it through noise of their own. Dense is strong on
         mobile and weak in German; hybrid mixes the two others and adds a little of its own.
movies/  held-out ratings of 600 users (ratings), what they rated before (train), the films (items)
         and the top-20 lists of three recommenders (popular, item_based, als), from a latent
         factor model with a popularity bias.

Usage: python data/make_demo.py [--out DIR]
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEED = 20_240_917

# --- Shop: sizes and shares -----------------------------------------------------------------
LOCALES = {"en": 820, "de": 580, "fr": 360, "es": 240}  # queries of each locale
DEVICES = {"mobile": 0.56, "desktop": 0.34, "tablet": 0.10}
UNJUDGED_QUERIES = 40
BARREN_QUERIES = 40  # judged, but no relevant document
DENSE_MISSES = 30  # judged, but dense returns nothing
BOOSTED_QUERIES = 25  # hybrid's rank and score disagree
SKUS_PER_CATEGORY = 400
CANDIDATES = 120  # documents that could match a query
DEPTH = 50

# --- Shop: words, the same order in every locale --------------------------------------------
WEAR = {
    "en": "running shoes|sneakers|sandals|winter boots|rain jacket|jeans|t-shirt|hoodie|"
    "sweater|shorts|socks|gloves|scarf|backpack",
    "de": "laufschuhe|sneaker|sandalen|winterstiefel|regenjacke|jeans|t-shirt|kapuzenpullover|"
    "pullover|shorts|socken|handschuhe|schal|rucksack",
    "fr": "chaussures running|baskets|sandales|bottes hiver|veste pluie|jean|t-shirt|"
    "sweat capuche|pull|short|chaussettes|gants|écharpe|sac à dos",
    "es": "zapatillas running|deportivas|sandalias|botas invierno|chubasquero|vaqueros|camiseta|"
    "sudadera capucha|jersey|pantalones cortos|calcetines|guantes|bufanda|mochila",
}
HOME = {
    "en": "desk lamp|kettle|toaster|coffee machine|office chair|bookshelf|rug|curtains|"
    "bed linen|towels|water bottle|headphones|phone case|plant pot",
    "de": "schreibtischlampe|wasserkocher|toaster|kaffeemaschine|bürostuhl|bücherregal|teppich|"
    "vorhänge|bettwäsche|handtücher|trinkflasche|kopfhörer|handyhülle|blumentopf",
    "fr": "lampe de bureau|bouilloire|grille-pain|machine à café|chaise de bureau|bibliothèque|"
    "tapis|rideaux|linge de lit|serviettes|gourde|casque audio|coque téléphone|pot de fleurs",
    "es": "lámpara escritorio|hervidor|tostadora|cafetera|silla oficina|estantería|alfombra|"
    "cortinas|ropa de cama|toallas|botella agua|auriculares|funda móvil|maceta",
}
COLOURS = {
    "en": "|black|white|red|blue|green|grey|pink|beige",
    "de": "|schwarz|weiß|rot|blau|grün|grau|rosa|beige",
    "fr": "|noir|blanc|rouge|bleu|vert|gris|rose|beige",
    "es": "|negro|blanco|rojo|azul|verde|gris|rosa|beige",
}
TAILS = {  # of wear, of home
    "en": ("|women|men|kids|sale|cheap", "|design|gift|modern|sale|cheap"),
    "de": ("|damen|herren|kinder|sale|günstig", "|design|geschenk|modern|sale|günstig"),
    "fr": ("|femme|homme|enfant|promo|pas cher", "|design|cadeau|moderne|promo|pas cher"),
    "es": ("|mujer|hombre|niños|rebajas|barato", "|diseño|regalo|moderno|rebajas|barato"),
}

# --- Movies ---------------------------------------------------------------------------------
GENRES = "drama|comedy|action|thriller|romance|science fiction|documentary|animation"
TRAIN_DAYS = 300


def phrases(locale: str) -> pl.DataFrame:
    """Every query text of a locale, with its product category and its number of parts."""
    wear, home = WEAR[locale].split("|"), HOME[locale].split("|")
    rows = []
    for category, noun in enumerate(wear + home):
        for colour in COLOURS[locale].split("|"):
            for tail in TAILS[locale][category >= len(wear)].split("|"):
                order = (colour, noun, tail) if locale == "en" else (noun, colour, tail)
                parts = [part for part in order if part]
                rows.append((" ".join(parts), locale, category, len(parts)))
    return pl.DataFrame(rows, ["text", "locale", "category", "parts"], orient="row")


def make_queries(rng: np.random.Generator) -> pl.DataFrame:
    """The queries, with two helper columns (category, parts) that are not written."""
    drawn = []
    for locale, size in LOCALES.items():
        table = phrases(locale)
        weight = 0.6 ** table["parts"].to_numpy()
        drawn.append(table[rng.choice(len(table), size, replace=False, p=weight / weight.sum())])
    n = sum(LOCALES.values())
    queries = pl.concat(drawn)[rng.permutation(n)]
    popularity = rng.gumbel(size=n) - 0.7 * queries["parts"].to_numpy()
    place = 1 + np.argsort(np.argsort(-popularity))
    traffic = np.round(9_000 / (place + 2.0) ** 1.05 * rng.lognormal(0, 0.25, n))
    device = rng.choice(list(DEVICES), n, p=list(DEVICES.values()))
    return queries.select(
        pl.format("q{}", pl.int_range(1, n + 1).cast(pl.String).str.zfill(4)).alias("query_id"),
        pl.col("text", "locale"),
        pl.Series("device", device.tolist()),
        pl.Series("traffic", np.maximum(traffic, 1).astype(np.int64)),
        pl.col("category", "parts"),
    )


def to_long(query_ids: pl.Series, docs: Ints, values: Floats | Ints, name: str) -> pl.DataFrame:
    """One row for each query and candidate: query_id, doc_id and a value."""
    every = np.repeat(np.arange(len(query_ids)), docs.shape[1])
    doc_ids = pl.select(pl.format("sku-{}", pl.Series(docs.ravel()))).to_series()
    return pl.DataFrame({"query_id": query_ids[every], "doc_id": doc_ids, name: values.ravel()})


def make_run(query_ids: pl.Series, docs: Ints, scores: Floats, depth: Ints) -> pl.DataFrame:
    """Rank each query's candidates by score (ties: doc_id descending), keep `depth` of them."""
    return (
        to_long(query_ids, docs, scores, "score")
        .sort("query_id", "score", "doc_id", descending=[False, True, True])
        .with_columns(pl.int_range(1, pl.len() + 1).over("query_id").alias("rank"))
        .join(pl.DataFrame({"query_id": query_ids, "depth": depth}), on="query_id")
        .filter(pl.col("rank") <= pl.col("depth"))
        .select("query_id", "doc_id", "rank", "score")
        .sort("query_id", "rank")
    )


def boost(run: pl.DataFrame, query_ids: pl.Series, old_rank: Ints) -> pl.DataFrame:
    """Move one document of each given query to rank 1 and leave all scores as they are."""
    rank, old = pl.col("rank"), pl.col("old")
    moved = pl.when(rank == old).then(1).when(rank < old).then(rank + 1).otherwise(rank)
    return (
        run.join(pl.DataFrame({"query_id": query_ids, "old": old_rank}), "query_id", "left")
        .with_columns(moved.alias("rank"))
        .drop("old")
        .sort("query_id", "rank")
    )


def make_shop(rng: np.random.Generator) -> dict[str, pl.DataFrame]:
    """The shop's frames by name."""
    queries = make_queries(rng)
    ids, n = queries["query_id"], len(queries)
    german = (queries["locale"] == "de").to_numpy()
    mobile = (queries["device"] == "mobile").to_numpy()
    parts = queries["parts"].to_numpy()

    # Each query's candidates: distinct SKU numbers of its category.
    category = queries["category"].to_numpy()
    shape = (category.max() + 1, SKUS_PER_CATEGORY)
    skus = rng.choice(np.arange(10_000, 100_000), shape, replace=False)
    picks = np.argsort(rng.random((n, SKUS_PER_CATEGORY)), axis=1)[:, :CANDIDATES]
    docs = skus[category[:, None], picks]

    # Disjoint groups of queries with a special fate.
    groups = [UNJUDGED_QUERIES, BARREN_QUERIES, DENSE_MISSES, BOOSTED_QUERIES]
    unjudged, barren, missed, boosted = (
        np.sort(group) for group in np.split(rng.permutation(n), np.cumsum(groups))[:4]
    )

    # What each system sees: the hidden usefulness times its skill, plus noise; then unit variance.
    useful = rng.normal(size=docs.shape)
    ease = rng.normal(0, 0.35, n)
    bm25_skill = 0.74 + ease + 0.06 * german
    dense_skill = 1.05 + ease + 0.40 * mobile - 0.60 * german + rng.normal(0, 0.2, n)
    bm25, dense = (
        (skill[:, None] * useful + rng.normal(size=docs.shape)) / np.hypot(skill, 1)[:, None]
        for skill in (bm25_skill, dense_skill)
    )
    known = np.where(np.isin(np.arange(n), missed)[:, None], bm25, dense)
    own = np.where(german, 0.10, 0.25)[:, None] * useful + rng.normal(0, 0.48, docs.shape)
    hybrid = 0.45 * bm25 + 0.45 * known + own

    # Judgments: of documents that came up in the past, mostly through a keyword search.
    seen = 0.52 * bm25 + 0.39 * dense + 0.33 * useful + rng.normal(0, 0.30, docs.shape)
    place = np.argsort(np.argsort(-seen, axis=1), axis=1)
    judged = place < rng.integers(8, 21, n)[:, None]
    judged[unjudged] = False
    opinion = useful + rng.normal(0, 0.5, docs.shape) + rng.normal(0, 0.3, n)[:, None]
    grades = np.digitize(opinion, [1.15, 1.95, 2.7])
    best = np.argmax(np.where(judged, opinion, -np.inf), axis=1)
    grades[np.arange(n), best] = np.maximum(grades[np.arange(n), best], 1)
    grades[barren] = 0
    qrels = to_long(ids, docs, np.where(judged, grades, -1), "relevance")

    spread = 0.15 + 0.15 * parts[:, None]
    bm25_scores = np.round(4.0 + 1.5 * parts[:, None] + spread * bm25, 2)
    dense_scores = np.round(0.55 + 0.09 * dense + rng.normal(0, 0.03, n)[:, None], 5)
    hybrid_scores = np.round(1 / (1 + np.exp(-1.2 * hybrid)), 5)
    bm25_depth = np.where(rng.random(n) < 0.20, rng.integers(6, DEPTH, n), DEPTH)
    dense_depth = np.where(rng.random(n) < 0.05, rng.integers(20, DEPTH, n), DEPTH)
    hybrid_run = make_run(ids, docs, hybrid_scores, np.maximum(bm25_depth, dense_depth))
    dense_depth[missed] = 0
    return {
        "queries": queries.drop("category", "parts"),
        "qrels": qrels.filter(pl.col("relevance") >= 0).sort("query_id", "doc_id"),
        "bm25": make_run(ids, docs, bm25_scores, bm25_depth),
        "dense": make_run(ids, docs, dense_scores, dense_depth),
        "hybrid": boost(hybrid_run, ids[boosted], rng.integers(4, 16, len(boosted))),
    }


def item_based(watched: Floats) -> Floats:
    """How near each film is to those that a user watched: a film has its 20 nearest, by how many
    watched both, which counts less of films that many watched.
    """
    together = watched.T @ watched
    views = np.maximum(np.diagonal(together), 1)
    near = together / np.outer(views, views) ** 0.6
    np.fill_diagonal(near, 0)
    nearest = near >= np.sort(near, axis=1)[:, -20:-19]
    return np.round(watched @ np.where(nearest, near, 0).T, 4)


def make_films(rng: np.random.Generator, ids: Ints, style: Floats, fame: Floats) -> pl.DataFrame:
    """What is known of the films: genres by their strongest styles, studio and year."""
    strongest = np.argsort(-style, axis=1)
    order = np.take_along_axis(style, strongest, axis=1)
    has = order[:, :3] > np.array([-np.inf, 1.0, 1.0])
    film, at = np.nonzero(has)
    names = pl.Series(GENRES.split("|"))[strongest[film, at]]
    genres = pl.DataFrame({"film": film, "genre": names}).group_by("film", maintain_order=True)
    major = fame + rng.normal(0, 0.6, len(ids)) > np.quantile(fame, 0.7)
    return pl.DataFrame(
        {
            "item_id": ids,
            "genres": genres.agg("genre")["genre"],
            "studio": np.where(major, "major", "independent"),
            "year": 2025 - np.minimum(rng.exponential(14, len(ids)).astype(np.int64) + 1, 75),
        }
    )


def make_movies(rng: np.random.Generator) -> dict[str, pl.DataFrame]:
    """The recommender's frames by name."""
    users, items, factors = 600, 1_500, 8
    item_ids = np.sort(rng.choice(np.arange(1, 4_000), items, replace=False))
    taste, style = (rng.normal(size=(size, factors)) for size in (users, items))
    fame = rng.gumbel(0, 0.6, items)
    fit = taste @ style.T / np.sqrt(factors) + rng.normal(0, 0.3, items)

    # Who watched what: the first draws of a user are held out, the next ones were known before.
    place = np.argsort(np.argsort(-(fame + fit + rng.gumbel(size=fit.shape)), axis=1), axis=1)
    held_out = rng.integers(5, 21, users)[:, None]
    known = (place >= held_out) & (place < held_out + rng.integers(20, 81, users)[:, None])
    stars = 3.1 + 0.6 * fit + rng.normal(0, 0.3, users)[:, None] + rng.normal(0, 0.6, fit.shape)
    stars = np.clip(np.round(2 * stars) / 2, 0.5, 5.0)

    def rows(keep: NDArray[np.bool_], values: Floats, name: str) -> pl.DataFrame:
        user, item = np.nonzero(keep)
        ids = {"user_id": user + 1, "item_id": item_ids[item]}
        return pl.DataFrame({**ids, name: values[user, item]})

    def top(scores: Floats) -> pl.DataFrame:
        unseen = rows(~known, scores, "score")
        ranked = unseen.sort("user_id", "score", "item_id", descending=[False, True, False])
        return ranked.group_by("user_id", maintain_order=True).head(20)

    views = np.broadcast_to(known.sum(axis=0).astype(np.float64), fit.shape)
    als = 0.12 + 0.06 * (0.8 * fame + 0.8 * fit + rng.normal(0, 0.6, fit.shape))
    train = rows(known, stars, "rating")
    day = pl.Series(rng.integers(0, TRAIN_DAYS, len(train)))
    watched = pl.lit("2025-01-01").str.to_date() + pl.duration(days=pl.lit(day))
    return {
        "ratings": rows(place < held_out, stars, "rating"),
        "train": train.with_columns(watched.alias("date")),
        "items": make_films(rng, item_ids, style, fame),
        "popular": top(views),
        "item_based": top(item_based(known.astype(np.float64))),
        "als": top(np.round(als, 4)),
    }


def main() -> None:
    """Write every frame as a Parquet file."""
    parser = argparse.ArgumentParser(description="Make the demo data of rankframe.")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    out = parser.parse_args().out
    shop_rng, movies_rng = np.random.default_rng(SEED).spawn(2)
    for folder, frames in (("shop", make_shop(shop_rng)), ("movies", make_movies(movies_rng))):
        (out / folder).mkdir(parents=True, exist_ok=True)
        for name, frame in frames.items():
            path = out / folder / f"{name}.parquet"
            frame.write_parquet(path, compression="zstd", compression_level=19)
            print(f"{path}: {len(frame):,} rows, {path.stat().st_size / 1024:,.0f} KiB")


if __name__ == "__main__":
    main()
