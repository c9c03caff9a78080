"""What a client says where something else than a server of ours answers, and what a command says then."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from csparql_spark.cli import main, reaching
from csparql_spark.client import Client, ProblemError, Unreachable

PAGE = b"<html>hello</html>"


class Page(http.server.BaseHTTPRequestHandler):
    """A web server that has a page for everything, or for nothing."""

    status = 200

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(params=[200, 404, 405])
def page(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    handler = type("Handler", (Page,), {"status": request.param})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", request.param
        server.shutdown()
        thread.join()


@pytest.fixture
def no_http() -> Iterator[int]:
    """A port where something answers that is no HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
                    connection.recv(10_000)

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_another_web_server_is_told_as_one(page: tuple[str, int]) -> None:
    url, status = page
    said = f"{url} answered {status}, and not as a server of csparql-spark does: is that its URL?"
    with Client(url, patience=1) as client:
        for call in (
            lambda: client.health(),
            lambda: client.push("s", "<urn:a> <urn:p> 1 ."),
            lambda: client.answers("q"),
            lambda: client.query("ASK {}"),
            lambda: client.create_stream("s"),
            lambda: next(client.subscribe("q")),
            lambda: next(client.events()),
        ):
            with pytest.raises(ProblemError) as caught:
                call()
            assert str(caught.value) == said and caught.value.status == status


@pytest.mark.parametrize(
    "command", [["tail", "q"], ["push", "a.nt", "--stream", "s"], ["push", "a.nt", "--stream", "s", "--create"]]
)
def test_commands_say_it_in_one_line(page: tuple[str, int], command: list[str], tmp_path, monkeypatch) -> None:
    (tmp_path / "a.nt").write_text("<urn:a> <urn:p> <urn:o> .\n")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, [*command, "--url", page[0]])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"csparql-spark: {page[0]} answered {page[1]}, and not as a server of csparql-spark does: is that its URL?\n"
    )


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        ("http", "what answers there does not speak HTTP (SSH-2.0-OpenSSH_9.2)"),
        ("https", "what answers there does not speak TLS: is it http://?"),
    ],
)
def test_what_is_no_web_server_is_told_as_that(no_http: int, scheme: str, said: str) -> None:
    url = f"{scheme}://127.0.0.1:{no_http}"
    with Client(url, patience=0.1) as client:
        for call in (lambda: client.health(), lambda: next(client.subscribe("q"))):
            with pytest.raises(Unreachable) as caught:
                call()
            assert str(caught.value) == f"{url} cannot be reached: {said}"


def test_a_name_that_nobody_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "PATIENCE_SECONDS", 0.1)

    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    result = CliRunner().invoke(main, ["tail", "q", "--url", "http://nowhere.example"])
    assert result.stderr == (
        "csparql-spark: http://nowhere.example cannot be reached: name or service not known. Start a "
        "server there with `csparql-spark serve`, or name another one with --url\n"
    )
