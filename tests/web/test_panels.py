"""The panels of a query in a browser: timeline and what is missing, chart, graph, why, explain, metrics; last elements.

    stamps    now-9s   now-8s  …   now-1s    (late: now-7s, logged after now-1s)
    ────────────┴────────┴─────────────┴──▶
    windows     └──────[RANGE 5s]──────┘ …
"""

from __future__ import annotations

import re

import pytest

from csparql_spark.store.measures import Cost, Measures
from tests.web.conftest import Watched
from tests.web.house import House

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[test]'")
from playwright.sync_api import Page, expect  # noqa: E402

expect.set_options(timeout=20_000)

NOW = 1_700_000_000_000
SENSORS = "http://example.org/sensors#"
DECIMAL = "^^<http://www.w3.org/2001/XMLSchema#decimal>"
BODY = "WHERE { ?x s:madeIn ?room . ?x s:celsius ?celsius . ?room s:floor ?floor }"


def registered(house: House, name: str = "Hot", head: str = "SELECT ?room ?celsius", body: str = BODY,
               kind: str = "QUERY", more: str = "") -> int:
    stream = house.stream("sensors", clock="event", delay="0s")
    return house.register(name, f"PREFIX s: <{SENSORS}>\nREGISTER {kind} {name} AS\n{head}\n{more}"
                                f"FROM STREAM <{stream}> [RANGE 5s STEP 1s]\n{body}\n")


def push(house: House, *lines: tuple[int, str]) -> None:
    data = "".join(f"{line} <urn:t:{stamp}> .\n" for stamp, line in lines)
    house.ask("POST", "/streams/sensors", data, Content_Type="application/n-quads")


def made_in(stamp: int, room: str = "lab") -> tuple[int, str]:
    return stamp, f"<urn:x{stamp}> <{SENSORS}madeIn> <http://example.org/rooms/{room}>"


def hot(house: House, query: int, instant: int, **rooms: str) -> None:
    house.answer(query, instant, ("room", "celsius"), [
        {"room": f"<http://example.org/rooms/{room}>", "celsius": f'"{celsius}"{DECIMAL}'}
        for room, celsius in rooms.items()])


def seconds(*numbers: int) -> list[int]:
    return [NOW + 1000 * number for number in numbers]


def test_the_timeline_shows_what_came_and_what_windows_saw(house: House, watched: Watched) -> None:
    query = registered(house)
    push(house, *map(made_in, seconds(1, 2, 3, 4, 6)))
    push(house, made_in(NOW + 2500))                            # the clock reads 5999 by then
    for instant, rooms in zip(seconds(2, 3, 4), ({}, {"lab": "30"}, {"lab": "30", "hall": "19"})):
        hot(house, query, instant, **rooms)
    page = watched.open("#/queries/Hot?tab=timeline")
    lane = page.locator(".lane")
    expect(lane.locator(".dot-mark")).to_have_count(6)
    expect(lane.locator(".dot-mark.late")).to_have_count(1)
    expect(lane.locator(".bracket.past")).to_have_count(2)
    expect(lane.locator(".bracket.looked")).to_have_count(1)
    expect(lane.locator(".bracket.next")).to_have_count(1)
    expect(lane.locator(".clock-line")).to_have_count(1)
    expect(page.locator(".says")).to_contain_text("The next instant is")
    instants = page.locator(".instant[data-at]")
    expect(instants).to_have_count(3)
    assert [told.get_attribute("data-rows") for told in instants.all()] == ["0", "1", "2"]
    expect(page.locator(".instant.none[data-at]")).to_have_attribute("data-at", str(NOW + 2000))
    read_out = page.locator(".read-out")
    expect(read_out).to_contain_text("has 2 rows")
    expect(read_out).to_contain_text("5 triples stamped in it, 1 of them late")
    hot(house, query, NOW + 5000, lab="31")
    expect(instants).to_have_count(4)
    page.get_by_role("button", name="30s").click()
    expect(page).to_have_url(re.compile("span=30s"))


def test_the_timeline_goes_from_instant_to_instant_by_the_keyboard(house: House, watched: Watched) -> None:
    query = registered(house)
    push(house, *map(made_in, seconds(1, 2, 3, 6)))
    for instant in seconds(2, 3, 4):
        hot(house, query, instant, lab="30")
    page = watched.open("#/queries/Hot?tab=timeline")
    strip = page.get_by_role("slider")
    expect(page.locator(".instant.looked")).to_have_attribute("data-at", str(NOW + 4000))
    strip.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".read-out")).to_contain_text("The instant ")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"at={NOW + 2000}"))
    expect(page.locator(".instant.looked")).to_have_attribute("data-at", str(NOW + 2000))
    expect(page.locator(".lane .bracket.looked")).to_have_count(1)


def test_an_empty_answer_tells_what_is_missing(house: House, watched: Watched) -> None:
    query = registered(house)
    push(house, *map(made_in, seconds(1, 2)), (NOW + 2000, f'<urn:x{NOW + 2000}> <{SENSORS}celsius> "30"'))
    hot(house, query, NOW + 3000)
    page = watched.open("#/queries/Hot?tab=timeline")
    missing = page.get_by_role("region", name="What is missing")
    expect(missing).to_contain_text("Nothing matches")
    patterns = missing.locator(".bars li")
    expect(patterns).to_have_count(3)
    for number, (text, matches) in enumerate([("?x s:madeIn ?room", "2 matches"), ("?x s:celsius ?celsius", "1 match"),
                                              ("?room s:floor ?floor", "0 matches · here it is lost")]):
        expect(patterns.nth(number)).to_contain_text(text)
        expect(patterns.nth(number)).to_contain_text(matches)
    expect(missing.locator(".lost")).to_have_count(1)
    hot(house, query, NOW + 4000, lab="30")
    expect(missing).to_have_count(0)


def test_what_is_waited_for_before_the_first_answer(house: House, watched: Watched) -> None:
    registered(house)
    page = watched.open("#/queries/Hot?tab=timeline")
    expect(page.locator(".says")).to_contain_text("Nothing has come on")
    expect(page.locator(".read-out")).to_contain_text("No instant is answered yet.")


def chart(page: Page) -> dict[str, str]:
    """Each line of the legend, with its value."""
    return {line.locator("span").inner_text(): line.locator("b").inner_text()
            for line in page.locator(".legend button").all()}


def test_the_chart_moves_with_each_answer_and_holds_still_when_frozen(house: House, watched: Watched) -> None:
    query = registered(house)
    for instant, celsius in zip(seconds(1, 2, 3), ("30.5", "31.5", "32.5")):
        hot(house, query, instant, lab=celsius, hall="19")
    page = watched.open("#/queries/Hot?tab=chart")
    drawn = page.locator(".chart")
    expect(drawn).to_have_attribute("data-points", "3")         # also those from before the page was opened
    expect(drawn).to_have_attribute("data-lines", "2")
    expect(page.locator("[data-plot=celsius] canvas")).to_be_visible()
    assert [*chart(page).values()] == ["19", "32.5"]
    before = page.locator("[data-plot=celsius] canvas").evaluate("canvas => canvas.toDataURL()")
    hot(house, query, NOW + 4000, lab="35.5", hall="19")
    expect(drawn).to_have_attribute("data-points", "4")
    assert [*chart(page).values()] == ["19", "35.5"]
    page.wait_for_function("before => document.querySelector('[data-plot=celsius] canvas').toDataURL() !== before",
                           arg=before)
    page.get_by_role("button", name="Freeze").click()
    hot(house, query, NOW + 5000, lab="36.5", hall="19")
    expect(drawn).to_contain_text("held, 1 newer instant")
    expect(drawn).to_have_attribute("data-points", "4")
    page.get_by_role("button", name="Follow").click()
    expect(drawn).to_have_attribute("data-points", "5")
    page.locator(".legend button").first.click()
    expect(page.locator(".legend [aria-pressed=false]")).to_have_count(1)
    page.locator(".u-over").click(position={"x": 2, "y": 50})
    expect(page).to_have_url(re.compile(f"at={NOW + 1000}"))


def test_without_numbers_the_chart_counts(house: House, watched: Watched) -> None:
    query = registered(house, head="SELECT ?room")
    for instant, rooms in zip(seconds(1, 2), (["lab"], ["lab", "hall"])):
        house.answer(query, instant, ("room",), [{"room": f"<urn:{room}>"} for room in rooms])
    page = watched.open("#/queries/Hot?tab=chart")
    expect(page.locator("figcaption")).to_have_text("how many rows")
    expect(page.locator(".legend b")).to_have_text("2")


def graph_query(house: House) -> int:
    return registered(house, head="CONSTRUCT { ?room s:is ?celsius }", kind="STREAM")


def test_the_graph_draws_nodes_and_edges_and_tells_their_triples(house: House, watched: Watched) -> None:
    query = graph_query(house)
    house.answer_graph(query, NOW, f"""<urn:lab> <{SENSORS}is> "30"{DECIMAL} .
<urn:lab> <{SENSORS}nextTo> <urn:hall> .
<urn:lab> <{SENSORS}sees> <urn:hall> .
<urn:hall> <{SENSORS}is> "19"{DECIMAL} .
""")
    page = watched.open("#/queries/Hot?tab=graph")
    expect(page.locator(".node.iri")).to_have_count(2)
    expect(page.locator(".node.leaf")).to_have_count(2)
    expect(page.locator(".edge")).to_have_count(3)
    expect(page.locator(".edge text", has_text="s:nextTo, s:sees")).to_have_count(1)
    overlapping = page.evaluate("""() => {
      const boxes = [...document.querySelectorAll('.node rect')].map((node) => node.getBoundingClientRect());
      return boxes.some((a, i) => boxes.slice(i + 1).some((b) =>
        a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
    }""")
    assert not overlapping
    page.locator(".node.iri", has_text="hall").focus()
    page.keyboard.press("Enter")
    triples = page.get_by_role("region", name="Its triples")
    expect(triples.locator("tbody tr")).to_have_count(3)
    triples.get_by_role("button", name="why?").first.click()
    expect(page.get_by_role("tab", name="Why")).to_have_attribute("aria-selected", "true")
    assert f"at={NOW}" in page.url and "triple=" in page.url


def test_of_too_large_a_graph_a_part_is_drawn(house: House, watched: Watched) -> None:
    house.answer_graph(graph_query(house), NOW, "".join(
        f"<urn:{number:03}> <{SENSORS}next> <urn:{number + 1:03}> .\n" for number in range(200)))
    page = watched.open("#/queries/Hot?tab=graph")
    expect(page.locator(".warning-box")).to_contain_text("51 triples of 200 are left out")
    expect(page.locator(".node")).to_have_count(150)


def test_why_a_row_is_there(house: House, watched: Watched) -> None:
    house.ask("PUT", "/graphs?graph=urn:kb", "<urn:Camera> <http://www.w3.org/2000/01/rdf-schema#subClassOf> "
              "<urn:Sensor> .", Content_Type="text/turtle")
    query = registered(house, head="SELECT ?x", body="USING ENTAILMENT rdfs WHERE { ?x a <urn:Sensor> }",
                       more="FROM <urn:kb>\n")
    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    push(house, (NOW + 1000, f"<urn:c7> <{rdf_type}> <urn:Camera>"))
    house.answer(query, NOW + 2000, ("x",), [{"x": "<urn:c7>"}], until=[NOW + 6000])
    page = watched.open("#/queries/Hot")
    page.locator("table.live tbody tr").click()
    expect(page.get_by_role("heading", name="Made from")).to_be_visible()
    page.locator(".offers button").click()
    expect(page.get_by_role("heading", name="It holds")).to_be_visible()
    tree = page.locator(".tree")
    expect(tree.locator("summary")).to_contain_text("urn:c7")
    expect(tree.locator("summary .badge")).to_have_text("rdfs9")
    expect(tree.locator("summary .holds")).to_contain_text("holds")
    expect(tree.locator(".badge.given")).to_have_count(2)
    tree.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(tree.locator(".badge.given").first).to_be_hidden()
    page.get_by_label("Or any triple").fill("<urn:c7> a <urn:Lamp>")
    page.get_by_role("button", name="Why?").click()
    expect(page.get_by_role("heading", name="It does not hold")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="It does not hold")).to_be_visible()


def test_what_a_constructed_triple_is_made_from(house: House, watched: Watched) -> None:
    query = registered(house, head="CONSTRUCT { ?room s:is ?celsius }", kind="STREAM",
                       body="WHERE { ?x s:madeIn ?room . ?x s:celsius ?celsius }")
    push(house, made_in(NOW + 1000), (NOW + 1000, f'<urn:x{NOW + 1000}> <{SENSORS}celsius> "30"{DECIMAL}'))
    house.answer_graph(query, NOW + 2000, f'<http://example.org/rooms/lab> <{SENSORS}is> "30"{DECIMAL} .\n')
    page = watched.open("#/queries/Hot?tab=why")
    page.get_by_label("A triple of the answer").select_option(index=1)
    expect(page.locator(".why")).to_contain_text("It is the query that makes it")
    expect(page.locator(".offers button")).to_have_count(2)
    page.locator(".offers button").first.click()
    expect(page.get_by_role("heading", name="It holds")).to_be_visible()


def measured(house: House, query: int, *costs: tuple[int, int], late: int = 3) -> None:
    plan = {"node": "project", "does": "?room ?celsius", "rows": 2, "micros": 310, "parts": [
        {"node": "scan", "does": f"?x <{SENSORS}madeIn> ?room", "rows": 12, "micros": 300, "kept": 12, "bytes": 2048}]}
    measures = Measures(house.database)
    for instant, micros in costs:
        with house.database.transaction() as connection:
            cost = Cost(query, instant, 1, 2, 2, micros, micros, 840, late, 91_236, [instant], plan)
            measures.write(connection, [cost], at=instant + 41)


def test_how_a_query_is_answered_with_live_numbers(house: House, watched: Watched) -> None:
    query = registered(house)
    hot(house, query, NOW, lab="30")
    measured(house, query, (NOW, 2500))
    page = watched.open("#/queries/Hot?tab=explain")
    told = page.locator(".explain")
    expect(told).to_contain_text("Maintained: matches move with the window")
    expect(told).to_contain_text("the last 5 s of")
    expect(told.locator(".numbers")).to_contain_text("2.5 ms")
    operators = told.locator(".operator")
    expect(operators).to_have_count(2)
    expect(operators.first).to_contain_text("2 rows")
    expect(operators.first).to_contain_text("10 µs")
    expect(operators.last).to_contain_text("scan ?x s:madeIn ?room")
    expect(operators.last).to_contain_text("300 µs")
    expect(operators.last).to_contain_text("2.0 KiB kept")
    expect(told.get_by_role("region", name="Join order").locator("li")).to_have_count(3)
    watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy all as text").click()
    expect(page.get_by_text("is in the clipboard")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "evaluation: maintained" in copied and "300 µs" in copied


def test_what_a_query_costs(house: House, watched: Watched) -> None:
    query = registered(house)
    page = watched.open("#/queries/Hot?tab=metrics")
    expect(page.get_by_text("Nothing is measured yet")).to_be_visible()
    measured(house, query, (NOW, 2500), (NOW + 1000, 7500), late=0)
    expect(page.locator(".card")).to_have_count(6)
    micros = page.locator("[data-measure=micros]")
    expect(micros.locator(".big")).to_have_text("7.5 ms")
    expect(micros.locator(".range")).to_have_text("2.5 ms – 7.5 ms")
    expect(micros.locator("path.line")).to_have_count(1)
    expect(page.locator("[data-measure=latency_ms] .big")).to_have_text("41 ms")
    expect(page.locator("[data-measure=state_bytes] .big")).to_have_text("89.1 KiB")
    for measure, height in (("late", "40.0"), ("state_bytes", "22.0")):         # always nothing, and always the same
        level = re.compile(rf"^M2\.0 {re.escape(height)}L\S+ {re.escape(height)}$")
        expect(page.locator(f"[data-measure={measure}] path.line")).to_have_attribute("d", level)
    measured(house, query, (NOW + 2000, 9500))
    expect(micros.locator(".big")).to_have_text("9.5 ms")


def test_the_last_elements_of_a_stream(house: House, watched: Watched) -> None:
    registered(house)
    push(house, *map(made_in, seconds(1, 4)))
    push(house, made_in(NOW + 2000, "hall"))
    page = watched.open("#/streams/sensors")
    elements = page.get_by_role("region", name="Last elements").locator("tbody tr")
    expect(elements).to_have_count(3)
    expect(elements.nth(0)).to_contain_text("hall")
    expect(elements.nth(0)).to_contain_text("late")
    expect(page.locator("tr.late")).to_have_count(1)
    push(house, made_in(NOW + 5000, "attic"))
    expect(elements.nth(0)).to_contain_text("attic")


@pytest.mark.parametrize("tab", ["timeline", "chart", "why", "explain", "metrics", "graph"])
def test_nothing_is_wider_than_a_small_window(house: House, watched: Watched, tab: str) -> None:
    query = graph_query(house)
    push(house, *map(made_in, seconds(1, 2, 3)))
    house.answer_graph(query, NOW + 2000, f'<http://example.org/rooms/lab> <{SENSORS}is> "30"{DECIMAL} .\n')
    measured(house, query, (NOW + 2000, 2500))
    page = watched.open()
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{house.url}/#/queries/Hot?tab={tab}&at={NOW + 2000}")
    expect(page.locator("#panel .quiet.loading")).to_have_count(0)
    expect(page.locator({"timeline": ".strip svg", "chart": ".plot canvas", "why": ".why-choice", "explain": ".plan",
                         "metrics": ".card svg", "graph": ".net svg"}[tab]).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    selected = page.locator("[role=tab][aria-selected=true]").bounding_box()
    assert 0 <= selected["x"] and selected["x"] + selected["width"] <= 400
