"""Name the types of numpy arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
AnyInts = NDArray[np.integer]
Codes = NDArray[np.int32]  # numbers of queries, and ranks
Keys = NDArray[np.uint64]  # hashes
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
