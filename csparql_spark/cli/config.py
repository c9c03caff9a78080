"""`config`: what holds, and why: each setting with its value, and where it comes from.

For example:

    csparql-spark config --port 9000
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from csparql_spark.cli.flags import flags, resolved
from csparql_spark.settings import MASK, declared


@click.command()
@flags()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def config(config: Path | None, as_json: bool, **given: object) -> None:
    """Print each setting with its value and its origin, as `serve` with the same flags would have them.

    The file goes before the defaults, the environment before the file, flags before all. Secrets are not shown.
    """
    found = resolved(given, config)
    values = {key: getattr(found.settings, one.attribute) for key, one in declared().items()}
    if as_json:
        click.echo(
            json.dumps(
                {
                    key: {
                        "value": MASK if one.secret and values[key] else one.kind.plain(values[key]),
                        "origin": found.origins[key],
                    }
                    for key, one in declared().items()
                },
                indent=1,
            )
        )
        return
    shown = {key: one.shown(values[key]) for key, one in declared().items()}
    wide, wider = max(map(len, shown)), max(map(len, shown.values()))
    for key, text in shown.items():
        click.echo(f"{key:{wide}}  {text:{wider}}  {found.origins[key]}")
