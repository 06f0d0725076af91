"""The frames of a result as tables of other libraries."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankframe.core.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Exported:
    """Something with frames, by their names; the first of them foremost."""

    FRAMES: ClassVar[tuple[str, ...]]

    def to_arrow(self, frame: str | None = None) -> pa.Table:
        """A frame as a pyarrow table: the first of `FRAMES`, or the one of this name.

        >>> rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "map").to_arrow("per_query").to_pydict()
        {'query_id': ['q'], 'map': [1.0]}
        """
        # Not every library reads the newest kind of text.
        return self._exported(frame).to_arrow(compat_level=pl.CompatLevel.oldest())

    def to_pandas(self, frame: str | None = None) -> pd.DataFrame:
        """Return a frame as a pandas frame; pandas must be installed."""
        found = self._exported(frame)
        try:
            import_module("pandas")
        except ImportError as error:
            raise MissingExtraError.package("to_pandas", "pandas") from error
        return found.to_pandas()

    def _exported(self, frame: str | None) -> pl.DataFrame:
        name = self.FRAMES[0] if frame is None else frame
        if name not in self.FRAMES:
            raise OptionError.choice("frame", name, self.FRAMES)
        return self._frame(name)

    def _frame(self, name: str) -> pl.DataFrame:
        return getattr(self, name)
