"""Hash tables as numpy arrays: all keys are inserted at once, by scatter and gather.

A table holds row numbers. Every row writes its number into the slot given by the leading bits of
its key, and reads the slot again. A row that reads another row's number has lost the slot, to an
equal key or to a different key in the same slot. Losers try again in another round, with another
hash. Nothing is sorted, and a table for tens of thousands of rows stays in the processor's cache.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankframe.core.arrays import Ints, Keys
from rankframe.core.records import record

# Odd multipliers that mix the bits of keys (multiplicative hashing).
FACTORS = np.array(
    [
        0x9E37_79B9_7F4A_7C15,
        0xBF58_476D_1CE4_E5B9,
        0x94D0_49BB_1331_11EB,
        0xD6E8_FEB8_6659_FD93,
        0xA076_1D64_78BD_642F,
        0xE703_7ED1_A0B4_28DB,
    ],
    np.uint64,
)
_SMALL_ROWS = 1 << 16  # row numbers below this fit in two bytes
_SMALL_BITS = 18
_REUSED_BITS = 20
_reused = threading.local()


@record
class Probed:
    """Hold the rows where target keys were found, and pairs of rows with equal keys."""

    # for each target key: a row with this key, or -1
    found: Ints
    # pairs of rows with equal keys: among the rows of a repeated key, all but one are in `again`,
    # each with another row of the key in `first`
    again: Ints
    first: Ints


def probe(keys: Keys, targets: Keys) -> Probed:
    """Find the row of each target key among `keys`, and the rows of repeated `keys`.

    >>> probed = probe(np.array([7, 5, 7], np.uint64), np.array([5, 1], np.uint64))
    >>> probed.found, set(probed.again.tolist()) | set(probed.first.tolist())
    (array([ 1, -1]), {0, 2})
    """
    repeated = [np.empty((2, 0), np.int64)]
    found = _look_up(_insert(keys, repeated), keys, targets)
    again, first = np.concatenate(repeated, axis=1)
    return Probed(found, again, first)


def repeats(keys: Keys) -> bool:
    """Return whether any two of the keys are equal."""
    repeated: list[NDArray[np.int64]] = []
    return any(repeated for _ in _insert(keys, repeated)) or bool(repeated)


def representatives(keys: Keys) -> NDArray[np.unsignedinteger]:
    """Return a representative row for each key: equal keys have the same representative.

    >>> rows = representatives(np.array([7, 5, 7], np.uint64))
    >>> bool(rows[0] == rows[2]), int(rows[1])
    (True, 1)
    """
    table, shift = _reused_table(len(keys))
    first = np.arange(len(keys), dtype=table.dtype)
    rows: Ints | None = None  # the rows without a representative so far; None: all
    for turn in count():
        row_keys = keys if rows is None else keys[rows]
        slots = _slots(row_keys, turn, shift)
        table[slots] = first if rows is None else rows
        winners = table.take(slots)
        lost = np.flatnonzero(keys.take(winners) != row_keys)
        if rows is None:
            first = winners
        else:
            first[rows] = winners
        if not len(lost):
            break
        rows = lost if rows is None else rows[lost]
    return first


class Index:
    """Map keys to their positions in an array of keys."""

    def __init__(self, keys: Keys) -> None:
        repeated: list[NDArray[np.int64]] = []
        self.keys = keys
        self._rounds = list(_insert(keys, repeated, reuse=False))
        # whether any key is repeated: `find` then returns one of its positions
        self.repeats = bool(repeated)

    def find(self, targets: Keys) -> Ints:
        """Return the position of each target key; -1 if the key is unknown."""
        return _look_up(self._rounds, self.keys, targets)


class _Round(NamedTuple):
    """Hold the hash table of one round of insertions, and the parameters that map keys to slots."""

    table: NDArray[np.unsignedinteger]
    turn: int
    shift: np.uint64


def _insert(
    keys: Keys, repeated: list[NDArray[np.int64]], *, reuse: bool = True
) -> Iterator[_Round]:
    """Yield a hash table of all rows, then tables of the rows that lost their slot before.

    Pairs of rows with equal keys are appended to `repeated`; the loser of the pair takes no part in
    later rounds. With `reuse`, each table overwrites the previous one, also that of earlier calls.
    """
    rows: Ints | None = None  # the rows still to be inserted; None: all
    table, shift = _reused_table(len(keys))
    for turn in count():
        left = len(keys) if rows is None else len(rows)
        if not left:
            return
        if not reuse:
            table, shift = _new_table(left)
        kind = table.dtype
        numbers = np.arange(len(keys), dtype=kind) if rows is None else rows.astype(kind)
        slots = _slots(keys if rows is None else keys[rows], turn, shift)
        table[slots] = numbers
        yield _Round(table, turn, shift)
        winners = table.take(slots)
        lost = np.flatnonzero(winners != numbers)
        rows, winners = lost if rows is None else rows[lost], winners[lost].astype(np.int64)
        equal = keys.take(rows) == keys.take(winners)
        if equal.any():
            repeated.append(np.array([rows[equal], winners[equal]]))
            rows = rows[~equal]


def _look_up(rounds: Iterable[_Round], keys: Keys, targets: Keys) -> Ints:
    """Return the row of each target key, found in the hash tables of all rounds, or -1."""
    found = np.full(len(targets), -1, np.int64)
    left: Ints | None = None  # the targets that are not found so far; None: all
    for table, turn, shift in rounds:
        if left is not None and not len(left):
            continue
        left_keys = targets if left is None else targets[left]
        # A reused table may hold stale row numbers. They do no harm: keys are compared below.
        rows = table.take(_slots(left_keys, turn, shift))
        rows = np.minimum(rows, len(keys) - 1).astype(np.int64)
        hit = keys.take(rows) == left_keys
        if left is None:
            left = np.arange(len(targets))
        found[left[hit]] = rows[hit]
        left = left[~hit]
    return found


def _slots(keys: Keys, turn: int, shift: np.uint64) -> Ints:
    """Map keys to slots of a table: in round 0 by leading bits, later by multiplicative hashing."""
    if not turn:
        return (keys >> shift).view(np.int64)
    slots = keys * FACTORS[(turn - 1) % len(FACTORS)]
    slots += np.uint64(turn)
    slots >>= shift
    return slots.view(np.int64)


def _new_table(rows: int) -> tuple[NDArray[np.unsignedinteger], np.uint64]:
    """Return an empty hash table for this number of rows, and the shift that maps keys to slots."""
    bits = max(2 * rows, 4).bit_length()
    return np.zeros(1 << bits, np.uint32), np.uint64(64 - bits)


def _reused_table(rows: int) -> tuple[NDArray[np.unsignedinteger], np.uint64]:
    """Return a hash table with arbitrary content, and its shift; small tables are reused."""
    small = rows <= _SMALL_ROWS
    kind, bits = (np.uint16, _SMALL_BITS) if small else (np.uint32, rows.bit_length() + 1)
    shift = np.uint64(64 - bits)
    if bits > _REUSED_BITS:
        return np.zeros(1 << bits, kind), shift
    table = getattr(_reused, kind.__name__, None)
    if table is None or len(table) < 1 << bits:
        table = np.zeros(1 << bits, kind)
        setattr(_reused, kind.__name__, table)
    return table, shift
