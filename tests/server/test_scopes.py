"""Every route has a scope, or is open on purpose."""

from __future__ import annotations

import pytest

from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.http.scopes import OPEN, TABLE, needed
from csparql_spark.store.tokens import SCOPES

IMPLIED = {"HEAD", "OPTIONS"}
OPEN_TO_ALL = {"/", "/problems/<code>", "/openapi.json", "/health", "/session", "/login", "/logout"}


def test_every_route_has_a_scope(backend: Backend) -> None:
    routes = [
        (rule.rule, method)
        for rule in create_app(backend).url_map.iter_rules()
        for method in sorted(rule.methods - IMPLIED)
    ]
    assert ("/streams/<name:name>", "POST") in routes
    assert [route for route in routes if needed(*route) is None] == []


def test_what_is_open_is_so_on_purpose(backend: Backend) -> None:
    opened = {
        rule.rule
        for rule in create_app(backend).url_map.iter_rules()
        for method in rule.methods - {"OPTIONS"}
        if needed(rule.rule, method) == OPEN
    }
    assert {rule for rule in opened if not rule.startswith("/console/")} <= OPEN_TO_ALL


def test_what_changes_something_is_not_for_readers(backend: Backend) -> None:
    questions = {"/sparql", "/check", "/login", "/logout"}
    found = {
        rule.rule
        for rule in create_app(backend).url_map.iter_rules()
        for method in rule.methods & {"POST", "PUT", "PATCH", "DELETE"}
        if needed(rule.rule, method) in ("read", OPEN)
    }
    assert found <= questions


@pytest.mark.parametrize(
    "rule, method, scope",
    [
        ("/streams/<name:name>", "POST", "push"),
        ("/streams/<name:name>", "PUT", "register"),
        ("/queries/<name:name>/pause", "POST", "register"),
        ("/queries/<name:name>/answers", "GET", "read"),
        ("/queries/<name:name>/answers", "HEAD", "read"),
        ("/sparql", "POST", "read"),
        ("/", "GET", OPEN),
        ("/console/<path:file>", "GET", OPEN),
        ("/metrics", "POST", None),
        ("/somewhere", "GET", None),
    ],
)
def test_needed(rule: str, method: str, scope: str | None) -> None:
    assert needed(rule, method) == scope


def test_the_table_knows_only_scopes_that_there_are() -> None:
    assert {scope for methods in TABLE.values() for scope in methods.values()} <= {*SCOPES, OPEN}
