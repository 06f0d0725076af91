"""Compare plain definitions of metrics of retrieved documents with recommender packages.

The packages ran once, each in an environment of its own: `recorded/README.md`. Each recorded name
is compared, with its own conventions spelled out here, or is in OTHER: no metric of ours.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from tests.against.record.cases import GENRES
from tests.support import retrieved_by_definition as by
from tests.support.retrieved_by_definition import ByUser, Case, average

RECORDED = Path(__file__).parent / "recorded"
CASES: dict[str, Case] = json.loads((RECORDED / "cases.json").read_text(encoding="utf-8"))
Definition = Callable[[Case, int], ByUser | float | None]
MEAN = "mean of "


def scaled(values: ByUser, factor: Callable[[str], float]) -> ByUser:
    return {user: None if v is None else v * factor(user) for user, v in values.items()}


def filled(values: ByUser, value: float) -> ByUser:
    """A value for users without a list as well."""
    return {user: value if v is None else v for user, v in values.items()}


def length(case: Case, user: str, k: int) -> int:
    """L."""
    return min(k, len(case["run"][user]))


def warm(case: Case, k: int) -> Case:
    """Without the documents of the top k that nobody has in train."""
    users = by.users_of(case)
    run = {user: [doc for doc in docs[:k] if users[doc]] for user, docs in case["run"].items()}
    return {**case, "run": run}


def row_by_row(case: Case) -> Case:
    """Every interaction as if another user had it: rows are counted, not users."""
    rows = [[f"{user} {n}", doc, 1] for user, doc, count in case["train"] for n in range(count)]
    return {**case, "train": rows}


def flags_apart(case: Case, k: int) -> ByUser:
    """How many genres one of two documents has and the other has not."""
    return by.mean_pairs(
        case, k, lambda a, b: len(by.values(case, a, "genres") ^ by.values(case, b, "genres"))
    )


def in_base(case: Case, k: int) -> ByUser:
    """Of the documents shown, not of k: the share in the base's top k."""
    return by.mean_shown(case, k, lambda user, doc: doc in case["base"][user][:k])


def with_list(case: Case, k: int) -> ByUser:
    """1 for judged users with a list, 0 for those without."""
    return {user: float(bool(docs)) for user, docs in case["run"].items() if user in case["qrels"]}


RECTOOLS: dict[str, Definition] = {
    "CatalogCoverage": lambda case, k: by.coverage(case, k, count=True),
    "CatalogCoverage normalize": by.coverage,
    "MeanInvUserFreq": by.novelty,
    "AvgRecPopularity": by.popularity,
    "AvgRecPopularity of repeated rows": lambda case, k: by.popularity(row_by_row(case), k),
    "AvgRecPopularity normalize": lambda case, k: scaled(
        by.popularity(case, k), lambda _: 1 / len(case["train"])
    ),
    "Serendipity": by.serendipity,
    "Serendipity of repeated rows": lambda case, k: by.serendipity(row_by_row(case), k),
    "IntraListDiversity Hamming genre": lambda case, k: by.diversity(
        case, k, by="genre", kind="pairs"
    ),
    "IntraListDiversity Hamming genres": flags_apart,
    "IntraListDiversity cosine": lambda case, k: by.ild(case, k, vector="embedding"),
    "Intersection": in_base,
    "SufficientReco": lambda case, k: {
        user: float(len(docs) >= k) if docs else None for user, docs in case["run"].items()
    },
    "SufficientReco deep": lambda case, k: by.over_k(case, k, lambda *_: 1.0),
    "CoveredUsers": with_list,
}


def overlap_by_k(case: Case, k: int) -> float:
    """Each list is taken to be k long: shorter ones add what their empty places lack."""
    lists = sum(bool(docs) for docs in case["run"].values())
    lacking = sum(k - length(case, user, k) for user, docs in case["run"].items() if docs)
    return (by.personalisation(case, k) or 0.0) + lacking / (k * lists * (lists - 1))


EVIDENTLY: dict[str, Definition] = {
    "PersonalizationMetric": overlap_by_k,
    "PopularityBias ARP": lambda case, k: average(by.popularity(warm(case, k), k)),
    "PopularityBias coverage": lambda case, k: by.coverage(case, k, of="train"),
    "PopularityBias gini": lambda case, k: by.gini(case, k, over="retrieved"),
    "PopularityBias normalize_arp": lambda case, k: (
        (average(by.popularity(warm(case, k), k)) or 0.0) / max(by.users_of(case).values())
    ),
    "NoveltyMetric": lambda case, k: by.novelty(warm(case, k), k),
    # The sum over pairs is divided by L, not by the pairs.
    "DiversityMetric": lambda case, k: scaled(
        by.ild(case, k, vector="embedding"), lambda user: (length(case, user, k) - 1) / 2
    ),
}


def novelty_of_rows(case: Case, k: int) -> float:
    """−log2 of the share of interactions, 0 where there are none; over all documents shown, not
    first within users.
    """
    users, rows = by.users_of(case), len(case["train"])
    shown = [doc for docs in case["run"].values() for doc in docs[:k]]
    return math.fsum(-math.log2(users[d] / rows) for d in shown if users[d]) / len(shown)


def apart_of_two(case: Case, k: int) -> ByUser:
    """Undefined, not 0, where one document is shown."""
    found = by.ild(case, k, vector="embedding")
    return {user: v if length(case, user, k) > 1 else None for user, v in found.items()}


RECOMMENDERS: dict[str, Definition] = {
    # Documents that are not in train count above the line only.
    "catalog_coverage": lambda case, k: by.coverage(case, k, count=True) / len(by.users_of(case)),
    "distributional_coverage": by.entropy,
    "novelty": novelty_of_rows,
    "user_diversity item_feature_vector": apart_of_two,
    "diversity item_feature_vector": lambda case, k: average(apart_of_two(case, k)),
}


def smoothed(case: Case, k: int, attribute: str) -> ByUser:
    """The entropy after 1e-6 is added to the count of every genre that there is."""

    def of(docs: list[str]) -> float | None:
        counts = Counter(value for doc in docs for value in by.values(case, doc, attribute))
        return by.bits({genre: counts[genre] + 1e-6 for genre in GENRES})

    return {user: of(docs[:k]) if docs else None for user, docs in case["run"].items()}


def exposure_gini(case: Case, k: int, worth: Callable[[int], float]) -> float | None:
    """Gini's coefficient of how much of each list's attention a document gets."""
    exposure = dict.fromkeys(case["items"], 0.0)
    for docs in case["run"].values():
        for rank, doc in enumerate(docs[:k], 1):
            exposure[doc] += worth(rank)
    return by.unequal(exposure.values(), len(exposure))


LENSKIT: dict[str, Definition] = {
    "ListGini": by.gini,
    "ExposureGini": lambda case, k: exposure_gini(case, k, lambda rank: 0.85 ** (rank - 1)),
    "ExposureGini LogRankWeight": lambda case, k: exposure_gini(
        case, k, lambda rank: 1 / math.log2(rank + 1)
    ),
    "entropy genre": lambda case, k: smoothed(case, k, "genre"),
    "entropy genres": lambda case, k: smoothed(case, k, "genres"),
}


def new_to_train_users(case: Case, k: int) -> ByUser:
    """1 − repeated, of the users in train; 1 for those without a list."""
    known = by.trained(case)
    again = filled(by.repeated(case, k), 0.0)
    return {user: 1 - (v or 0.0) for user, v in again.items() if user in known}


REPLAY: dict[str, Definition] = {
    "Coverage": lambda case, k: by.coverage(case, k, of="train"),
    "Surprisal": lambda case, k: by.novelty(case, k, normalised=True),
    # An empty list has the value 0.
    "Surprisal of dictionaries": lambda case, k: filled(by.novelty(case, k, normalised=True), 0.0),
    "Novelty": new_to_train_users,
    "Unexpectedness": by.unexpectedness,
    # By k, not by L.
    "CategoricalDiversity": lambda case, k: scaled(
        by.diversity(case, k, by="genre"), lambda user: length(case, user, k) / k
    ),
}

PACKAGES: dict[str, dict[str, Definition]] = {
    "rectools": RECTOOLS,
    "evidently": EVIDENTLY,
    "recommenders": RECOMMENDERS,
    "lenskit": LENSKIT,
    "replay": REPLAY,
}
# Other things under similar names: likeness to the user's own history, by vectors or by
# co-occurrence in train; mean quantile of popularity; entropy weighted by rank.
OTHER = {
    "evidently": {"SerendipityMetric"},
    "recommenders": {"diversity", "user_diversity", "serendipity", "user_serendipity"},
    "lenskit": {"MeanPopRank", "rank_biased_entropy genre"},
}
# Its exposures are added up in float32.
SINGLE = {"ExposureGini", "ExposureGini LogRankWeight"}
# What a package cannot do: ids that look like numbers, lists with what the user has in train.
REFUSED = {
    ("evidently", "mixed"): "KeyError('7')",
    ("recommenders", "repeated"): "already shown in train_df",
    ("recommenders", "mixed"): "already shown in train_df",
}


@cache
def defined(package: str, name: str, case: str, k: int) -> ByUser | float | None:
    return PACKAGES[package][name](CASES[case], k)


def expected(package: str, label: str, case: str) -> Any:
    """As it is recorded: a number, or a list in the order of the run."""
    name, k = split(label)
    value = defined(package, name, case, k)
    if not isinstance(value, dict):
        return value
    if label.startswith(MEAN):
        return average(value)
    return [value.get(user) for user in CASES[case]["run"]]


def split(label: str) -> tuple[str, int]:
    """A metric's name, and k."""
    name, k = label.removeprefix(MEAN).rsplit("@", 1)
    return name, int(k)


def alike(told: Any, value: Any, rel: float) -> bool:
    """Both undefined, or equal but for rounding, which is all that may be left of a zero."""
    if isinstance(told, list):
        return all(alike(a, b, rel) for a, b in zip(told, value, strict=True))
    if told is None or value is None:
        return told is value
    return math.isclose(told, value, rel_tol=rel, abs_tol=1e-14)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_recorded_value_is_what_the_definition_says(package: str) -> None:
    recorded = json.loads((RECORDED / f"{package}.json").read_text(encoding="utf-8"))
    assert recorded.pop("about")["package"] == package
    assert list(recorded) == list(CASES)
    compared, different = set(), {}
    for case, values in recorded.items():
        for label, told in values.items():
            name, _ = split(label)
            if isinstance(told, str):
                assert REFUSED[package, case] in told
            elif name not in OTHER.get(package, ()):
                compared.add(name)
                value = expected(package, label, case)
                if not alike(told, value, 1e-6 if name in SINGLE else 1e-12):
                    different[case, label] = (told, value)
    assert not different
    assert compared == set(PACKAGES[package])


def test_what_no_package_has_is_as_worked_by_hand() -> None:
    case: Case = {
        "train": [["u1", "a", 2], ["u1", "b", 1], ["u2", "a", 1], ["u3", "c", 1]],
        "items": {doc: {"genre": genre} for doc, genre in zip("abcd", "xyxy", strict=True)},
        "run": {"u1": ["b", "c", "d"], "u2": ["a"], "u4": []},
        "qrels": {"u1": {"b": 0, "c": 1, "d": 2}, "u2": {"a": 1}, "u4": {"a": 1}},
    }
    second, third = 1 / math.log2(3), 1 / 2  # what the first place is worth is 1
    places = 1 + second + third
    x = (second + 1) / (places + 1)  # a and c, of all that was shown
    by_hand = {
        "epc": [(second * 2 / 3 + third) / places, 1 / 3, None],
        "efd": [(second + third) * math.log2(5) / places, math.log2(5 / 3), None],
        "long_tail": [1 / 3, 0.0, None],  # d, which nobody has
        "long_tail of half": [1.0, 0.0, None],  # a makes up half of what there is
        "calibration": [
            entropy([2 / 3, 1 / 3], [0.99 / 3 + 0.02 / 3, 0.99 * 2 / 3 + 0.01 / 3]), 0.0, None,
        ],
        "exposure_share": x,
        "exposure_gap": jensenshannon([x, 1 - x], [1 / 2, 1 / 2], base=2),
        "exposure_gap of train": jensenshannon([x, 1 - x], [4 / 5, 1 / 5], base=2),
    }  # fmt: skip
    defined = {
        "epc": by.epc(case, 3),
        "efd": by.efd(case, 3),
        "long_tail": by.long_tail(case, 3),
        "long_tail of half": by.long_tail(case, 3, head=0.5),
        "calibration": by.calibration(case, 3, by="genre"),
        "exposure_share": by.exposure_share(case, 3, by="genre", value="x"),
        "exposure_gap": by.exposure_gap(case, 3, by="genre"),
        "exposure_gap of train": by.exposure_gap(case, 3, by="genre", target="train"),
    }
    for name, value in defined.items():
        found = list(value.values()) if isinstance(value, dict) else value
        assert alike(by_hand[name], found, 1e-12), name
