"""The description of this interface for programs: GET /openapi.json, written by hand in the file of that name.

A test compares it with the routes, both ways. And what is true of all URLs: how long they may be.
"""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint, Flask, Response, request

from csparql_spark.server.http.names import ResourceNames
from csparql_spark.server.http.problems import Problem

DOCUMENT = Path(__file__).with_name("openapi.json")
LONGEST_URL = 32 << 10


def routes(names: ResourceNames) -> Blueprint:
    blueprint = Blueprint("openapi", __name__)
    document = DOCUMENT.read_bytes().replace(b'"http://127.0.0.1:8000"', f'"{names.base}"'.encode())

    @blueprint.get("/openapi.json")
    def openapi() -> Response:
        return Response(document, content_type="application/json", headers={"Cache-Control": "no-cache"})

    return blueprint


def install(app: Flask) -> None:
    @app.before_request
    def refuse_long_urls() -> None:
        length = len(request.environ.get("PATH_INFO", "")) + len(request.environ.get("QUERY_STRING", ""))
        if length > LONGEST_URL:
            raise Problem(
                "long-url",
                f"The URL has {length} bytes, and this server reads {LONGEST_URL}: POST a long query as a body.",
                limit=LONGEST_URL,
            )
