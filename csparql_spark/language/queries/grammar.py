"""The grammar of C-SPARQL, RSP-QL and SPARQL 1.1 as one table.

The table below is the union of what the papers, the engines and the drafts write, around the W3C's grammar. It is
LL(1): the next token alone decides, so a text is read from left to right without ever going back, and the first token
that fits nowhere is the first thing that is wrong. `compile_rules` turns the text into nodes that know which tokens
may begin them.

    Window = '[' Extent ']' ;            rules are CamelCase, 'signs' and 'KEYWORDS' are quoted, KINDS are bare
    Extent = 'RANGE' Range | Elements ;  | chooses, [ ] is optional, { } repeats

Invariants, checked when the module is loaded: every rule is defined, and no two alternatives begin with the same
token, except that a keyword is preferred to a `WORD`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

GRAMMAR = r"""
Unit = Prologue [ Register Prologue ] Query [ Values ] END ;
Prologue = { Base | Prefix } ;
Base = 'BASE' IRIREF ;
Prefix = 'PREFIX' PNAME_NS IRIREF ;

Register = 'REGISTER' ( 'QUERY' | 'STREAM' | Output ) Name { Every | Entailment } 'AS' ;
Name = Iri | INTEGER | WORD ;
Every = ( 'COMPUTED' | 'COMPUTE' ) 'EVERY' Duration ;
Output = 'RSTREAM' | 'ISTREAM' | 'DSTREAM' ;
Entailment = ( 'USING' | 'UNDER' ) 'ENTAILMENT' [ 'REGIME' ] Regime { ',' Regime } ;
Regime = Iri | WORD ;

Query = Select | Construct | Describe | Ask ;
Select = 'SELECT' [ Distinct [ Output ] | Output [ Distinct ] ] Projection Datasets Where Modifiers ;
Construct = 'CONSTRUCT' [ Output ]
            ( Template Datasets Where Modifiers | Datasets 'WHERE' ShortWhere Modifiers ) ;
Describe = 'DESCRIBE' [ Output ] ( '*' | VarOrIri { VarOrIri } ) Datasets [ Where ] Modifiers ;
Ask = 'ASK' [ Output ] Datasets Where Modifiers ;
Distinct = 'DISTINCT' | 'REDUCED' ;
Projection = '*' | ProjectionItem { ProjectionItem } ;
ProjectionItem = VAR | '(' Expression 'AS' VAR ')' ;

Datasets = { Dataset | Entailment } ;
Dataset = 'FROM' ( Graph | Stream | 'NAMED' ( Graph | Stream | NamedWindow ) ) ;
Graph = [ 'GRAPH' ] Iri ;
Stream = 'STREAM' Iri Window ;
NamedWindow = 'WINDOW' ( Iri 'ON' [ 'STREAM' ] Iri Window | 'ON' [ 'STREAM' ] Iri Window 'AS' Iri ) ;
Window = '[' Extent ']' ;
Extent = 'RANGE' ( Triples | Range ) | Elements ;
Triples = 'TRIPLES' INTEGER CountTail ;
Range = INTEGER ( 'TRIPLES' CountTail | WORD RangeTail ) | WORD RangeTail ;
RangeTail = [ ( 'STEP' | 'SLIDE' ) Duration | 'TUMBLING' ] ;
CountTail = [ ( 'STEP' | 'SLIDE' ) INTEGER | 'TUMBLING' ] ;
Elements = 'ELEMENTS' INTEGER CountTail ;
Duration = INTEGER WORD | WORD ;

Where = [ 'WHERE' ] Group ;
ShortWhere = '{' [ TemplateTriples ] '}' ;
Template = '{' [ TemplateTriples ] '}' ;
Modifiers = { Aggregate } [ GroupBy ] [ Having ] [ OrderBy ] [ Slice ] { Aggregate } ;
GroupBy = 'GROUP' 'BY' GroupCondition { GroupCondition } ;
GroupCondition = BuiltIn | FunctionCall | '(' Expression [ 'AS' VAR ] ')' | VAR ;
Having = 'HAVING' Constraint { Constraint } ;
OrderBy = 'ORDER' 'BY' OrderCondition { OrderCondition } ;
OrderCondition = ( 'ASC' | 'DESC' ) Bracketed | Constraint | VAR ;
Slice = Limit [ Offset ] | Offset [ Limit ] ;
Limit = 'LIMIT' INTEGER ;
Offset = 'OFFSET' INTEGER ;
Values = 'VALUES' DataBlock ;

Aggregate = 'AGGREGATE' '{' AggregateTuple { AggregateTuple } '}' ;
AggregateTuple = '(' VAR ',' AggregateFunction ',' AggregateGroup ')' { 'FILTER' Constraint } [ '.' ] ;
AggregateFunction = ( 'COUNT' | 'SUM' | 'AVG' | 'MIN' | 'MAX' ) [ '(' [ 'DISTINCT' ] ( '*' | VAR ) ')' ] ;
AggregateGroup = '{' VAR { ',' VAR } '}' | VAR ;

Group = '{' ( SubSelect | GroupBody ) '}' ;
SubSelect = 'SELECT' [ Distinct ] Projection Where SubModifiers [ Values ] ;
SubModifiers = [ GroupBy ] [ Having ] [ OrderBy ] [ Slice ] ;
GroupBody = [ _TriplesBlock ] { _NotTriples [ '.' ] [ _TriplesBlock ] } ;
_TriplesBlock = TriplesPath [ '.' [ _TriplesBlock ] ] ;
_NotTriples = Union | Optional | Minus | GraphBlock | WindowBlock | Service | Filter | Bind | Values ;
Union = Group { 'UNION' Group } ;
Optional = 'OPTIONAL' Group ;
Minus = 'MINUS' Group ;
GraphBlock = 'GRAPH' VarOrIri Group ;
WindowBlock = 'WINDOW' VarOrIri Group ;
Service = 'SERVICE' [ 'SILENT' ] VarOrIri Group ;
Filter = 'FILTER' Constraint ;
Bind = 'BIND' '(' Expression 'AS' VAR ')' ;
Constraint = Bracketed | BuiltIn | FunctionCall ;

DataBlock = VAR '{' { DataValue } '}' | ( NIL | '(' { VAR } ')' ) '{' { '(' { DataValue } ')' | NIL } '}' ;
DataValue = Iri | PlainLiteral | Number | Boolean | 'UNDEF' ;

TriplesPath = VarOrTerm PropertyPathList | _NodePath [ PropertyPathList ] ;
PropertyPathList = ( Path | VAR ) ObjectsPath { ';' [ ( Path | VAR ) ObjectsPath ] } ;
ObjectsPath = ObjectPath { ',' ObjectPath } ;
ObjectPath = VarOrTerm | _NodePath ;
_NodePath = CollectionPath | BlankPath ;
CollectionPath = '(' ListItemPath { ListItemPath } ')' ;
ListItemPath = VarOrPlainTerm | _NodePath ;
BlankPath = '[' PropertyPathList ']' ;
Path = PathSequence { '|' PathSequence } ;
PathSequence = PathStep { '/' PathStep } ;
PathStep = [ '^' ] PathPrimary [ '?' | '*' | '+' ] ;
PathPrimary = Iri | 'a' | '!' PathNegated | '(' Path ')' ;
PathNegated = PathOne | '(' PathOne { '|' PathOne } ')' | NIL ;
PathOne = Iri | 'a' | '^' ( Iri | 'a' ) ;

TemplateTriples = _TemplateTriples ;
_TemplateTriples = Triple [ '.' [ _TemplateTriples ] ] ;
Triple = VarOrTerm PropertyList | _Node [ PropertyList ] ;
PropertyList = Verb Objects { ';' [ Verb Objects ] } ;
Verb = VarOrIri | 'a' ;
Objects = Object { ',' Object } ;
Object = VarOrTerm | _Node ;
_Node = Collection | Blank ;
Collection = '(' ListItem { ListItem } ')' ;
ListItem = VarOrPlainTerm | _Node ;
Blank = '[' PropertyList ']' ;

Expression = And { '||' And } ;
And = Relation { '&&' Relation } ;
Relation = Sum [ ( '=' | '!=' | '<' | '>' | '<=' | '>=' ) Sum | 'IN' ExpressionList | 'NOT' 'IN' ExpressionList ] ;
Sum = Product { ( '+' | '-' ) Product | SIGNED { ( '*' | '/' ) Unary } } ;
Product = Unary { ( '*' | '/' ) Unary } ;
Unary = [ '!' | '+' | '-' ] Primary ;
Primary = Bracketed | BuiltIn | IriOrFunction | Literal | Number | Boolean | VAR ;
Bracketed = '(' Expression ')' ;
ExpressionList = NIL | '(' Expression { ',' Expression } ')' ;
Arguments = NIL | '(' Expression { ',' Expression } ')' ;
FunctionCall = Iri Arguments ;
IriOrFunction = Iri [ Arguments ] ;
BuiltIn = OneArgument '(' Expression ')'
        | TwoArguments '(' Expression ',' Expression ')'
        | NoArgument NIL
        | 'BOUND' '(' VAR ')'
        | 'BNODE' ( NIL | '(' Expression ')' )
        | 'IF' '(' Expression ',' Expression ',' Expression ')'
        | ( 'COALESCE' | 'CONCAT' ) ExpressionList
        | ( 'REGEX' | 'SUBSTR' ) '(' Expression ',' Expression [ ',' Expression ] ')'
        | 'REPLACE' '(' Expression ',' Expression ',' Expression [ ',' Expression ] ')'
        | 'EXISTS' Group
        | 'NOT' 'EXISTS' Group
        | Timestamp
        | Set ;
OneArgument = 'STR' | 'LANG' | 'DATATYPE' | 'IRI' | 'URI' | 'ABS' | 'CEIL' | 'FLOOR' | 'ROUND' | 'STRLEN'
            | 'UCASE' | 'LCASE' | 'ENCODE_FOR_URI' | 'YEAR' | 'MONTH' | 'DAY' | 'HOURS' | 'MINUTES' | 'SECONDS'
            | 'TIMEZONE' | 'TZ' | 'MD5' | 'SHA1' | 'SHA256' | 'SHA384' | 'SHA512'
            | 'ISIRI' | 'ISURI' | 'ISBLANK' | 'ISLITERAL' | 'ISNUMERIC' ;
TwoArguments = 'LANGMATCHES' | 'CONTAINS' | 'STRSTARTS' | 'STRENDS' | 'STRBEFORE' | 'STRAFTER' | 'STRLANG'
             | 'STRDT' | 'SAMETERM' ;
NoArgument = 'RAND' | 'NOW' | 'UUID' | 'STRUUID' ;
Set = 'COUNT' '(' [ 'DISTINCT' ] ( '*' | Expression ) ')'
    | ( 'SUM' | 'MIN' | 'MAX' | 'AVG' | 'SAMPLE' ) '(' [ 'DISTINCT' ] Expression ')'
    | 'GROUP_CONCAT' '(' [ 'DISTINCT' ] Expression [ ';' 'SEPARATOR' '=' STRING ] ')' ;
Timestamp = 'TIMESTAMP' '(' VarOrTerm [ Iri | TimestampPattern | ',' VarOrTerm ',' VarOrTerm ] ')' ;
TimestampPattern = '{' [ TemplateTriples ] '}' ;

VarOrTerm = VAR | _Term ;
_Term = Iri | Literal | Number | Boolean | BLANK | ANON | NIL ;
VarOrPlainTerm = VAR | Iri | PlainLiteral | Number | Boolean | BLANK | ANON | NIL ;
VarOrIri = VAR | Iri ;
Iri = IRIREF | PNAME_LN | PNAME_NS ;
Literal = STRING [ LANGTAG | '^^' Iri | MISSING_CARETS Iri ] ;
PlainLiteral = STRING [ LANGTAG | '^^' Iri | MISSING_CARETS ] ;
Number = INTEGER | DECIMAL | DOUBLE | SIGNED ;
Boolean = 'TRUE' | 'FALSE' ;
"""


@dataclass(slots=True, eq=False)
class Part:
    """A piece of a rule: what may begin it, and whether it may be empty."""

    kind: str  # "token", "rule", "sequence", "choice", "optional", "repeat"
    name: str = ""
    parts: tuple[Part, ...] = ()
    first: frozenset[str] = frozenset()
    nullable: bool = False
    choices: dict[str, Part] = field(default_factory=dict)


def compile_rules(grammar: str) -> dict[str, Part]:
    """The rules of a grammar text, by name, each with its first tokens."""
    rules: dict[str, Part] = {}
    words = re.findall(r"'[^']+'|\w+|[=|;\[\]{}()]", grammar)
    position = 0
    while position < len(words):
        name = words[position]
        body, position = _alternatives(words, position + 2)
        rules[name] = body
        position += 1
    _fill_first(rules)
    _check(rules)
    return rules


def _alternatives(words: list[str], position: int) -> tuple[Part, int]:
    options: list[Part] = []
    sequence: list[Part] = []
    while True:
        word = words[position]
        if word in (";", ")", "]", "}"):
            options.append(_sequence(sequence))
            return (options[0] if len(options) == 1 else Part("choice", parts=tuple(options))), position
        if word == "|":
            options.append(_sequence(sequence))
            sequence = []
            position += 1
            continue
        if word in "([{":
            inner, position = _alternatives(words, position + 1)
            kind = {"[": "optional", "{": "repeat"}.get(word)
            sequence.append(Part(kind, parts=(inner,)) if kind else inner)
        elif word.startswith("'"):
            sequence.append(Part("token", word[1:-1]))
        elif word.isupper():
            sequence.append(Part("token", word))
        else:
            sequence.append(Part("rule", word))
        position += 1


def _sequence(parts: list[Part]) -> Part:
    return parts[0] if len(parts) == 1 else Part("sequence", parts=tuple(parts))


def _fill_first(rules: dict[str, Part]) -> None:
    changed = True
    while changed:
        changed = False
        for body in rules.values():
            changed |= _update(body, rules)


def _update(part: Part, rules: dict[str, Part]) -> bool:
    changed = False
    for inner in part.parts:
        changed |= _update(inner, rules)
    first: set[str] = set()
    nullable = part.kind in ("optional", "repeat")
    if part.kind == "token":
        first.add(part.name)
    elif part.kind == "rule":
        first |= rules[part.name].first
        nullable = rules[part.name].nullable
    elif part.kind == "sequence":
        nullable = True
        for inner in part.parts:
            first |= inner.first
            if not inner.nullable:
                nullable = False
                break
    else:
        for inner in part.parts:
            first |= inner.first
            nullable |= inner.nullable
    if first != part.first or nullable != part.nullable:
        part.first, part.nullable = frozenset(first), nullable
        changed = True
    return changed


def _check(rules: dict[str, Part]) -> None:
    def visit(part: Part) -> None:
        if part.kind == "choice":
            for option in part.parts:
                for key in option.first:
                    if key in part.choices:
                        raise ValueError(f"two alternatives begin with {key}")
                    part.choices[key] = option
        for inner in part.parts:
            visit(inner)

    for body in rules.values():
        visit(body)


RULES = compile_rules(GRAMMAR)
KEYWORDS = frozenset(re.findall(r"'([A-Z_0-9]+)'", GRAMMAR))
