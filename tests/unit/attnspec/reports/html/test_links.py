"""Every clause, mistake, erratum and case that the page names is a link, and its address survives what is done."""

import re
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from attnspec.reports.html import html_page

SQUARE = "causal/square"
CLAUSE = "sdpa.causal.top_left"
MISTAKE = "sdpa.causal_strict"


def hash_of(page):
    return page.evaluate("decodeURIComponent(location.hash)")


def focused(page):
    return page.evaluate("document.activeElement.id || document.activeElement.dataset.case")


def test_no_link_leads_nowhere(opened):
    page = opened("every_status")
    page.evaluate("ordered.slice(0, 40).forEach((about) => toggle(about, byId(`case-${about.at}`)))")
    dead = page.evaluate("""() => [...document.querySelectorAll("a[href^='#']")].map((link) => link.hash.slice(1))
        .filter((id) => !document.getElementById(id) && !caseOf.has(id))""")
    assert dead == []
    outside = page.evaluate(
        "[...document.querySelectorAll(\"a:not([href^='#'])\")].map((link) => [link.href, link.rel])"
    )
    assert outside
    assert all("noreferrer" in rel for _, rel in outside)
    of_clauses = {address for address, _ in outside if address.startswith("file:")}
    assert of_clauses
    assert all(Path(url2pathname(urlsplit(address).path)).is_file() for address in of_clauses)
    assert all(address.startswith("https://") for address, _ in outside if address not in of_clauses)


def links_to_clauses(page):
    page.evaluate("ordered.slice(0, 1).forEach((about) => toggle(about, byId(`case-${about.at}`)))")
    return [link.get_attribute("href") for link in page.get_by_role("link", name=re.compile("^Page of ")).all()]


def test_a_failing_case_leads_to_the_pages_of_its_clauses(context, wrong, suite, files, monkeypatch, tmp_path):
    page = context.new_page()
    page.goto(files["wrong"])
    assert any(link.endswith((".html", ".md")) for link in links_to_clauses(page))
    # Whoever is sent a report, or reads it on a server, has no such files.
    served = "http://reports.example/report.html"
    body = Path(url2pathname(urlsplit(files["wrong"]).path)).read_text("utf-8")
    page.route(served, lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto(served)
    assert links_to_clauses(page) == []
    monkeypatch.setenv("ATTNSPEC_SITE", "https://attnspec.example/latest")
    (tmp_path / "report.html").write_text(html_page([wrong], ["almost right"], suite), "utf-8")
    page.goto((tmp_path / "report.html").as_uri())
    assert f"https://attnspec.example/latest/clauses/{CLAUSE}.html" in links_to_clauses(page)
    page.close()


def test_whatever_the_page_names_is_a_link(opened):
    page = opened("every_status")
    page.evaluate("ordered.slice(0, 40).forEach((about) => toggle(about, byId(`case-${about.at}`)))")
    plain = page.evaluate("""() => [...document.querySelectorAll("main code")]
        .filter((code) => isKnown(code.textContent) && !code.closest("a, h4")).map((code) => code.outerHTML)""")
    assert plain == []
    # The report's own sentences; commands, messages of implementations and the headings of entries are no links.
    beside = page.evaluate("""() => {
        const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
        const found = [];
        while (walker.nextNode()) {
            const parent = walker.currentNode.parentElement;
            if (parent.closest("a, h4, pre, button, option, .command, .reasons, .id, .readout")) continue;
            for (const [word] of walker.currentNode.textContent.matchAll(NAMED)) if (isKnown(word)) found.push(word);
        }
        return found;
    }""")
    assert beside == []


def test_a_finding_leads_to_its_mistake_clause_and_cases(opened):
    page = opened("wrong")
    page.locator("#findings").get_by_role("link", name=MISTAKE).click()
    entry = page.locator(f"[id='{MISTAKE}']")
    assert entry.is_visible()
    assert hash_of(page) == f"#{MISTAKE}"
    assert focused(page) == MISTAKE
    assert "Keep the key at the query's own position." in entry.inner_text()
    entry.get_by_role("link", name=CLAUSE).click()
    clause = page.locator(f"[id='{CLAUSE}']")
    assert clause.is_visible()
    assert "query i may attend to key j only if j is at most i" in clause.inner_text()
    clause.locator("a[href^='#causal/']").first.click()
    wanted = hash_of(page)[1:]
    assert page.locator(".detail").count() == 1
    assert page.evaluate("document.activeElement.dataset.case") == wanted
    page.go_back()
    assert hash_of(page) == f"#{CLAUSE}"
    assert focused(page) == CLAUSE


def test_a_clause_shows_all_its_cases(opened, wrong):
    page = opened("wrong", f"#{CLAUSE}")
    clause = page.locator(f"[id='{CLAUSE}']")
    assert clause.is_visible(), "an address opens the group in which the clause stands"
    clause.get_by_role("button", name=re.compile("^Show all")).click()
    of_clause = {result["case"] for result in wrong["results"] if CLAUSE in result["clauses"]}
    assert set(page.locator(".case .id").all_inner_texts()) == of_clause
    assert f"that exercise {CLAUSE}" in page.locator(".tally").inner_text()
    page.get_by_role("button", name="Clear").click()
    assert "that exercise" not in page.locator(".tally").inner_text()


def test_the_address_of_a_case_survives_a_reload_and_filters(opened):
    page = opened("wrong")
    page.locator(f"[data-case='{SQUARE}']").click()
    page.get_by_role("tab", name="float32").click()
    page.locator("#filter-profile").select_option("causal")
    assert page.locator(".detail").count() == 1, "what was open stays open"
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "✗ float32"
    page.locator("#filter-profile").select_option("layout")
    assert page.locator(".detail").count() == 0
    assert hash_of(page) == f"#{SQUARE}"
    page.locator("#filter-profile").select_option("")
    assert page.locator(".detail").count() == 1
    page.reload()
    assert page.locator(".detail").count() == 1
    assert focused(page).startswith("case-")
    assert page.evaluate("document.activeElement.dataset.case") == SQUARE


def test_a_link_to_a_case_that_the_filters_hide_clears_them(opened):
    page = opened("wrong")
    page.locator("#filter-profile").select_option("layout")
    page.evaluate(f"location.hash = '#{SQUARE}'")
    page.locator(".detail").wait_for()
    assert page.locator("#filter-profile").input_value() == ""
    assert page.evaluate("document.activeElement.dataset.case") == SQUARE


def test_a_source_leads_to_where_it_is(opened):
    page = opened("wrong", f"#{SQUARE}")
    link = page.locator(".called").get_by_role("link", name="https://github.com/jax-ml/jax/issues/19237")
    assert link.get_attribute("href") == "https://github.com/jax-ml/jax/issues/19237"


def test_an_unknown_address_does_nothing(opened):
    for address in ("#sdpa.unheard_of", "#causal/unheard_of", '#"]', "#%E0%A4%A"):
        page = opened("wrong", address)
        assert page.locator(".detail").count() == 0
