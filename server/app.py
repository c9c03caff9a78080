"""The application: the routes over one backend, put together.

For example:

    with Backend(settings) as backend:
        app = create_app(backend)
        app.test_client().put("/streams/temp")
"""

from __future__ import annotations

from collections.abc import Iterator

from flask import Blueprint, Flask, Response, request
from flask.json.provider import DefaultJSONProvider
from werkzeug.routing import BaseConverter

from csparql_spark import __version__
from csparql_spark.server import openapi
from csparql_spark.server.backend import Backend
from csparql_spark.server.http import names, problems, security
from csparql_spark.server.routes import (
    answers,
    check,
    console,
    events,
    explain,
    graphs,
    health,
    knowledge,
    measures,
    metrics,
    observers,
    pausing,
    queries,
    rules,
    sparql,
    streams,
    timeline,
    vocabulary,
    why,
)

ROUTES = {
    "streams": "GET lists them; PUT /streams/{name} creates one, POST pushes RDF into it, DELETE deletes it",
    "queries": "GET lists them; PUT /queries/{name} registers one, DELETE deletes it; "
    "GET /queries/{name}/answers answers",
    "graphs": "GET lists them; PUT, POST, GET and DELETE /graphs?graph={IRI} set, add to, read and delete one",
    "rules": "GET lists them; PUT, GET and DELETE /rules/{name} set, read and delete one",
    "sparql": "GET and POST answer a question once, over graphs and over what streams hold now",
    "health": "GET tells whether answers will come",
}


def blueprints(backend: Backend) -> Iterator[Blueprint]:
    """The routes, and of the backend's parts those that they need. Streams and queries need all: they are counted
    before they are made, and the threads are told afterwards."""
    settings, stores, threads = backend.settings, backend.stores, backend.threads
    # What is kept,
    yield from (module.routes(backend) for module in (streams, queries))
    yield graphs.routes(settings, stores, backend.reader, backend.holdings)
    yield rules.routes(settings, stores, backend.texts)
    yield knowledge.routes(settings, stores, backend.reader, backend.pool, backend.holdings)
    yield pausing.routes(stores, threads)
    yield observers.routes(settings, stores, threads)
    # what is answered,
    yield answers.routes(settings, stores, threads, backend.holdings)
    yield events.routes(settings, stores, threads)
    yield sparql.routes(settings, stores, backend.pool, backend.holdings)
    # how it is looked at,
    yield explain.routes(settings, stores, backend.pool)
    yield why.routes(stores, backend.pool)
    yield timeline.routes(stores, backend.pool, backend.holdings)
    yield measures.routes(stores)
    yield health.routes(settings, stores, threads)
    yield metrics.routes(settings, stores, threads)
    # and for whom besides.
    yield console.routes(settings)
    yield check.routes(settings, stores, backend.checked_texts)
    yield vocabulary.routes(stores)
    yield openapi.routes(stores.names)


class NameConverter(BaseConverter):
    """A name in a path: one segment, or an IRI whose slashes were not encoded."""

    part_isolating = False
    regex = ".+?"
    weight = 200  # as the converter of paths: what is spelled out goes before


def create_app(backend: Backend) -> Flask:
    app = Flask("csparql_spark.server", static_folder=None)
    app.json = json = DefaultJSONProvider(app)
    json.sort_keys, json.ensure_ascii, json.compact = False, False, True
    app.url_map.converters["name"] = NameConverter
    app.url_map.merge_slashes = False
    app.url_map.strict_slashes = False
    problems.install(app)
    openapi.install(app)
    security.install(app, backend.settings, backend.tokens, backend.sessions)
    for blueprint in blueprints(backend):
        app.register_blueprint(blueprint)

    @app.url_value_preprocessor
    def decode_name(endpoint: str | None, values: dict[str, str] | None) -> None:
        if values and "name" in values:
            values["name"] = names.decoded(values["name"])

    @app.get("/")
    def service() -> Response | dict[str, str | dict[str, str]]:
        if request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html":
            return console.page(backend.settings, ROUTES)
        links = {name: {"url": f"{backend.stores.names.base}/{name}", "does": does} for name, does in ROUTES.items()}
        return {"service": "csparql-spark", "version": __version__, **links}

    @app.after_request
    def without_content(response: Response) -> Response:
        if response.status_code == 204:
            del response.headers["Content-Type"]
        return response

    app.wsgi_app = names.as_sent(app.wsgi_app)  # type: ignore[method-assign]  # as Flask wants it to be done
    return app
