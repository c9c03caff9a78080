"""`demo`: a server, and a city that is replayed into it (see `feeding`).

For example:

    csparql-spark demo --speed 20
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from csparql_spark.cli.flags import flags, resolved
from csparql_spark.cli.serve import start

DATA = Path("demo-data")


@click.command()
@flags(without=("demo",), defaults={"data": DATA})
@click.option("--browser", is_flag=True, help="Open the console in a browser.")
def demo(config: Path | None, browser: bool, **given: object) -> None:
    """Start the server with a city that lives in it.

    Traffic, car parks and the weather are replayed faster than life (--speed), and four queries watch them: an average
    over a sliding window, what classes entail, a query that makes a stream, and one that reads it. The data directory
    is demo-data, unless the settings name another one.
    """
    found = resolved(given, config)
    data = DATA.absolute() if found.origins["data"] == "default" else found.settings.data
    start(dataclasses.replace(found.settings, demo=True, data=data), browser=browser)
