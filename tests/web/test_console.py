"""The console in a browser: writing a query, watching it, steering it; coming back to it."""

from __future__ import annotations

import contextlib
import time

import pytest

from tests.web.conftest import Watched
from tests.web.house import House

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[test]'")
from playwright.sync_api import Locator, Page, expect  # noqa: E402

expect.set_options(timeout=20_000)

NOW = 1_700_000_000_000
DECIMAL = "^^<http://www.w3.org/2001/XMLSchema#decimal>"


def text_of(stream: str, window: str = "[RANGE 10s STEP 5s]", name: str = "Hot") -> str:
    return (f"PREFIX s: <http://example.org/sensors#>\nREGISTER QUERY {name} AS\nSELECT ?room ?celsius\n"
            f"FROM STREAM <{stream}> {window}\nWHERE {{ ?x s:madeIn ?room ; s:celsius ?celsius }}\n")


def readings(**rooms: str) -> list[dict[str, str]]:
    return [{"room": f"<http://example.org/rooms/{room}>", "celsius": f'"{celsius}"{DECIMAL}'}
            for room, celsius in rooms.items()]


def say(house: House, query: int, instant: int, **rooms: str) -> None:
    house.answer(query, instant, ("room", "celsius"), readings(**rooms))


def write(page: Page, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def rows(page: Page) -> Locator:
    return page.locator("table.live tbody tr:not(.ceased)")


def shows(page: Page, *texts: str) -> None:
    expect(rows(page)).to_have_count(len(texts))
    for number, text in enumerate(texts):
        expect(rows(page).nth(number)).to_contain_text(text)


def watching(house: House, watched: Watched, asked: str = "") -> tuple[Page, int]:
    """A page on a registered query with one answer."""
    query = house.register("Hot", text_of(house.stream("sensors")))
    say(house, query, NOW, lab="30.5", hall="19.0")
    page = watched.open(f"#/queries/Hot{asked}")
    shows(page, "19.0", "30.5")
    expect(page.get_by_test_id("connection")).to_contain_text("live")
    return page, query


def test_a_mistake_is_told_and_mended_and_the_query_answers(house: House, watched: Watched) -> None:
    stream = house.stream("sensors")
    page = watched.open("#/queries")
    page.get_by_role("link", name="Write the first one").click()
    write(page, text_of(stream, "[RANGE 10 STEP 5s]"))
    mistake = page.locator(".mistake")
    expect(mistake).to_contain_text("10 has no unit. Write 10s for seconds.")
    expect(page.locator(".cm-lintRange-error")).to_have_text("10")
    mistake.get_by_role("button", name="Write 10s").click()
    expect(page.get_by_text("Nothing is wrong with it.")).to_be_visible()
    expect(page.locator(".cm-content")).to_contain_text("[RANGE 10s STEP 5s]")
    page.get_by_role("button", name="Register Hot").click()
    expect(page.get_by_role("heading", name="Hot")).to_be_visible()
    expect(page.get_by_text("No answer yet")).to_be_visible()
    say(house, house.id_of("Hot"), NOW, lab="30.5")
    shows(page, "30.5")
    assert page.url.endswith("#/queries/Hot")


def test_a_stream_that_is_not_there_is_told_before_it_is_registered(house: House, watched: Watched) -> None:
    stream = house.stream("sensors")
    page = watched.open("#/new")
    write(page, text_of(stream.replace("sensors", "sensor")))
    expect(page.locator(".mistake")).to_contain_text("There is no stream")
    page.locator(".mistake").get_by_role("button").last.click()
    expect(page.get_by_text("Nothing is wrong with it.")).to_be_visible()
    expect(page.locator(".cm-content")).to_contain_text(f"<{stream}>")


def test_a_query_that_has_failed_says_how_to_go_on(house: House, watched: Watched) -> None:
    page, query = watching(house, watched)
    house.store.write((), [(query, NOW + 5_000, "its answer has too many rows")])
    told = page.locator("p.wrong-box", has_text="Failed at")
    expect(told).to_contain_text(f"its answer has too many rows. To change it, PUT the changed text to {house.url}/queries/Hot")


def test_an_instant_of_producers_is_told_as_it_is_stamped(house: House, watched: Watched) -> None:
    arrival = house.register("Hot", text_of(house.stream("sensors")))
    stamped = house.register("Old", text_of(house.stream("past", clock="event"), name="Old"))
    for query in (arrival, stamped):
        say(house, query, NOW, lab="30.5")
    page = watched.open("#/queries")
    expect(page.locator("tbody tr", has_text="Hot")).to_contain_text(" d ago")
    old = page.locator("tbody tr", has_text="Old")
    expect(old.locator("time")).to_have_attribute("datetime", "2023-11-14T22:13:20.000Z")
    expect(old).to_contain_text("2023")
    expect(old).not_to_contain_text("ago")


def test_what_is_new_and_what_has_ceased(house: House, watched: Watched) -> None:
    page, query = watching(house, watched)
    say(house, query, NOW + 5000, lab="31.5", hall="19.0")
    shows(page, "19.0", "31.5")
    page.get_by_role("button", name="Freeze").click()       # what is marked for a moment stays marked then
    expect(page.locator("tr.fresh")).to_have_count(1)
    expect(page.locator("tr.fresh")).to_contain_text("31.5")
    expect(page.locator("tr.ceased")).to_contain_text("30.5")
    expect(page.locator("table.live tbody tr")).to_contain_text(["19.0", "30.5", "31.5"])   # it went from its place
    page.get_by_role("button", name="Follow").click()
    expect(page.locator("tr.fresh, tr.ceased")).to_have_count(0)


def grouped(house: House, more: str = "") -> int:
    return house.register("Hot", text_of(house.stream("sensors")).replace(
        "SELECT ?room ?celsius", "SELECT (AVG(?c) AS ?celsius) ?room").replace("?celsius }", f"?c }} GROUP BY ?room{more}"))


def test_of_a_grouped_query_the_value_that_changes_is_marked(house: House, watched: Watched) -> None:
    query = grouped(house)

    def say(instant: int, **rooms: str) -> None:
        house.answer(query, instant, ("celsius", "room"), readings(**rooms), until=[instant + 9000] * len(rooms))

    say(NOW, lab="30.5", hall="19.0", attic="8")
    page = watched.open("#/queries/Hot")
    shows(page, "8", "19.0", "30.5")                        # by room
    lab = rows(page).nth(2)
    lab.evaluate("row => row.marked = true")
    say(NOW + 5000, lab="31.5", hall="19.0", attic="8")
    shows(page, "8", "19.0", "31.5")
    assert lab.evaluate("row => row.marked")                # it is the same row
    page.get_by_role("button", name="Freeze").click()
    expect(page.locator("td.changed")).to_have_text(["31.5"])
    expect(page.locator("tr.fresh, tr.ceased")).to_have_count(0)
    page.get_by_role("button", name="Follow").click()
    say(NOW + 10_000, lab="31.5", attic="9", cellar="12")
    shows(page, "9", "12", "31.5")
    page.get_by_role("button", name="Freeze").click()
    expect(page.locator("td.changed")).to_have_text(["9"])
    expect(page.locator("tr.fresh")).to_contain_text(["12"])
    expect(page.locator("tr.ceased")).to_contain_text(["19.0"])
    page.get_by_role("button", name="The instant before").click()
    expect(page.locator("td.changed")).to_have_text(["31.5"])


def test_marks_do_not_move_for_who_wants_no_motion(house: House, watched: Watched) -> None:
    page, query = watching(house, watched)
    moving = "cell => getComputedStyle(cell).animationName"
    for motion, name in (("no-preference", "mark"), ("reduce", "none")):
        page.emulate_media(reduced_motion=motion)
        say(house, query, (now := NOW + (5000 if name == "mark" else 10_000)), lab=str(now % 97), hall="19.0")
        assert page.locator("tr.fresh td").first.evaluate(moving) == name
        expect(page.locator("tr.fresh")).to_have_count(0)


def test_a_list_is_in_the_order_that_it_was_told_in(house: House, watched: Watched) -> None:
    query = grouped(house, " ORDER BY DESC(?celsius)")
    house.answer(query, NOW, ("celsius", "room"), readings(lab="30", hall="20", attic="10"))
    page = watched.open("#/queries/Hot")
    shows(page, "30", "20", "10")
    house.answer(query, NOW + 5000, ("celsius", "room"), readings(attic="40", lab="30", hall="20"))
    shows(page, "40", "30", "20")
    page.get_by_role("button", name="Freeze").click()
    expect(page.locator("td.changed")).to_have_text(["40"])
    expect(page.locator("tr.ceased")).to_have_count(0)


def test_of_many_rows_those_that_are_seen_are_on_the_page(house: House, watched: Watched) -> None:
    query = grouped(house)

    def say(instant: int, *left_out: int, **values: str) -> None:
        there = [number for number in range(100_000) if number not in left_out]
        house.answer(query, instant, ("celsius", "room"), [
            {"room": f"<urn:r{number:06}>", "celsius": f'"{values.get(f"r{number}", "20")}"{DECIMAL}'} for number in there])

    say(NOW)
    page = watched.open("#/queries/Hot")
    expect(page.locator(".shown-at")).to_contain_text("100,000 rows")
    seen = page.locator("tr[data-row]")
    expect(seen.first).to_contain_text("r000000")
    assert seen.count() < 100
    say(NOW + 5000, r3="21")
    expect(seen.nth(3)).to_contain_text("21")
    table = page.locator(".windowed")
    table.evaluate("table => table.scrollTop = 1500000")
    middle = "table => document.elementFromPoint(table.getBoundingClientRect().x + 600, table.getBoundingClientRect().y + 300).closest('tr')?.textContent"
    expect(seen.filter(has_text="r04")).not_to_have_count(0)
    before = table.evaluate(middle)
    say(NOW + 10_000, 7, 8, 9, **{f"r{before[-4:]}": "20"})
    expect(page.locator(".shown-at")).to_contain_text("99,997 rows")
    page.wait_for_timeout(3500)                             # also when those that went are gone
    assert table.evaluate(middle) == before
    table.evaluate("table => table.scrollTop = 1e9")
    expect(seen.last).to_contain_text("r099999")
    assert seen.count() < 100


def test_frozen_it_stays_also_when_it_is_loaded_again_and_follows_again(house: House, watched: Watched) -> None:
    page, query = watching(house, watched)
    page.get_by_role("button", name="Freeze").click()
    say(house, query, NOW + 5000, lab="31.5")
    expect(page.get_by_text("1 newer answer")).to_be_visible()
    shows(page, "19.0", "30.5")
    assert f"at={NOW}" in page.url
    page.reload()
    shows(page, "19.0", "30.5")
    expect(page.get_by_role("button", name="Follow")).to_be_visible()
    page.keyboard.press("f")
    shows(page, "31.5")
    assert "at=" not in page.url


def test_pause_and_resume(house: House, watched: Watched) -> None:
    page, _ = watching(house, watched)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".badge")).to_have_text("paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".badge")).to_have_text("running")


def test_it_comes_back_after_the_server_was_away(house: House, watched: Watched) -> None:
    watched.meant = ("Failed to load resource", "ERR_")
    page, query = watching(house, watched)
    house.stop()
    expect(page.get_by_test_id("connection")).to_contain_text("lost")
    say(house, query, NOW + 5000, lab="31.5")
    say(house, query, NOW + 10_000, lab="32.5")
    house.start()
    shows(page, "32.5")
    expect(page.get_by_test_id("connection")).to_contain_text("live")
    page.get_by_role("button", name="The instant before").click()
    shows(page, "31.5")
    expect(page.locator(".gap.filled")).to_be_visible()


def test_after_an_answer_that_is_damaged_it_goes_on_with_a_whole(house: House, watched: Watched) -> None:
    watched.meant = ("Failed to load resource", "ERR_")
    page, query = watching(house, watched)
    house.stop()
    expect(page.get_by_test_id("connection")).to_contain_text("lost")
    for instant, celsius in ((5000, "31.5"), (10_000, "32.5")):
        say(house, query, NOW + instant, lab=celsius, hall="19.0")
    with house.database.transaction() as connection:
        connection.execute("UPDATE answers SET payload = x'00' WHERE query = ? AND instant = ?", (query, NOW + 5000))
    house.start()
    shows(page, "19.0", "32.5")
    expect(page.locator(".gap.damaged")).to_contain_text("is damaged on the server's disk")
    say(house, query, NOW + 15_000, lab="33.5", hall="19.0")
    shows(page, "19.0", "33.5")


def test_two_tabs_share_one_connection(house: House, watched: Watched) -> None:
    first, query = watching(house, watched)
    other = house.register("Cold", text_of(house.stream("sensors"), name="Cold"))
    second = watched.open("#/queries/Cold")
    expect(second.get_by_text("No answer yet")).to_be_visible()
    expect(second.get_by_test_id("connection")).to_contain_text("live")
    say(house, query, NOW + 5000, lab="31.5")
    say(house, other, NOW + 5000, hall="11.5")
    shows(first, "31.5")
    shows(second, "11.5")
    first.close()
    say(house, other, NOW + 10_000, hall="12.5")
    shows(second, "12.5")


def test_delete_asks_first(house: House, watched: Watched) -> None:
    page, _ = watching(house, watched)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No query is registered yet.")).to_be_visible()
    assert house.ask("GET", "/queries")["queries"] == []


def test_a_dialog_is_closed_when_its_page_is_left(house: House, watched: Watched) -> None:
    page, _ = watching(house, watched)
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="Delete").click()
    expect(dialog).to_contain_text("Delete the query Hot?")
    page.evaluate("location.hash = '#/queries/Hot?tab=chart'")
    expect(page.get_by_role("tab", name="Chart")).to_have_attribute("aria-selected", "true")
    expect(dialog).to_have_count(1)
    page.evaluate("location.hash = '#/streams'")
    expect(page.get_by_role("heading", name="Streams")).to_be_visible()
    expect(dialog).to_have_count(0)
    page.go_back()
    expect(page.get_by_role("heading", name="Hot")).to_be_visible()
    expect(dialog).to_have_count(0)
    page.keyboard.press("?")
    expect(dialog).to_contain_text("Ctrl+Enter")
    page.evaluate("location.hash = '#/streams'")
    expect(dialog).to_have_count(0)
    assert [query["name"] for query in house.ask("GET", "/queries")["queries"]] == ["Hot"]


def test_a_draft_outlives_the_page(house: House, watched: Watched) -> None:
    page = watched.open("#/new")
    write(page, "SELECT ?half")
    page.reload()
    expect(page.locator(".cm-content")).to_have_text("SELECT ?half")


def test_completion_knows_streams_properties_and_variables(house: House, watched: Watched) -> None:
    stream = house.stream("sensors")
    house.register("Hot", text_of(stream))
    house.ask("POST", "/streams/sensors", "<urn:x> <http://example.org/sensors#celsius> 21 .",
              Content_Type="text/turtle")
    page = watched.open("#/new")
    offered = page.locator(".cm-tooltip-autocomplete li")
    write(page, "REGISTER QUERY q AS\nSELECT ?room FROM STREAM ")
    page.keyboard.press("Control+Space")
    expect(offered).to_have_text([f"<{stream}>"])
    page.keyboard.press("Enter")
    page.keyboard.insert_text(" [RANGE 5s] WHERE { ?room s:cel")
    page.keyboard.press("Control+Space")
    expect(offered.first).to_contain_text("s:celsius")
    offered.first.click()
    expect(page.locator(".cm-content")).to_contain_text("PREFIX s: <http://example.org/sensors#>")
    page.keyboard.insert_text(" ?r")
    page.keyboard.press("Control+Space")
    expect(offered).to_have_text(["?room"])


def test_pushing_into_a_stream(house: House, watched: Watched) -> None:
    house.stream("sensors")
    watched.meant = ("status of 400",)
    page = watched.open("#/streams/sensors")
    write(page, "<urn:a> <urn:b> .\n")
    page.get_by_role("button", name="Push", exact=True).click()
    expect(page.locator(".mistake")).to_be_visible()
    page.get_by_role("button", name="Example").click()
    page.get_by_role("button", name="Push", exact=True).click()
    expect(page.get_by_text("3 triples are in the stream.")).to_be_visible()
    expect(page.get_by_text("3 triples in 1 push", exact=True)).to_be_visible()


def test_a_stream_whose_pushes_are_kept_no_longer_says_so(house: House, watched: Watched) -> None:
    for name in ("sensors", "silent"):
        house.stream(name)
    house.ask("POST", "/streams/sensors", "<urn:a> <urn:b> <urn:c> .", Content_Type="text/turtle")
    house.forget()
    page = watched.open("#/streams")
    expect(page.locator("tbody tr", has_text="sensors")).to_contain_text("kept no longer")
    expect(page.locator("tbody tr", has_text="silent")).to_contain_text("never")
    page.get_by_role("link", name="silent").click()
    expect(page.get_by_text("Nothing has come yet.")).to_be_visible()
    page = watched.open("#/streams/sensors")
    expect(page.get_by_text("What came is kept no longer: the log keeps")).to_be_visible()
    expect(page.get_by_text("Nothing has come yet.")).to_have_count(0)


def test_a_recorded_past_that_is_pushed_is_said_to_be_one(house: House, watched: Watched) -> None:
    for name, stamp in (("past", NOW), ("now", int(time.time() * 1000))):
        house.stream(name, clock="event")
        house.ask("POST", f"/streams/{name}", f"<urn:a> <urn:b> <urn:c> <urn:t:{stamp}> .",
                  Content_Type="application/n-quads")
    page = watched.open("#/streams/past")
    expect(page.get_by_test_id("past")).to_contain_text("a recorded past. Windows go by the stamps")
    page = watched.open("#/streams/now")
    expect(page.get_by_text("1 triple in 1 push", exact=True)).to_be_visible()
    expect(page.get_by_test_id("past")).to_have_count(0)


def test_streams_graphs_and_rules_are_made_and_deleted(house: House, watched: Watched) -> None:
    page = watched.open("#/streams")
    page.get_by_role("button", name="New stream").click()
    page.get_by_label("Name").fill("cars")
    page.get_by_label("Clock").select_option("event")
    page.get_by_label("Delay").fill("2s")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("event, delay 2s")).to_be_visible()
    page.get_by_role("link", name="Graphs").click()
    page.get_by_role("link", name="New graph").click()
    page.get_by_label("IRI of the graph").fill("http://example.org/g")
    write(page, "<urn:a> <urn:b> <urn:c> .")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("pre.code")).to_contain_text("<urn:a> <urn:b> <urn:c>")
    page.get_by_role("link", name="Rules").click()
    page.get_by_role("link", name="New rule set").click()
    page.get_by_label("Name").fill("house")
    write(page, "[r: (?a <urn:p> ?b) -> (?b <urn:q> ?c)]")
    expect(page.locator(".mistake")).to_contain_text("?c")
    write(page, "[r: (?a <urn:p> ?b) -> (?b <urn:q> ?a)]")
    expect(page.locator(".mistake")).to_have_count(0)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("1 rule ·")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("house is deleted.")).to_be_visible()
    assert [rules["name"] for rules in house.ask("GET", "/rules")["rules"] if not rules["built_in"]] == []


def test_asking_once(house: House, watched: Watched) -> None:
    house.stream("sensors")
    house.ask("PUT", "/graphs?graph=urn:g", "<urn:a> a <urn:C> . <urn:b> a <urn:C> .", Content_Type="text/turtle")
    page = watched.open("#/ask")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    shows(page, "urn:C")
    expect(rows(page).first).to_contain_text("2")


@pytest.mark.parametrize("address", ["#/queries", "#/queries/Hot", "#/new", "#/streams", "#/streams/sensors",
                                     "#/graphs?graph=urn:g", "#/graphs?write=new", "#/rules", "#/rules/rdfs", "#/ask",
                                     "#/nowhere"])
def test_nothing_is_wider_than_a_small_screen(address: str, small: Page) -> None:
    small.goto(small.url.partition("#")[0] + address)
    expect(small.get_by_role("heading", level=1)).to_be_visible()
    assert small.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.fixture(scope="module")
def small(browser, built, tmp_path_factory):
    with House(tmp_path_factory.mktemp("small") / "data") as house:
        watched = Watched(browser, house)
        query = house.register("Hot", text_of(house.stream("sensors")))
        say(house, query, NOW, **{"a-very-long-name-of-a-room-" * 4: "30.5"})
        house.ask("PUT", "/graphs?graph=urn:g", f"<urn:{'a' * 200}> <urn:b> <urn:c> .", Content_Type="text/turtle")
        page = watched.open("#/queries")
        page.set_viewport_size({"width": 400, "height": 800})
        yield page
        watched.close()


def go_to_queries(page: Page) -> None:
    """By the keys g and q. The second one counts for a moment, which a busy machine may let pass: then both again, as
    anybody would."""
    there = page.get_by_role("heading", name="Queries")
    for _ in range(3):
        page.keyboard.press("g")
        page.keyboard.press("q")
        with contextlib.suppress(AssertionError):
            expect(there).to_be_visible(timeout=4000)
            return
    expect(there).to_be_visible()


def test_by_keyboard_alone(house: House, watched: Watched) -> None:
    page, _ = watching(house, watched)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Ctrl+Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    go_to_queries(page)
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.insert_text("hot")
    expect(page.get_by_role("row")).to_have_count(2)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Hot")).to_be_visible()


def test_copied_terms_are_whole(house: House, watched: Watched) -> None:
    query = house.register("Hot", text_of(house.stream("sensors")).replace("?room ;", "?room ; s:in ?y ;"))
    house.answer(query, NOW, ("room",), [{"room": "<http://example.org/sensors#lab>"}])
    page = watched.open("#/queries/Hot")
    cell = page.locator("table.live .term")
    expect(cell).to_have_text("s:lab")
    copied = cell.evaluate("""cell => {
        getSelection().selectAllChildren(cell.closest("tr"));
        const data = new DataTransfer();
        document.dispatchEvent(new ClipboardEvent("copy", { clipboardData: data, bubbles: true, cancelable: true }));
        return data.getData("text/plain");
    }""")
    assert copied == "http://example.org/sensors#lab"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_follow_the_system_until_somebody_chooses(house: House, watched: Watched, scheme: str) -> None:
    page = watched.open("#/queries")
    page.emulate_media(color_scheme=scheme)
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 27)")
    switch = page.get_by_role("button", name="Colours")
    switch.click()
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    switch.click()
    assert page.evaluate(ground) == "rgb(20, 24, 27)"
    page.reload()
    expect(switch).to_be_visible()
    assert page.evaluate(ground) == "rgb(20, 24, 27)"
