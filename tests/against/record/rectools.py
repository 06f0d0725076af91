"""What RecTools says: `python -m tests.against.record.rectools`, where `rectools` is installed."""
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from tests.against.record import cases


def measured(case, k):
    """All its metrics beyond accuracy; a value of each user, the mean as `mean of ...`."""
    import numpy as np
    import pandas as pd
    from rectools import Columns, metrics

    def frame(run):
        return pd.DataFrame(
            [row[:3] for row in cases.rows(run)], columns=[Columns.User, Columns.Item, Columns.Rank]
        )

    pair = [Columns.User, Columns.Item]
    reco, base = frame(case["run"]), frame(case["base"])
    train = pd.DataFrame([row[:2] for row in case["train"]], columns=pair)
    often = [row[:2] for row in case["train"] for _ in range(row[2])]
    often = pd.DataFrame(often, columns=pair)
    liked = [(u, d) for u, grades in case["qrels"].items() for d, g in grades.items() if g > 0]
    liked = pd.DataFrame(liked, columns=pair)
    catalog = list(case["items"])
    numbers = {genre: float(number) for number, genre in enumerate(cases.GENRES)}
    genre = pd.DataFrame({"genre": {d: numbers[i["genre"]] for d, i in case["items"].items()}})
    genres = pd.DataFrame(
        [[float(g in i["genres"]) for g in cases.GENRES] for i in case["items"].values()], catalog
    )

    class Cosine(metrics.PairwiseDistanceCalculator):
        """A distance of our own: it has Hamming's only."""

        def _get_distances_for_item_pairs(self, items_0, items_1):
            vectors = {d: np.array(i["embedding"]) for d, i in case["items"].items()}
            unit = {d: v / np.sqrt(v @ v) for d, v in vectors.items()}
            return np.array([1 - unit[a] @ unit[b] for a, b in zip(items_0, items_1)])  # noqa: B905

    hamming = metrics.PairwiseHammingDistanceCalculator
    ild = metrics.IntraListDiversity
    asked = {
        "MeanInvUserFreq": (metrics.MeanInvUserFreq(k), (reco, train)),
        "AvgRecPopularity": (metrics.AvgRecPopularity(k), (reco, train)),
        "AvgRecPopularity of repeated rows": (metrics.AvgRecPopularity(k), (reco, often)),
        "AvgRecPopularity normalize": (metrics.AvgRecPopularity(k, normalize=True), (reco, train)),
        "Serendipity": (metrics.Serendipity(k), (reco, liked, train, catalog)),
        "Serendipity of repeated rows": (metrics.Serendipity(k), (reco, liked, often, catalog)),
        "IntraListDiversity Hamming genre": (ild(k, hamming(genre)), (reco,)),
        "IntraListDiversity Hamming genres": (ild(k, hamming(genres)), (reco,)),
        "IntraListDiversity cosine": (ild(k, Cosine()), (reco,)),
        "Intersection": (metrics.Intersection(k), (reco, base)),
        "SufficientReco": (metrics.SufficientReco(k), (reco,)),
        "SufficientReco deep": (metrics.SufficientReco(k, deep=True), (reco,)),
        "CoveredUsers": (metrics.CoveredUsers(k), (reco, liked)),
    }
    values = {
        "CatalogCoverage": metrics.CatalogCoverage(k).calc(reco, catalog),
        "CatalogCoverage normalize": metrics.CatalogCoverage(k, normalize=True).calc(reco, catalog),
    }
    for name, (metric, given) in asked.items():
        values[name] = metric.calc_per_user(*given).to_dict()
        values[f"mean of {name}"] = metric.calc(*given)
    return values


if __name__ == "__main__":
    from rectools import __version__

    cases.record("rectools", __version__, measured)
