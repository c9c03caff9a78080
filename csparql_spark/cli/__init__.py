"""The command line: `csparql-spark serve | run | check | explain | version`.

Every failure that a user can cause ends with one line on stderr and exit code 2.

    csparql-spark serve --data data
    csparql-spark run hot.csparql --stream http://ex.org/temp=temp.nq.gz --format table
"""

from __future__ import annotations

import click

from csparql_spark import __version__
from csparql_spark.cli.read import check, explain
from csparql_spark.cli.run import run
from csparql_spark.cli.serve import serve


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Continuous queries over RDF streams.

    Register C-SPARQL queries over HTTP, push timestamped triples, and get answers as they become true.
    `serve` starts the server; the other commands work on files and need no server.
    """


@main.command()
def version() -> None:
    """Print the version."""
    click.echo(f"csparql-spark {__version__}")


for command in (serve, run, check, explain):
    main.add_command(command)
