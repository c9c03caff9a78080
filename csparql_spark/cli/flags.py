"""Flags of commands that are made of the settings: one for each that is not secret, and `--config`.

For example:

    @click.command()
    @flags(without=("demo",))
    def serve(config: Path | None, **given: object): ...        # `given`: settings, by attribute
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import click

from csparql_spark.cli.origins import Given, resolve
from csparql_spark.settings import BadValue, Kind, Setting, Switch, declared


class Value(click.ParamType):
    """A value as the kind of a setting reads it."""

    def __init__(self, kind: Kind[object]) -> None:
        self.kind = kind
        self.name = kind.word

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> object:
        try:
            return self.kind.read(value)
        except BadValue as problem:
            self.fail(str(problem), param, context)


def flags(
    without: tuple[str, ...] = (),
    only: tuple[str, ...] | None = None,
    defaults: Mapping[str, object] = MappingProxyType({}),
) -> Callable[[Callable], Callable]:
    """The flags of all settings (or `only` of some), as options of a command; `defaults` are those that the command has
    of its own, by key."""

    def add(command: Callable) -> Callable:
        keys = [key for key in declared() if key not in without and (only is None or key in only)]
        for key in reversed(keys):
            if not declared()[key].secret:
                command = _option(declared()[key], defaults.get(key, declared()[key].default))(command)
        return click.option(
            "--config",
            type=click.Path(path_type=Path, dir_okay=False),
            help="File of settings (TOML).  [default: csparql-spark.toml, if it is there]",
        )(command)

    return add


def resolved(given: Mapping[str, object], config: Path | None) -> Given:
    """The settings of a command with these flags; what should be known of them is told."""
    known = {one.attribute: one for one in declared().values()}
    chosen = {known[name].key: value for name, value in given.items() if value is not None}
    found = resolve(chosen, os.environ, Path.cwd(), config)
    for warning in found.warnings:
        click.echo(f"csparql-spark: {warning}", err=True)
    return found


def _option(one: Setting, default: object) -> Callable[[Callable], Callable]:
    shown = "" if one.key == "web" else one.kind.show(default)
    text = f"{one.meaning}{f'  [default: {shown}]' if shown else ''}"
    if isinstance(one.kind, Switch):
        return click.option(f"{one.flag}/--no-{one.key}", one.attribute, default=None, help=text)
    return click.option(
        one.flag, one.attribute, type=Value(one.kind), default=None, help=text, metavar=one.kind.word.upper()
    )
