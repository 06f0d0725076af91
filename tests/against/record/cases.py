"""The lists, training rows and items that every package was given: `recorded/cases.json`.

Plain Python: the scripts beside this file use it in environments without rankframe. To write the
file again: `python -m tests.against.record.cases`; all recorded values then have to be made again.
"""

import json
import math
import platform
import random
from pathlib import Path

RECORDED = Path(__file__).parent.parent / "recorded"
CUTOFFS = (1, 5, 10)
GENRES = ("drama", "comedy", "crime", "Sci-Fi & Fantasy", "film-noir", "été")
ODD = (
    "7",
    "07",
    "7.0",
    "it's",
    'say "so"',
    "with space",
    "ü",
    "U",
    "Ω",
    "😀",
    "null",
    "NaN",
    "a,b",
)
# What differs between the cases; what is not named is as in DEFAULT.
DEFAULT = {
    "users": 40, "items": 80, "cold": 0, "unseen": 0, "outside": 0, "lengths": (10, 12, 15),
    "empty": 0, "untrained": 0, "unjudged": 0, "repeats": 0.0, "counts": (1,), "odd": False,
}  # fmt: skip
CASES = {
    # every list is full, everything shown is in train, nothing is shown again
    "plain": {},
    # documents without training rows, some of them shown, some never
    "cold": {"cold": 15, "unseen": 20, "items": 100},
    # lists shorter than k, lists of one document, judged users without a list
    "short": {"lengths": (1, 1, 2, 3, 4, 5, 7, 9, 10, 14), "empty": 5, "users": 60},
    # users without training rows, and users whom nobody judged
    "strangers": {"untrained": 8, "unjudged": 6, "lengths": (6, 10, 15)},
    # documents of train that the catalogue lacks; they are never shown
    "outside": {"outside": 12, "unseen": 5},
    # users are shown what they have in train already, and have it more than once
    "repeated": {"repeats": 0.4, "counts": (1, 1, 1, 2, 3, 7), "lengths": (5, 10, 15)},
    # all of it
    "mixed": {
        "users": 70, "items": 140, "cold": 12, "unseen": 15, "outside": 6, "repeats": 0.25,
        "lengths": (1, 2, 4, 8, 10, 13, 15), "empty": 6, "untrained": 7, "unjudged": 5,
        "counts": (1, 1, 2, 4), "odd": True,
    },
}  # fmt: skip


def made(name):
    """A case by its name, always the same.

    run, base: user to documents in rank order; qrels: user to document to grade; train: rows of
    user, document, count; items: document to genre, genres and embedding. Documents are shown
    from the catalogue only. A judged user who is shown nothing has an empty list.
    """
    how = {**DEFAULT, **CASES[name]}
    rng = random.Random(name)
    docs = [f"i{n:03}" for n in range(how["items"])]
    users = [f"u{n:02}" for n in range(how["users"])]
    if how["odd"]:
        docs[: len(ODD)] = ODD
        users[: len(ODD)] = ODD
    rng.shuffle(docs)
    cold, unseen = docs[: how["cold"]], set(docs[-how["unseen"] :] if how["unseen"] else ())
    outside = [f"gone{n}" for n in range(how["outside"])]
    warm = [*docs[how["cold"] :], *outside]
    rng.shuffle(warm)
    # A few documents are popular, most are not.
    weights = [1 / (place + 2) for place in range(len(warm))]
    train, mine = [], {user: [] for user in users}
    for user in users[how["untrained"] :]:
        mine[user] = sorted(set(rng.choices(warm, weights, k=rng.randint(4, 18))))
    for doc in warm:  # each has a training row
        if not any(doc in owned for owned in mine.values()):
            mine[rng.choice(users[how["untrained"] :])].append(doc)
    for user, owned in mine.items():
        train += [[user, doc, rng.choice(how["counts"])] for doc in owned]
    run = {user: shown(rng, docs, unseen, mine[user], how) for user in users}
    for user in rng.sample(users, how["empty"]):
        run[user] = []
    base = {user: rng.sample(docs, rng.choice((10, 15))) for user in users}
    judged = users[: len(users) - how["unjudged"]]
    qrels = {user: graded(rng, docs, run[user]) for user in judged}
    run = {user: mine for user, mine in run.items() if mine or user in qrels}
    items = {
        doc: {
            "genre": rng.choice(GENRES),
            "genres": sorted(rng.sample(GENRES, rng.randint(1, 3))),
            "embedding": [rng.randint(-40, 80) / 16 for _ in range(6)],
        }
        for doc in docs
    }
    if len(cold) != how["cold"]:
        raise ValueError(name)
    return {"run": run, "qrels": qrels, "train": train, "items": items, "base": base}


def shown(rng, docs, unseen, owned, how):
    """A list of one user: mostly new documents, and some of the user's own where that is asked."""
    length = rng.choice(how["lengths"])
    new = [doc for doc in docs if doc not in owned and doc not in unseen]
    own = [doc for doc in owned if doc in docs and doc not in unseen]
    again = rng.sample(own, min(len(own), round(length * how["repeats"])))
    docs = [*again, *rng.sample(new, length - len(again))]
    rng.shuffle(docs)
    return docs


def graded(rng, docs, mine):
    """Grades 0 to 3 of some of what was shown and of some that was not; one at least is above 0."""
    some = {*rng.sample(mine, (len(mine) + 1) // 2), *rng.sample(docs, 6)}
    grades = {doc: rng.choice((0, 0, 1, 2, 3)) for doc in sorted(some)}
    return {**grades, min(grades): grades[min(grades)] or 1}


def read():
    """Every case, by its name."""
    return json.loads((RECORDED / "cases.json").read_text(encoding="utf-8"))


def rows(listed):
    """Rows of user, document, rank and a score that falls with the rank, of the lists of a run."""
    return [
        (user, doc, rank, 1 - rank / 32)
        for user, docs in listed.items()
        for rank, doc in enumerate(docs, 1)
    ]


def record(package, version, measured):
    """Write what a package says of every case: `measured(case, k)` gives a value, or values by
    user, under each of the package's own names.

    Values by user become a list in the order of the case's run; null: it gives the user none.
    """
    content = {
        "about": {"package": package, "version": version, "python": platform.python_version()}
    }
    for name, case in read().items():
        content[name] = {
            f"{metric}@{k}": listed(value, case["run"])
            for k in CUTOFFS
            for metric, value in measured(case, k).items()
        }
    write(f"{package}.json", content)


def listed(value, run):
    if isinstance(value, dict):
        strangers = value.keys() - run.keys()
        if strangers:
            raise ValueError(f"values of users without a list: {strangers}")
        return [listed(value.get(user), run) for user in run]
    if value is None or isinstance(value, str):
        return value
    return None if math.isnan(value) else float(value)


def write(name, content):
    """A file of `recorded`, one line for each entry of its second level, so that changes show."""
    lines = []
    for key, entry in content.items():
        if not isinstance(entry, dict):
            lines.append(f"{json.dumps(key)}: {dumped(entry)}")
            continue
        inner = ",\n  ".join(f"{json.dumps(k)}: {dumped(v)}" for k, v in entry.items())
        lines.append(f"{json.dumps(key)}: {{\n  {inner}}}")
    text = "{" + ",\n".join(lines) + "}\n"
    (RECORDED / name).write_text(text, encoding="utf-8")


def dumped(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    write("cases.json", {name: made(name) for name in CASES})
