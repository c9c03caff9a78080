"""The compiled form: what a text asks for, as JSON that travels with it in the log, so that it is read only once.

    form = compiled(parse(text))               {"version": 4, "form": "SELECT", "windows": [{"stream": …}], "body": …}
    restored(form, text) == parse(text)        None, if another version wrote the form: then the text is read again

Invariants. A form is a function of the text, of its base and of `VERSION` alone; it has no text in it, and what is as
usual is left out. Whoever changes what `parse` makes of any text counts `VERSION` up: a test compares the forms of the
tests' texts with those of the version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from csparql_spark.language.queries.query import ContinuousQuery, Window

VERSION = 4

Form = dict[str, object]  # JSON: what each member is, its field says

# What most queries have, and need not say.
_USUAL: Form = {
    "name": None,
    "kind": "query",
    "output": "RSTREAM",
    "every": None,
    "graphs": (),
    "named_graphs": (),
    "entailment": (),
    "variables": (),
    "groups": None,
    "listed": False,
    "warnings": (),
}
_FIELDS = tuple(field.name for field in fields(ContinuousQuery) if field.name not in ("text", "windows"))
_OF_WINDOW = tuple((field.name, field.default) for field in fields(Window))


def compiled(query: ContinuousQuery) -> Form:
    """The form of a query."""
    values = {name: getattr(query, name) for name in _FIELDS}
    return {
        "version": VERSION,
        "windows": [_form_of(window) for window in query.windows],
        **{
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if name not in _USUAL or value != _USUAL[name]
        },
    }


def restored(form: object, text: str) -> ContinuousQuery | None:
    """The query of a text that has such a form; None if there is none, or it is of another version."""
    if not isinstance(form, Mapping) or form.get("version") != VERSION:
        return None
    values = {**_USUAL, **form}
    try:
        found = {name: tuple(value) if isinstance(value := values[name], list) else value for name in _FIELDS}
        windows = tuple(Window(**window) for window in form["windows"])
        return ContinuousQuery(text=text, windows=windows, **found)  # type: ignore[arg-type]    # JSON, of this version
    except (KeyError, TypeError):  # somebody else's: as good as none
        return None


def _form_of(window: Window) -> Form:
    return {name: value for name, usual in _OF_WINDOW if (value := getattr(window, name)) != usual}
