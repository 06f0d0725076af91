"""What LensKit says: `python -m tests.against.record.lenskit`, where `lenskit` is installed."""
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from tests.against.record import cases


def measured(case, k):
    """Its Gini coefficients, mean popularity rank, and entropies of one and of several genres."""
    import numpy as np
    import pandas as pd
    from lenskit.data import ItemList, from_interactions_df
    from lenskit.metrics import (
        ExposureGini,
        ListGini,
        LogRankWeight,
        MeanPopRank,
        entropy,
        rank_biased_entropy,
    )

    items = case["items"]
    lists = {user: ItemList(item_ids=docs, ordered=True) for user, docs in case["run"].items()}
    train = pd.DataFrame([row[:2] for row in case["train"]], columns=["user_id", "item_id"])
    train = from_interactions_df(train)

    def over_all(metric):
        # An empty list has ids of another type, at which its Gini fails.
        some = [one for one in lists.values() if len(one)]
        return metric.global_aggregate([metric.compute_list_data(one, None) for one in some])

    def flags(docs, by):
        """Documents by genres, as `categories` wants them: 1 where a document has the genre."""
        of = [items[doc][by] if by == "genres" else [items[doc][by]] for doc in docs]
        return np.array([[float(g in some) for g in cases.GENRES] for some in of])

    def by_user(metric, by):
        return {
            user: metric(one, flags(case["run"][user], by), n=min(k, len(one)))
            if len(one)
            else None
            for user, one in lists.items()
        }

    popular = MeanPopRank(train, n=k)
    logarithmic = LogRankWeight(offset=1)
    return {
        "ListGini": over_all(ListGini(n=k, items=len(items))),
        "ExposureGini": over_all(ExposureGini(n=k, items=len(items))),
        "ExposureGini LogRankWeight": over_all(
            ExposureGini(n=k, items=len(items), weight=logarithmic)
        ),
        "MeanPopRank": {user: popular.measure_list(one, None) for user, one in lists.items()},
        "entropy genre": by_user(entropy, "genre"),
        "entropy genres": by_user(entropy, "genres"),
        "rank_biased_entropy genre": by_user(rank_biased_entropy, "genre"),
    }


if __name__ == "__main__":
    from importlib.metadata import version

    cases.record("lenskit", version("lenskit"), measured)
