"""How much two rankings share: published values, and brute force by the definitions."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf
from tests.support.rankings import (
    Scores,
    agreement,
    agreements,
    broken,
    contributions,
    deep,
    groups_of,
    rankings,
)


def in_order(documents: str) -> dict[str, float]:
    """A ranking without ties, best first."""
    return {doc: float(-place) for place, doc in enumerate(documents)}


def scored(*values: float) -> dict[str, float]:
    return dict(zip("abcdefghijklmnop", map(float, values), strict=False))


@pytest.mark.parametrize(
    ("a", "b", "metric", "expected"),
    [
        (in_order("abcdefg"), in_order("acbdehi"), "average_overlap@7", 0.8639455782),
        (in_order("abcdefg"), in_order("acbdehi"), "rbo@7", 0.4516775714),
        (in_order("abcdefg"), in_order("acbdehi"), "rbo_min", 0.6269889406),
        (in_order("abcdefg"), in_order("acbdehi"), "rbo_res", 0.2970068196),
        (in_order("abcdefg"), in_order("acbdehi"), "rbo_ext", 0.7933182143),
        (in_order("abcdefg"), in_order("acbdehi"), "rbd", 1 - 0.7933182143),
        (in_order("abcde"), in_order("bad"), "rbo_min", 0.3955283643),
        (in_order("abcde"), in_order("bad"), "rbo_res", 0.4774716357),
        (in_order("abcde"), in_order("bad"), "rbo", 0.7794450000),
        (in_order("1234567"), in_order("13245768"), "rbo", 0.9451585),
        (in_order("1234567"), in_order("13245768"), "rbo_min", 0.7122975168),
        (scored(4, 3, 3, 1), scored(3, 4, 2, 2), "rbo(ties=w)", 0.8704285714),
        (scored(4, 3, 3, 1), scored(3, 4, 2, 2), "rbo(ties=a)", 0.864),
        (scored(4, 3, 3, 1), scored(3, 4, 2, 2), "rbo(ties=b)", 0.8808848316),
        (in_order("abc"), in_order("bax"), "overlap@2", 1.0),
        (in_order("abc"), in_order("bax"), "overlap@5", 0.4),
        (in_order("abcdefg"), in_order("acbdehi"), "rbo_ext@7", 0.7933182143),
        (in_order("abcdefg"), in_order("acbdehi"), "rbo_ext@99", 0.7933182143),
        (in_order("abcdefg"), in_order("acbdehi"), "rbo_ext@2", 0.1 * 1 + 0.9 * 0.5),
        (in_order("abc"), in_order("ba"), "overlap", 1.0),
        (in_order("abcd"), in_order("xad"), "overlap", 1 / 3),
        (in_order("abcd"), in_order("xad"), "average_overlap", (0 + 1 / 2 + 1 / 3) / 3),
        (in_order("abcd"), in_order("xad"), "ao@4", (0 + 1 / 2 + 1 / 3 + 2 / 4) / 4),
        (in_order("abcd"), in_order("xad"), "sim", (0 + 1 / 2 + 1 / 3) / 3),
        (in_order("abcd"), in_order("xad"), "sim(weights=[1, 1, 1])", (0 + 1 / 2 + 1 / 3) / 3),
        (in_order("abcd"), in_order("xad"), "sim(weights=[5, 3, 2])", (3 / 2 + 2 / 3) / 10),
        (in_order("abcd"), in_order("xad"), "sim(weights=[5, 3, 2])@2", (3 / 2) / 8),
        (in_order("abcd"), in_order("xad"), "sim(weights=[0, 0, 0, 0, 0, 2])", 2 / 6),
        (in_order("abc"), in_order("bax"), "jaccard", 0.5),
        (in_order("abc"), in_order("bax"), "jaccard@1", 0.0),
    ],
)  # fmt: skip
def test_published_values(a: Scores, b: Scores, metric: str, expected: float) -> None:
    assert agreement(a, b, metric) == pytest.approx(expected, abs=1e-10)


# As Corsi and Urbano (2024) publish them with their code: ext, min and residual of w, a and b.
PUBLISHED = [
    ("i13 i4 (i1 i2 i5 i6)", "i11 i14 i1 (i5 i6) (i3 i12) i8", 0.936646766367491,
     {"w": (0.419724384588563, 0.222485580291386, 0.495958440512111),
      "a": (0.400042334962327, 0.19648716951006, 0.495958440512111),
      "b": (0.410333982781949, 0.203127599510132, 0.495958440512111)}),
    ("(i3 i5 i6 i8 i9)", "(i1 i6) (i8 i10) i11 i2 (i3 i4)", 0.946588158477176,
     {"w": (0.481477824833812, 0.23269613702392, 0.569530727296368),
      "a": (0.456505385192971, 0.207870074991659, 0.570262615339271),
      "b": (0.482684075039396, 0.233899573241503, 0.570677036440887)}),
    ("(i3 i6) (i2 i7) i10", "(i3 i6 i7 i10) (i1 i2)", 0.965413635276732,
     {"w": (0.946064537517568, 0.343706790399566, 0.615064167117501),
      "a": (0.92051534467649, 0.319428239558438, 0.615064167117501),
      "b": (0.956844651806714, 0.348953051936765, 0.615064167117501)}),
    ("i1 (i15 i16) i10 i12 i2 i14", "i16 (i1 i10 i11 i15) i2 (i4 i5 i6)", 0.988786023528663,
     {"w": (0.691527178549045, 0.161742780873865, 0.806147106433969),
      "a": (0.7056986088397, 0.157852652669937, 0.806223303274782),
      "b": (0.718722074850857, 0.163365514575474, 0.806280902059836)}),
    ("(i3 i6 i10 i14 i15)", "i6 (i3 i7 i10 i14) i8 i15 (i1 i2 i4)", 0.926466853612826,
     {"w": (0.826094305041388, 0.472435570943777, 0.414510794133891),
      "a": (0.756260643055255, 0.408427037876955, 0.410692807555398),
      "b": (0.828615638235269, 0.479991820201298, 0.411831482241614)}),
    ("i3 i10 (i2 i4 i5)", "(i3 i5 i7 i10) (i2 i4 i6 i11)", 0.968045007945821,
     {"w": (0.867306353299043, 0.306812019467749, 0.631949265532886),
      "a": (0.828433425498405, 0.290505194262088, 0.632157772111986),
      "b": (0.873201713979253, 0.316525120229608, 0.632973193936244)}),
    ("i5 (i1 i2 i3 i4 i6)", "i14 i11 (i1 i2 i3 i6 i8 i9 i10 i13)", 0.989677000181474,
     {"w": (0.582382777932075, 0.109321635629902, 0.837807325879696),
      "a": (0.506338899449639, 0.0951569037156836, 0.838353245469876),
      "b": (0.538239342563821, 0.0990949395707414, 0.839008805319671)}),
    ("i26 (i1 i2 i3 i4 i5 i6 i7 i8 i9 i10)",
     "(i19 i25) (i2 i3) (i7 i9 i12 i26) (i18 i22) (i1 i10 i14) (i5 i8)", 0.947995253587843,
     {"w": (0.567020436833909, 0.362931177029673, 0.320041571263618),
      "a": (0.512406299904543, 0.317657317687162, 0.320329826620298),
      "b": (0.542244994152802, 0.345144157486949, 0.320501780559138)}),
]  # fmt: skip


def written(ranking: str) -> Scores:
    """A ranking from how the authors write it: ties in parentheses."""
    groups = re.findall(r"\(([^)]*)\)|(\S+)", ranking)
    return {
        doc: -float(at)
        for at, (tied, alone) in enumerate(groups)
        for doc in (tied or alone).split()
    }


@pytest.mark.parametrize(("x", "y", "p", "expected"), PUBLISHED)
def test_values_that_corsi_and_urbano_publish(
    x: str, y: str, p: float, expected: dict[str, tuple[float, float, float]]
) -> None:
    wanted = {
        f"{metric}(p={p}, ties={ties})": value
        for ties, values in expected.items()
        for metric, value in zip(("rbo_ext", "rbo_min", "rbo_res"), values, strict=True)
    }
    for a, b in ((written(x), written(y)), (written(y), written(x))):
        assert agreements(a, b, wanted) == pytest.approx(wanted, abs=1e-12)


def test_the_weight_of_one_rank() -> None:
    for p in (0.5, 0.9, 0.98):
        ranks = [rf.rbo_weight(p, d, single=True) for d in range(1, 61)]
        assert ranks == sorted(ranks, reverse=True)
        for d in (1, 7, 60):
            assert math.fsum(ranks[:d]) == pytest.approx(rf.rbo_weight(p, d), abs=1e-12)
        by_definition = math.fsum((1 - p) * p ** (d - 1) / d for d in range(5, 4000))
        assert ranks[4] == pytest.approx(by_definition, abs=1e-14)
    assert 0 <= rf.rbo_weight(0.5, 5000, single=True) < 1e-15


def test_the_weight_of_the_top() -> None:
    assert rf.rbo_weight(0.9, 10) == pytest.approx(0.8555854467, abs=1e-10)
    assert rf.rbo_weight(0.98, 50) == pytest.approx(0.8522339103, abs=1e-10)
    assert rf.rbo_weight(0.9, 7) == pytest.approx(0.7671390168, abs=1e-10)
    for p, d in [(0.5, 1), (0.9, 10), (0.98, 50), (0.999, 3)]:
        assert rf.rbo_p(rf.rbo_weight(p, d), d) == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rf.rbo_weight(1.0, 3),
        lambda: rf.rbo_weight(0.5, 0),
        lambda: rf.rbo_p(1.5, 3),
        lambda: rf.rbo(p=1),
        lambda: rf.agree({"q": {"a": 1}}, {"q": {"a": 1}}, "rbo(ties=x)"),
        lambda: rf.rbo_res(5, ties="mean"),
        lambda: rf.average_overlap(weights=[]),
        lambda: rf.average_overlap(weights=[0, 0.0]),
        lambda: rf.average_overlap(weights=[1, -1]),
        lambda: rf.agree({"q": {"a": 1}}, {"q": {"a": 1}}, "sim(weights=[1, x])"),
        lambda: rf.agree({"q": {"a": 1}}, {"q": {"a": 1}}, "ndcg@10"),
        lambda: rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, "rbo"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(call: Callable[[], object], refusal) -> None:
    refusal(call)


# --- by the definitions ---------------------------------------------------------------------------

ps = st.sampled_from([0.3, 0.8, 0.9, 0.98])


def orders(ranking: Scores) -> list[list[str]]:
    """Every way to break the ties."""
    each = [list(itertools.permutations(group)) for group in groups_of(ranking)]
    return [list(itertools.chain(*chosen)) for chosen in itertools.product(*each)]


def rbo_by_definition(x: list[str], y: list[str], p: float, what: str, k: int = 0) -> float:
    short, long = sorted((x, y), key=len)
    s, l = len(short), len(long)  # noqa: E741 (the letters of the paper)
    overlap = {d: len({*short[:d]} & {*long[:d]}) for d in range(l + k + 1)}
    if what == "at":
        return (1 - p) * math.fsum(p ** (d - 1) * overlap[d] / d for d in range(1, k + 1))
    if what == "min":
        rest = -math.log1p(-p) - math.fsum(p**d / d for d in range(1, l + 1))
        seen = math.fsum(p**d * overlap[d] / d for d in range(1, l + 1))
        return (1 - p) / p * (seen + overlap[l] * rest)
    if what == "res":
        f = l + s - overlap[l]
        rest = -math.log1p(-p) - math.fsum(p**d / d for d in range(1, f + 1))
        missing = s * math.fsum(p**d / d for d in range(s + 1, f + 1))
        missing += l * math.fsum(p**d / d for d in range(l + 1, f + 1))
        return p**s + p**l - p**f - (1 - p) / p * (missing + overlap[l] * rest)
    seen = math.fsum(p**d * overlap[d] / d for d in range(1, l + 1))
    seen += math.fsum(overlap[s] * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    final = (overlap[l] - overlap[s]) / l + overlap[s] / s
    return (1 - p) / p * seen + final * p**l


@settings(max_examples=8)
@given(rankings, rankings, ps)
def test_rbo_with_broken_ties(a: Scores, b: Scores, p: float) -> None:
    x, y = broken(a), broken(b)
    whole = {"rbo": "ext", "rbo_ext": "ext", "rbo_min": "min", "rbo_res": "res"}
    expected = {
        **{f"{metric}(p={p})": rbo_by_definition(x, y, p, what) for metric, what in whole.items()},
        **{f"rbo(p={p})@{k}": rbo_by_definition(x, y, p, "at", k) for k in (1, 3, 9)},
    }
    assert agreements(a, b, expected) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=8)
@given(rankings, rankings, ps)
def test_at_k_the_lists_are_known_to_depth_k(a: Scores, b: Scores, p: float) -> None:
    x, y = broken(a), broken(b)
    expected = {
        f"rbo_{what}(p={p})@{k}": rbo_by_definition(x[:k], y[:k], p, what)
        for k in (1, 2, 4, 9)
        for what in ("ext", "min", "res")
    }
    assert agreements(a, b, expected) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=8)
@given(rankings, rankings, ps)
def test_ties_mean_is_the_mean_over_all_orders_of_the_ties(a: Scores, b: Scores, p: float) -> None:
    both = list(itertools.product(orders(a), orders(b)))

    def mean(what: str, k: int = 0, cut: int | None = None) -> float:
        values = [rbo_by_definition(x[:cut], y[:cut], p, what, k) for x, y in both]
        return math.fsum(values) / len(values)

    how = f"(ties=mean, p={p})"
    expected = {
        f"rbo{how}": mean("ext"),
        f"rbo_min{how}": mean("min"),
        f"rbo_res{how}": mean("res"),
        **{f"rbo{how}@{k}": mean("at", k) for k in (2, 9)},
        **{f"rbo_ext{how}@{k}": mean("ext", cut=k) for k in (1, 3)},
        **{f"rbo_min{how}@{k}": mean("min", cut=k) for k in (1, 3)},
    }
    assert agreements(a, b, expected) == pytest.approx(expected, abs=1e-12)


def rbo_with_ties(
    a: Scores, b: Scores, p: float, ties: str, k: int | None = None
) -> dict[str, float]:
    """Corsi and Urbano (2024), from a table of contributions; known to depth k."""
    short, long = sorted((a, b), key=len)
    s, l = min(len(short), k or 99), min(len(long), k or 99)  # noqa: E741
    cs, cl = contributions(short, ties, l), contributions(long, ties, l)
    depth = np.arange(1, l + 1)
    zero = np.zeros(l)
    overlap = sum((cs[d] * cl[d] for d in short if d in long), zero)
    if ties == "w":
        size = np.where(depth <= s, sum(cs.values(), zero), depth)
        norm = (size + sum(cl.values(), zero)) / 2
    elif ties == "a":
        norm = depth.astype(float)
    else:
        squares = np.where(depth <= s, sum((c**2 for c in cs.values()), zero), depth)
        norm = np.sqrt(squares) * np.sqrt(sum((c**2 for c in cl.values()), zero))
    seen = overlap / norm
    only = [cl[d] for group in groups_of(long) for d in group if d not in short]
    mean, most = np.zeros(l), np.zeros(l)
    for d in range(s + 1, l + 1):
        inside = [c[d - 1] for c in only if c[d - 1] > 0]
        mean[d - 1] = np.mean(inside)
        most[d - 1] = sum(c[d - 1] for c in only[: d - s])
    reach = np.where(depth > s, depth - s, 0)
    shared = l * seen[-1]
    at_s = seen[s - 1]
    weight = p**depth
    rest = shared * (-math.log1p(-p) - math.fsum(weight / depth))
    extrapolated = seen + at_s * reach * mean / norm
    ext = math.fsum(extrapolated * weight) + extrapolated[-1] * p ** (l + 1) / (1 - p)
    least = math.fsum(seen * weight) + rest
    far = l + s + 1
    beyond = math.fsum(min(d, 2 * d - l - s + shared) / d * p**d for d in range(l + 1, far + 1))
    largest = math.fsum((seen + most / norm) * weight) + beyond + p ** (far + 1) / (1 - p)
    parts = {"rbo_ext": ext, "rbo_min": least, "rbo_res": largest - least}
    return {name: (1 - p) / p * value for name, value in parts.items()}


@pytest.mark.parametrize("ties", ["w", "a", "b"])
@settings(max_examples=8)
@given(a=st.one_of(rankings, deep), b=st.one_of(rankings, deep), p=ps)
def test_ties_by_their_contributions(ties: str, a: Scores, b: Scores, p: float) -> None:
    expected = {
        f"{metric}(ties={ties}, p={p}){at}": value
        for at, k in (("", None), ("@2", 2), ("@5", 5))
        for metric, value in rbo_with_ties(a, b, p, ties, k).items()
    }
    assert agreements(a, b, expected) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=8)
@given(st.one_of(rankings, deep), st.one_of(rankings, deep), ps)
def test_what_bounds_what(a: Scores, b: Scores, p: float) -> None:
    names = [
        f"rbo_{what}(ties={ties}, p={p}){at}"
        for ties in ("broken", "a", "b")
        for at in ("", "@2", "@5")
        for what in ("min", "ext", "res")
    ]
    found = np.array([*agreements(a, b, names).values()], float).reshape(3, 3, 3)
    least, extrapolated, residual = found[..., 0], found[..., 1], found[..., 2]
    assert (least <= extrapolated + 1e-12).all()
    assert (extrapolated <= least + residual + 1e-12).all()
    # "b" makes up for what "a" loses
    assert (found[1, :, :2] <= found[2, :, :2] + 1e-12).all()


def test_at_k_ties_are_those_of_the_whole_lists() -> None:
    # where no tie is cut, it is as if the lists ended there
    a, b = written("x (y z) v w"), written("(x y) w z (u v)")
    for ties in ("broken", "w", "a", "b"):
        for name in ("rbo_ext", "rbo_min", "rbo_res"):
            metric = f"{name}(ties={ties})"
            whole = agreement(a, b, metric, k_max=4)
            assert agreement(a, b, f"{metric}@4") == pytest.approx(whole, abs=1e-12)
    # a tie of two that k = 1 cuts: half of each is there
    assert agreement(written("(x y)"), written("(x y)"), "rbo_ext(ties=a)@1") == pytest.approx(0.5)
    assert agreement(written("(x y)"), written("(x y)"), "rbo_ext(ties=b)@1") == pytest.approx(1)
    assert agreement(written("(x y)"), written("(x y)"), "rbo_ext(ties=w)@1") == pytest.approx(1)


@given(rankings, rankings)
def test_overlaps(a: Scores, b: Scores) -> None:
    x, y = broken(a), broken(b)
    shared = [len({*x[:d]} & {*y[:d]}) for d in range(13)]
    cutoffs, shorter = (1, 2, 5, 12), min(len(x), len(y))

    def average(k: int, weights: list[float]) -> float:
        return math.fsum(weights[d - 1] * shared[d] / d for d in range(1, k + 1)) / sum(weights)

    by_weight = [[1.0 + d % 3 for d in range(k)] for k in cutoffs]
    expected = {
        "overlap": shared[shorter] / shorter,
        "average_overlap": average(shorter, [1.0] * shorter),
        **{f"overlap@{k}": shared[k] / k for k in cutoffs},
        **{f"jaccard@{k}": shared[k] / len({*x[:k]} | {*y[:k]}) for k in cutoffs},
        **{f"average_overlap@{k}": average(k, [1.0] * k) for k in cutoffs},
        **{f"sim(weights={weights})": average(len(weights), weights) for weights in by_weight},
    }
    assert agreements(a, b, expected) == pytest.approx(expected, abs=1e-12)


def test_queries_do_not_touch_each_other() -> None:
    rng = np.random.default_rng(7)
    sides = []
    for _ in range(2):
        rows = pl.DataFrame(
            {"query_id": rng.integers(0, 30, 400), "doc_id": rng.integers(0, 25, 400)}
        ).unique(maintain_order=True)
        sides.append(rows.with_columns(score=pl.Series(rng.integers(0, 6, rows.height) * 1.0)))
    metrics = [
        "rbo", "rbo(ties=a)", "rbo(ties=b)", "rbo(ties=w)", "rbo(ties=mean)", "rbo_res(ties=b)",
        "rbo_ext@3", "rbo_res(ties=a)@3", "kendall_tau",
        "kendall_tau@5", "spearman", "pearson", "tau_ap", "ndpm", "fcp", "average_overlap",
    ]  # fmt: skip
    whole = rf.agree(sides[0], sides[1], metrics).per_query
    for query in whole["query_id"]:
        alone = [side.filter(pl.col("query_id") == int(query)) for side in sides]
        if all(side.height for side in alone):
            assert rf.agree(alone[0], alone[1], metrics).per_query.equals(
                whole.filter(pl.col("query_id") == query)
            )


@pytest.mark.parametrize("metric", ["rbo@100000000000", "average_overlap@100000000000"])
def test_a_cutoff_that_nobody_has_is_refused(metric: str, refusal) -> None:
    refusal(rf.agree, {"q": {"a": 1.0}}, {"q": {"a": 1.0}}, metric)
