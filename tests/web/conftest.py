"""The console as it is built, a browser, and a page in it that notes what it should not do."""

from __future__ import annotations

import faulthandler
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.house import House

WEB = Path(__file__).resolve().parents[2] / "web"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
BUILDING = 300
# How long to wait for what is to come; nothing waits for what is there.
PATIENCE = 20_000
# A page that never rests cannot be asked for anything, and so cannot be too late: then all ends, and says where it was.
LONGEST_SECONDS = 240


@pytest.fixture(autouse=True)
def not_for_ever() -> Iterator[None]:
    faulthandler.dump_traceback_later(LONGEST_SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def stale() -> bool:
    """Whether a source is newer than what is built."""
    built = WEB / "dist" / "index.html"
    sources = [*(WEB / "src").rglob("*"), *WEB.glob("*.json"), WEB / "index.html", WEB / "build.mjs"]
    return not built.is_file() or max(source.stat().st_mtime for source in sources) > built.stat().st_mtime


@pytest.fixture(scope="session")
def built() -> Path:
    """The console, built if that is needed and can be done."""
    if stale():
        if shutil.which("npm") is None:
            pytest.skip("The console is not built, and there is no Node to build it: install nodejs and npm.")
        commands = [["npm", "run", "build"]]
        if not (WEB / "node_modules" / "esbuild").is_dir():
            commands.insert(0, ["npm", "ci", "--ignore-scripts"])
        for command in commands:
            ran = subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=BUILDING, check=False)
            if ran.returncode and command[1] == "ci":
                pytest.skip(f"The console cannot be built, since its packages cannot be had: {ran.stderr[-500:]}")
            assert ran.returncode == 0, ran.stderr
    return WEB / "dist"


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    if CHROMIUM is None:
        pytest.skip("There is no Chromium to look at the console with: apt-get install chromium.")
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def house(tmp_path: Path, built: Path) -> Iterator[House]:
    with House(tmp_path / "data") as house:
        yield house


class Watched:
    """A context of the browser, and what its pages did: requests, and errors that somebody would see in the console."""

    def __init__(self, browser, house: House) -> None:
        self.context = browser.new_context(viewport={"width": 1100, "height": 800})
        self.context.set_default_timeout(PATIENCE)
        self.house = house
        self.requests: list[str] = []
        self.errors: list[str] = []
        # Refusals that a test means to see are written to the console by the browser itself.
        self.meant: tuple[str, ...] = ()
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.context.on("console", lambda message: self._noted(message.text) if message.type == "error" else None)
        self.context.on("weberror", lambda error: self.errors.append(str(error.error)))

    def _noted(self, text: str) -> None:
        if not any(meant in text for meant in self.meant):
            self.errors.append(text)

    def open(self, address: str = ""):
        page = self.context.new_page()
        page.goto(f"{self.house.url}/{address}")
        return page

    def close(self) -> None:
        self.context.close()
        assert self.errors == []
        assert [url for url in self.requests if not url.startswith((self.house.url + "/", "data:", "blob:"))] == []


@pytest.fixture
def watched(browser, house: House) -> Iterator[Watched]:
    watched = Watched(browser, house)
    yield watched
    watched.close()
