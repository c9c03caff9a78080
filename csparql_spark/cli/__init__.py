"""The command line: `csparql-spark COMMAND`, with the commands of `MODULES`, and `version`.

Every failure that a user can cause ends with one line on stderr and exit code 2. A command is imported when it is
asked for: what `run` needs would cost `serve` a second of its start.

- `serve`        the server
- `processes`    keeps its processes running
- `watch`        tells whether one of them hangs
- `demo`         a server that is fed
- `feeding`      the client that feeds it
- `city`         what it is told
- `tokens`       `token`: making, listing and removing tokens
- `store`        whether what a data directory holds is whole
- `config`       which settings hold, and why
- `origins`      where they come from
- `flags`        options of commands that are settings
- `doctor`       whether all is there that a server needs
- `push`         files or standard input into a stream
- `pieces`       cuts them
- `creation`     makes the stream
- `tail`         answers as they become true, or what changes in them
- `printers`     prints them
- `reaching`     finds the server, for `push` and `tail`
- `run`          a query over recorded streams
- `reasons`      says why a triple holds
- `given`        reads NAME=FILE
- `read`         `check` and `explain`: what a text says
- `failure`      how a command fails
- `suggestions`  what somebody may have meant

    csparql-spark serve --data data
    csparql-spark run hot.csparql --stream http://ex.org/temp=temp.nq.gz --format table
"""

from __future__ import annotations

import importlib

import click

from csparql_spark import __version__
from csparql_spark.cli.suggestions import SuggestingGroup

# command: the module that has it
MODULES = {
    "serve": "serve",
    "demo": "demo",
    "token": "tokens",
    "store": "store",
    "config": "config",
    "doctor": "doctor",
    "push": "push",
    "tail": "tail",
    "run": "run",
    "check": "read",
    "explain": "read",
}


class Commands(SuggestingGroup):
    """Its own commands, and those of `MODULES`."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [*MODULES, *super().list_commands(context)]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in MODULES:
            return super().get_command(context, name)
        return getattr(importlib.import_module(f"{__name__}.{MODULES[name]}"), name)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(
    __version__, "-V", "--version", message="csparql-spark %(version)s", help="Print the version and exit."
)
def main() -> None:
    """Continuous queries over RDF streams.

    Register C-SPARQL queries over HTTP, push timestamped triples, and get answers as they become true.
    `serve` starts the server, `demo` one that has something to show; `doctor` looks whether all is there.
    """


@main.command()
def version() -> None:
    """Print the version."""
    click.echo(f"csparql-spark {__version__}")
