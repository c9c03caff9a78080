"""From a text to a `ContinuousQuery`.

The steps, in order: tokens; the tree of the whole text; names and clauses; the body, rewritten into SPARQL 1.1; its
algebra. A text that fails is refused with the leftmost thing that is wrong with it.

    parse("ASK FROM STREAM <http://ex.org/s> [RANGE 5s] { ?s ?p ?o }").windows[0].range      ->  5000

Bounds: a text has at most `LONGEST_TEXT` bytes and its brackets are at most `DEEPEST_NESTING` deep.
"""

from __future__ import annotations

from csparql_spark.language.body import BodyProblem, algebra_of
from csparql_spark.language.clauses import Clauses
from csparql_spark.language.errors import LanguageError, error_at
from csparql_spark.language.problems import Problems
from csparql_spark.language.prologue import NameProblem, Names, undeclared
from csparql_spark.language.query import ContinuousQuery, Window
from csparql_spark.language.rewriting import Rewriting
from csparql_spark.language.syntax import Node, Unexpected, read_tree
from csparql_spark.language.tokens import Token, tokenize

LONGEST_TEXT = 256 * 1024
DEEPEST_NESTING = 100


def parse(text: str, *, base: str | None = None, require_register: bool = False) -> ContinuousQuery:
    """The query of a text; raises `LanguageError` and nothing else.

    `base` is what relative IRIs start from when the text has no BASE. A plain SPARQL query is a query without a name
    and without windows, unless `require_register` asks for a registration.
    """
    check_size(text)
    tokens = tokenize(text)
    check_nesting(text, tokens)
    try:
        tree = read_tree(tokens)
    except Unexpected as problem:
        token = tokens[problem.index]
        expected = ", ".join(sorted(problem.expected)[:8])
        found = f'"{token.text}"' if token.text else "the end"
        raise error_at(
            text,
            token.start,
            token.end,
            "unexpected",
            f"Found {found} where {expected} was expected.",
            expected=expected,
        ) from None
    problems = Problems(text)
    names = Names(base)
    clauses = Clauses(text, names, problems)
    for prologue in tree.nodes("Prologue"):
        clauses.declare(prologue)
    _borrow(tokens, names, problems)
    rewriting = Rewriting(text, tokens)

    register = tree.node("Register")
    if register is None and require_register:
        start = tree.node("Query").start
        problems.add(
            start,
            start + 1,
            "missing-register",
            "The query has no name.",
            expected="REGISTER",
            hint="Begin with REGISTER QUERY name AS.",
        )
    query_node = tree.node("Query")
    form_node = query_node.nodes()[0]
    name, kind, output, every, entailment = None, "query", "RSTREAM", None, []
    if register is not None:
        name = clauses.name(register.node("Name"))
        for node in register.nodes("Every"):
            every = clauses.duration(node.node("Duration"))
        for node in register.nodes("Entailment"):
            entailment += clauses.entailment(node)
        if register.token("STREAM") is not None:
            kind = "stream"
        if register.node("Output") is not None:
            output = register.node("Output").tokens()[0].key
            kind = "stream" if form_node.rule in ("Construct", "Describe") else "query"
    r2s = form_node.node("Output")
    if r2s is not None:
        output = r2s.tokens()[0].key
        rewriting.drop(r2s.start, r2s.end)

    windows: list[Window] = []
    graphs: list[str] = []
    named_graphs: list[str] = []
    datasets = form_node.node("Datasets")
    for node in datasets.nodes():
        if node.rule == "Entailment":
            entailment += clauses.entailment(node)
        elif node.node("Graph") is not None:
            found = named_graphs if node.token("NAMED") is not None else graphs
            found.append(clauses.iri(node.node("Graph").node("Iri")))
        elif node.node("Stream") is not None:
            stream = node.node("Stream")
            windows.append(
                clauses.window(
                    stream.node("Window"), clauses.iri(stream.node("Iri")), None, node.token("NAMED") is not None
                )
            )
        else:
            named = node.node("NamedWindow")
            iris = [clauses.iri(child) for child in named.nodes("Iri")]
            if named.token("AS") is not None:
                iris.reverse()
            windows.append(clauses.window(named.node("Window"), iris[1], iris[0], True))
    if datasets.children:
        rewriting.drop(datasets.start, datasets.end, "\n")
    _make_standard(query_node, clauses, rewriting)
    problems.raise_first()

    written = rewriting.write(query_node.start, tokens[-1].start)
    head = names.text()
    body = head + written.text
    try:
        algebra = algebra_of(body)
    except BodyProblem as problem:
        start = query_node.start if problem.offset is None else written.source(problem.offset - len(head))
        token = next((item for item in tokens if item.end > start), tokens[-1])
        raise error_at(text, token.start, token.end, problem.code, problem.message) from problem
    query = ContinuousQuery(
        text=text,
        name=name,
        kind=kind,
        form=form_node.rule.upper(),
        output=output,
        every=every,
        windows=tuple(windows),
        graphs=tuple(graphs),
        named_graphs=tuple(named_graphs),
        entailment=tuple(entailment),
        body=body,
        variables=_projected(form_node, algebra),
        warnings=problems.warnings,
    )
    query.__dict__["algebra"] = algebra
    return query


def check_size(text: str) -> None:
    """Refuse what is too long to be a query, and what is no text."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as reason:
        raise error_at(
            text, reason.start, reason.end, "bad-character", "The text is not valid Unicode."
        ) from reason
    if size > LONGEST_TEXT:
        raise LanguageError("too-large", f"The text has {size} bytes; {LONGEST_TEXT} are the most.")


def check_nesting(text: str, tokens: list[Token]) -> None:
    """Refuse brackets that are nested too deeply."""
    depth = 0
    for token in tokens:
        if token.key in ("(", "{", "["):
            depth += 1
            if depth > DEEPEST_NESTING:
                raise error_at(
                    text,
                    token.start,
                    token.end,
                    "too-deep",
                    f"More than {DEEPEST_NESTING} brackets are open here.",
                    hint="Write the query with fewer nested groups.",
                )
        elif token.key in (")", "}", "]"):
            depth -= 1


def _borrow(tokens: list[Token], names: Names, problems: Problems) -> None:
    declared = {id(name) for key, name in zip(tokens, tokens[1:]) if key.key == "PREFIX"}
    for token in tokens:
        if token.kind in ("PNAME_LN", "PNAME_NS") and id(token) not in declared:
            prefix = token.text.partition(":")[0]
            if names.borrow(prefix):
                problems.warn(
                    token.start, f'the prefix "{prefix}:" is not declared; it is read as <{names.prefixes[prefix]}>.'
                )
            elif prefix not in names.prefixes:
                problem = undeclared(prefix)
                problems.add(
                    token.start, token.start + len(prefix) + 1, problem.code, problem.message, hint=problem.hint
                )


def _make_standard(query: Node, clauses: Clauses, rewriting: Rewriting) -> None:
    for token in query.all_tokens():
        if token.kind == "IRIREF":
            try:
                iri = clauses.names.resolve(token.text[1:-1])
            except NameProblem as problem:
                clauses.problems.add(token.start, token.end, problem.code, problem.message, hint=problem.hint)
            else:
                rewriting.replace(token, f"<{iri}>")
    for literal in query.walk("Literal"):
        if literal.token("MISSING_CARETS") is not None:
            iri = literal.node("Iri")
            rewriting.put_before(iri.start, "^^")
            clauses.problems.warn(iri.start, 'the "^^" between a string and its datatype is missing.')
    for block in query.walk("WindowBlock"):
        rewriting.replace(block.children[0], "GRAPH")


def _projected(form: Node, algebra: object) -> tuple[str, ...]:
    if form.rule != "Select":
        return ()
    projection = form.node("Projection")
    if projection.token("*") is None:
        return tuple(item.tokens("VAR")[-1].text[1:] for item in projection.nodes("ProjectionItem"))
    visible = {str(variable) for variable in algebra.algebra.PV}
    seen = dict.fromkeys(token.text[1:] for token in form.all_tokens() if token.kind == "VAR")
    return tuple(name for name in seen if name in visible)
