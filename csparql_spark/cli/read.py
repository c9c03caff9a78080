"""`check` and `explain`: what a query's text says, without running it."""

from __future__ import annotations

from pathlib import Path

import click

from csparql_spark.cli.failure import Failure
from csparql_spark.entailment.maintenance import imars_program, volz_program
from csparql_spark.entailment.sets import NAMES, RuleSetError, resolved, rule_set
from csparql_spark.language import ContinuousQuery, LanguageError, parse_rules
from csparql_spark.language.describe import describe
from csparql_spark.language.printing import show
from csparql_spark.language.rules import Rule
from csparql_spark.pipeline.admission import Refusal, admit, check_rules, read

FILES = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILES)
def check(files: tuple[Path, ...]) -> None:
    """Check queries and rule files (*.rules): do they parse, and can they be answered, or run?

    Prints one line for each FILE that is fine, and for each that is not the place of the first mistake, with what was
    expected. `-` is standard input. Exit code 0 if all are fine, 2 if not.
    """
    wrong = 0
    for file in files:
        text = _text(file)
        try:
            if file.suffix == ".rules":
                count = len(check_rules(file.stem, text, {}).rules)
                click.echo(f"{file}: {count} rule{' is' if count == 1 else 's are'} fine")
                continue
            query = _answerable(read(text, None))
        except LanguageError as error:
            wrong += 1
            click.echo(f"{file}: {error}\n{error.picture(text)}", err=True)
        except Refusal as error:
            wrong += 1
            click.echo(f"{file}: {error}", err=True)
        else:
            click.echo(f"{file}: {query.kind} {query.name or '(no name)'} is fine")
            for warning in query.warnings:
                click.echo(f"{file}: warning: {warning}")
    if wrong:
        raise Failure(f"{wrong} of {len(files)} files cannot be registered")


@click.command()
@click.argument("file", type=FILES)
@click.option("--maintenance", type=click.Choice(["volz", "imars"]),
              help="Print the maintenance program that the paper makes from a rule set: FILE, or the name of one.")
def explain(file: Path, maintenance: str | None) -> None:
    """Show how a query is read: its windows and instants in words, its SPARQL body, and the rules that it is under."""
    if maintenance is not None:
        made = {"volz": volz_program, "imars": imars_program}[maintenance](_rules(file))
        click.echo(made.text())
        return
    text = _text(file)
    try:
        query = read(text, None)
    except LanguageError as error:
        raise Failure(f"{file}: {error}\n{error.picture(text)}") from error
    click.echo(show(query).rstrip())
    click.echo(f"\n{describe(query).rstrip()}")
    click.echo(f"\nSPARQL body:\n{query.body.rstrip()}")
    click.echo(f"\nevaluation: {_evaluation(query)}")


def _rules(file: Path) -> tuple[Rule, ...]:
    """The rules of a file, or of a set of the house."""
    if str(file) in NAMES and not file.exists():
        return rule_set(str(file))
    text = _text(file)
    try:
        return resolved(parse_rules(text))
    except LanguageError as error:
        raise Failure(f"{file}: {error}\n{error.picture(text)}") from error
    except RuleSetError as error:
        raise Failure(f"{file}: {error}") from error


def _answerable(query: ContinuousQuery) -> ContinuousQuery:
    """The query, if it can be registered where everything exists that it reads; raises `Refusal`."""
    return admit(query.text, base=None, streams={window.stream for window in query.windows},
                 graphs={*query.graphs, *query.named_graphs}, rules=query.entailment)


def _evaluation(query: ContinuousQuery) -> str:
    try:
        _answerable(query)
    except Refusal as error:
        return f"refused: {error}"
    return "snapshot (an Oxigraph store kept in step with the window), one shard"


def _text(file: Path) -> str:
    try:
        with click.open_file(str(file), encoding="utf-8") as opened:
            return opened.read()
    except OSError as error:
        raise Failure(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Failure(f"{file} is not UTF-8 text (byte {error.start})") from error
