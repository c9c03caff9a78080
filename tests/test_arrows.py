"""The arrows of the house: imports point downwards as the rooms are listed here, and libraries stay in their rooms.

From the top:

    __main__  cli  testing  server    on top: they put things together
    spark                             mounts the pipeline on Spark
    settings                          what whoever runs a server decides
    asking                            what a query sees, asked once; why; what is missing; replays
    engine                            groups of queries, walked instant by instant
    schedule                          when instants are due, and whom an entry concerns
    store                             what is known of queries, and their answers
    answers
    entailment
    relations
    windows                           which elements a window holds, and at which instants
    language
    rdf
    log                               entries in one total order
    disk                              knows no other room
    kernel                            loops over columns; it knows no other room either
    lifeline  processor_time  pulse  remembering  worker_thread     the ground: modules that know nothing and that every room may stand on
"""

from __future__ import annotations

import ast
import configparser
import functools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "csparql_spark"
ROOMS = [
    "spark",
    "settings",
    "asking",
    "engine",
    "schedule",
    "store",
    "answers",
    "entailment",
    "relations",
    "windows",
    "language",
    "rdf",
    "log",
    "disk",
    "kernel",
]
TOP = ["cli", "testing", "server", "client", "__main__"]
STORES = {"store", "log", "disk"}
GROUND = ["lifeline", "processor_time", "pulse", "remembering", "worker_thread"]
LONGEST_MODULE = 600
LONGEST_LINE = 170  # of prose
LONGEST_FUNCTION, MOST_PARAMETERS = 60, 6


@functools.cache
def modules() -> dict[str, Path]:
    """All modules that are installed, by name. The directory `server` is the package csparql_spark.server."""
    found = {}
    for directory, name in ((ROOT / PACKAGE, PACKAGE), (ROOT / "server", f"{PACKAGE}.server")):
        for path in sorted(directory.rglob("*.py")):
            parts = [name, *path.relative_to(directory).with_suffix("").parts]
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def imports(module: str) -> frozenset[str]:
    """The modules that a module imports, wherever in it: also those that it imports only when they are needed."""
    return frozenset(
        imported(module, modules()[module].read_text(encoding="utf-8"), modules()[module].stem == "__init__")
    )


def imported(module: str, text: str, is_package: bool = False) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = module.split(".")[: None if is_package else -1]
            base = parents[: len(parents) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            # What is imported from a package may be a module of it.
            yield from (full if (full := f"{origin}.{name.name}") in modules() else origin for name in node.names)


def room(module: str) -> str:
    """The room of a module of ours; the package itself is the room `csparql_spark`."""
    return module.split(".")[1] if "." in module else module


def ours(module: str) -> bool:
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")


def arrows() -> Iterator[tuple[str, str]]:
    for module in modules():
        yield from ((module, target) for target in imports(module) if ours(target))


def reached(module: str) -> set[str]:
    """The modules that are there once a module is imported and everything in it was needed."""
    found, waiting = set(), [module]
    while waiting:
        for target in imports(waiting.pop()):
            if target in modules() and target not in found:
                found.add(target)
                waiting.append(target)
    return found


def of_room(*rooms: str) -> list[str]:
    return [module for module in modules() if room(module) in rooms]


def test_the_imports_are_seen() -> None:
    text = (
        "import a.b\nfrom csparql_spark import lifeline\nfrom csparql_spark.store import Registry, answers\n"
        "def f():\n    from ..rdf import chunk\n"
    )
    assert set(imported("csparql_spark.windows.x", text)) == {
        "a.b",
        "csparql_spark.lifeline",
        "csparql_spark.store",
        "csparql_spark.store.answers",
        "csparql_spark.rdf.chunk",
    }
    assert "csparql_spark.log.sqlite.writer" in imports("csparql_spark.log")
    assert "csparql_spark.rdf.chunk" in imports("csparql_spark.windows.content")
    assert "csparql_spark.log.sqlite.reader" in reached("csparql_spark.engine.group")


def test_every_module_is_in_a_room() -> None:
    assert {room(module) for module in modules()} == {*ROOMS, *TOP, *GROUND, PACKAGE}


def test_imports_point_downwards() -> None:
    height = {name: place for place, name in enumerate(list(reversed(ROOMS)))}
    wrong = [
        (module, target)
        for module, target in arrows()
        if room(module) in height
        and room(target) not in (*GROUND, PACKAGE)
        and height.get(room(target), len(ROOMS)) > height[room(module)]
    ]
    assert wrong == []


@pytest.mark.parametrize("lowest", ["disk", "client", *GROUND, PACKAGE])
def test_the_lowest_know_no_other_room(lowest: str) -> None:
    below = [lowest, *GROUND] if lowest in ROOMS else [lowest]
    assert [arrow for arrow in arrows() if room(arrow[0]) == lowest and room(arrow[1]) not in below] == []


def test_the_rooms_that_are_said_to_know_nothing_of_each_other_do_not() -> None:
    unknown = {
        "relations": {"rdf", "language", "windows", *STORES},
        "rdf": STORES,
        "language": STORES,
        "windows": {"language"},
    }
    assert [arrow for arrow in arrows() if room(arrow[1]) in unknown.get(room(arrow[0]), ())] == []


def test_only_the_log_in_sqlite_knows_sqlite() -> None:
    """What decides guards in memory, and is compared with it, shares none of its code; who asks for guards sees no
    connection."""
    inside, above = f"{PACKAGE}.log.sqlite", f"{PACKAGE}.server"
    apart = {module for module in of_room("log") if not module.startswith(inside)} - {f"{PACKAGE}.log"}
    callers = {f"{above}.{name}" for name in ("quotas", "dependents", "sources.derived", "sources.pushing")}
    callers |= {f"{above}.routes.{name}" for name in ("registration", "graphs", "rules", "streams", "pausing")}
    assert {f"{PACKAGE}.log.{name}" for name in ("fold", "memory", "guards", "contents", "contract")} < apart
    assert callers < set(modules())
    assert [
        (module, target)
        for module in sorted(apart | callers)
        for target in imports(module)
        if target == "sqlite3" or target.startswith(inside)
    ] == []
    assert "sqlite3" in imports(f"{inside}.decisions")


def test_what_is_on_top_does_not_stand_on_each_other() -> None:
    # What `run` prints is what a test would see.
    allowed = {("cli", "testing"), ("cli", "client"), ("__main__", "cli")}
    found = {(room(module), room(target)) for module, target in arrows() if room(module) in TOP and room(target) in TOP}
    assert {pair for pair in found if pair[0] != pair[1]} <= allowed


def test_only_the_application_knows_the_routes() -> None:
    routes = f"{PACKAGE}.server.routes"
    users = {module for module, target in arrows() if target.startswith(routes)}
    assert {module for module in users if not module.startswith(routes)} == {f"{PACKAGE}.server.app"}


def test_the_window_rule_has_one_owner() -> None:
    """Nobody but the rule computes with RANGE and STEP; the language spells them."""
    readers = {
        module: sorted(lines)
        for module, path in modules().items()
        if room(module) not in ("windows", "language")
        if (lines := set(read_of_windows(path.read_text(encoding="utf-8"))))
    }
    assert readers == {}


def read_of_windows(text: str) -> Iterator[int]:
    """The lines of a module that read the RANGE or the STEP of something."""
    tree = ast.parse(text)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return (
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and id(node) not in called and node.attr in ("range", "step")
    )


def test_readers_of_windows_are_seen() -> None:
    assert list(read_of_windows("a = window.range\nb = program.step(a)\nc = max(w.step for w in b)\n")) == [1, 3]
    assert "csparql_spark.windows.rule" in [
        module for module, path in modules().items() if any(read_of_windows(path.read_text(encoding="utf-8")))
    ]


@pytest.mark.parametrize(
    "library, home", [("pyspark", "spark"), ("flask", "server"), ("werkzeug", "server"), ("cheroot", "server")]
)
def test_libraries_stay_in_their_rooms(library: str, home: str) -> None:
    users = {module for module in modules() for target in imports(module) if target.split(".")[0] == library}
    assert {room(module) for module in users} <= {home}


def test_only_the_rooms_that_keep_something_know_sqlite() -> None:
    users = {module for module in modules() if "sqlite3" in imports(module)}
    assert {module for module in users if room(module) not in STORES} == set()
    assert "csparql_spark.disk.database" in users


def test_the_library_of_each_process_is_used() -> None:
    """So that the test above cannot pass because a name was misspelled."""
    roots = {
        room(module): {target.split(".")[0] for other in of_room(room(module)) for target in imports(other)}
        for module in modules()
    }
    assert "pyspark" in roots["spark"] and {"flask", "cheroot"} <= roots["server"]


def test_the_web_process_never_sees_spark() -> None:
    for module in of_room("server"):
        assert not {target for target in reached(module) if room(target) == "spark"}, module


def test_the_pipeline_runs_without_spark_and_without_http() -> None:
    for module in of_room(*ROOMS[1:]):
        assert not {target for target in reached(module) if room(target) in ("spark", "server", "cli", "testing")}, (
            module
        )


TWIN = ("tests.entailment.twin", "tests.entailment.twin_guards")
SHARED_WITH_THE_TWIN = {"csparql_spark.language.rules.rule", "csparql_spark.rdf.terms"}  # rules as objects, terms apart


def test_the_twin_and_what_is_compared_with_it_share_no_code() -> None:
    """An oracle that runs the code that it judges says nothing."""
    assert [
        (module, target) for module in modules() for target in imports(module) if target.split(".")[0] == "tests"
    ] == []
    used = {
        target
        for name in TWIN
        for target in imported(name, (ROOT / name.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8"))
        if ours(target)
    }
    assert used == SHARED_WITH_THE_TWIN
    allowed = {"rdf", "language", PACKAGE, *GROUND}
    assert {room(target) for module in used for target in reached(module)} <= allowed


def test_all_packages_are_installed() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    packages = {module for module, path in modules().items() if path.name == "__init__.py"}
    assert config["options"]["packages"].split() == sorted(packages)
    assert config["options"]["package_dir"].split("=")[0].strip() == f"{PACKAGE}.server"
    homeless = {path.parent for path in modules().values() if not (path.parent / "__init__.py").exists()}
    assert not homeless, "a directory with modules needs an __init__.py, or it is not installed"


def test_each_room_lists_its_modules() -> None:
    for path in (path for path in modules().values() if path.name == "__init__.py" and path.parent.name != PACKAGE):
        there = {other.stem for other in path.parent.glob("*.py")} | {
            other.parent.name for other in path.parent.glob("*/__init__.py")
        }
        head = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        items = re.findall(r"^- ((?:`\w+`(?:, | and )?)+)", head, re.MULTILINE)
        listed = {name for names in items for name in re.findall(r"`(\w+)`", names)}
        assert there - {"__init__"} <= listed, f"{path} does not list {sorted(there - {'__init__'} - listed)}"
        assert listed <= there, f"{path} lists {sorted(listed - there)}, which is not there"


def test_the_map_leads_somewhere() -> None:
    """`docs/architecture.md` says what to read for a change: at most three modules, which are there."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", text.partition("## To change X, read Y")[2], re.MULTILINE)
    read = {change: re.findall(r"`([\w/.]+)`", modules) for change, modules in rows[2:]}
    assert len(read) >= 12
    for change, paths in read.items():
        lost = [path for path in paths if not any((ROOT / start / path).exists() for start in ("", PACKAGE))]
        assert 1 <= len(paths) <= 3 and not lost, f"{change}: {lost or paths}"


def test_the_paths_in_documents_are_there() -> None:
    documents = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    paths = {
        (document.name, path)
        for document in documents
        for path in re.findall(
            r"`((?:csparql_spark|server|tests|bench|web|docs|queries)/[\w/.-]+)`", document.read_text(encoding="utf-8")
        )
    }
    assert len(paths) >= 20
    made = "web/dist/"  # by the build of the console
    lost = {(document, path) for document, path in paths if not path.startswith(made) and not (ROOT / path).exists()}
    assert lost == set()


@pytest.mark.parametrize(
    "name", ["docs/reliability.md", "docs/tutorial.md", "docs/settings.md", "docs/dependencies.md", "CONTRIBUTING.md"]
)
def test_prose_is_broken_into_lines(name: str) -> None:
    """Rows of tables and code stay as they are."""
    within, long = False, []
    for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
        within ^= line.startswith("```")
        if len(line) > LONGEST_LINE and not within and not line.startswith("|"):
            long.append(number)
    assert long == []


def test_nobody_is_a_he_or_a_she() -> None:
    """Users, readers and clients may be anybody, and often they are programs."""
    words = re.compile(r"(?<![a-z])(he|him|his|himself|she|her|hers|herself)(?![a-z])", re.IGNORECASE)
    paths = [path for where in (PACKAGE, "server", "tests", "bench") for path in (ROOT / where).rglob("*.py")]
    paths += [path for where in ("*.md", "docs/*.md") for path in ROOT.glob(where)]
    assert len(paths) > len(modules())
    found = [
        (str(path.relative_to(ROOT)), number)
        for path in paths
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if words.search(line)
    ]
    assert found == []


# Types that have their name twice, and why.
SAME_NAMES = {
    "Block": "of a group of a query's body, of its steps, and of facts: each below the surface of its room",
    "Change": "of an answer as it is kept, and as the client tells it",
    "Column": "of an answer's terms, and of ids",
    "Columns": "of ids, by variable or by place: each module says which",
    "DoubleSums": "compiled, and its twin",
    "IntegerSums": "compiled, and its twin",
    "Links": "of a path's steps, as columns, and of a predicate, as they are composed",
    "Node": "of a query's text, and of a pattern in terms or in ids",
    "Pattern": "three nodes: in terms, and in ids",
    "Piece": "of a path, and of a group's state",
    "Plan": "how a query is answered, and how a join is run",
    "QueryFailed": "in a log, and as a test of a user is told it",
    "RowBag": "compiled, and its twin",
    "Rows": "of the kernel: its two halves share no code",
    "Term": "of RDF: ours, Oxigraph's, and that of the client, which stands on nothing of ours",
    "Terms": "a table of them, compiled, and its twin",
    "Three": "columns of the kernel: its two halves share no code",
    "Time": "of processors, and what the client takes for an instant",
    "Triple": "of RDF: ours, and the client's",
}


def test_no_type_has_the_name_of_another() -> None:
    named = Counter(name for path in modules().values() for name in set(types_of(path.read_text("utf-8"))))
    assert {name for name, count in named.items() if count > 1} == set(SAME_NAMES)


def types_of(text: str) -> Iterator[str]:
    """The classes of a module, and its other names for types: not what stands for any type."""
    tree = ast.parse(text)
    yield from (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name[0] != "_")
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, value = node.target.id, node.value
        else:
            continue
        if re.fullmatch("[A-Z]+[a-z]\\w*", name) and not (
            isinstance(value, ast.Call) and "TypeVar" in ast.unparse(value)
        ):
            yield name


def test_types_are_seen() -> None:
    text = "A_B = 1\nAb = dict[str, int]\nCd: type = int\nEf = TypeVar('Ef')\nclass Gh: ...\nclass _Ij: ...\nkl = Ab\n"
    assert sorted(types_of(text)) == ["Ab", "Cd", "Gh"]


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for module, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{module}.{node.name}", node


# Each says why, in its documentation or beside it.
MANY_PARAMETERS = {
    "csparql_spark.asking.replay.of",
    "csparql_spark.cli.push.push",
    "csparql_spark.cli.run.run",
    # Columns, and not what they are about: what would bundle them would be made for each call.
    "csparql_spark.kernel.compiled.join.join",
    "csparql_spark.kernel.compiled.sort.turn",
    "csparql_spark.kernel.twin.join.join",
    "csparql_spark.kernel.twin.sort.turn",
    "csparql_spark.language.diagnostics.add",
    "csparql_spark.language.errors.__init__",
    "csparql_spark.language.errors.error_at",
    "csparql_spark.testing.replay",
}
LONG = {
    "csparql_spark.cli.push.push",
    "csparql_spark.cli.serve.start",
    "csparql_spark.entailment.maintain.maintenance.imars_program",
    "csparql_spark.entailment.maintain.maintenance.volz_program",
    "csparql_spark.language.queries.parser.parse",
    "csparql_spark.server.routes.answers.routes",
    "csparql_spark.spark.play.play_together",
    "csparql_spark.testing.replay",
}


def test_no_function_takes_more_than_anybody_remembers() -> None:
    def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
        names = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        return len(names) - (names[:1] in (["self"], ["cls"]))

    assert {name for name, node in functions() if parameters(node) > MOST_PARAMETERS} == MANY_PARAMETERS


def test_no_function_is_longer_than_a_page() -> None:
    assert {name for name, node in functions() if node.end_lineno - node.lineno >= LONGEST_FUNCTION} == LONG


def test_no_module_is_longer_than_anybody_reads() -> None:
    paths = [*modules().values(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    long = {
        str(path.relative_to(ROOT)): count
        for path in paths
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST_MODULE
    }
    assert long == {}
