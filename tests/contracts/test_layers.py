"""Check the import rule: a package imports only from packages in layers below its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "rankframe"
# From the top layer down. Packages in one layer do not import each other.
LINES = (
    ("cli",),
    ("spark", "trec_eval"),
    ("present",),
    ("analysis",),
    ("engine",),
    ("frames",),
    ("metrics", "stats"),
    ("io",),
    ("kernel",),
    ("core",),
)
HEIGHT = {room: -at for at, line in enumerate(LINES) for room in line}
# The rooms that may use a package; of scipy, inside functions only.
HOMES = {
    "typer": {"cli"},
    "rich": {"cli", "present"},
    "altair": {"present"},
    "vl_convert": {"present"},
    "pyspark": {"spark"},
    "py4j": {"spark"},
    "scipy": {"stats"},
    "deltalake": {"io"},
    "pyiceberg": {"io"},
    "duckdb": {"io"},
    "adbc_driver_postgresql": {"io"},
}
FACE = "rankframe"  # the package itself, which opens every room


def modules() -> Iterator[tuple[str, Path]]:
    """Every module but the face of the package, by its dotted name."""
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if len(parts) > 1:
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(modules())


@cache
def imports(path: Path) -> list[tuple[str, bool]]:
    """What a module imports, wherever it does so, and whether at its top level."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    found: list[tuple[str, bool]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found += ((f"{node.module}.{alias.name}", id(node) in top) for alias in node.names)
    return found


def ours(name: str) -> str | None:
    """The module of ours that an imported name is, or is in; None for others."""
    if name.split(".", maxsplit=1)[0] != FACE:
        return None
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in MODULES:
        parts.pop()
    return ".".join(parts)


def test_every_room_is_on_a_line_and_says_what_it_is_for() -> None:
    rooms = {name.split(".")[0] for name in MODULES}
    assert rooms == set(HEIGHT)
    for room in rooms:
        said = ast.get_docstring(ast.parse(MODULES[room].read_text(encoding="utf-8")))
        assert said, room
        assert said.count(". ") + said.count(".\n") >= 1, room


def test_imports_come_from_rooms_below() -> None:
    wrong = []
    for name, path in MODULES.items():
        room = name.split(".", maxsplit=1)[0]
        for imported, _ in imports(path):
            module = ours(imported)
            if not module:  # another package, or the version that the face keeps
                right = module is None or room == "cli" or imported.endswith("__version__")
            else:
                other = module.split(".")[0]
                right = other == room or HEIGHT[other] < HEIGHT[room]
            if not right:
                wrong.append(f"{name} imports {imported}")
    assert not wrong


def test_heavy_packages_stay_at_home() -> None:
    wrong = []
    for name, path in MODULES.items():
        room = name.split(".", maxsplit=1)[0]
        for imported, at_top in imports(path):
            package = imported.split(".", maxsplit=1)[0]
            if room not in HOMES.get(package, {room}) or (at_top and package == "scipy"):
                wrong.append(f"{name} imports {imported}")
    assert not wrong


def test_no_cycles_not_even_late_ones() -> None:
    known = {
        name: {module for imported, _ in imports(path) if (module := ours(imported))} - {name}
        for name, path in MODULES.items()
    }
    # A room's own modules are imported by it: its face is no part of a cycle.
    left = {name: {m for m in of if "." in m} for name, of in known.items() if "." in name}
    while free := [name for name, of in left.items() if not of & left.keys()]:
        left = {name: of for name, of in left.items() if name not in free}
    assert not left
