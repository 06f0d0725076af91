"""Draws from hashes: the same whatever the order, the neighbours and the pieces."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankframe.stats.bootstrap import (
    MOST_BUCKETS,
    BootstrapBuckets,
    QueryBuckets,
    can_resample,
    coin_weights,
    hash_ids,
    poisson_weights,
    random_words,
    scale_to_integers,
    weighted_sums,
)
from tests.support.draws import plain_coin, plain_hash, plain_poisson, plain_word
from tests.support.oracles import ODD_IDS

IDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(ODD_IDS)


def hashes_of(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


def assert_same_groups(one: BootstrapBuckets, other: BootstrapBuckets) -> None:
    assert one.shift == other.shift
    assert one.keys.tolist() == other.keys.tolist()
    for name in {name for name, _ in [*one.sums, *other.sums]}:
        assert one.values(name).tolist() == other.values(name).tolist(), name
    assert one.counts.tolist() == other.counts.tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 16294208416658607535),
        ("q1", 3694746173876815467),
        ("Ω😀 ü", 5542727846111808576),
        ("x" * 300, 11580650964635232723),
    ],
    ids=["empty", "q1", "unicode", "300 bytes"],
)
def test_a_hash_never_changes(text: str, expected: int) -> None:
    assert int(hash_ids(pl.Series([text]))[0]) == expected == plain_hash(text)


@given(st.lists(IDS, max_size=20))
def test_a_hash_does_not_depend_on_its_neighbours(ids: list[str]) -> None:
    hashed = hash_ids(pl.Series(ids, dtype=pl.String)).tolist()
    assert hashed == [plain_hash(text) for text in ids]
    assert len(set(hashed)) == len(set(ids))


@pytest.mark.parametrize("at_once", [1, 2, 5, 999, 1_000])
def test_hashes_are_the_same_in_slices(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = pl.Series([f"query {i}" * (i % 5) for i in range(1_000)])
    whole = hash_ids(ids)
    monkeypatch.setattr("rankframe.stats.bootstrap._IDS_AT_ONCE", at_once)
    assert np.array_equal(hash_ids(ids), whole)


def test_hashes_spread_evenly() -> None:
    hashed = hash_ids(pl.Series(map(str, range(20_000))))
    assert len(np.unique(hashed)) == 20_000
    for bits in (hashed >> np.uint64(60), hashed & np.uint64(15)):
        counts = np.bincount(bits.astype(np.int64), minlength=16)
        # chi squared with 15 degrees of freedom: beyond 45 once in 10,000 times
        assert ((counts - 1_250) ** 2 / 1_250).sum() < 45


# values within 1, beyond it, and at both sides of it
numbers = st.floats(-1, 1) | st.floats(-(2.0**38), 2.0**38) | st.sampled_from([0.0, 1.0, -1.5, 1e9])


@settings(max_examples=25)
@given(
    st.lists(st.tuples(numbers, st.integers(0, 4)), min_size=1, max_size=40),
    st.sampled_from([1, 2, 5, MOST_BUCKETS]),
    st.permutations(range(5)),
    st.integers(0, 2**32),
)
def test_any_split_adds_up_to_the_same_groups(
    drawn: list[tuple[float, int]], most: int, order: list[int], seed: int
) -> None:
    hashes = hashes_of(len(drawn), seed)
    value, piece = map(np.array, zip(*drawn, strict=True))
    whole = BootstrapBuckets.from_queries(hashes, {"v": value, "w": np.minimum(value, 1.0)}, most)
    assert len(whole.keys) <= most
    merged: BootstrapBuckets | None = None
    for at in order:
        some = piece == at
        # what is 0 in a piece may be left out of it
        values = {"v": value[some], "w": np.minimum(value[some], 1.0)}
        part = BootstrapBuckets.from_queries(
            hashes[some], {n: v for n, v in values.items() if v.any()}, most
        )
        merged = part if merged is None else merged.merge(part, most)
    assert merged is not None
    assert_same_groups(merged, whole)


def test_groups_hold_what_was_put_into_them() -> None:
    hashes = hashes_of(1_000)
    value = np.random.default_rng(2).normal(0, 100, 1_000)
    for most in (1, 7, 400, 1_000):
        groups = BootstrapBuckets.from_queries(hashes, {"v": value}, most)
        assert len(groups.keys) <= most
        assert groups.counts.sum() == 1_000
        assert groups.values("v").sum() == pytest.approx(value.sum(), rel=0, abs=1e-8)
        assert groups.values("nothing").tolist() == [0.0] * len(groups.keys)
        assert set(groups.origins.tolist()) >= {int(hashes.min()) >> groups.shift << groups.shift}
    assert groups.counts.tolist() == [1] * 1_000
    assert np.abs(groups.values("v") - value[np.argsort(hashes)]).max() <= 2.0**-41


@pytest.mark.parametrize("value", [1.0, 1.0 + 2.0**-40, -1.5, 2.0**38 + 0.25, -(2.0**39) + 1])
def test_numbers_beyond_1_are_kept_in_two_parts(value: float) -> None:
    groups = BootstrapBuckets.from_queries(hashes_of(3), {"v": np.array([value, 0.5, value])})
    assert sorted(groups.values("v").tolist()) == sorted([value, 0.5, value])


def test_what_may_be_resampled() -> None:
    assert can_resample(np.array([0.0, -(2.0**39) + 1]))
    for odd in (2.0**39, -(2.0**39), np.inf, np.nan):
        assert not can_resample(np.array([0.0, odd]))


def test_a_grouping_gathers_as_groups_do() -> None:
    hashes, value = hashes_of(500), np.random.default_rng(2).integers(-9, 9, 500).astype(float)
    for most in (1, 50, 500):
        grouping, groups = (
            QueryBuckets(hashes, most),
            BootstrapBuckets.from_queries(hashes, {"v": value}, most),
        )
        assert grouping.origins.tolist() == groups.origins.tolist()
        sums = grouping.sums([value, np.ones(500)])
        assert sums[:, 0].tolist() == groups.values("v").tolist()
        assert sums[:, 1].tolist() == groups.counts.tolist()


@settings(max_examples=20)
@given(st.integers(0, 2**64 - 1), st.integers(-5, 2**64), st.integers(0, 1000))
def test_words_are_splitmix(origin: int, seed: int, first: int) -> None:
    drawn = random_words(np.array([origin], np.uint64), 3, seed, first)
    assert drawn.tolist() == [[plain_word(origin, first + i, seed) for i in range(3)]]


def test_poisson_weights_have_mean_and_variance_1() -> None:
    # every number of 16 bits once, and what is really drawn
    table = np.sort(_drawn(hashes_of(4_000), 100).ravel())
    for weights in (_table(), table):
        assert weights.min() == 0
        assert weights.mean() == pytest.approx(1, abs=0.01)
        assert weights.var() == pytest.approx(1, abs=0.02)
        assert (weights == 0).mean() == pytest.approx(np.exp(-1), abs=0.005)
    assert _table().mean() == pytest.approx(1, abs=1e-4)
    assert _table().var() == pytest.approx(1, abs=1e-3)


def _table() -> np.ndarray:
    from rankframe.stats.bootstrap import _poisson_table  # pyright: ignore[reportPrivateUsage]

    return _poisson_table()


def _drawn(origins: np.ndarray, replicates: int, seed: int = 0) -> np.ndarray:
    """Replicates × groups: the weights themselves, as sums over one group each."""
    columns = np.eye(len(origins))
    return weighted_sums(origins, columns, poisson_weights, replicates=replicates, seed=seed)


@pytest.mark.parametrize("replicates", [1, 4, 7, 130])
@pytest.mark.parametrize("seed", [0, 3, -1, 2**70])
def test_sums_under_weights_are_what_plain_weights_give(replicates: int, seed: int) -> None:
    origins = hashes_of(40)
    columns = np.random.default_rng(3).random((40, 3)) * [1, 1e9, 1e-9]
    for draw, draw_weights in ((plain_poisson, poisson_weights), (plain_coin, coin_weights)):
        weights = np.array(
            [[draw(o, r, seed) for o in origins.tolist()] for r in range(replicates)]
        )
        found = weighted_sums(origins, columns, draw_weights, replicates=replicates, seed=seed)
        assert found == pytest.approx(weights @ columns, rel=1e-11, abs=0)


@pytest.mark.parametrize("draw_weights", [poisson_weights, coin_weights])
def test_the_order_and_the_blocks_of_groups_do_not_show(
    draw_weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = partial(weighted_sums, draw_weights=draw_weights)
    origins, columns = hashes_of(3_000), np.random.default_rng(4).normal(size=(3_000, 4))
    whole = sums(origins, columns, replicates=50, seed=1)
    order = np.random.default_rng(5).permutation(3_000)
    assert np.array_equal(sums(origins[order], columns[order], replicates=50, seed=1), whole)
    monkeypatch.setattr("rankframe.stats.bootstrap._BLOCK", 7 * 50)
    assert np.array_equal(sums(origins, columns, replicates=50, seed=1), whole)
    assert not np.array_equal(sums(origins, columns, replicates=50, seed=2), whole)


@pytest.mark.parametrize("first", [1, 63, 64, 65, 200])
def test_later_permutations_continue_the_same_stream(first: int) -> None:
    origins, columns = hashes_of(30), np.random.default_rng(4).random((30, 2))
    later = partial(coin_weights, first=first)
    whole = weighted_sums(origins, columns, coin_weights, replicates=300, seed=9)
    before = weighted_sums(origins, columns, coin_weights, replicates=first, seed=9)
    after = weighted_sums(origins, columns, later, replicates=300 - first, seed=9)
    assert np.array_equal(np.concatenate([before, after]), whole)


def test_fewer_replicates_are_the_first_of_more() -> None:
    origins, columns = hashes_of(30), np.random.default_rng(4).random((30, 2))
    for draw_weights in (poisson_weights, coin_weights):
        sums = partial(weighted_sums, draw_weights=draw_weights)
        few = sums(origins, columns, replicates=101, seed=0)
        assert np.array_equal(few, sums(origins, columns, replicates=150, seed=0)[:101])


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=30), st.integers(0, 99))
def test_exact_columns_are_whole_and_near(numbers: list[float], seed: int) -> None:
    column = np.array([numbers]).T
    whole, unit = scale_to_integers(column)
    assert np.array_equal(whole, np.rint(whole))
    assert np.frexp(unit)[0].tolist() == [0.5]
    assert np.abs(whole).sum() <= 2.0**48 + len(numbers)
    assert (np.abs(whole * unit - column) <= unit / 2).all()
    # any small weights in any order
    rng = np.random.default_rng(seed)
    weights, order = rng.integers(0, 10, len(numbers)), rng.permutation(len(numbers))
    assert weights @ whole == weights[order] @ whole[order]
    assert weights @ whole == sum(
        w * int(x) for w, x in zip(weights.tolist(), whole[:, 0], strict=True)
    )


def test_a_column_of_zeros_is_exact_too() -> None:
    whole, unit = scale_to_integers(np.zeros((3, 1)))
    assert whole.tolist() == [[0.0]] * 3
    assert unit.tolist() > [0.0]


@pytest.mark.parametrize("count", [4 * 64 + 1, 3_000, 20_000])
def test_many_queries_are_gathered_without_a_sort_to_the_same_groups(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes, rng = hashes_of(count), np.random.default_rng(3)
    values = {"share": rng.random(count), "large": rng.normal(0, 1e6, count)}
    quick = BootstrapBuckets.from_queries(hashes, values, limit=64)
    pieces = [
        BootstrapBuckets.from_queries(hashes[at::3], {n: v[at::3] for n, v in values.items()}, 64)
        for at in range(3)
    ]
    monkeypatch.setattr("rankframe.stats.bootstrap._MOST_SUMMED", 0)
    assert_same_groups(quick, BootstrapBuckets.from_queries(hashes, values, limit=64))
    assert_same_groups(quick, pieces[0].merge(pieces[1], 64).merge(pieces[2], 64))


def test_queries_that_share_most_of_their_hash_are_gathered_all_the_same() -> None:
    crowd = np.arange(9_000, dtype=np.uint64)  # all in one group of the leading bits
    alone = hashes_of(1_000)
    hashes = np.concatenate([crowd, alone])
    groups = BootstrapBuckets.from_queries(hashes, {"v": np.full(10_000, 0.1)}, limit=64)
    assert groups.counts.sum() == 10_000
    assert groups.values("v").sum() == pytest.approx(1_000, rel=1e-9)
