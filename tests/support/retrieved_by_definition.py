"""Define metrics of retrieved documents in plain Python, each straight from its definition.

A case has run and base (user to documents in rank order; empty: shown nothing), qrels (user to
document to grade), train (rows of user, document, count), and items (document to attributes, None
where unknown). Metrics of attributes leave out documents without one.
Metrics of users give a dictionary of all users of the run, None where undefined: the mean over
nothing shown. Those of the catalogue give one number. Sums are exact, whatever their order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any

Case = dict[str, Any]
ByUser = dict[str, float | None]


def coverage(case: Case, k: int, *, of: str = "items", count: bool = False) -> float:
    """Compute |shown ∩ catalogue| / |catalogue|; with `count`, |shown|."""
    shown = set(times_retrieved(case, k))
    catalogue = set(case["items"]) if of == "items" else set(users_of(case))
    return float(len(shown)) if count else len(shown & catalogue) / len(catalogue)


def gini(case: Case, k: int, *, over: str = "catalogue") -> float | None:
    """Compute Gini's coefficient, Σ (2j − n − 1) x_(j) / (c Σx), x ascending. Over the catalogue c
    = n, else n − 1.
    """
    times = times_retrieved(case, k)
    if over == "catalogue":
        return unequal([times[doc] for doc in case["items"]], len(case["items"]))
    return unequal(times.values(), len(times) - 1)


def entropy(case: Case, k: int) -> float | None:
    """Compute the entropy of retrieved documents, −Σ p log2 p with p = x / Σx."""
    return bits(times_retrieved(case, k))


def personalisation(case: Case, k: int) -> float | None:
    """Compute 1 − the mean of |both| / k over all pairs of lists that are not empty."""
    lists = [set(docs[:k]) for docs in case["run"].values() if docs]
    overlaps = [len(one & other) / k for one, other in combinations(lists, 2)]
    return 1 - mean(overlaps) if overlaps else None


def novelty(case: Case, k: int, *, normalised: bool = False) -> ByUser:
    """Compute the mean of −log2(users(d) / N) over the documents shown. A document without users
    counts as if it had one.

    Normalised: Σ of that / log2 N, divided by k.
    """
    users, n = users_of(case), len(trained(case))
    self_information = {doc: -math.log2(max(users[doc], 1) / n) for doc in all_shown(case)}
    if normalised:
        return over_k(case, k, lambda _, doc: self_information[doc] / math.log2(n))
    return mean_shown(case, k, lambda _, doc: self_information[doc])


def popularity(case: Case, k: int) -> ByUser:
    """Compute each user's mean of users(d) over the documents shown."""
    users = users_of(case)
    return mean_shown(case, k, lambda _, doc: users[doc])


def long_tail(case: Case, k: int, *, head: float = 0.8, counts: bool = True) -> ByUser:
    """Compute each user's share of shown documents outside the head. Documents with equally many
    interactions are on the same side.

    A document is in the tail where those with more interactions have `head` or more of them all.
    Not by counts: by users, as if each had met a document once.
    """
    met = counts_of(case) if counts else users_of(case)
    total = sum(met.values())

    def in_tail(_: str, doc: str) -> bool:
        return sum(n for n in met.values() if n > met[doc]) / total >= head

    return mean_shown(case, k, in_tail)


def repeated(case: Case, k: int) -> ByUser:
    """Compute each user's share of shown documents that the user has in train."""
    own = {(user, doc) for user, doc, _ in case["train"]}
    return mean_shown(case, k, lambda user, doc: (user, doc) in own)


def diversity(case: Case, k: int, *, by: str, kind: str = "distinct") -> ByUser:
    """Compute each user's diversity: distinct values, their entropy, or the mean distance of pairs.
    Distinct values are divided by the number of documents. A distance is 1 for different values,
    and 1 − |both| / |either| for sets; a single document gives 0.
    """

    def apart(one: str, other: str) -> float:
        a, b = values(case, one, by), values(case, other, by)
        return 1 - len(a & b) / len(a | b)

    if kind == "pairs":
        return mean_pairs(known(case, k, by), k, apart)
    found: ByUser = {}
    for user, docs in known(case, k, by)["run"].items():
        times = Counter(value for doc in docs for value in values(case, doc, by))
        found[user] = bits(times) if kind == "entropy" else len(times) / len(docs) if docs else None
    return found


def ild(case: Case, k: int, *, vector: str) -> ByUser:
    """Compute each user's mean of 1 − cosine over pairs of shown documents; 0 for one document."""

    def apart(one: str, other: str) -> float:
        a, b = case["items"][one][vector], case["items"][other][vector]
        return 1 - dot(a, b) / math.sqrt(dot(a, a) * dot(b, b))

    return mean_pairs(known(case, k, vector), k, apart)


def serendipity(case: Case, k: int) -> ByUser:
    """Compute each user's mean of max(own − popular, 0) · relevant over the documents shown. own =
    (C + 1 − rank) / C, and popular = (C + 1 − place by users) / C, where equal documents share a
    place without gaps, and a document without users has 0.
    """
    users, size = users_of(case), len(case["items"])
    place = {n: at for at, n in enumerate(sorted(set(users.values()), reverse=True), 1)}

    def gain(user: str, doc: str) -> float:
        own = (size + 1 - rank_of(case, user, doc)) / size
        popular = (size + 1 - place[users[doc]]) / size if users[doc] else 0.0
        return max(own - popular, 0.0) * relevant(case, user, doc)

    return mean_shown(case, k, gain)


def unexpectedness(case: Case, k: int) -> ByUser:
    """Compute 1 − |top k ∩ top k of base| / k for each user."""
    base = {user: set(docs[:k]) for user, docs in case["base"].items()}
    common = over_k(case, k, lambda user, doc: doc in base.get(user, ()))
    return {user: None if share is None else 1 - share for user, share in common.items()}


def epc(case: Case, k: int) -> ByUser:
    """Compute Σ rel · disc · (1 − users(d) / N) / Σ disc, with disc = 1 / log2(rank + 1)."""
    users, n = users_of(case), len(trained(case))
    return discounted(case, k, lambda doc: 1 - users[doc] / n)


def efd(case: Case, k: int, *, counts: bool = True) -> ByUser:
    """Compute Σ rel · disc · −log2(count(d) / Σ count) / Σ disc for each user. A document that is
    not in train counts as if it had one interaction.

    Not by counts: by users, as if each had met a document once.
    """
    met = counts_of(case) if counts else users_of(case)
    total = sum(met.values())
    return discounted(case, k, lambda doc: -math.log2(max(met[doc], 1) / total))


def calibration(case: Case, k: int, *, by: str) -> ByUser:
    """Compute Σ p ln(p / (.99 q + .01 p)) for each user. p has the shares of values in the user's
    train, by counts; q those among the documents shown. A document with several values counts for
    each with an equal part.
    """
    own: dict[str, Counter[str]] = {user: Counter() for user in case["run"]}
    for user, doc, count in case["train"]:
        if user in own:
            own[user][doc] += count
    found: ByUser = {}
    for user, docs in case["run"].items():
        p, q = mix(case, own[user], by), mix(case, Counter(docs[:k]), by)
        terms = [p[v] * math.log(p[v] / (0.99 * q.get(v, 0.0) + 0.01 * p[v])) for v in p]
        found[user] = math.fsum(terms) if p and q else None
    return found


def exposure_share(case: Case, k: int, *, by: str, value: str) -> float:
    """Compute the share of all exposure, Σ 1/log2(rank + 1), that documents with a value have."""
    worth = [
        (1 / math.log2(rank + 1), value in values(case, doc, by))
        for docs in case["run"].values()
        for rank, doc in enumerate(docs[:k], 1)
    ]
    return math.fsum(w for w, has in worth if has) / math.fsum(w for w, _ in worth)


def exposure_gap(case: Case, k: int, *, by: str, target: str = "catalogue") -> float:
    """Compute √(½ Σ p log2(p/m) + ½ Σ t log2(t/m)) with m = (p + t)/2. p has the shares of
    exposure, t those of the catalogue's documents, or of train's interactions.
    """
    shown: dict[str, float] = {}
    for docs in case["run"].values():
        for rank, doc in enumerate(docs[:k], 1):
            shown[doc] = shown.get(doc, 0.0) + 1 / math.log2(rank + 1)
    all_alike = dict.fromkeys(case["items"], 1)
    p = mix(case, shown, by)
    t = mix(case, all_alike if target == "catalogue" else counts_of(case), by)
    middle = {v: (p.get(v, 0.0) + t.get(v, 0.0)) / 2 for v in p.keys() | t.keys()}
    terms = [s[v] * math.log2(s[v] / middle[v]) / 2 for s in (p, t) for v in s]
    return math.sqrt(max(math.fsum(terms), 0.0))


# What the definitions are made of


def users_of(case: Case) -> Counter[str]:
    """Count for each document the users that have it in train: users(d)."""
    return Counter(doc for _, doc in {(user, doc) for user, doc, _ in case["train"]})


def counts_of(case: Case) -> Counter[str]:
    """Count the interactions with each document in train, including repeated ones: count(d)."""
    counts: Counter[str] = Counter()
    for _, doc, count in case["train"]:
        counts[doc] += count
    return counts


def trained(case: Case) -> set[str]:
    """Return the users that are in train; their number is N."""
    return {user for user, _, _ in case["train"]}


def times_retrieved(case: Case, k: int) -> Counter[str]:
    """Count in how many lists each document is in the top k: x(d)."""
    return Counter(doc for docs in case["run"].values() for doc in docs[:k])


def all_shown(case: Case) -> set[str]:
    return {doc for docs in case["run"].values() for doc in docs}


def rank_of(case: Case, user: str, doc: str) -> int:
    return case["run"][user].index(doc) + 1


def relevant(case: Case, user: str, doc: str) -> bool:
    return case["qrels"].get(user, {}).get(doc, 0) > 0


def values(case: Case, doc: str, by: str) -> set[str]:
    """Return the values that a document has for an attribute; none if it is unknown."""
    value = case["items"].get(doc, {}).get(by)
    if value is None:
        return set()
    return set(value) if isinstance(value, list) else {value}


def known(case: Case, k: int, column: str) -> Case:
    """Return the case with only those documents of each top k that have an attribute."""

    def has(doc: str) -> bool:
        value = case["items"].get(doc, {}).get(column)
        # A vector of length 0 points nowhere.
        return value not in (None, []) and set(value) != {0}

    run = {user: [doc for doc in docs[:k] if has(doc)] for user, docs in case["run"].items()}
    return {**case, "run": run}


def mix(case: Case, weights: Mapping[str, float], by: str) -> dict[str, float]:
    """Return the share of each value of an attribute among weighted documents."""
    parts: dict[str, list[float]] = {}
    for doc, weight in weights.items():
        of = values(case, doc, by)
        for value in of:
            parts.setdefault(value, []).append(weight / len(of))
    total = math.fsum(number for part in parts.values() for number in part)
    return {value: math.fsum(part) / total for value, part in parts.items()}


def mean_shown(case: Case, k: int, worth: Callable[[str, str], float]) -> ByUser:
    """Return each user's mean of `worth` over the documents shown."""
    return {
        user: mean([worth(user, doc) for doc in docs[:k]]) if docs else None
        for user, docs in case["run"].items()
    }


def mean_pairs(case: Case, k: int, apart: Callable[[str, str], float]) -> ByUser:
    """Return each user's mean of `apart` over pairs of shown documents; 0 for one document."""
    found: ByUser = {}
    for user, docs in case["run"].items():
        pairs = [apart(one, other) for one, other in combinations(docs[:k], 2)]
        found[user] = mean(pairs) if pairs else 0.0 if docs else None
    return found


def over_k(case: Case, k: int, worth: Callable[[str, str], float]) -> ByUser:
    """Return each user's sum of `worth` over the documents shown, divided by k."""
    return {
        user: math.fsum(worth(user, doc) for doc in docs[:k]) / k if docs else None
        for user, docs in case["run"].items()
    }


def discounted(case: Case, k: int, novel: Callable[[str], float]) -> ByUser:
    """Return each user's Σ rel · disc · novel / Σ disc over the documents shown."""
    found: ByUser = {}
    for user, docs in case["run"].items():
        ranked = [(1 / math.log2(rank + 1), doc) for rank, doc in enumerate(docs[:k], 1)]
        gain = math.fsum(w * novel(doc) * relevant(case, user, doc) for w, doc in ranked)
        found[user] = gain / math.fsum(w for w, _ in ranked) if ranked else None
    return found


def mean(numbers: Iterable[float]) -> float:
    numbers = list(numbers)
    return math.fsum(numbers) / len(numbers)


def average(by_user: ByUser) -> float | None:
    """Return the mean over the users that have a value."""
    defined = [value for value in by_user.values() if value is not None]
    return mean(defined) if defined else None


def unequal(numbers: Iterable[float], c: int) -> float | None:
    """Compute Gini's coefficient of numbers, with the factor `c` in the denominator."""
    x = sorted(numbers)
    below = c * math.fsum(x)
    above = math.fsum((2 * j - len(x) - 1) * x_j for j, x_j in enumerate(x, 1))
    return above / below if below else None


def bits(times: Mapping[str, float]) -> float | None:
    """Compute the entropy of counts, in bits."""
    total = math.fsum(times.values())
    return -math.fsum(x / total * math.log2(x / total) for x in times.values()) if total else None


def dot(a: list[float], b: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))
