"""From a text to a `ContinuousQuery`.

The steps, in order: tokens; the tree of the whole text; names, numbers and strings; clauses and scopes; the body,
rewritten into SPARQL 1.1. Everything that is wrong is gathered, and the leftmost of it is raised.

    parse("ASK FROM STREAM <http://ex.org/s> [RANGE 5s] { ?s ?p ?o }").windows[0].range      ->  5000

How large a text may be stands in `bounds`.
"""

from __future__ import annotations

from dataclasses import dataclass

from csparql_spark.language.diagnostics import Diagnostics
from csparql_spark.language.durations import in_words
from csparql_spark.language.errors import LanguageError, error_at
from csparql_spark.language.queries.aggregate import rewrite_aggregates
from csparql_spark.language.queries.body import BodyProblem, check_evaluable
from csparql_spark.language.queries.bounds import MOST_WORDS, check_nesting, check_parts, check_size, check_words
from csparql_spark.language.queries.clauses import Clauses
from csparql_spark.language.queries.graphs import DatasetClauses, check_graphs, read_dataset
from csparql_spark.language.queries.prologue import NameProblem, Names
from csparql_spark.language.queries.query import ContinuousQuery
from csparql_spark.language.queries.rewriting import Rewriting
from csparql_spark.language.queries.scope import (
    check_patterns,
    check_projections,
    grouped_variables,
    is_grouped,
    projected,
    visible,
)
from csparql_spark.language.queries.standard import form_groups_below, standardise_blocks, standardise_words
from csparql_spark.language.queries.syntax import Node, Unexpected, read_tree
from csparql_spark.language.queries.timestamps import rewrite_timestamps
from csparql_spark.language.queries.traps import syntax_diagnostic
from csparql_spark.language.tokens import Token, tokenize

LEAST_STEP = 10  # ms between instants: a step that is shorter is most likely a unit that was mistaken


def parse(text: str, *, base: str | None = None, require_register: bool = False) -> ContinuousQuery:
    """The query of a text; raises `LanguageError` and nothing else.

    `base` is what relative IRIs start from when the text has no BASE. A plain SPARQL query is a query without a name
    and without windows, unless `require_register` asks for a registration. Its steps are all here, in the order in
    which what is wrong with a text is said.
    """
    check_size(text)
    tokens = tokenize(text, MOST_WORDS + 1)
    check_words(text, tokens)
    diagnostics = Diagnostics(text)
    names = _names(base)
    clauses = Clauses(text, names, diagnostics)
    tree, end = _tree(text, tokens, diagnostics)
    check_words(text, tokens)  # there may be more by now: keywords that touch have been parted
    rewriting = Rewriting(text, tokens)
    check_parts(text, tree)
    for prologue in tree.nodes("Prologue"):
        clauses.declare(prologue)
    standardise_words(_words(tree, tokens, end), names, diagnostics, rewriting)
    clauses.check_numbers(tree)
    if check_nesting(tokens, diagnostics):
        diagnostics.raise_first()
    check_patterns(tree, diagnostics)
    form = _form(tree)
    datasets = form.node("Datasets") if form is not None else None
    dataset = DatasetClauses()
    if form is not None and datasets is not None and datasets.end >= 0:
        dataset = read_dataset(datasets, clauses)
        check_graphs(form, dataset, clauses, rewriting)
    if end is not None:
        diagnostics.raise_first()
    assert form is not None and datasets is not None  # whatever breaks off a tree is raised by now

    registration = _registration(tree, form, clauses)
    _check_registration(tree, form, registration, dataset, require_register, diagnostics)
    check_projections(tree, diagnostics)
    _warn_of_instants(tree, datasets, dataset, registration, diagnostics)
    if datasets.children:
        rewriting.drop(datasets.start, datasets.end, "\n")
    output = form.node("Output")
    if output is not None:
        rewriting.drop(output.start, output.end)
    standardise_blocks(tree, form, diagnostics, rewriting)
    rewrite_timestamps(form, dataset, clauses, rewriting)
    rewrite_aggregates(form, rewriting, diagnostics)
    form_groups_below(form, rewriting)
    diagnostics.raise_first()

    return ContinuousQuery(
        text=text,
        name=registration.name,
        kind=registration.kind,
        form=form.rule.upper(),
        output=registration.output,
        every=registration.every,
        windows=tuple(dataset.windows),
        graphs=tuple(dict.fromkeys(dataset.graphs)),
        named_graphs=tuple(dict.fromkeys(dataset.named_graphs)),
        entailment=tuple(dict.fromkeys(registration.entailment + dataset.entailment)),
        body=_body(text, tokens, form, names, rewriting),
        variables=_variables(tree, form),
        groups=_groups(tree, form),
        listed=any(True for node in form.nodes("Modifiers") for _ in node.nodes("OrderBy")),
        warnings=diagnostics.warnings,
    )


@dataclass
class _Registration:
    name: str | None
    kind: str
    output: str
    every: int | None
    entailment: list[str]


def _registration(tree: Node, form: Node, clauses: Clauses) -> _Registration:
    found = _Registration(None, "query", "RSTREAM", None, [])
    register = tree.node("Register")
    outputs = form.nodes("Output")
    if register is not None:
        found.name = clauses.name(register.child("Name"))
        for number, node in enumerate(register.nodes("Every")):
            found.every = clauses.duration(node.child("Duration"))
            if number:
                clauses.diagnostics.add(node.start, node.end, "two-clocks", "COMPUTE EVERY stands here twice.")
        for node in register.nodes("Entailment"):
            found.entailment += clauses.entailment(node)
        outputs = register.nodes("Output") + outputs
        # RSP-QL registers the stream of answers; only triples can be read on by other queries.
        triples = form.rule in ("Construct", "Describe")
        if register.token("STREAM") is not None or (register.node("Output") is not None and triples):
            found.kind = "stream"
    for node in outputs:
        key = node.tokens()[0].key
        if node is not outputs[0] and key != found.output:
            clauses.diagnostics.add(
                node.start,
                node.end,
                "two-outputs",
                f"The query says both {found.output} and {key}.",
                hint="Keep one of them.",
            )
        found.output = key
    return found


def _check_registration(
    tree: Node,
    form: Node,
    registration: _Registration,
    dataset: DatasetClauses,
    required: bool,
    diagnostics: Diagnostics,
) -> None:
    first = form.tokens()[0]
    if tree.node("Register") is None:
        if required:
            diagnostics.add(
                first.start,
                first.end,
                "missing-register",
                "The query has no name.",
                expected="REGISTER",
                hint="Begin with REGISTER QUERY name AS.",
            )
        return
    if not dataset.windows:
        diagnostics.add(
            first.start,
            first.end,
            "missing-stream",
            "A registered query needs a stream, and this one names none.",
            expected="FROM STREAM",
            hint="Add FROM STREAM <s> [RANGE 10s STEP 5s] before WHERE.",
        )
    if registration.kind == "stream" and form.rule in ("Select", "Ask"):
        diagnostics.add(
            first.start,
            first.end,
            "stream-without-triples",
            f"A stream carries triples, and {first.text} gives none.",
            expected="CONSTRUCT",
            hint="Use CONSTRUCT, or REGISTER QUERY.",
        )
    ranges = [window.range for window in dataset.windows if window.range is not None]
    every = registration.every
    if every is not None and ranges and every > max(ranges):
        lost = in_words(every - max(ranges))
        diagnostics.warn(
            tree.child("Register").start, f"COMPUTE EVERY is longer than the windows: {lost} are never seen."
        )


def _warn_of_instants(
    tree: Node, datasets: Node, dataset: DatasetClauses, registration: _Registration, diagnostics: Diagnostics
) -> None:
    """Each instant is answered by itself: there may be more of them than anything can answer."""
    if registration.every is not None:
        steps = [(tree.child("Register").child("Every"), registration.every)]
    else:
        windows = zip(datasets.walk("Window"), dataset.windows, strict=True)
        steps = [(node, window.step) for node, window in windows if window.step is not None]
    for node, step in steps:
        if step < LEAST_STEP:
            diagnostics.warn(
                node.start,
                f"an instant every {step} ms is {1000 // step:,} answers a second, more than can be worked out. Write "
                "a longer STEP: elements are seen to the millisecond all the same.",
            )


def _tree(text: str, tokens: list[Token], diagnostics: Diagnostics) -> tuple[Node, int | None]:
    """The tree of a text, and where it ends when the text is wrong there."""
    end: int | None = None
    try:
        tree = read_tree(tokens)
    except Unexpected as unexpected:
        tree = unexpected.tree
        end = tokens[unexpected.index].start
        diagnostics.put(syntax_diagnostic(text, tokens, unexpected))
    return tree, end


def _form(tree: Node) -> Node | None:
    """The query form of a tree; nothing if the text is wrong before it."""
    query = tree.node("Query")
    return query.nodes()[0] if query is not None and query.nodes() else None


def _words(tree: Node, tokens: list[Token], end: int | None) -> list[Token]:
    """The tokens whose names are to be looked up: none of the prologue's, and only those before an error.

    A name in REGISTER may be declared behind it, so after an error it cannot be judged.
    """
    rules = ("Prologue",) if end is None else ("Prologue", "Register")
    spared = [(node.start, end if end is not None and node.end < 0 else node.end) for node in tree.nodes(*rules)]
    return [
        token
        for token in tokens
        if (end is None or token.end <= end) and not any(start <= token.start < stop for start, stop in spared)
    ]


def _body(text: str, tokens: list[Token], form: Node, names: Names, rewriting: Rewriting) -> str:
    head = names.text(with_base=any(form.all_tokens("IRI", "URI")))
    start, stop = form.start, tokens[-1].start
    try:
        check_evaluable(head + rewriting.write(start, stop, _without_answers(form, rewriting)))
    except BodyProblem as problem:
        first = form.tokens()[0]
        raise error_at(text, first.start, first.end, "not-sparql", str(problem)) from problem
    return head + rewriting.write(start, stop)


def _without_answers(form: Node, rewriting: Rewriting) -> dict[int, str]:
    """The changes after which the body of a query form has no answers: nothing is evaluated, no service is called."""
    changes: dict[int, str] = {}
    for service in form.walk("Service"):
        for token in service.tokens("SERVICE", "SILENT"):
            changes[token.start] = "GRAPH" if token.key == "SERVICE" else ""
    for negated in form.walk("PathNegated"):
        if (nothing := negated.token("NIL")) is not None:  # Oxigraph does not read it: what evaluates it, writes it so
            changes[nothing.start] = "(<urn:x-nothing>)"
    where = form.node("Where") or form.node("ShortWhere")
    if where is None:
        return changes
    group = where.node("Group") or where
    brackets = group.tokens("{", "}")
    changes[brackets[0].start] = "{ VALUES () {} {"
    changes[brackets[-1].start] = "} }"
    if where.rule == "ShortWhere":
        template = rewriting.write(where.start, where.end)
        changes[form.tokens()[0].start] = f"CONSTRUCT {template}"
    return changes


def _variables(tree: Node, form: Node) -> tuple[str, ...]:
    if form.rule != "Select":
        return ()
    names = projected(form)
    if form.child("Projection").token("*") is not None:
        for values in tree.nodes("Values"):
            names.update(visible(values))
        for item in form.walk("AggregateTuple"):
            names[item.tokens("VAR")[0].text[1:]] = None
    return tuple(names)


def _groups(tree: Node, form: Node) -> tuple[str, ...] | None:
    """What a query groups by, if it shows all of that, and no VALUES behind it repeats groups."""
    if form.rule != "Select" or not is_grouped(form) or tree.nodes("Values"):
        return None
    modifiers = form.child("Modifiers")
    conditions = [condition for node in modifiers.nodes("GroupBy") for condition in node.nodes("GroupCondition")]
    keys = tuple(grouped_variables(modifiers))
    return keys if len(keys) == len(conditions) and set(keys) <= set(_variables(tree, form)) else None


def _names(base: str | None) -> Names:
    try:
        return Names(base)
    except NameProblem as problem:
        raise LanguageError("bad-base", f"The base IRI is not usable: {problem.message}") from problem
