"""Change the package's own code at random, in one place at a time, and count the changes that its tests notice.

``python -m benchmarks.mutations gate --sample 200 --seed 1`` prints every change that no test notices, and what share is noticed. The operators are
those of cosmic-ray; it would start an interpreter for every change, while here each is tested in a fork of a process that has imported what all need.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import re
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.plugins import get_operator, operator_names
from parso.python.tree import Keyword

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pytest_mapsat"

#: Of a room: its files, and the tests that are to notice.
ROOMS: dict[str, tuple[list[str], list[str]]] = {
    "gate": (["gate/*.py"], ["tests/gate"]),
    "exact": (
        ["judges/exact.py", "judges/agreed.py", "sandbox/end.py"],
        [
            "tests/judges/test_calls*.py",
            "tests/judges/test_agreed*.py",
            "tests/judges/test_late_calls.py",
            "tests/judges/test_output.py",
            "tests/judges/test_answers_by_id.py",
            "tests/judges/test_state*.py",
            "tests/sandbox/test_end*.py",
            "tests/plugin/test_end_state_run.py",
        ],
    ),
    "python": (["judges/python_check.py"], ["tests/judges/test_python*.py", "tests/plugin/test_python_checks.py"]),
}
#: Of cosmic-ray's operators those that change what people get wrong; most of the others break any program.
_WANTED = re.compile(
    r"""core/(
    ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_(LtE|GtE)|LtE_(Lt|Gt)|Gt_(GtE|LtE)|GtE_(Gt|Lt)|Is_IsNot|IsNot_Is)
    | ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Div|Mod_Mul|Pow_Mul|BitOr_BitAnd|BitAnd_BitOr)
    | ReplaceUnaryOperator_Delete_(Not|USub) | AddNot | Replace(AndWithOr|OrWithAnd|TrueWithFalse|FalseWithTrue)
    | ReplaceBreakWithContinue | ReplaceContinueWithBreak | ZeroIterationForLoop | NumberReplacer )""",
    re.VERBOSE,
)
#: What is imported once for all changes: libraries, and the rooms below those that are changed.
_WARM = [
    "pytest",
    "_pytest.pytester",
    "hypothesis",
    "hypothesis.internal.observability",
    "numpy",
    "pydantic",
    "yaml",
    "rapidfuzz",
    "rich.table",
    "re2",
    "xdist.plugin",
    "pytest_rerunfailures",
    "pytest_mapsat.model",
    "pytest_mapsat.user_code",
    "pytest_mapsat.reply",
    "pytest_mapsat.reading",
    "pytest_mapsat.formats",
    "pytest_mapsat.store",
]


class ReturnNone(Operator):
    """``return value`` becomes ``return None``, which cosmic-ray lacks."""

    def mutation_positions(self, node):
        if node.type == "return_stmt":
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        node.children[1:] = [Keyword("None", node.end_pos, prefix=" ")]
        return node

    @classmethod
    def examples(cls):
        return (Example("return 1", "return None"),)


class InOrNotIn(Operator):
    """``in`` becomes ``not in`` and the reverse, which cosmic-ray lacks."""

    def mutation_positions(self, node):
        if node.type == "comparison":
            yield from ((child.start_pos, child.end_pos) for child in node.children if _membership(child))

    def mutate(self, node, index):
        place = [at for at, child in enumerate(node.children) if _membership(child)][index]
        turned = "not in" if node.children[place].get_code().split() == ["in"] else "in"
        node.children[place] = Keyword(turned, node.children[place].start_pos, prefix=" ")
        return node

    @classmethod
    def examples(cls):
        return (Example("a in b", "a not in b"),)


def _membership(node) -> bool:
    return node.get_code().split() in (["in"], ["not", "in"])


OPERATORS: list[Operator] = [
    *(get_operator(name)() for name in operator_names() if _WANTED.fullmatch(name)),
    ReturnNone(),
    InOrNotIn(),
]


@dataclass(frozen=True)
class Change:
    """A file of the package, and its source with one change."""

    file: Path
    source: str

    def told(self) -> str:
        """Return the lines that differ, with the place of the first."""
        before, after = self.file.read_text(encoding="utf-8").splitlines(), self.source.splitlines()
        number = next(number for number, pair in enumerate(zip(before, after, strict=False), 1) if pair[0] != pair[1])
        lines = [f"    {line}" for line in difflib.ndiff(before, after) if line[:2] in {"- ", "+ "}]
        return "\n".join((f"{self.file.relative_to(ROOT)}:{number}", *lines))


@cache
def _effective(source: str) -> str | None:
    """Return the program without what shows in nothing that it does; None of what is no Python.

    That is: annotations, what is for type checkers, whether an argument goes by its name alone, slots, and the guard ``strict`` of ``zip``.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.arguments):
            node.args, node.posonlyargs, node.kwonlyargs = [*node.posonlyargs, *node.args, *node.kwonlyargs], [], []
            node.defaults, node.kw_defaults = [*node.defaults, *filter(None, node.kw_defaults)], []
        elif isinstance(node, ast.Call):
            node.keywords = [keyword for keyword in node.keywords if keyword.arg not in {"strict", "slots"}]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.test = ast.Constant(None)
    return ast.dump(tree)


def _files(folder: Path, patterns: list[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(folder.glob(pattern))]


def sampled(files: list[Path], size: int, seed: int) -> list[Change]:
    """Draw places of the files, and at each one of the changes that can be made there."""
    places: dict[tuple[Path, object], list[tuple[Operator, int]]] = defaultdict(list)
    for file in files:
        nodes = list(ast_nodes(get_ast(file.read_text(encoding="utf-8"))))
        for operator in OPERATORS:
            found = (place for node in nodes for place in operator.mutation_positions(node))
            for occurrence, place in enumerate(found):
                places[file, place].append((operator, occurrence))
    chance = random.Random(seed)
    changes: list[Change] = []
    for file, place in chance.sample(list(places), len(places)):
        before = file.read_text(encoding="utf-8")
        after = mutate_code(before, *chance.choice(places[file, place]))
        if _effective(after) not in {None, _effective(before)}:
            changes.append(Change(file, after))
        if len(changes) == size:
            break
    return changes


class _Changed(MetaPathFinder, SourceFileLoader):
    """Loads one module of the package with another source."""

    def __init__(self, change: Change) -> None:
        parts = change.file.relative_to(ROOT).with_suffix("").parts
        super().__init__(".".join(parts).removesuffix(".__init__"), str(change.file))
        self.source = change.source

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        inside = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        spec = spec_from_file_location(fullname, self.path, loader=self, submodule_search_locations=inside)
        return spec if fullname == self.name else None

    def get_code(self, fullname: str):
        return compile(self.source, self.path, "exec", dont_inherit=True)


class _CheapestFirst:
    """Puts the tests that take long behind the others: most changes are noticed before they come.

    Args:
        file: where the run without any change leaves the seconds of each test.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seconds: dict[str, float] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def pytest_collection_modifyitems(self, items) -> None:
        items.sort(key=lambda item: round(self._seconds.get(item.nodeid, 0.0), 1))

    def pytest_runtest_logreport(self, report) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        if not self._file.exists():
            self._file.write_text(json.dumps(self._seconds), encoding="utf-8")


def _tested(tests: list[Path], change: Change | None, seconds: int, times: Path) -> int:
    """Fork a process that runs the tests on a change, and return its id; ``times`` as for ``_CheapestFirst``."""
    pid = os.fork()
    if pid:
        return pid
    leave = os._exit  # a run of the plugin puts its own there
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)  # a loop that never ends is noticed as well
    # Other processes run the code as it is; to have one ready would take longer than the tests.
    import_module("warm_python").warm_python = lambda _: nullcontext(sys.executable)
    os.dup2(2, 1)
    if change:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1), os.dup2(nowhere, 2)
        changed = _Changed(change)
        sys.meta_path.insert(0, changed)
        import_module(changed.name)  # first of all: no other finder is asked for it then
    status = import_module("pytest").main(
        ["-xq", "-p", "no:cacheprovider", "--assert=plain", "--tb=short", *map(str, tests)],
        plugins=[_CheapestFirst(times)],
    )
    leave(int(status))
    return pid


def outcomes(tests: list[Path], changes: list[Change], workers: int, times: Path) -> Iterator[tuple[Change, bool]]:
    """Yield each change, and whether the tests notice it, as they end."""
    started = time.monotonic()
    if status := os.waitpid(_tested(tests, None, 600, times), 0)[1]:
        raise SystemExit(f"the tests fail without any change (status {status}): pytest {' '.join(map(str, tests))}")
    limit = 20 + 5 * int(time.monotonic() - started)
    waiting, running = list(reversed(changes)), {}
    while waiting or running:
        while waiting and len(running) < workers:
            change = waiting.pop()
            running[_tested(tests, change, limit, times)] = change
        pid, status = os.wait()
        yield running.pop(pid), status != 0


def main() -> None:
    """Sample, test and tell."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutations", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"one of {', '.join(ROOMS)} (default: all)")
    parser.add_argument("--sample", type=int, default=200, help="how many changes, over all rooms")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if unknown := set(options.rooms) - set(ROOMS):
        parser.error(f"no room {', '.join(sorted(unknown))}; there are {', '.join(ROOMS)}")
    os.chdir(ROOT)
    sys.path.append(str(ROOT / "tests"))
    for name in _WARM:
        import_module(name)
    rooms = options.rooms or list(ROOMS)
    of_file = {file: room for room in rooms for file in _files(PACKAGE, ROOMS[room][0])}
    changes = sampled(list(of_file), options.sample, options.seed)
    counted: Counter[tuple[str, bool]] = Counter()
    for room in rooms:
        own = [change for change in changes if of_file[change.file] == room]
        with TemporaryDirectory() as folder:
            tests, times = _files(ROOT, ROOMS[room][1]), Path(folder, "seconds.json")
            for change, noticed in outcomes(tests, own, options.workers, times) if own else ():
                counted[room, noticed] += 1
                if not noticed:
                    print(change.told(), flush=True)
        print(f"{room}: {counted[room, True]} of {len(own)} noticed", flush=True)
    noticed = sum(count for (_, seen), count in counted.items() if seen)
    print(f"{noticed} of {len(changes)} changes noticed ({noticed / max(1, len(changes)):.1%})")


if __name__ == "__main__":
    main()
