"""Login: a browser tells a token once, and is known by a cookie from then on.

Its routes:

    POST /login     {"token": "csp_…"} or the same as a form      200, and the cookie
    POST /logout                                                  204
    GET  /session   {"secured": true, "name": "lab", "scopes": ["read", "register"]}
"""

from __future__ import annotations

import json
from urllib.parse import parse_qs

from flask import Blueprint, Response, g, request

from csparql_spark.server.http import bodies
from csparql_spark.server.http.access import Access, know
from csparql_spark.server.http.problems import Problem
from csparql_spark.store.tokens import SCOPES, AccessToken

LONGEST_LOGIN = 4096


def routes(access: Access) -> Blueprint:
    blueprint = Blueprint("security", __name__)

    @blueprint.post("/login")
    def login() -> Response:
        if not access.secured:
            return described(None)
        token = access.log_in(asked_token)
        know(token)
        response = described(token)
        access.begin(token, response)
        return response

    @blueprint.post("/logout")
    def logout() -> Response:
        response = Response(status=204)
        access.end(response)
        return response

    @blueprint.get("/session")
    def session() -> Response:
        return described(g.get("token"))

    def described(token: AccessToken | None) -> Response:
        secured = access.secured
        scopes = [scope for scope in SCOPES if not secured or token is not None and scope in token.scopes]
        body = {"secured": secured, "name": token.name if token else None, "scopes": scopes}
        return Response(json.dumps(body) + "\n", content_type="application/json", headers={"Cache-Control": "no-store"})

    return blueprint


def asked_token() -> str:
    """The token in a login: JSON or a form."""
    text = bodies.utf8(bodies.read(request.environ, LONGEST_LOGIN), "The login")
    if request.mimetype == "application/json":
        try:
            body = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            body = None
        token = body.get("token") if isinstance(body, dict) else None
    else:
        token = parse_qs(text).get("token", [None])[0]
    if not isinstance(token, str) or not token.strip():
        raise Problem("bad-body", 'A login is {"token": "…"} as JSON, or a form with the field token.')
    return token.strip()
