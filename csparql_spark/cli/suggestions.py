"""Suggestions: what somebody may have meant who mistyped a command, an option or a setting.

For example:

    nearest("serv", ["serve", "demo"])                  # "serve"; None if nothing is near
    @click.group(cls=SuggestingGroup)                   # what is wrong with a use of its commands is one sentence
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
def _mistyped(context: click.Context) -> Iterator[None]:
    """What click has against a use becomes a `Failure`, one sentence: of an option that is none, with the nearest
    one."""
    try:
        yield
    except click.NoSuchOption as error:
        used = error.ctx or context
        known = [
            name
            for parameter in used.command.get_params(used)
            for name in (*parameter.opts, *parameter.secondary_opts)
            if name.startswith("--") and not _hidden(parameter)
        ]
        raise _unknown("option", error.option_name, known, used) from error
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.MissingParameter as error:
        used = error.ctx or context
        raise Failure(error.format_message() if error.param is None else _lacking(error.param, used)) from error
    except click.UsageError as error:
        path = (
            error.ctx.command_path
            if error.ctx is not None
            else " ".join(filter(None, (context.command_path, context.invoked_subcommand)))
        )
        raise Failure(f"{error.format_message()} (see `{path} --help`)") from error


class SuggestingGroup(click.Group):
    """Commands; one that is mistyped, or an option of one, is told with what may be meant."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        with _mistyped(context):
            return super().parse_args(context, args)

    def invoke(self, context: click.Context) -> object:
        with _mistyped(context):
            return super().invoke(context)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not context.resilient_parsing and self.get_command(context, args[0]) is None:
            raise _unknown("command", args[0], self.list_commands(context), context)
        return super().resolve_command(context, args)


def _unknown(what: str, name: str, known: list[str], context: click.Context) -> Failure:
    near = nearest(name, known)
    meant = f": did you mean `{near}`?" if near else ""
    return Failure(f"There is no {what} {name!r}{meant} (`{context.command_path} --help` lists them all)")


def _lacking(parameter: click.Parameter, context: click.Context) -> str:
    path = context.command_path
    meaning = (getattr(parameter, "help", None) or "").partition("  ")[0].rstrip(".")
    what = f"{parameter.opts[0]} ({meaning[:1].lower()}{meaning[1:]})" if meaning else parameter.make_metavar(context)
    return f"{path.partition(' ')[2]} lacks {what.strip('[]')}: see `{path} --help`"


def _hidden(parameter: click.Parameter) -> bool:
    return getattr(parameter, "hidden", False)
