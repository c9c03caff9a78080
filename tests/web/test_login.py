"""A server that wants to know who comes: the console asks for a token, and shows what the token may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.conftest import Watched
from tests.web.house import House

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[test]'")
from playwright.sync_api import expect  # noqa: E402

expect.set_options(timeout=20_000)


@pytest.fixture
def house(tmp_path: Path, built: Path) -> Iterator[House]:
    with House(tmp_path / "data", tokens={"chief": ["admin"], "guest": ["read"]}) as house:
        yield house


def test_login_with_a_wrong_token_then_with_a_right_one_and_logout(house: House, watched: Watched) -> None:
    watched.meant = ("status of 401", "status of 403")
    page = watched.open("#/streams")
    token = page.get_by_label("Token")
    token.fill("csp_not-this-one")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    token.fill(house.tokens["chief"])
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Streams")).to_be_visible()
    expect(page.get_by_role("button", name="New stream")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Streams")).to_be_visible()
    assert house.tokens["chief"] not in page.content() + page.evaluate("JSON.stringify(localStorage) + document.cookie")
    assert [url for url in watched.requests if house.tokens["chief"] in url] == []
    page.get_by_role("button", name="Log out").click()
    expect(token).to_be_visible()


def test_who_may_only_read_is_not_offered_more(house: House, watched: Watched) -> None:
    watched.meant = ("status of 401",)
    page = watched.open("#/streams")
    page.get_by_label("Token").fill(house.tokens["guest"])
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Streams")).to_be_visible()
    expect(page.get_by_role("button", name="New stream")).to_have_count(0)
