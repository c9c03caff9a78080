"""Problems: everything that can go wrong with a request, as RFC 9457 problem documents.

A problem has a code. The code fixes the title and (but for queries that are refused, which is always 422) the status,
so that programs can rely on them; `detail` is for the person who sent the request, and says what to do. Further members
(`errors`, `accepted`, `limit`, …) are for programs.

    raise Problem("unknown-stream", "There is no stream <http://…/temp>: create it with PUT /streams/temp.")

    {"type": "/problems/unknown-stream", "title": "Unknown stream", "status": 404, "detail": "There is …",
     "code": "unknown-stream"}

Whatever else goes wrong becomes a problem too: `install` sees to it that no client ever reads a stack trace.
"""

from __future__ import annotations

import json
import re
import sys
import traceback
import uuid
from collections.abc import Mapping
from typing import TypedDict

from flask import Flask, Response
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from csparql_spark.answers.limits import TooMuch
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.allowance import AllowanceSpent
from csparql_spark.asking.guarded import Crowded
from csparql_spark.disk import StoreError
from csparql_spark.disk.damage import Damaged
from csparql_spark.disk.errors import DatabaseFull
from csparql_spark.language import LanguageError
from csparql_spark.language.errors import Fix
from csparql_spark.rdf.errors import RdfError

MEDIA_TYPE = "application/problem+json"
_WORD = re.compile(r"[a-z]+(?:'[a-z]*)?[,;:.!?]?(?:\s|$)")  # owl-horst, f:timestamp and keep_log are names

# code: (status, title, what it means)
CATALOGUE: dict[str, tuple[int, str, str]] = {
    "bad-request": (400, "Bad request", "The request does not follow HTTP."),
    "bad-body": (400, "Unreadable body", "The body is not what its headers say: damaged, or not UTF-8, or not JSON."),
    "empty-body": (400, "Empty body", "The request has no body, and without one there is nothing to do."),
    "truncated-body": (400, "Truncated body", "The connection ended before the body was complete; nothing was kept."),
    "bad-setting": (400, "Bad setting", "A member of the body or an argument of the URL is not allowed."),
    "bad-name": (400, "Bad name", "Names are 1 to 200 letters, digits and _ . ~ - or a percent-encoded absolute IRI."),
    "bad-instant": (400, "Bad instant", "Instants are epoch milliseconds or an xsd:dateTime."),
    "bad-event-id": (400, "Bad event id", "Event ids are those that this server sent, as they are."),
    "bad-rdf": (400, "RDF that does not parse", "The body is not RDF of the format its Content-Type names."),
    "bad-query": (400, "Query that does not parse", "The text is not a C-SPARQL or RSP-QL query."),
    "bad-rules": (400, "Bad rules", "The text is no rule file in Jena's syntax, or its rules cannot be followed."),
    "bad-triple": (400, "Bad triple", "The text is not one triple."),
    "bad-graph": (400, "Bad graph", "The URL does not name a graph by its IRI, or the body names graphs, too."),
    "bad-idempotency-key": (400, "Bad idempotency key", "An Idempotency-Key is 1 to 200 visible ASCII characters."),
    "bad-url": (400, "Bad callback", "The text is no URL that answers could be sent to."),
    "bad-update": (400, "Bad update", "The text is not SPARQL Update."),
    "token-in-url": (400, "Token in a URL", "Tokens are sent in the header Authorization, never in URLs."),
    "unauthorized": (401, "Unauthorized", "The server asks for a token, or does not know the one that was sent."),
    "forbidden": (403, "Forbidden", "The token does not have the scope that this needs."),
    "cross-origin": (403, "Another origin", "A page of another site cannot change anything here."),
    "wrong-host": (403, "Wrong host", "A server without tokens is only for its own machine, under its own names."),
    "url-not-allowed": (403, "Callback not allowed", "This server does not send answers to this URL."),
    "not-found": (404, "Not found", "There is nothing at this URL."),
    "unknown-stream": (404, "Unknown stream", "No stream has this name."),
    "unknown-query": (404, "Unknown query", "No query has this name."),
    "unknown-graph": (404, "Unknown graph", "No background graph has this IRI."),
    "unknown-rules": (404, "Unknown rule set", "No rule set has this name."),
    "unknown-version": (404, "Unknown version", "The query has no such version, or it is kept no longer."),
    "unknown-observer": (404, "Unknown observer", "The query has no observer of this id."),
    "no-answer": (404, "No answer at this instant", "The query has no answer at this instant, or no longer."),
    "method-not-allowed": (405, "Method not allowed", "The URL exists and does not understand this method."),
    "not-acceptable": (406, "Not acceptable", "The answer cannot be written in a format that the client accepts."),
    "timeout": (408, "Timeout", "The request stopped in the middle for too long; nothing was kept."),
    "stream-exists": (409, "Stream exists", "A stream of this name exists and is another one."),
    "stream-in-use": (409, "Stream in use", "A registered query reads the stream."),
    "derived-stream": (409, "Derived stream", "A query makes, fills and deletes the stream, and nobody else does."),
    "graph-in-use": (409, "Graph in use", "A registered query reads the graph."),
    "rules-in-use": (409, "Rule set in use", "A registered query, or another rule set, uses the rule set."),
    "built-in-rules": (409, "Built-in rule set", "The name is that of a rule set that comes with the server."),
    "query-exists": (409, "Query exists", "A query of this name is registered and has another text."),
    "query-failed": (409, "Query failed", "The query has failed, and says no more."),
    "limit-reached": (409, "Limit reached", "There are as many of these as this server keeps."),
    "precondition-failed": (
        412,
        "Precondition failed",
        "What there is is not what If-Match or If-None-Match asks for.",
    ),
    "too-large": (413, "Too large", "The body is larger than this server takes."),
    "long-url": (414, "URL too long", "The URL is longer than this server reads."),
    "unsupported-format": (415, "Unsupported format", "The Content-Type is not one that this URL reads."),
    "unsupported-encoding": (415, "Unsupported encoding", "Bodies may be compressed with gzip or zstd, and are UTF-8."),
    "name-mismatch": (422, "Two names", "The name in the URL and the name in the text differ."),
    "no-stream": (422, "Query without a stream", "The query parses, and reads no stream."),
    "not-supported": (422, "Not supported", "The query parses, and asks for something that this server does not do."),
    "idempotency-key-reused": (422, "Idempotency key reused", "The key was used for another push into this stream."),
    "cycle": (422, "Cycle", "What the query reads comes, perhaps through other queries, from its own output."),
    "bad-include": (422, "Bad include", "The rule file includes a rule set that is not there, or itself."),
    "too-many-rows": (422, "Too many rows", "The answer would be larger than what is given at once."),
    "too-much": (422, "Too much", "The question, or the text, needs more time or memory than one may have."),
    "refused": (422, "Refused", "The query parses and cannot be registered."),
    "too-many-connections": (429, "Too many connections", "This address holds as many connections as one may."),
    "too-many-attempts": (429, "Too many attempts", "Too many wrong tokens came from this address."),
    "large-head": (431, "Large head", "The request's head is longer than this server reads, or has more headers."),
    "damaged": (500, "Damaged", "What the store holds of this is damaged on the disk."),
    "internal": (500, "Internal error", "A fault of the server; it is in the server's log under the incident."),
    "busy": (503, "Busy", "The server holds as much as it can; nothing of the request was kept."),
    "store-unavailable": (503, "Store unavailable", "The store cannot be used now; nothing of the request was kept."),
    "too-many-subscribers": (503, "Too many subscribers", "All places for subscribers are taken."),
    "store-full": (507, "Store full", "The disk is full; nothing of the request was kept."),
}
_CODE_OF_STATUS = {
    400: "bad-request",
    404: "not-found",
    405: "method-not-allowed",
    406: "not-acceptable",
    408: "timeout",
    413: "too-large",
    415: "unsupported-format",
}


class ProblemTypeBody(TypedDict):
    """What a code means."""

    code: str
    status: int
    title: str
    meaning: str


class FixBody(TypedDict):
    """Characters to be replaced, after which a mistake is gone."""

    label: str
    line: int
    column: int
    endLine: int
    endColumn: int
    text: str


class Problem(Exception):
    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        **members: object,
    ) -> None:
        super().__init__(detail)
        self.code, self.detail, self.members = code, detail, members
        self.headers = dict(headers or {})
        usual, self.title, _ = CATALOGUE[code]
        self.status = status or usual

    def body(self) -> bytes:
        document = {
            "type": f"/problems/{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            **self.members,
        }
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def response(self) -> Response:
        headers = {**self.headers, "Cache-Control": "no-store"}
        return Response(self.body(), self.status, headers, content_type=MEDIA_TYPE)


def sentence(text: str) -> str:
    """The text with a capital at its start and a full stop at its end. What stands at its start and is no word, but a
    URL, an IRI, a name, a command or an option, stays as it is."""
    begun = text[:1].upper() + text[1:] if _WORD.match(text) else text
    return begun + ("" if text.endswith((".", "?", "!")) else ".")


def of_rdf(error: RdfError, outcome: str = "Nothing of this push was kept.") -> Problem:
    place = {} if error.line is None else {"line": error.line, "column": error.column}
    offending = {"offending": error.offending} if error.offending else {}
    mistake = {**place, "message": error.message, **offending}
    return Problem("bad-rdf", f"{error} {outcome}", errors=[mistake])


def of_language(error: LanguageError, code: str = "bad-query") -> Problem:
    mistake: dict[str, object] = {  # a member of a problem document
        "line": error.line,
        "column": error.column,
        "endColumn": error.end_column,
        "message": error.message,
        "hint": error.hint,
        "code": error.code,
    }
    if (fix := fix_body(error.fix)) is not None:
        mistake["fix"] = fix
    return Problem(code, sentence(str(error)), errors=[mistake])


def fix_body(fix: Fix | None) -> FixBody | None:
    """What to write instead, if that is known."""
    if fix is None:
        return None
    return {
        "label": fix.label,
        "line": fix.line,
        "column": fix.column,
        "endLine": fix.end_line,
        "endColumn": fix.end_column,
        "text": fix.text,
    }


def of_refusal(refusal: Refusal) -> Problem:
    return Problem(refusal.code if refusal.code in CATALOGUE else "refused", sentence(str(refusal)), status=422)


def of_store(error: StoreError) -> Problem:
    # The writer of the log says it in a sentence of its own, of which it is the cause.
    if isinstance(error, DatabaseFull) or isinstance(error.__cause__, DatabaseFull):
        return Problem("store-full", f"{sentence(str(error))} Make room on the disk, then try again.")
    return Problem("store-unavailable", sentence(str(error)), headers={"Retry-After": "5"})


def of_crowd(error: Crowded) -> Problem:
    return Problem("busy", sentence(str(error)), headers={"Retry-After": "5"})


def of_excess(error: TooMuch) -> Problem:
    return Problem("too-much", f"This cannot be answered: {error}.")


def of_damaged(error: Damaged) -> Problem:
    return Problem("damaged", sentence(str(error)))


def of_size(error: AllowanceSpent) -> Problem:
    return Problem("too-large", sentence(str(error)))


def of_status(status: int) -> str:
    """The code for an error of which only the status is known."""
    return _CODE_OF_STATUS.get(status, "bad-request" if status < 500 else "internal")


def of_http(error: HTTPException) -> Problem:
    status = error.code or 500
    code = of_status(status)
    headers = {name: value for name, value in error.get_headers() if not name.lower().startswith("content-")}
    if status == 404:
        return Problem(code, "There is nothing at this URL: GET / lists what there is.", headers=headers)
    if status == 405:
        allowed = sorted((error.valid_methods if isinstance(error, MethodNotAllowed) else None) or ())
        return Problem(code, f"This URL understands {', '.join(allowed)}.", headers=headers, allowed=allowed)
    return Problem(code, error.description or error.name, status=status, headers=headers)


def of_fault() -> Problem:
    """The exception being handled is nobody's expectation: tell it to the log, and its number to the client."""
    incident = uuid.uuid4().hex[:12]
    print(f"incident {incident}:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
    return Problem(
        "internal", f"The server made a mistake. Its log tells more under incident {incident}.", incident=incident
    )


def install(app: Flask) -> None:
    """Make every error of `app` a problem document."""
    app.register_error_handler(Problem, Problem.response)
    for kind, problem in (
        (RdfError, of_rdf),
        (LanguageError, of_language),
        (Refusal, of_refusal),
        (StoreError, of_store),
        (Crowded, of_crowd),
        (TooMuch, of_excess),
        (Damaged, of_damaged),
        (AllowanceSpent, of_size),
        (HTTPException, of_http),
    ):
        app.register_error_handler(kind, lambda error, problem=problem: problem(error).response())
    app.register_error_handler(Exception, lambda error: of_fault().response())

    @app.get("/problems/<code>")
    def problem_type(code: str) -> ProblemTypeBody:
        if code not in CATALOGUE:
            raise Problem("not-found", f"No problem has the code {code}.")
        status, title, meaning = CATALOGUE[code]
        return {"code": code, "status": status, "title": title, "meaning": meaning}
