"""Who gets in: with tokens, with cookies, from other pages, from other hosts; and what the answers say of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.http.attempts import FREE
from csparql_spark.server.http.security import CSP
from csparql_spark.server.settings import Settings
from csparql_spark.store.tokens import SCOPES, Tokens
from tests.server.playing import BASE, TEXT

NT = {"Content-Type": "application/n-triples"}
ONE = b"<urn:a> <urn:b> <urn:c> .\n"


class House:
    """A server with a token for each scope."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        tokens = Tokens(backend.directory.path)
        self.tokens = {scope: tokens.add(f"t-{scope}", [scope]) for scope in SCOPES}
        self.app = create_app(backend)

    def ask(self, method: str, path: str, scope: str | None = None, **asked: object) -> TestResponse:
        headers = {**({"Authorization": f"Bearer {self.tokens[scope]}"} if scope else {}), **asked.pop("headers", {})}
        return self.app.test_client().open(path, method=method, headers=headers, **asked)

    def logged_in(self, scope: str) -> FlaskClient:
        client = self.app.test_client()
        assert client.post("/login", json={"token": self.tokens[scope]}).status_code == 200
        return client


@pytest.fixture
def house(backend: Backend) -> House:
    return House(backend)


@pytest.fixture
def make(settings: Settings) -> Iterator[object]:
    """Applications with other settings."""
    opened: list[Backend] = []

    def made(**more: object) -> FlaskClient:
        opened.append(Backend(dataclasses.replace(settings, **more)).start())
        return create_app(opened[-1]).test_client()

    yield made
    for backend in opened:
        backend.close()


def codes(response: TestResponse) -> tuple[int, str | None]:
    return response.status_code, (response.json or {}).get("code") if response.is_json else None


# --- tokens


def test_without_a_token_nobody_gets_in(house: House) -> None:
    for method, path in (
        ("GET", "/streams"),
        ("PUT", "/streams/s"),
        ("POST", "/streams/s"),
        ("GET", "/queries/q/answers"),
        ("PUT", "/queries/q"),
        ("GET", "/sparql"),
        ("DELETE", "/graphs"),
        ("GET", "/rules/rdfs"),
    ):
        response = house.ask(method, path)
        assert codes(response) == (401, "unauthorized"), path
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="csparql-spark"'
        assert response.content_type == "application/problem+json"
    assert house.backend.stores.registry.streams() == []


@pytest.mark.parametrize("sent", ["Bearer csp_nix", "Bearer  ", "Basic YTpi", "csp_nix", "Bearer \xff"])
def test_with_a_wrong_one_neither(house: House, sent: str) -> None:
    response = house.ask("GET", "/streams", headers={"Authorization": sent})
    assert codes(response) == (401, "unauthorized")
    if "nix" in sent:
        assert "nix" not in response.text


@pytest.mark.parametrize(
    "scope, allowed",
    [
        ("read", {"read"}),
        ("push", {"push"}),
        ("register", {"read", "register"}),
        ("admin", {"read", "push", "register"}),
    ],
)
def test_scopes(house: House, scope: str, allowed: set[str]) -> None:
    house.ask("PUT", "/streams/s?clock=event", "admin")
    got = {
        "read": house.ask("GET", "/streams/s", scope),
        "push": house.ask("POST", "/streams/s", scope, data=ONE, headers=NT),
        "register": house.ask("PUT", "/queries/q", scope, data=TEXT),
    }
    assert {need for need, response in got.items() if response.status_code < 300} == allowed
    for need in set(got) - allowed:
        told = got[need].json
        assert (told["status"], told["code"], told["scope"]) == (403, "forbidden", need)
        assert got[need].headers["WWW-Authenticate"] == (
            f'Bearer realm="csparql-spark", error="insufficient_scope", scope="{need}"'
        )


def test_the_first_token_locks_a_server_that_runs(client: FlaskClient, backend: Backend) -> None:
    assert client.get("/streams").status_code == 200
    told = Tokens(backend.directory.path).add("lab", ["read"])
    assert client.get("/streams").status_code == 401
    assert client.get("/streams", headers={"Authorization": f"bearer {told}"}).status_code == 200
    Tokens(backend.directory.path).remove("lab")
    assert client.get("/streams", headers={"Authorization": f"Bearer {told}"}).status_code == 200


def test_where_others_come_it_stays_locked_without_tokens(make) -> None:
    client = make(host="0.0.0.0")
    assert codes(client.get("/streams")) == (401, "unauthorized")
    assert codes(client.post("/login", json={"token": "x"})) == (401, "unauthorized")


def test_a_token_in_a_url_is_refused_even_if_it_is_right(house: House, client: FlaskClient) -> None:
    for response in (
        house.ask("GET", f"/streams?access_token={house.tokens['read']}"),
        house.ask("GET", "/health?access_token=x"),
        house.ask("GET", "/streams?access_token=x", "read"),
    ):
        assert codes(response) == (400, "token-in-url")
        assert house.tokens["read"] not in response.text


def test_what_is_not_there_needs_no_token(house: House) -> None:
    assert codes(house.ask("GET", "/nothing")) == (404, "not-found")
    assert codes(house.ask("PATCH", "/health")) == (405, "method-not-allowed")


def test_a_route_of_which_nobody_has_decided_is_for_admins(house: House) -> None:
    house.app.add_url_rule("/undecided", "undecided", lambda: "x")
    asked = [house.ask("GET", "/undecided", scope).status_code for scope in (None, "register", "admin")]
    assert asked == [401, 403, 200]


def test_health_says_little_to_strangers(house: House) -> None:
    assert house.ask("GET", "/health").json == {"status": "starting"}
    assert house.ask("GET", "/health", "push").json == {"status": "starting"}
    assert "engine" in house.ask("GET", "/health", "read").json


def test_wrong_tokens_are_answered_more_slowly_but_right_ones_always(house: House) -> None:
    wrong = [house.ask("GET", "/streams", headers={"Authorization": "Bearer x"}) for _ in range(FREE + 1)]
    assert [response.status_code for response in wrong] == [401] * FREE + [429]
    assert 0 < int(wrong[-1].headers["Retry-After"]) <= 60 and codes(wrong[-1])[1] == "too-many-attempts"
    assert house.ask("GET", "/streams", "read").status_code == 200
    assert codes(house.ask("POST", "/login", json={"token": house.tokens["read"]})) == (429, "too-many-attempts")
    assert (
        house.ask(
            "POST", "/login", json={"token": house.tokens["read"]}, environ_base={"REMOTE_ADDR": "192.0.2.1"}
        ).status_code
        == 200
    )


def test_tokens_are_not_told_to_anybody(house: House, capfd) -> None:
    house.backend.stores.registry.streams = lambda: 1 / 0
    response = house.ask("GET", "/streams", "read")
    assert response.status_code == 500
    told = response.text + "".join(capfd.readouterr())
    assert "ZeroDivisionError" in told and house.tokens["read"] not in told


# --- cookies


def test_login_makes_a_session_that_no_script_reads(house: House) -> None:
    client = house.app.test_client()
    response = client.post("/login", json={"token": house.tokens["register"]})
    assert response.json == {"secured": True, "name": "t-register", "scopes": ["read", "register"]}
    assert response.headers["Cache-Control"] == "no-store"
    cookie = response.headers["Set-Cookie"]
    name, _, value = cookie.partition(";")[0].partition("=")
    assert name == "csparql-session-8000" and len(value) == 43 and value not in house.tokens.values()
    parts = {part.strip() for part in cookie.split(";")[1:]}
    assert parts >= {"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"}
    assert "Secure" not in cookie and "Domain" not in cookie
    assert client.get("/streams").status_code == 200
    assert client.put("/streams/s", headers={"Origin": "http://localhost"}).status_code == 201
    assert codes(client.post("/streams/s", data=ONE, headers=NT)) == (403, "forbidden")
    assert client.get("/session").json == response.json


def test_login_by_a_form(house: House) -> None:
    response = house.app.test_client().post("/login", data={"token": f" {house.tokens['read']}\n"})
    assert (response.status_code, response.json["scopes"]) == (200, ["read"])


@pytest.mark.parametrize(
    "asked, code",
    [
        ({"json": {"token": "csp_nix"}}, "unauthorized"),
        ({"json": {"tokn": "x"}}, "bad-body"),
        ({"json": [1]}, "bad-body"),
        ({"json": {"token": 5}}, "bad-body"),
        ({"data": "token", "content_type": "application/json"}, "bad-body"),
        ({"data": {}}, "bad-body"),
        ({"data": b"x" * 5000}, "too-large"),
    ],
)
def test_logins_that_fail(house: House, asked: dict[str, object], code: str) -> None:
    response = house.app.test_client().post("/login", **asked)
    assert response.json["code"] == code and "Set-Cookie" not in response.headers
    assert "nix" not in response.text


def test_logout_ends_the_session_for_whoever_has_the_cookie(house: House) -> None:
    client = house.logged_in("read")
    stolen = client.get_cookie("csparql-session-8000").value
    response = client.post("/logout")
    assert (response.status_code, response.data) == (204, b"")
    assert "csparql-session-8000=;" in response.headers["Set-Cookie"] and "Max-Age=0" in response.headers["Set-Cookie"]
    client.set_cookie("csparql-session-8000", stolen)
    assert client.get("/streams").status_code == 401
    assert client.get("/session").json == {"secured": True, "name": None, "scopes": []}
    assert client.post("/logout").status_code == 204


def test_a_session_outlives_the_server_and_ends_with_its_token(house: House) -> None:
    client = house.logged_in("read")
    cookie = client.get_cookie("csparql-session-8000").value
    backend = house.backend
    backend.sessions = type(backend.sessions)(backend.directory.path, backend.tokens, seconds=60)
    again = create_app(backend).test_client()
    again.set_cookie("csparql-session-8000", cookie)
    assert again.get("/streams").status_code == 200
    Tokens(backend.directory.path).remove("t-read")
    assert again.get("/streams").status_code == 401


def test_logging_in_again_ends_the_session_before(house: House) -> None:
    client = house.logged_in("read")
    first = client.get_cookie("csparql-session-8000").value
    client.post("/login", json={"token": house.tokens["admin"]})
    assert house.backend.sessions.find(first) is None
    assert client.get("/session").json["name"] == "t-admin"


def test_behind_https_the_cookie_is_bound_to_the_host(make, settings: Settings) -> None:
    client = make(base_url="https://streams.example.org")
    told = Tokens(settings.data).add("lab", ["read"])
    cookie = client.post("/login", json={"token": told}).headers["Set-Cookie"]
    assert cookie.startswith("__Host-csparql-session=")
    assert {part.strip() for part in cookie.split(";")[1:]} >= {"HttpOnly", "SameSite=Strict", "Path=/", "Secure"}
    assert client.get("/streams", base_url="https://streams.example.org").status_code == 401
    client.post("/login", json={"token": told}, base_url="https://streams.example.org")
    assert client.get("/streams", base_url="https://streams.example.org").status_code == 200


def test_without_tokens_there_is_nothing_to_log_into(client: FlaskClient) -> None:
    open_to_all = {"secured": False, "name": None, "scopes": list(SCOPES)}
    assert client.get("/session").json == open_to_all
    response = client.post("/login", json={"token": "x"})
    assert (response.status_code, response.json) == (200, open_to_all)
    assert "Set-Cookie" not in response.headers


# --- other people's pages

FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "file://localhost"},
    {"Origin": "http://["},
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
]
OURS = [
    {},
    {"Origin": "http://localhost"},
    {"Origin": BASE},
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_pages_of_others_change_nothing(client: FlaskClient, backend: Backend, headers: dict[str, str]) -> None:
    for method, path in (
        ("PUT", "/streams/s"),
        ("POST", "/streams/s"),
        ("DELETE", "/queries/q"),
        ("POST", "/login"),
        ("POST", "/logout"),
        ("POST", "/sparql"),
    ):
        assert codes(client.open(path, method=method, headers=headers)) == (403, "cross-origin"), path
    assert backend.stores.registry.streams() == []


@pytest.mark.parametrize("headers", OURS)
def test_our_own_pages_do(client: FlaskClient, headers: dict[str, str]) -> None:
    assert client.put("/streams/s", headers=headers).status_code == 201


def test_pages_of_others_change_nothing_with_a_cookie_either_but_with_a_token(house: House) -> None:
    client = house.logged_in("admin")
    assert codes(client.put("/streams/s", headers={"Origin": "https://evil.example"})) == (403, "cross-origin")
    assert house.ask("PUT", "/streams/s", "admin", headers={"Origin": "https://evil.example"}).status_code == 201
    wrong = client.put("/streams/t", headers={"Origin": "https://evil.example", "Authorization": "Bearer x"})
    assert codes(wrong) == (401, "unauthorized"), "a wrong token must not make the cookie count"


@pytest.mark.parametrize(
    "host, allowed",
    [
        ("localhost", True),
        ("localhost:8000", True),
        ("127.0.0.1:9", True),
        ("[::1]:8000", True),
        ("csparql.test", True),
        ("CSPARQL.test:80", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("192.0.2.1", False),
        ("localhost.evil.example:8000", False),
        ("0.0.0.0:8000", False),
        ("[::1", False),
        ("localhost:x", True),
    ],
)
def test_names_that_are_not_ours_are_rebound(client: FlaskClient, host: str, allowed: bool) -> None:
    response = client.get("/streams", headers={"Host": host})
    assert codes(response)[0] == (200 if allowed else 403)
    if not allowed:
        assert response.json["code"] == "wrong-host"


def test_with_tokens_any_name_will_do(house: House) -> None:
    assert house.ask("GET", "/streams", "read", headers={"Host": "streams.example.org"}).status_code == 200


# --- headers


def test_headers_of_all_answers(client: FlaskClient, backend: Backend) -> None:
    backend.settings.web.mkdir(exist_ok=True)
    for path in ("/streams", "/nothing", "/problems/cross-origin", "/health"):
        headers = client.get(path).headers
        assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("nosniff", "no-referrer")
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Content-Security-Policy" not in headers
        assert not [name for name, _ in headers if name.startswith("Access-Control")]
    page = client.get("/", headers={"Accept": "text/html"})
    assert page.headers["Content-Security-Policy"] == CSP
    assert "script-src 'self';" in CSP and "frame-ancestors 'none'" in CSP


def test_no_origin_is_a_friend_by_default(client: FlaskClient) -> None:
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "PUT"}
    response = client.options("/streams", headers=asked)
    assert not [name for name, _ in response.headers if name.startswith("Access-Control")]


def test_origins_that_the_settings_name(make) -> None:
    client = make(cors=("https://a.example",))
    friend, other = {"Origin": "https://a.example"}, {"Origin": "https://b.example"}
    asked = client.options("/streams/s", headers={**friend, "Access-Control-Request-Method": "PUT"})
    assert asked.status_code == 204
    assert asked.headers["Access-Control-Allow-Origin"] == "https://a.example"
    assert "PUT" in asked.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in asked.headers["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in asked.headers
    made = client.put("/streams/s", headers=friend)
    assert (made.status_code, made.headers["Access-Control-Allow-Origin"]) == (201, "https://a.example")
    assert "Location" in made.headers["Access-Control-Expose-Headers"] and made.headers["Vary"] == "Origin"
    refused = client.options("/streams/s", headers={**other, "Access-Control-Request-Method": "PUT"})
    assert "Access-Control-Allow-Origin" not in refused.headers and refused.headers["Vary"] == "Origin"
    assert codes(client.put("/streams/t", headers=other)) == (403, "cross-origin")


def test_a_preflight_needs_no_token(make, settings: Settings) -> None:
    client = make(cors=("https://a.example",))
    Tokens(settings.data).add("lab", ["read"])
    headers = {"Origin": "https://a.example", "Access-Control-Request-Method": "GET"}
    assert client.options("/streams", headers=headers).headers["Access-Control-Allow-Origin"] == "https://a.example"
    refused = client.get("/streams", headers={"Origin": "https://a.example"})
    assert refused.status_code == 401 and refused.headers["Access-Control-Allow-Origin"] == "https://a.example"
    assert json.loads(refused.data)["code"] == "unauthorized"
