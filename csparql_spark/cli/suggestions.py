"""Suggestions: what somebody may have meant who mistyped a command, an option or a setting.

    nearest("serv", ["serve", "demo"])                  # "serve"; None if nothing is near
    @click.group(cls=Group)                             # its commands and their options are suggested so
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Iterator

import click

from csparql_spark.cli.failure import Failure

NEAR = 0.6


def nearest(name: str, names: Iterable[str], cutoff: float = NEAR) -> str | None:
    """The name that is nearest to a mistyped one."""
    return next(iter(difflib.get_close_matches(name, list(names), 1, cutoff)), None)


@contextlib.contextmanager
def _mistyped() -> Iterator[None]:
    """Commands and options that are none become a `Failure` that names the nearest one."""
    try:
        yield
    except click.NoSuchOption as error:
        known = [name for parameter in error.ctx.command.get_params(error.ctx) for name in
                 (*parameter.opts, *parameter.secondary_opts) if name.startswith("--") and not _hidden(parameter)]
        raise _unknown("option", error.option_name, known, error.ctx) from error


class Group(click.Group):
    """Commands; one that is mistyped, or an option of one, is told with what may be meant."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        with _mistyped():
            return super().parse_args(context, args)

    def invoke(self, context: click.Context) -> object:
        with _mistyped():
            return super().invoke(context)

    def resolve_command(self, context: click.Context, args: list[str]
                        ) -> tuple[str | None, click.Command | None, list[str]]:
        if not context.resilient_parsing and self.get_command(context, args[0]) is None:
            raise _unknown("command", args[0], self.list_commands(context), context)
        return super().resolve_command(context, args)


def _unknown(what: str, name: str, known: list[str], context: click.Context) -> Failure:
    near = nearest(name, known)
    meant = f": did you mean `{near}`?" if near else ""
    return Failure(f"There is no {what} {name!r}{meant} (`{context.command_path} --help` lists them all)")


def _hidden(parameter: click.Parameter) -> bool:
    return getattr(parameter, "hidden", False)
