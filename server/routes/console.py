"""The console: the page of `/` for browsers, and its scripts and styles, as `web/` builds them into `web/dist`.

    GET /                          Accept: text/html       index.html; where it was not built, how to get it
    GET /console/main-3f9a.js                              for ever: the name tells the content
    GET /console/licences.txt                              of everything that is bundled

The page is asked for anew each time (by its ETag, which costs nothing); what it names may be kept for ever, since
another content has another name. Everything else the console does is a request that any other client could make.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from flask import Blueprint, Response, request

from csparql_spark import __version__
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.settings import Settings

_HASHED = re.compile(r"[\w.-]+-[A-Z0-9]{8}\.(?:js|css)")
_FILE = re.compile(r"[\w-][\w.-]*")
_YEAR = 365 * 86_400
_MEDIA_TYPES = {"js": "text/javascript", "css": "text/css", "txt": "text/plain", "html": "text/html"}


def routes(settings: Settings) -> Blueprint:
    blueprint = Blueprint("console", __name__)

    @blueprint.get("/console/<path:name>")
    def part(name: str) -> Response:
        if not _FILE.fullmatch(name) or not (settings.web / "dist" / name).is_file():
            raise Problem(
                "not-found", "The console has no such part: reload its page, since it may have been built anew."
            )
        return file_response(settings, name)

    return blueprint


def page(settings: Settings, does: Mapping[str, str]) -> Response:
    """The page for browsers: the console; where it was not built, what there is without it (`does`, by name)."""
    if (settings.web / "dist" / "index.html").is_file():
        return file_response(settings, "index.html")
    items = "".join(f'<li><a href="/{name}">/{name}</a>: {escape(what)}</li>' for name, what in does.items())
    text = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>csparql-spark</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;"
        "margin:0 auto;padding:1.5rem}pre{overflow-x:auto}</style>"
        f"<h1>csparql-spark {__version__}</h1><p>Continuous queries over RDF streams. The server runs; its "
        "console has not been built. With Node 20 or newer:</p><pre>make console</pre>"
        "<p>and reload this page. Everything that the console does is there over HTTP, too:</p>"
        f"<ul>{items}</ul></html>\n"
    )
    return Response(text, content_type="text/html; charset=utf-8", headers={"Cache-Control": "no-store"})


def file_response(settings: Settings, name: str) -> Response:
    """A file of the build; 304 if the client has it."""
    kind = _MEDIA_TYPES.get(name.rpartition(".")[2], "application/octet-stream")
    response = Response((settings.web / "dist" / name).read_bytes(), mimetype=kind)
    response.headers["Cache-Control"] = f"public, max-age={_YEAR}, immutable" if _HASHED.fullmatch(name) else "no-cache"
    if request.path == "/":
        response.headers["Vary"] = "Accept"
    response.add_etag()
    response.make_conditional(request)
    return response
