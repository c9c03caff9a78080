"""Where settings come from: file < environment < flags. Each value knows its origin, so that `config` can tell it.

The file is TOML, with the keys of `csparql_spark.settings`: what `--config` or CSPARQL_CONFIG names, else
`csparql-spark.toml` in the working directory, if it is there. Paths in it start from its own directory. What is in it
and is no setting is an error, with its line; a variable CSPARQL_… that is none is only told: others may read it, and
some are nobody's doing (Kubernetes makes CSPARQL_SPARK_PORT of a service of that name).

    given = resolve({"port": 9000}, os.environ, Path.cwd())
    given.settings.port, given.origins["port"]          # 9000, "flag --port"
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from csparql_spark.cli.failure import Failure
from csparql_spark.cli.suggestions import nearest
from csparql_spark.kernel import native
from csparql_spark.settings import BadValue, Setting, Settings, declared

FILE = "csparql-spark.toml"
LISTED = "`csparql-spark config` lists them all"
PREFIX = "CSPARQL_"
# Of the other commands: where the server is, and who asks. And of every process: what it computes with.
OTHERS = ("CSPARQL_CONFIG", "CSPARQL_URL", "CSPARQL_TOKEN", native.CHOICE)
# Of what a server hands to its processes (`csparql_spark.answers.limits`).
HANDED = "CSPARQL_SPARK_MOST_"


@dataclass(frozen=True)
class Given:
    settings: Settings
    origins: dict[str, str]  # key → where its value comes from
    warnings: list[str]


def resolve(
    flags: Mapping[str, object], environment: Mapping[str, str], directory: Path, config: Path | None = None
) -> Given:
    """The settings of a server that is started so. Raises `Failure`. `flags` are values by key, read already."""
    values: dict[str, object] = {}  # of any setting, as its kind has read it
    origins = dict.fromkeys(declared(), "default")
    warnings: list[str] = []
    for source in (
        from_file(_file(environment, directory, config)),
        from_environment(environment, warnings),
        ((key, value, f"flag --{key}") for key, value in flags.items()),
    ):
        for key, value, origin in source:
            values[key], origins[key] = value, origin
    settings = Settings.of_read(values)
    return Given(dataclasses.replace(settings, data=settings.data.absolute()), origins, warnings)


def from_file(path: Path | None) -> Iterator[tuple[str, object, str]]:
    """Keys, values and origins."""
    if path is None:
        return
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"the settings {path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except tomllib.TOMLDecodeError as error:
        raise Failure(f"the settings {path} are not TOML: {error}") from error
    for key, value in document.items():
        place = f"{path}, line {_line(text, key)}"
        one = declared().get(key)
        if one is None:
            meant = _near(key)
            raise Failure(
                f"{place}: there is no setting {key!r}{f': did you mean {meant!r}?' if meant else ''} ({LISTED})"
            )
        value = _read(one, value, f"{place}: {key}")
        yield key, path.parent / value if isinstance(value, Path) else value, f"{path}:{_line(text, key)}"


def from_environment(environment: Mapping[str, str], warnings: list[str]) -> Iterator[tuple[str, object, str]]:
    known = {one.variable: one for one in declared().values()}
    for name, text in environment.items():
        if name in known:
            yield known[name].key, _read(known[name], text, f"the environment's {name}"), name
        elif name.startswith(PREFIX) and name not in OTHERS and not name.startswith(HANDED):
            meant = _near(name.removeprefix(PREFIX).removeprefix("SPARK_"))
            more = f": did you mean {declared()[meant].variable}?" if meant else f" ({LISTED})"
            warnings.append(f"the environment's {name} is no setting, and is left out{more}")


def _file(environment: Mapping[str, str], directory: Path, config: Path | None) -> Path | None:
    named = config or (Path(environment["CSPARQL_CONFIG"]) if environment.get("CSPARQL_CONFIG") else None)
    if named is not None:
        return directory / named
    usual = directory / FILE
    return usual if usual.is_file() else None


def _read(one: Setting, value: object, where: str) -> object:
    try:
        return one.kind.read(value)
    except BadValue as problem:
        shown = "its value cannot be used (it is secret, and not shown)" if one.secret else str(problem)
        raise Failure(f"{where}: {shown}") from problem


def _near(name: str) -> str | None:
    """The key that somebody may have meant: one that is spelled nearly so, or that ends so."""
    written = name.lower().replace("_", "-")
    ending = [key for key in declared() if written.endswith(f"-{key}") or key.endswith(f"-{written}")]
    return nearest(written, declared(), 0.75) or (ending[0] if len(ending) == 1 else None)


def _line(text: str, key: str) -> int:
    """The line on which a key, or the table of its name, begins: TOML's reader does not tell."""
    begin = re.compile(rf"""\s*\[*\s*["']?{re.escape(key)}["']?\s*[=.\]]""")
    return next((number for number, line in enumerate(text.splitlines(), 1) if begin.match(line)), 1)
