"""What RePlay says: `python -m tests.against.record.replay`.

`pip install --no-deps replay-rec` beside pandas < 3, polars < 2 and scipy is enough for this.
"""
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from tests.against.record import cases


def measured(case, k):
    """Its metrics of data frames, in which users without a list are not, and of dictionaries, in
    which they have an empty one.
    """
    import pandas as pd
    from replay import metrics

    columns = ["query_id", "item_id", "rating"]
    run, base = (
        pd.DataFrame([(u, d, score) for u, d, _, score in cases.rows(case[name])], columns=columns)
        for name in ("run", "base")
    )
    train = pd.DataFrame([row[:2] for row in case["train"]], columns=columns[:2])
    genres = run.assign(category_id=[case["items"][doc]["genre"] for doc in run["item_id"]])
    scored = {user: [] for user in case["run"]}
    for user, doc, _, score in cases.rows(case["run"]):
        scored[user].append((doc, score))
    owned = {}
    for user, doc, _ in case["train"]:
        owned.setdefault(user, []).append(doc)
    values = {"Coverage": only(metrics.Coverage(k)(run, train))}
    asked = {
        "Surprisal": (metrics.Surprisal, (run, train)),
        "Surprisal of dictionaries": (metrics.Surprisal, (scored, owned)),
        "Novelty": (metrics.Novelty, (run, train)),
        "Unexpectedness": (metrics.Unexpectedness, (run, base)),
        "CategoricalDiversity": (metrics.CategoricalDiversity, (genres,)),
    }
    for name, (metric, given) in asked.items():
        by_user = only(metric(k, mode=metrics.PerUser())(*given))
        # Novelty has values of all users in train, whether they have a list or not.
        values[name] = {user: value for user, value in by_user.items() if user in case["run"]}
        values[f"mean of {name}"] = only(metric(k)(*given))
    return values


def only(told):
    """The value of the one metric that was asked for."""
    (value,) = told.values()
    return value


if __name__ == "__main__":
    from importlib.metadata import version

    cases.record("replay", version("replay-rec"), measured)
