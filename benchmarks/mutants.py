"""Count the bugs that the fast tests notice: change the source at random places, one at a time.

    python -m benchmarks.mutants run --count 300 --seed 34
    python -m benchmarks.mutants verify --count 10
    python -m benchmarks.mutants show

A mutant is the source with one small change: `<` for `<=`, `+` for `-`, a constant, a condition, a
statement or a return value removed, two arguments swapped. `run` first records which lines every
fast test executes, then draws mutants with a seed and runs the tests that execute the changed line,
the fastest first, until one fails; if an import executes it, also the tests of its package. Results
are appended to `.mutants/results.jsonl`; `run` goes on where it was stopped. A mutant is judged
again if its file has changed since, or the file of the test that killed it, or, if it survived, any
of its test files. `run` records only test files that have changed; after changes to
`tests/support`, call `record`.

Survivors that change nothing a caller can see are listed in `equivalent_mutants.toml`, each with
the reason; they do not count.

A worker imports and collects the tests once and then exchanges the `__code__` of the changed
functions. Code that runs when it is imported, such as defaults and tables of modules, cannot be
changed this way: these mutants run by `pytest` in a copy of the tree, as do survivors whose line is
executed by an import too. `verify` judges a sample a second time in that way.

Strings are left alone, as are annotations, arguments of `raise`, and values in f-strings.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import difflib
import faulthandler
import functools
import gc
import hashlib
import json
import os
import pickle
import queue
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

import polars as pl
import pytest

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/rankframe")
PACKAGES = ["kernel", "frames", "metrics", "stats", "analysis"]
STORE = ROOT / ".mutants"
COVERAGE, RESULTS = STORE / "coverage.pickle", STORE / "results.jsonl"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
# A test may take so many seconds, and so many times as long as without a change.
PATIENCE, TIMES = 20.0, 20.0
MEMORY = 8 << 30
PYTEST = ["-q", "-rfE", "-n", "0", "--assert=plain", "--tb=line", "-p", "no:cacheprovider",
          "-p", "no:faulthandler"]  # fmt: skip

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}

COMMUTATIVE = {"max", "maximum", "min", "minimum", "gcd", "logical_and", "logical_or"}


# Mutants


@dataclass(frozen=True)
class Mutant:
    """A change of one node of a file."""

    path: str  # from the root of the repository
    line: int
    kind: str
    # the place of the node in `ast.walk`, and which of its changes
    node: int
    variant: int
    # the lines of the function around it, or (0, 0): code that runs when it is imported
    function: tuple[int, int]
    digest: str  # of the file

    @property
    def key(self) -> str:
        return f"{self.path}:{self.digest}:{self.node}:{self.variant}"


def mutants_of(path: Path) -> list[Mutant]:
    """Return all mutants of a file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    places = {node: place for place, node in enumerate(ast.walk(tree))}
    found = []
    for node, function, earlier in _mutable_nodes(tree):
        for variant, (kind, _) in enumerate(_changes(node, earlier)):
            lines = (function.lineno, cast("int", function.end_lineno)) if function else (0, 0)
            found.append(Mutant(str(path), node.lineno, kind, places[node], variant, lines, digest))
    return sorted(found, key=lambda mutant: (mutant.line, mutant.node, mutant.variant))


Function = ast.FunctionDef | ast.AsyncFunctionDef


def _mutable_nodes(tree: ast.Module) -> Iterator[tuple[Any, Function | None, set[str]]]:
    """Yield nodes with the outermost function that holds each and the names assigned before it."""
    names: set[str] = set()

    def walk(node: ast.AST, function: Function | None) -> Iterator[Any]:
        if isinstance(node, ast.expr | ast.stmt):
            yield node, function, names
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                names.add(target.id)
        for name, value in ast.iter_fields(node):
            if isinstance(node, ast.Raise) or name in ("annotation", "returns", "type_params"):
                continue
            if isinstance(node, Function) and name == "args":
                for default in [*value.defaults, *value.kw_defaults]:
                    if default is not None:
                        yield from walk(default, function)
                if function is None:
                    names.clear()
                continue
            inner = node if isinstance(node, Function) and name == "body" else None
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _left_alone(child):
                    yield from walk(child, function or inner)

    yield from walk(tree, None)


def _left_alone(node: ast.AST) -> bool:
    """Return whether a node and all within it stay as they are."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Expr):  # docstrings
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.dump(node.test)
    if isinstance(node, ast.Subscript):  # types such as `Literal[1, 2]`
        return isinstance(node.value, ast.Name) and node.value.id in ("Literal", "Annotated")
    if isinstance(node, ast.Assign):  # `Value = pl.Expr | float`
        return isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.BitOr) and (
            isinstance(node.targets[0], ast.Name) and node.targets[0].id[:1].isupper()
            and not node.targets[0].id.isupper()
        )  # fmt: skip
    return False


def _changes(node: Any, earlier: set[str]) -> list[tuple[str, ast.AST]]:  # noqa: PLR0911, PLR0912
    """Return the changes of a node: what kind each is, and the node that takes its place."""

    def altered(**fields: object) -> ast.AST:
        new = copy.copy(node)
        for name, value in fields.items():
            setattr(new, name, value)
        return new

    match node:
        case ast.Compare():
            operators = COMPARISONS[type(node.ops[0])]
            return [("comparison", altered(ops=[op(), *node.ops[1:]])) for op in operators]
        case ast.BinOp():
            if type(node.op) in ARITHMETIC and not _is_text(node):
                return [("arithmetic", altered(op=ARITHMETIC[type(node.op)]()))]
        case ast.AugAssign():
            new: list[tuple[str, ast.AST]] = [("removed statement", ast.Pass())]
            if type(node.op) in ARITHMETIC:
                new.append(("arithmetic", altered(op=ARITHMETIC[type(node.op)]())))
            return new
        case ast.BoolOp():
            other = ast.Or if isinstance(node.op, ast.And) else ast.And
            return [("boolean", altered(op=other()))]
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            return [("boolean" if isinstance(node.op, ast.Not) else "arithmetic", node.operand)]
        case ast.Constant(value=bool()):
            return [("constant", altered(value=not node.value))]
        case ast.Constant(value=int() | float() as number):
            return [("constant", altered(value=number + 1))]
        case ast.If() | ast.IfExp():
            return [("condition", altered(test=ast.UnaryOp(ast.Not(), node.test)))]
        case ast.Return() if node.value and ast.dump(node.value) != "Constant(value=None)":
            return [("return", altered(value=ast.Constant(None)))]
        case ast.Raise() | ast.Continue() | ast.Break() | ast.Expr(value=ast.Call()):
            return [("removed statement", ast.Pass())]
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return [("removed statement", ast.Pass())]
        case ast.Assign(targets=[ast.Name(id=name)]) if name in earlier:
            return [("removed statement", ast.Pass())]
        case ast.Call(args=[first, second, *rest]):
            starred = any(isinstance(argument, ast.Starred) for argument in (first, second))
            commutative = ast.unparse(node.func).rpartition(".")[2] in COMMUTATIVE
            if not starred and not commutative and ast.dump(first) != ast.dump(second):
                return [("swapped arguments", altered(args=[second, first, *rest]))]
    return []


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def mutate(mutant: Mutant) -> tuple[ast.Module, str]:
    """Return the changed file: as a tree whose nodes keep their lines, and as text."""
    text = (ROOT / mutant.path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    old: Any = nodes[mutant.node]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    _, new = _changes(old, names)[mutant.variant]
    new = ast.fix_missing_locations(ast.copy_location(copy.copy(new), old))
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    first = starts[old.lineno - 1] + old.col_offset
    last = starts[old.end_lineno - 1] + old.end_col_offset
    if isinstance(old, ast.If):  # only the condition is written anew
        return _mutate_condition(tree, text, old, starts)
    written = ast.unparse(new)
    if isinstance(new, ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp):
        written = f"({written})"
    for parent in nodes:
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list):
                setattr(parent, name, [new if child is old else child for child in value])
    source = text.encode()
    return tree, (source[:first] + written.encode() + source[last:]).decode()


def _mutate_condition(
    tree: ast.Module, text: str, node: ast.If, starts: list[int]
) -> tuple[ast.Module, str]:
    test = node.test
    first = starts[test.lineno - 1] + test.col_offset
    last = starts[cast("int", test.end_lineno) - 1] + cast("int", test.end_col_offset)
    node.test = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
    source = text.encode()
    new = b"not (" + source[first:last] + b")"
    return ast.fix_missing_locations(tree), (source[:first] + new + source[last:]).decode()


def difference(mutant: Mutant) -> str:
    """Return the changed lines."""
    old = (ROOT / mutant.path).read_text(encoding="utf-8").splitlines()
    new = mutate(mutant)[1].splitlines()
    changed = list(difflib.unified_diff(old, new, lineterm="", n=0))[3:]
    return "\n".join(line for line in changed if not line.startswith("@@"))


def function_of(mutant: Mutant) -> str:
    """Return the class and the function that a mutant changes; "" for code of the module."""
    tree = ast.parse((ROOT / mutant.path).read_text(encoding="utf-8"))
    names = []
    for node in ast.walk(tree):  # outer ones first
        if isinstance(node, Function | ast.ClassDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first <= mutant.line <= cast("int", node.end_lineno):
                names.append(node.name)
    return ".".join(names)


def place_of(path: str, function: str, change: str) -> tuple[str, str, str]:
    """Return what tells one change from another, also after lines have moved."""
    return path, function, "".join(change.split())


def equivalent() -> dict[tuple[str, str, str], str]:
    """Return the reasons why mutants are equivalent, by their places."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {
        place_of(f"{SOURCE}/{e['file']}", e["function"], e["change"]): e["reason"] for e in entries
    }


def draw(count: int, seed: int, only: str = "") -> list[Mutant]:
    """Draw mutants at random from all of them, each as likely as any other."""
    paths = sorted(
        path.relative_to(ROOT)
        for package in PACKAGES
        for path in (ROOT / SOURCE / package).rglob("*.py")
    )
    mutants = [mutant for path in paths for mutant in mutants_of(path) if only in str(path)]
    return random.Random(seed).sample(mutants, min(count, len(mutants)))


# In a worker


@dataclass(eq=False)
class Worker:
    """A plugin of pytest: collects the tests once, and then does what it is asked, line by line."""

    commands: Any
    answers: Any
    started: float = field(default_factory=time.perf_counter)
    failed: str = ""
    skipped: bool = False
    phase: Any = None

    def answer(self, **values: object) -> None:
        print(json.dumps(values), file=self.answers, flush=True)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings(), database=None, derandomize=True,
                                  phases=phases)  # fmt: skip
        settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.unfreeze()  # conftest.py hides from the garbage collector what this module looks for
        self.items = {item.nodeid: item for item in session.items}
        self.answer(tests=list(self.items), seconds=time.perf_counter() - self.started)
        for line in self.commands:
            command = json.loads(line)
            if "record" in command:
                self.record(command["record"], command["to"])
            else:
                limits = command["tests"]
                self.judge(Mutant(**command["mutant"]), limits)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or f"{report.nodeid} ({report.when})"
        self.skipped |= report.skipped

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        # What fixtures execute counts for every test of the file, since they may share them.
        if self.phase and not isinstance(item, pytest.DoctestItem):
            self.phase(f"{item.location[0]}::")
        yield
        if self.phase:
            self.phase(item.nodeid)

    def run(self, tests: Iterable[str], limits: dict[str, float]) -> str:
        """Run tests until one fails, and return it; each has a limit of seconds."""
        self.failed = ""
        items = [self.items[test] for test in tests if test in self.items]
        for item, following in zip(items, [*items[1:], None], strict=True):
            self.answer(start=item.nodeid)
            faulthandler.dump_traceback_later(limits[item.nodeid], exit=True)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            faulthandler.cancel_dump_traceback_later()
            if self.failed:
                item.session._setupstate.teardown_exact(None)
                break
        return self.failed

    def judge(self, mutant: Mutant, limits: dict[str, float]) -> None:
        """Exchange the changed functions, run the tests, and put the functions back."""
        functions = changed_functions(mutant)
        if functions is None:
            return self.answer(unable=True)
        clear_caches()
        for function, _, new in functions:
            function.__code__ = new
        try:
            killer = self.run(limits, limits)
        finally:
            for function, old, _ in functions:
                function.__code__ = old
        clear_caches()
        name = killer.rpartition(" (")[0]
        spoiled = bool(killer) and bool(self.run([name], dict.fromkeys([name], 600.0)))
        return self.answer(killer=killer, spoiled=spoiled)

    def record(self, tests: list[str], to: str) -> None:
        """Record which lines each test executes, how long it takes, and which fail or skip."""
        from coverage import Coverage

        cov = Coverage(
            data_file=None, include=[str(ROOT / SOURCE / "*")], config_file=False, messages=False
        )
        seconds, left_out, cached = {}, [], caches()
        patch = pytest.MonkeyPatch()
        patch.setattr(pl.LazyFrame, "_scan_python_function", traced_scan)
        cov.start()
        self.phase = cov.switch_context
        for test in tests:
            self.failed, self.skipped = "", False
            item = self.items[test]
            # What one test has cached, the next would not execute.
            for one in cached:
                one.cache_clear()
            start = sum(os.times()[:4])
            following = self.items.get(tests[tests.index(test) + 1]) if test != tests[-1] else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds[test] = sum(os.times()[:4]) - start
            if self.failed or self.skipped:
                left_out.append((test, "failed" if self.failed else "skipped"))
        self.phase = None
        cov.stop()
        patch.undo()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tests may execute no line of the source
            data = cov.get_data()
        lines = {
            str(Path(path).relative_to(ROOT)): data.contexts_by_lineno(path)
            for path in data.measured_files()
        }
        Path(to).write_bytes(pickle.dumps((seconds, left_out, lines)))
        self.answer(recorded=len(tests))


_SCAN = pl.LazyFrame._scan_python_function


def traced_scan(*, scan_fn: Any, **options: Any) -> pl.LazyFrame:
    """Make a lazy frame of a Python function, and trace what the function executes.

    polars calls it from threads that Python has not started, and that no tracer knows.
    """

    def trace() -> None:
        if sys.gettrace() is None:
            sys.settrace(threading.gettrace())

    def traced(tables: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        while True:
            trace()
            try:
                table = next(tables)
            except StopIteration:
                return
            yield table

    @functools.wraps(scan_fn)
    def function(*args: Any) -> Any:
        trace()
        tables, *rest = scan_fn(*args)
        return traced(iter(tables)), *rest

    return _SCAN(scan_fn=function, **options)


def code_objects(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_objects(constant)


def changed_functions(mutant: Mutant) -> list[tuple[FunctionType, CodeType, CodeType]] | None:
    """Return the functions that a mutant changes, each with its old and its new code.

    None: a function cannot be exchanged, because it shares name and line with another one, its
    variables differ, or none such is alive.
    """
    path = str(ROOT / mutant.path)
    text = Path(path).read_text(encoding="utf-8")

    def by_place(tree: ast.Module | str) -> dict[tuple[str, int], list[CodeType]]:
        places = defaultdict(list)
        for code in code_objects(compile(tree, path, "exec", dont_inherit=True)):
            places[code.co_qualname, code.co_firstlineno].append(code)
        return places

    old, new = by_place(text), by_place(mutate(mutant)[0])
    if old.keys() != new.keys():
        return None
    first, last = mutant.function
    changed = {place for place in old if old[place] != new[place] and place[0] != "<module>"}
    # A decorator comes before the function, and is executed by an import.
    if not changed or any(len(old[place]) > 1 for place in changed):
        return None
    functions = []
    for function in gc.get_objects():
        if type(function) is not FunctionType or function.__code__.co_filename != path:
            continue
        code = function.__code__
        place = code.co_qualname, code.co_firstlineno
        if place in changed:
            (replacement,) = new[place]
            if replacement.co_freevars != code.co_freevars:
                return None
            functions.append((function, code, replacement))
    outermost = [f for f, code, _ in functions if first - 20 <= code.co_firstlineno <= last]
    return functions if outermost else None


def clear_caches() -> None:
    """Forget what functions of the source and the tests have cached."""
    for cached in caches():
        cached.cache_clear()


def caches() -> list[Any]:
    """Find the functions of the source and the tests that cache what they return."""
    return [
        found
        for found in gc.get_objects()
        if isinstance(found, functools._lru_cache_wrapper)
        and str(getattr(found, "__module__", "")).startswith(
            ("rankframe", "tests", "test_", "conftest")
        )
    ]


def work(paths: list[str]) -> None:
    """Be a worker: commands come on standard input, answers go to standard output."""
    commands = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    STORE.mkdir(exist_ok=True)
    log = os.open(STORE / "worker.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor, target in enumerate((nothing, log, log)):
        os.dup2(target, descriptor)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    pytest.main([*PYTEST, *paths], plugins=[Worker(commands, answers)])


# The conductor


def environment(folder: Path) -> dict[str, str]:
    """Return environment variables that make Python import from a copy of the tree."""
    paths = [str(folder / "src"), str(folder), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


class Process:
    """A worker process; a new one when it ends."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.process: Any = None
        self.tests: list[str] = []

    def start(self) -> None:
        self.stop()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.mutants", "work", "--tests", *self.paths],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True, env=environment(ROOT),
        )  # fmt: skip
        collected = self.read()
        if "tests" not in collected:
            raise SystemExit("the tests cannot be collected: run `pytest --collect-only`")
        self.tests = collected["tests"]

    def stop(self) -> None:
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def read(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        return json.loads(line) if line else {}

    def ask(self, **command: object) -> dict[str, Any]:
        """Return the answer to a command; without an answer, the test that was its last."""
        if not self.process:
            self.start()
        test = ""
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(command), file=self.process.stdin, flush=True)
        while answer := self.read():
            if "start" not in answer:
                return answer
            test = answer["start"]
        code = self.process.wait()
        self.stop()
        # The watchdog of a test ends the process with 1.
        return {"killer": test, "timeout": code == 1, "spoiled": False}


@dataclass
class Record:
    """Which tests execute a line, and how long each takes."""

    seconds: dict[str, float] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    lines: dict[str, dict[int, set[int]]] = field(default_factory=dict)
    imported: dict[str, set[int]] = field(default_factory=dict)
    tests: list[str] = field(default_factory=list)
    # of every test file
    digests: dict[str, str] = field(default_factory=dict)

    def covering(self, mutant: Mutant) -> list[str]:
        """Return the tests that execute the line, or, if it is imported, any of its file.

        What an import computes may be used by tests that execute no line of the file: if the line
        is imported, the tests of its package are added.
        """
        lines = self.lines.get(mutant.path, {})
        if mutant.function == (0, 0):
            numbers: set[int] = set().union(*lines.values()) if lines else set()
        else:
            numbers = lines.get(mutant.line, set())
            before = [line for line in lines if mutant.function[0] <= line < mutant.line]
            if not numbers and before:  # a line within a statement of several
                numbers = lines[max(before)]
            if not numbers and lines:  # executed by an import or by a thread of another library
                numbers = set().union(*lines.values())
        if mutant.line in self.imported.get(mutant.path, set()):
            near = f"tests/{mutant.path.split('/')[2]}/"
            found = (number for number, test in enumerate(self.tests) if test.startswith(near))
            numbers = numbers.union(found)
        return [self.tests[number] for number in sorted(numbers)]

    def digest(self, mutant: Mutant, killer: str) -> str:
        """Return a digest of the file of the killer, or of all files that execute the mutant."""
        tests = [_test_of(killer)] if killer else self.covering(mutant)
        files = {test.partition("::")[0] for test in tests}
        text = "".join(self.digests.get(file, "") for file in sorted(files))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def order(self, tests: list[str], path: str, killers: Counter[str]) -> dict[str, float]:
        """Return the limits of tests in seconds, those first that find most in the least time."""
        package = path.split("/")[2]

        def rank(test: str) -> tuple[object, ...]:
            size = next(i for i, s in enumerate((0.01, 0.03, 0.1, 0.3, 1, 1e9))
                        if self.seconds[test] <= s)  # fmt: skip
            near = test.startswith((f"tests/{package}/", f"src/rankframe/{package}/"))
            return (-min(killers[test], 1), size - 2 * near, test.partition("::")[0])

        ranked = sorted(tests, key=rank)
        return {test: PATIENCE + TIMES * self.seconds[test] for test in ranked}


def record(jobs: int, paths: list[str], *, anew: bool = False) -> Record:
    """Record which lines every fast test executes, unless the record of its file is there.

    A part of the record is about the tests of one file. It stays valid as long as the source, the
    file and the names of its tests stay the same.
    """
    parts: dict[str, Any] = {}
    if COVERAGE.exists() and not anew:
        parts = pickle.loads(COVERAGE.read_bytes())
    STORE.mkdir(exist_ok=True)
    processes = [Process(paths) for _ in range(jobs)]
    processes[0].start()
    files: dict[str, list[str]] = defaultdict(list)
    for test in processes[0].tests:
        files[test.partition("::")[0]].append(test)
    source = hashlib.sha256()
    for path in sorted((ROOT / SOURCE).rglob("*.py")):
        source.update(path.read_bytes())
    waiting: queue.SimpleQueue[tuple[str, list[str]]] = queue.SimpleQueue()
    digests = {}
    for file, tests in files.items():
        names = "\n".join(tests).encode()
        digest = hashlib.sha256(source.digest() + (ROOT / file).read_bytes() + names).hexdigest()
        digests[file] = digest
        if digest not in parts:
            waiting.put((digest, tests))

    def work_off(process: Process) -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(queue.Empty):
            while True:
                digest, tests = waiting.get_nowait()
                target = Path(folder) / "part"
                if "recorded" in process.ask(record=tests, to=str(target)):
                    parts[digest] = pickle.loads(target.read_bytes())
                    COVERAGE.write_bytes(pickle.dumps(parts))
                else:
                    print(f"{tests[0]}: its process has ended")
        process.stop()

    _in_threads(work_off, processes)
    if not paths:
        parts = {digest: parts[digest] for digest in digests.values() if digest in parts}
    COVERAGE.write_bytes(pickle.dumps(parts))
    known = Record(imported=_imported_lines(), digests=digests)
    for digest in digests.values():
        if digest not in parts:
            continue
        seconds, left_out, lines = parts[digest]
        known.left_out += left_out
        out = {test for test, _ in left_out}
        number = len(known.tests)
        names = [test for test in seconds if test not in out]
        known.tests += names
        known.seconds |= {test: seconds[test] for test in names}
        numbers = {test: {number + i} for i, test in enumerate(names)}
        shared = f"{next(iter(seconds)).partition('::')[0]}::"
        numbers[shared] = set().union(*numbers.values())
        for path, by_line in lines.items():
            held = known.lines.setdefault(path, {})
            for line, contexts in by_line.items():
                for context in contexts:
                    held.setdefault(line, set()).update(numbers.get(context, ()))
    return known


def _imported_lines() -> dict[str, set[int]]:
    """Return the lines that `import` of all modules executes."""
    code = f"""
import json, sys, importlib, pathlib, coverage
cov = coverage.Coverage(data_file=None, include=[{str(ROOT / SOURCE / "*")!r}], config_file=False)
cov.start()
for path in sorted(pathlib.Path("src/rankframe").rglob("*.py")):
    if path.name != "__main__.py":
        try:
            importlib.import_module(".".join(path.with_suffix("").parts[1:]))
        except ImportError:
            pass
cov.stop()
data = cov.get_data()
print(json.dumps({{path: data.lines(path) for path in data.measured_files()}}))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, text=True,
                          capture_output=True, env=environment(ROOT))  # fmt: skip
    lines = json.loads(done.stdout.splitlines()[-1])
    return {str(Path(p).relative_to(ROOT)): set(numbers) for p, numbers in lines.items()}


def _in_threads(function: Any, processes: list[Process]) -> None:
    threads = [threading.Thread(target=function, args=[process]) for process in processes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def judge_in_a_copy(mutant: Mutant, limits: dict[str, float]) -> dict[str, Any]:
    """Run the tests by pytest in a copy of the tree that has the change: first those nearby."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for entry in ROOT.iterdir():
            if entry.name in ("src", "tests", "conftest.py", "pyproject.toml"):
                if entry.is_dir():
                    shutil.copytree(entry, folder / entry.name, symlinks=True)
                else:
                    shutil.copy(entry, folder / entry.name)
            elif entry.name not in (".venv", ".mutants"):
                (folder / entry.name).symlink_to(entry)
        (folder / mutant.path).write_text(mutate(mutant)[1], encoding="utf-8")
        package = f"tests/{mutant.path.split('/')[2]}/"
        near = {test: limit for test, limit in limits.items() if test.startswith(package)}
        rest = {test: limit for test, limit in limits.items() if test not in near}
        for part in filter(None, (near, rest)):
            answer = _run_in(folder, part)
            if answer["killer"]:
                return answer
        return {"killer": ""}


def _run_in(folder: Path, limits: dict[str, float]) -> dict[str, Any]:
    """Run tests in a copy of the tree until one fails."""
    order = folder / "order.json"
    order.write_text(json.dumps(list(limits)))
    files = dict.fromkeys(test.partition("::")[0] for test in limits)
    command = [sys.executable, "-m", "pytest", *PYTEST, "-x", "-p", "benchmarks.mutants", *files]
    patience = 120 + 4 * sum(limits.values()) / TIMES
    with subprocess.Popen(
        command, cwd=folder, env=environment(folder) | {"MUTANTS_ORDER": str(order)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            out, _ = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return {"killer": "pytest", "timeout": True}
    failed = [line for line in out.splitlines() if line.startswith(("FAILED", "ERROR"))]
    killed = process.returncode not in (0, 5)
    return {"killer": (failed or ["pytest"])[0] if killed else ""}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests that `MUTANTS_ORDER` names, in its order."""
    if name := os.environ.get("MUTANTS_ORDER"):
        place = {test: i for i, test in enumerate(json.loads(Path(name).read_text()))}
        items[:] = sorted((i for i in items if i.nodeid in place), key=lambda i: place[i.nodeid])


def judged() -> dict[str, dict[str, Any]]:
    """Return the results so far by the key of their mutants."""
    if not RESULTS.exists():
        return {}
    results = map(json.loads, RESULTS.read_text().splitlines())
    return {Mutant(**_tuples(result["mutant"])).key: result for result in results}


def _tuples(mutant: dict[str, Any]) -> dict[str, Any]:
    return {**mutant, "function": tuple(mutant["function"])}


def judge(mutant: Mutant, known: Record, process: Process, killers: Counter[str]) -> dict[str, Any]:
    """Return what became of a mutant: killed and by which test, timeout, survived, not executed."""
    start = time.perf_counter()
    limits = known.order(known.covering(mutant), mutant.path, killers)
    lines = range(mutant.line, mutant.line + 1)
    imported = not known.imported.get(mutant.path, set()).isdisjoint(lines)
    way = "worker"
    answer: dict[str, Any] = {"killer": ""}
    if not limits:
        way = "no test executes it"
    elif mutant.function == (0, 0):
        answer = {"unable": True}
    else:
        for _ in range(2):
            answer = process.ask(mutant=asdict(mutant), tests=limits)
            if not answer.get("spoiled"):
                break
            process.stop()
    if answer.get("unable") or (not answer["killer"] and limits and imported):
        way = "copy"
        answer = judge_in_a_copy(mutant, limits)
    status = "survived"
    if answer["killer"]:
        status = "timeout" if answer.get("timeout") else "killed"
        killers[answer["killer"].rpartition(" (")[0]] += 1
    return {
        "mutant": asdict(mutant),
        "status": status,
        "killer": answer["killer"],
        "tests": len(limits),
        "digest": known.digest(mutant, answer["killer"]),
        "way": way,
        "seconds": round(time.perf_counter() - start, 2),
        "difference": difference(mutant),
    }


def run(count: int, seed: int, jobs: int, only: str, paths: list[str]) -> None:
    """Judge mutants that have no result yet."""
    known = record(jobs, paths)
    for test, what in known.left_out:
        if what == "failed":
            print(f"left out, since it fails without a change: {test}")
    mutants, results, reasons = draw(count, seed, only), judged(), equivalent()
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in mutants:
        place = place_of(mutant.path, function_of(mutant), difference(mutant))
        result = results.get(mutant.key)
        if place not in reasons and (
            result is None or result.get("digest") != known.digest(mutant, result["killer"])
        ):
            waiting.put(mutant)
    killers: Counter[str] = Counter()
    lock = threading.Lock()

    def work_off(process: Process) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                mutant = waiting.get_nowait()
                result = judge(mutant, known, process, killers)
                with lock, RESULTS.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                    print(
                        f"{result['status']:9} {result['seconds']:6.1f} s  {mutant.path}:"
                        f"{mutant.line}  {mutant.kind}  {result['killer'] or result['way']}",
                        flush=True,
                    )
        process.stop()

    _in_threads(work_off, [Process(paths) for _ in range(jobs)])
    show(count, seed, only)


def _test_of(killer: str) -> str:
    """Return the name of the test in "TEST (call)" and in "FAILED TEST - message"."""
    return killer.removeprefix("FAILED ").removeprefix("ERROR ").partition(" - ")[0]


def show(count: int, seed: int, only: str) -> None:
    """Print every survivor with its difference, then the figures."""
    results, reasons = judged(), equivalent()
    drawn = []
    for mutant in draw(count, seed, only):
        place = place_of(mutant.path, function_of(mutant), difference(mutant))
        result = results.get(mutant.key)
        if place in reasons:
            drawn.append({"mutant": asdict(mutant), "status": "equivalent"})
        elif result:
            drawn.append(result)
    for result in drawn:
        if result["status"] == "survived":
            mutant = Mutant(**_tuples(result["mutant"]))
            print(f"\n{mutant.path}:{mutant.line}  {mutant.kind}  {function_of(mutant)!r}")
            print(f"({result['tests']} tests, {result['way']})\n{result['difference']}")
    counts = Counter(result["status"] for result in drawn)
    kinds = Counter((result["mutant"]["kind"], result["status"]) for result in drawn)
    print()
    for kind in sorted({kind for kind, _ in kinds}):
        print(
            f"{kind:18}",
            *(f"{status} {n}" for (k, status), n in sorted(kinds.items()) if k == kind),
        )
    killed = counts["killed"] + counts["timeout"]
    share = killed / max(len(drawn) - counts["equivalent"], 1)
    print(f"\nseed {seed}: {len(drawn)} mutants, {counts['killed']} killed, {counts['timeout']} "
          f"timeouts, {counts['survived']} survived, {counts['equivalent']} equivalent: "
          f"{share:.1%} of those that are not equivalent noticed")  # fmt: skip


def verify(count: int, seed: int, jobs: int, paths: list[str]) -> None:
    """Judge survivors and killed mutants of workers again, by pytest in a copy of the tree."""
    known = record(jobs, paths)
    judged_by_workers = [r for r in judged().values() if r["way"] == "worker"]
    survivors = [r for r in judged_by_workers if r["status"] == "survived"]
    killed = [r for r in judged_by_workers if r["status"] != "survived"]
    chance = random.Random(seed)
    results = chance.sample(survivors, min(count // 2, len(survivors)))
    results += chance.sample(killed, min(count - len(results), len(killed)))
    for result in results:
        mutant = Mutant(**_tuples(result["mutant"]))
        limits = known.order(known.covering(mutant), mutant.path, Counter())
        again = judge_in_a_copy(mutant, limits)
        status = "survived" if not again["killer"] else "killed"
        same = status == ("survived" if result["status"] == "survived" else "killed")
        print(f"{'same' if same else 'DIFFERENT'}: {mutant.path}:{mutant.line} {mutant.kind}: "
              f"{result['status']}, {status} {again['killer']}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("command", choices=["record", "run", "show", "verify", "work"])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=34)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="a part of the paths of mutants")
    parser.add_argument("--tests", nargs="*", default=[], help="paths of tests; all without")
    given = parser.parse_args()
    match given.command:
        case "work":
            work(given.tests)
        case "record":
            record(given.jobs, given.tests, anew=True)
        case "run":
            run(given.count, given.seed, given.jobs, given.only, given.tests)
        case "show":
            show(given.count, given.seed, given.only)
        case "verify":
            verify(given.count, given.seed, given.jobs, given.tests)


if __name__ == "__main__":
    main()
