"""`serve`: the server, with its two processes and, if asked for, the demo that feeds itself."""

from __future__ import annotations

import socket
import string
import sys
from pathlib import Path

import click

from csparql_spark.cli.failure import Failure, told
from csparql_spark.cli.processes import Child, Supervisor
from csparql_spark.language import durations
from csparql_spark.store import Database, DataDirectory


class Duration(click.ParamType):
    """A duration as queries write it: 10m, 1h."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        number = str(value).rstrip(string.ascii_letters)
        try:
            return durations.milliseconds(number.strip(), str(value)[len(number):])
        except durations.DurationProblem as problem:
            self.fail(str(problem), param, context)


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=Path("data"), show_default=True,
              help="Directory for everything that must not be lost; made if it is not there.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True,
              help="Port to listen on; 0 chooses a free one.")
@click.option("--base-url", default="", help="What IRIs of streams and links start with.  [default: http://HOST:PORT]")
@click.option("--body-limit", type=click.IntRange(min=1), default=100_000_000, show_default=True,
              help="Largest push, in bytes.")
@click.option("--keep-log", type=Duration(), default="10m", show_default=True,
              help="How long entries are kept that the engine has read and no window reaches.")
@click.option("--keep-answers", type=click.IntRange(min=1), default=1000, show_default=True,
              help="Instants kept of each query.")
@click.option("--master", default="local[2]", show_default=True, help="Where Spark runs.")
@click.option("--demo/--no-demo", default=False, show_default=True,
              help="Register a query, and feed it with synthetic sensors.")
def serve(data: Path, host: str, port: int, base_url: str, body_limit: int, keep_log: int, keep_answers: int,
          master: str, demo: bool) -> None:
    """Start the server.

    Two processes: the web process answers HTTP at once; the engine (Spark) is ready some seconds later. Either is
    started again when it dies. Ctrl-C stops both; nothing that was acknowledged is lost, however they end.
    """
    from csparql_spark.spark.session import EngineError, check_java

    try:
        check_java()
    except EngineError as error:
        raise Failure(str(error)) from error
    with told():
        directory = DataDirectory(data).create()
        with directory.lock() as lock, _listen(host, port) as listening:
            Database(directory.database).create()
            port = listening.getsockname()[1]
            url = (base_url or f"http://{f'[{host}]' if ':' in host else host}:{port}").rstrip("/")
            children = [
                Child("web", [sys.executable, "-m", "csparql_spark.server.process", "--data", str(directory.path),
                              "--host", host, "--port", str(port), "--fd", str(listening.fileno()), "--base-url", url,
                              "--body-limit", str(body_limit), "--keep-log", str(keep_log),
                              "--keep-answers", str(keep_answers)],
                      (lock, listening.fileno())),
                Child("engine", [sys.executable, "-m", "csparql_spark.spark.engine", "--data", str(directory.path),
                                 "--master", master], (lock,), directory.engine / "engine.log"),
            ]
            if demo:
                children.append(Child("demo", [sys.executable, "-m", "csparql_spark.cli.demo",
                                               "--url", f"http://{host}:{port}"]))
            click.echo(f"csparql-spark serves {url} from {directory.path}; "
                       "the engine is ready in some seconds (Ctrl-C stops)")
            if demo:
                click.echo("  the demo's answers:  "
                           f"curl -N -H 'Accept: text/event-stream' "
                           f"{url}/queries/HotRooms/answers\n  or in a browser:     {url}/")
            sys.stdout.flush()
            Supervisor(children).run()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1024)
    except OSError as error:
        raise Failure(f"cannot listen on {host}:{port} ({error.strerror}): stop what uses the port, "
                      "or choose another one with --port") from error
    return listening
