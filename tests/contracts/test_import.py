"""`import rankframe` stays light."""

import subprocess
import sys

HEAVY = ["scipy", "pandas", "altair", "pyspark", "typer", "rich", "pyarrow", "sklearn"]


def test_import_brings_no_heavy_package() -> None:
    code = f"import rankframe, sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    import rankframe as rf

    assert [name for name in rf.__all__ if not hasattr(rf, name)] == []
    assert rf.__version__
