"""`check` and `explain`: what a query's text says, without running it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import click

from csparql_spark.asking.admission import Refusal, admit, check_rules
from csparql_spark.asking.explain import explained, written
from csparql_spark.cli import given
from csparql_spark.cli.failure import Failure, as_failure
from csparql_spark.cli.given import Named, RuleSet, text_of
from csparql_spark.cli.suggestions import nearest
from csparql_spark.entailment.maintain.maintenance import imars_program, volz_program
from csparql_spark.entailment.rules.regimes import known
from csparql_spark.entailment.rules.sets import NAMES, RuleSetError, resolved, rule_set
from csparql_spark.language import ContinuousQuery, LanguageError, parse_rules
from csparql_spark.language.queries.describe import describe, several
from csparql_spark.language.queries.printing import show
from csparql_spark.language.queries.query_cache import read
from csparql_spark.language.rules.rule import Rule
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.testing import load

FILES = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILES)
@given.base
def check(files: tuple[Path, ...], base: str) -> None:
    """Check queries and rule files (*.rules): do they parse, and can they be answered, or run?

    Prints one line for each FILE that is fine, and for each that is not the place of the first mistake, with what was
    expected. `-` is standard input. Exit code 0 if all are fine, 2 if not.
    """
    wrong = 0
    for file in files:
        text = text_of(file)
        try:
            if file.suffix == ".rules":
                found = check_rules(file.stem, text, {})
                count = len(found.rules)
                click.echo(f"{file}: {count} rule{' is' if count == 1 else 's are'} fine")
                for warning in found.warnings:
                    click.echo(f"{file}: warning: {warning}")
                continue
            query = _answerable(read(text, base), base)
        except LanguageError as error:
            wrong += 1
            click.echo(f"{file}: {error}\n{error.picture(text)}", err=True)
        except Refusal as error:
            wrong += 1
            click.echo(f"{file}: {error}", err=True)
        else:
            click.echo(f"{file}: {query.kind} {query.name or '(no name)'} is fine")
            for warning in (
                *query.warnings,
                *(f"{one}: a server has it after PUT /rules/{name}" for name, one in _strangers(query, ())),
            ):
                click.echo(f"{file}: warning: {warning}")
    if wrong:
        raise Failure(f"{wrong} of {several(len(files), 'file')} cannot be registered")


@click.command()
@click.argument("file", type=FILES)
@click.option(
    "--maintenance",
    type=click.Choice(["volz", "imars"]),
    help="Print the maintenance program that the paper makes from a rule set: FILE, or the name of one.",
)
@click.option(
    "--background", type=Named(), multiple=True, help="A background graph, for the rules that are run over it."
)
@click.option("--rules", type=RuleSet(), multiple=True, help="A rule set for USING ENTAILMENT.")
@given.base
def explain(
    file: Path,
    maintenance: str | None,
    background: tuple[tuple[str, str], ...],
    rules: tuple[tuple[str, str], ...],
    base: str,
) -> None:
    """Show how a query is read and answered: its windows and instants in words, its SPARQL body, the evaluator and why
    it is that one, and the rules that are run for it."""
    if maintenance is not None:
        made = {"volz": volz_program, "imars": imars_program}[maintenance](_rules(file))
        click.echo(made.text())
        return
    text = text_of(file)
    try:
        query = read(text, base)
    except LanguageError as error:
        raise Failure(f"{file}: {error}\n{error.picture(text)}") from error
    texts = _texts(rules)
    for name, one in _strangers(query, texts):
        raise Failure(f"{file}: {one}: give its file with --rules {name}=FILE")
    try:
        explanation = explained(_answerable(query, base), background=_graphs(background, base), rules=texts)
    except Refusal as error:
        click.echo(
            f"{show(query).rstrip()}\n\n{describe(query).rstrip()}\n\nSPARQL body:\n{query.body.rstrip()}\n\n"
            f"evaluation: refused: {error}"
        )
        return
    click.echo(written(explanation))


def _graphs(files: tuple[tuple[str, str], ...], base: str) -> dict[str, Chunk]:
    graphs = {}
    for number, (iri, path) in enumerate(given.absolute(files, base)):
        with as_failure(path):
            graphs[iri] = load(Path(path), base=None, number=number)
    return graphs


def _texts(files: tuple[tuple[str, str], ...]) -> dict[str, str]:
    texts = {}
    for name, path in files:
        texts[name] = text_of(Path(path))
        with as_failure(path):
            check_rules(name, texts[name], texts)
    return texts


def _strangers(query: ContinuousQuery, texts: Collection[str]) -> Iterator[tuple[str, str]]:
    """The rule sets of a query that nobody has given: the name, and the beginning of a sentence."""
    for name in query.entailment:
        try:
            known(name, texts)
        except RuleSetError:
            near = nearest(name.casefold(), (*NAMES, *texts))
            yield name, f"{name} is no rule set of the house{f' (did you mean {near}?)' if near else ''}"


def _rules(file: Path) -> tuple[Rule, ...]:
    """The rules of a file, or of a set of the house."""
    if str(file) in NAMES and not file.exists():
        return rule_set(str(file))
    text = text_of(file)
    try:
        return resolved(parse_rules(text))
    except LanguageError as error:
        raise Failure(f"{file}: {error}\n{error.picture(text)}") from error
    except RuleSetError as error:
        raise Failure(f"{file}: {error}") from error


def _answerable(query: ContinuousQuery, base: str) -> ContinuousQuery:
    """The query, if it can be registered where everything exists that it reads; raises `Refusal`."""
    return admit(
        query.text,
        base=base,
        streams={window.stream for window in query.windows},
        graphs={*query.graphs, *query.named_graphs},
        rules=query.entailment,
    )
