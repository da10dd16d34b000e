"""The site in a browser, opened from disk: search, heat maps, the rest of lists, keyboard, and what axe-core finds."""

from __future__ import annotations

import pytest

from .conftest import DESKTOP

PHONE = {"width": 375, "height": 812}
PAGES = (
    "index.html",
    "search.html?q=softmax",
    "spec/index.html",
    "spec/errata.html",
    "spec/operations/attention/softmax.html",
    "cases/index.html",
    "cases/documents/000/single_head.html",
    "operations/causal_mask.html",
    "mistakes/softmax.first_axis_always.html",
    "clauses/softmax.stability.html",
    "conventions.html",
    "implementations/index.html",
    "implementations/torch/2.13.0.html",
    "implementations/defects.html",
    "playground.html",
)


@pytest.mark.parametrize(
    ("query", "address"),
    [
        ("softmax.axis.whole", "clauses/softmax.axis.whole.html"),
        ("softmax.first_axis_always", "mistakes/softmax.first_axis_always.html"),
        ("softmax was taken over the queries instead of the keys", "mistakes/single_head.softmax_over_queries.html"),
        ("karpathy/ng-video-lecture#6", "mistakes/single_head.scale_from_model_width.html"),
        ("E000.softmax_axis", "spec/errata.html#E000.softmax_axis"),
        ("documents/001/softmax_of_rows", "cases/documents/001/softmax_of_rows.html"),
        ("onnxruntime", "implementations/onnxruntime/"),
        ("pytorch#141128", "implementations/defects.html#torch_flash_nan_query_row"),
    ],
)
def test_the_search_finds_ids_sentences_issues_and_libraries(opened, query, address):
    page = opened("search.html")
    page.get_by_label("Words, an id").fill(query)
    found = page.locator("#found a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert found[0].startswith(address), found[:5]


def test_a_query_in_the_address_is_answered_and_an_empty_one_counts(opened):
    page = opened("search.html?q=softmax.axis.whole")
    assert page.locator("#found a").first.inner_text() == "softmax.axis.whole"
    page.get_by_label("Words, an id").fill("xyzzy")
    assert page.locator("#tally").inner_text() == "0 found."


def test_the_search_is_a_key_away_from_every_page(opened):
    page = opened("clauses/softmax.stability.html")
    page.keyboard.press("/")
    page.keyboard.type("E000.softmax_axis")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    assert page.locator("#found a").first.inner_text() == "E000.softmax_axis"


def test_every_page_has_the_menu_and_a_way_past_it(opened):
    page = opened("cases/documents/001/softmax_of_rows.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.get_by_role("navigation", name="Site").get_by_role("link", name="Mistakes").click()
    page.wait_for_url("**/mistakes/index.html")
    page.get_by_role("navigation", name="Site").get_by_role("link", name="Cases").click()
    page.wait_for_url("**/cases/index.html")


def test_a_case_quotes_the_clauses_that_it_is_about(opened):
    page = opened("cases/documents/001/softmax_of_rows.html")
    quoted = page.locator("dl.clauses")
    assert quoted.locator("dt").count() == quoted.locator("dd").count() > 0
    assert quoted.locator("dt a").first.inner_text() == "softmax.definition"
    assert quoted.locator("dd").first.inner_text().startswith("Each weight is the exponential of its number")


def test_tables_are_drawn_as_heat_maps_with_the_numbers_of_the_case(opened):
    page = opened("cases/documents/001/softmax_of_rows.html")
    assert page.locator("svg.heatmap").count() == 5, "the input; in two dtypes the expected output and its tolerance"
    board = page.locator(".board").nth(1)
    board.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    said = page.locator(".readout").nth(1).inner_text()
    assert said.startswith("output in float32[0, 3]: 0.782"), said
    assert 0 < float(said.partition(" ± ")[2]) < 1e-6, "the tolerance, not the number"
    page.get_by_text("Numbers of output in float32").click()
    assert page.locator("table.t").nth(1).is_visible()


def test_the_rest_of_a_list_comes_when_it_is_wanted(opened):
    page = opened("mistakes/softmax.first_axis_always.html")
    before = page.locator("main .list a").count()
    page.get_by_role("button", name="Show all").click()
    page.wait_for_function(f"document.querySelectorAll('main .list a').length > {before}")
    link = page.locator("main .list a").last
    address = link.get_attribute("href")
    link.click()
    page.wait_for_url(f"**/{address.removeprefix('../')}")
    assert page.locator("h1").count() == 1


def test_pages_are_readable_without_scripts(browser, site):
    context = browser.new_context(java_script_enabled=False, viewport=PHONE)
    page = context.new_page()
    page.goto(f"{site.as_uri()}/cases/layout/multi_head_b_key_of_zeros.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.goto(f"{site.as_uri()}/cases/documents/001/softmax_of_rows.html")
    assert page.locator("table.t").first.is_visible()
    assert page.locator("table.t td").count() >= 24
    assert page.locator("#clauses a").first.get_attribute("href") == "../../../clauses/softmax.definition.html"
    assert [link.get_attribute("href") for link in page.locator("header a").all()] == ["../../../index.html"]
    page.goto(f"{site.as_uri()}/search.html")
    assert page.locator("noscript").inner_text().startswith("The search needs scripts.")
    context.close()


@pytest.mark.parametrize("address", PAGES)
def test_no_page_is_wider_than_a_phone(opened, address):
    page = opened(address, size=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize(
    ("colours", "size"),
    [
        pytest.param("light", DESKTOP, id="light-desktop"),
        pytest.param("dark", PHONE, id="dark-phone", marks=pytest.mark.proof),
    ],
)
def test_axe_finds_no_violation(opened, colours, size):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    found = {}
    for address in PAGES:
        page = opened(address, size=size, colours=colours)
        page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        violations = axe.run(page, options={"preload": False}).response["violations"]
        found[address] = [(rule["id"], [node["target"] for node in rule["nodes"]][:3]) for rule in violations]
        page.close()
    assert {address: rules for address, rules in found.items() if rules} == {}
