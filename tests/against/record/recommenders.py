"""What Microsoft's recommenders say: `python -m tests.against.record.recommenders`.

`pip install --no-deps recommenders` beside pandas < 3 and scikit-learn is enough for this.
"""
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from tests.against.record import cases

NAMES = ("catalog_coverage", "distributional_coverage", "novelty", "diversity", "serendipity")


def measured(case, k):
    """Its metrics of the top k; it has no cutoff of its own.

    It refuses lists with documents of the user's own training rows: then its message.
    """
    import numpy as np
    import pandas as pd
    from recommenders.evaluation import python_evaluation as metrics

    train = pd.DataFrame([row[:2] for row in case["train"]], columns=["userID", "itemID"])
    shown = pd.DataFrame(
        [
            (user, doc, float(case["qrels"].get(user, {}).get(doc, 0) > 0))
            for user, doc, rank, _ in cases.rows(case["run"])
            if rank <= k
        ],
        columns=["userID", "itemID", "relevance"],
    )
    features = pd.DataFrame(
        {
            "itemID": list(case["items"]),
            "features": [np.array(item["embedding"]) for item in case["items"].values()],
        }
    )
    by_vector = {"item_feature_df": features, "item_sim_measure": "item_feature_vector"}
    try:
        values = {name: getattr(metrics, name)(train, shown) for name in NAMES[:4]}
    except Exception as refused:  # noqa: BLE001, what it raises has no name of its own
        return dict.fromkeys(NAMES, str(refused))

    def by_user(metric, name, **options):
        return metric(train, shown, **options).set_index("userID")[name].to_dict()

    return {
        **values,
        "serendipity": metrics.serendipity(train, shown, col_relevance="relevance"),
        "user_diversity": by_user(metrics.user_diversity, "user_diversity"),
        "user_serendipity": by_user(
            metrics.user_serendipity, "user_serendipity", col_relevance="relevance"
        ),
        "diversity item_feature_vector": metrics.diversity(train, shown, **by_vector),
        "user_diversity item_feature_vector": by_user(
            metrics.user_diversity, "user_diversity", **by_vector
        ),
    }


if __name__ == "__main__":
    from importlib.metadata import version

    cases.record("recommenders", version("recommenders"), measured)
