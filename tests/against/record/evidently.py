"""What Evidently says: `python -m tests.against.record.evidently`, with `evidently` installed."""
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from tests.against.record import cases

NAMES = {"user_id": "user_id", "item_id": "item_id"}


def measured(case, k):
    """Values of its report; those of each user are what the same metric averages."""
    import pandas as pd
    from evidently.legacy.metrics import (
        DiversityMetric,
        NoveltyMetric,
        PersonalizationMetric,
        PopularityBias,
        SerendipityMetric,
    )
    from evidently.legacy.pipeline.column_mapping import ColumnMapping, RecomType
    from evidently.legacy.report import Report

    items = case["items"]
    features = [f"e{n}" for n in range(6)]
    shown = pd.DataFrame(
        [
            (user, doc, rank, case["qrels"].get(user, {}).get(doc, 0), *items[doc]["embedding"])
            for user, doc, rank, _ in cases.rows(case["run"])
        ],
        columns=["user_id", "item_id", "prediction", "target", *features],
    )
    # Its distances need features of every document in train: the others are left out for them.
    nothing = [float("nan")] * 6
    train = pd.DataFrame(
        [
            (user, doc, *(items[doc]["embedding"] if doc in items else nothing))
            for user, doc, _ in case["train"]
        ],
        columns=["user_id", "item_id", *features],
    )
    known = train.dropna()
    columns = ColumnMapping(
        recommendations_type="rank", target="target", prediction="prediction", **NAMES
    )

    def told(metric, train):
        report = Report(metrics=[metric])
        given = {"current_train_data": train}
        report.run(
            reference_data=None, current_data=shown, column_mapping=columns, additional_data=given
        )
        return metric.get_result()

    novelty = NoveltyMetric(k=k)
    bias = told(PopularityBias(k=k), train)
    normalized = told(PopularityBias(k=k, normalize_arp=True), train)
    values = {
        "PersonalizationMetric": told(PersonalizationMetric(k=k), train).current_value,
        "PopularityBias ARP": bias.current_apr,
        "PopularityBias coverage": bias.current_coverage,
        "PopularityBias gini": bias.current_gini,
        "PopularityBias normalize_arp": normalized.current_apr,
        "mean of NoveltyMetric": told(novelty, train).current_value,
    }
    share = train.groupby("item_id")["user_id"].nunique() / train["user_id"].nunique()
    by_user, _ = novelty.get_miuf(
        shown, k, RecomType.RANK, "user_id", "item_id", "prediction", share
    )
    values["NoveltyMetric"] = by_user.to_dict()
    diversity = DiversityMetric(k=k, item_features=features)
    serendipity = SerendipityMetric(k=k, item_features=features)
    try:
        values["mean of DiversityMetric"] = told(diversity, known).current_value
        values["mean of SerendipityMetric"] = told(serendipity, known).current_value
    except KeyError as error:  # ids that look like numbers become numbers in its table of distances
        return {**values, "DiversityMetric": repr(error), "SerendipityMetric": repr(error)}
    distances = diversity._pairwise_distance.get_result()
    given = {
        "df": shown, "k": k, "recommendations_type": RecomType.RANK, **NAMES,
        "dist_matrix": distances.dist_matrix, "name_dict": distances.name_dict,
    }  # fmt: skip
    by_user, _ = diversity.get_ild(predictions="prediction", **given)
    values["DiversityMetric"] = dict(zip(shown["user_id"].unique(), by_user))  # noqa: B905
    by_user, _ = serendipity.get_serendipity(
        prediction_name="prediction", target_name="target", train_df=known, min_rel_score=None,
        **given,
    )  # fmt: skip
    hit = shown[(shown["target"] > 0) & (shown["prediction"] <= k)]["user_id"]
    values["SerendipityMetric"] = dict(zip(sorted({*hit} & {*known["user_id"]}), by_user))  # noqa: B905
    return values


if __name__ == "__main__":
    from evidently import __version__

    cases.record("evidently", __version__, measured)
