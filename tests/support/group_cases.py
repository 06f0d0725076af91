"""Provide judgments in groups, by hand and at random, and their measures by definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import isnan, nan
from pathlib import Path
from random import Random

# query, group, subgroup, document, level
Rows = list[tuple[str, str, str, str, float]]
Scores = dict[str, dict[str, float]]
Pair = tuple[str, str]
Values = dict[str, float]

# q1: u1 prefers a to b, a to c and b to c, u2 b to a. q2: a to b, b to c, so a to c, too. q3 and
# q4: a to b, c and d, in one subgroup and in two. q5 is not in the run.
PREFS = """\
q1 u1 s a 3
q1 u1 s b 2
q1 u1 s c 0
q1 u2 s a 1
q1 u2 s b 2
q2 u s1 a 3
q2 u s1 b 2
q2 u s2 b 7
q2 u s2 c 1
q3 u s a 1
q3 u s b 0
q3 u s c 0
q3 u s d 0
q4 u s1 a 1
q4 u s1 b 0
q4 u s1 c 0
q4 u s1 d 0
q4 u s2 a 1
q4 u s2 b 0
q5 u s a 1
q5 u s b 0
"""
RUN = """\
q1 Q0 a 1 3 demo
q1 Q0 b 2 2 demo
q1 Q0 x 3 1 demo
q2 Q0 c 1 3 demo
q2 Q0 b 2 2 demo
q3 Q0 a 1 3 demo
q3 Q0 b 2 2 demo
q3 Q0 c 3 1 demo
q4 Q0 a 1 3 demo
q4 Q0 b 2 2 demo
q4 Q0 c 3 1 demo
"""


def random_rows(chance: Random) -> Rows:
    """Return random judgments in groups; each subgroup judges some documents of its group."""
    rows: Rows = []
    for query in range(chance.randint(1, 4)):
        documents = [f"d{i}" for i in range(chance.randint(2, 9))]
        for group in range(chance.randint(1, 3)):
            levels = {doc: chance.choice([0, 0, 1, 2, 3, 5.5]) for doc in documents}
            for subgroup in range(chance.choice([1, 1, 2, 3])):
                some = chance.sample(documents, chance.randint(1, len(documents)))
                rows += [(f"q{query}", f"u{group}", f"s{subgroup}", d, levels[d]) for d in some]
    chance.shuffle(rows)
    return rows


def random_scores(chance: Random) -> Scores:
    """Return a random run with ties and unjudged documents."""
    return {
        f"q{query}": {
            doc: chance.choice([1.0, 1.5, 2.0, 2.5, 3.0, 4.0])
            for doc in chance.sample([f"d{i}" for i in range(14)], chance.randint(1, 12))
        }
        for query in range(5)
        if query == 0 or chance.random() > 0.2
    }


def written_run(scores: Scores, path: Path) -> Path:
    lines = [
        f"{q} Q0 {doc} 1 {score} demo" for q, of in scores.items() for doc, score in of.items()
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def written_rows(rows: Rows, path: Path, *, subgroups: bool = True) -> Path:
    lines = [" ".join((q, g, *([s] if subgroups else []), d, f"{v:g}")) for q, g, s, d, v in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


@dataclass
class Group:
    """Hold the judgments of one group and a ranking of the same query."""

    ranking: list[str]
    # by subgroup
    levels: dict[str, dict[str, float]]

    @property
    def level(self) -> dict[str, float]:
        return {doc: level for of in self.levels.values() for doc, level in of.items()}

    @property
    def pairs(self) -> set[Pair]:
        found = {
            (a, b) for of in self.levels.values() for a, b in permutations(of, 2) if of[a] > of[b]
        }
        while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
            found |= more
        return found

    def place(self, doc: str) -> float:
        return self.ranking.index(doc) if doc in self.ranking else len(self.ranking)

    def fulfilled(self, pair: Pair) -> bool:
        return self.place(pair[0]) < self.place(pair[1])

    def seen(self, pair: Pair) -> int:
        return sum(doc in self.ranking for doc in pair)

    def share(self, at_least: int) -> float:
        """Return the share of fulfilled preferences with `at_least` documents retrieved; NaN if
        none.
        """
        pairs = [pair for pair in self.pairs if self.seen(pair) >= at_least]
        return sum(map(self.fulfilled, pairs)) / len(pairs) if pairs else nan

    def balanced(self, *, retrieved: bool) -> float:
        """Return the share of fulfilled preferences, with equally many non-relevant and relevant
        documents.
        """
        order = sorted(self.level, key=lambda doc: (self.place(doc), doc))
        relevant = [doc for doc in order if self.level[doc] > 0]
        others = [doc for doc in order if self.level[doc] == 0]
        found = [doc for doc in relevant if doc in self.ranking]
        pairs = [pair for pair in self.pairs if self.seen(pair) == 2 or not retrieved]
        wanted = len(found if retrieved else relevant)
        there = [doc for doc in others if doc in self.ranking or not retrieved]
        if wanted >= len(there):
            added = wanted - len(there)
            above = sum(map(self.fulfilled, pairs)) + len(found) * added
            below = len(pairs) + len(relevant) * added
        else:
            whole = len(self.levels) == 1
            kept = others[: wanted if whole else len(relevant)]
            pairs = [pair for pair in pairs if not {*pair} & ({*others} - {*kept})]
            if whole:  # the C program compares these with all of their level, themselves included
                pairs += [(a, b) for a in there for b in kept]
            above, below = sum(map(self.fulfilled, pairs)), len(pairs)
        return above / below if below else nan


def defined(rows: Rows, scores: Scores, depth: int | None = None) -> Iterator[tuple[str, Values]]:
    """Yield each query of the run with the values of all measures of preferences."""
    for query in sorted({row[0] for row in rows} & scores.keys()):
        of = scores[query]
        ranking = sorted(of, key=lambda doc: (-of[doc], doc))[:depth]
        groups: dict[str, Group] = {}
        for _, group, subgroup, doc, level in sorted(row for row in rows if row[0] == query):
            own = groups.setdefault(group, Group(ranking, {}))
            own.levels.setdefault(subgroup, {})[doc] = level
        yield query, values_of(list(groups.values()))


def values_of(groups: list[Group]) -> Values:
    pairs = [(group, pair) for group in groups for pair in group.pairs]
    found: Values = {
        "prefs_num_prefs_poss": len(pairs),
        "prefs_num_prefs_ful": sum(group.fulfilled(pair) for group, pair in pairs),
        "prefs_num_prefs_ful_ret": sum(g.fulfilled(p) for g, p in pairs if g.seen(p) == 2),
        "prefs_avgjg_Rnonrel": strict_mean([g.balanced(retrieved=False) for g in groups]),
        "prefs_avgjg_Rnonrel_ret": strict_mean([g.balanced(retrieved=True) for g in groups]),
    }
    for suffix, least in (("", 0), ("_imp", 1), ("_ret", 2)):
        some = [(g, p) for g, p in pairs if g.seen(p) >= least]
        ratio = [g.fulfilled(p) for g, p in some]
        found[f"prefs_simp{suffix}"] = sum(ratio) / len(ratio) if ratio else 0.0
        shares = [group.share(least) for group in groups]
        found[f"prefs_avgjg{suffix}"] = sum(s for s in shares if not isnan(s)) / len(groups)
        by_pair: dict[Pair, list[bool]] = {}
        for group, (a, b) in some:
            key = min((a, b), (b, a))
            by_pair.setdefault(key, []).append(group.fulfilled((a, b)))
        means = [sum(of) / len(of) for of in by_pair.values()]
        found[f"prefs_pair{suffix}"] = sum(means) / len(means) if means else 0.0
    return found


def strict_mean(shares: list[float]) -> float:
    """Return the mean, or 0 if any of the numbers is NaN."""
    return 0.0 if any(map(isnan, shares)) else sum(shares) / len(shares)
