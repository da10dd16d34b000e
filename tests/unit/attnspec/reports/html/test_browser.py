"""The page in a browser: what is seen, clicked and typed, and that nothing leaves it."""

import json
import re

import pytest

from attnspec.grading import WRONG

SQUARE = "causal/square"
NOTHING = "\N{EN DASH}"
PHONE = {"width": 375, "height": 812}


def ids(page):
    return page.locator(".case .id").all_inner_texts()


def colour_of(page, selector, what="color"):
    """The three parts of a computed colour, 0 to 255."""
    text = page.locator(selector).first.evaluate(f"element => getComputedStyle(element).{what}")
    parts = [float(part) for part in re.findall(r"[\d.]+", text.replace("srgb", ""))][:3]
    return [255 * part for part in parts] if text.startswith("color(") else parts


def luminance(colour):
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (p / 255 for p in colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def test_the_verdict_comes_first(opened):
    page = opened("wrong")
    assert page.title() == "almost right 0.3 does not conform | attnspec report"
    assert page.locator("h1").inner_text() == "almost right 0.3 does not conform"
    assert "could not attend to its own position" in page.locator("#findings").inner_text()
    page = opened("right")
    assert page.locator("h1").inner_text() == "reference conforms"
    assert page.locator("#findings").is_hidden()


def test_the_matrix_counts_and_says_it_without_colour(opened, wrong):
    page = opened("wrong")
    results = [r for r in wrong["results"] if r["case"].startswith("causal/") and r["dtype"] == "float32"]
    passed = sum(result["status"] == "pass" for result in results)
    tried = sum(result["status"] != "unsupported" for result in results)
    cell = page.get_by_role("button", name=f"causal, float32: {passed} of {tried} passed")
    assert cell.inner_text().split() == ["✗", f"{passed}/{tried}"]
    cell.click()
    assert page.locator("#filter-profile").input_value() == "causal"
    assert page.locator("#filter-dtype").input_value() == "float32"
    assert set(ids(page)) == {result["case"] for result in results}


def test_failures_come_first(opened, wrong):
    page = opened("wrong")
    failing = {result["case"] for result in wrong["results"] if result["status"] == "fail"}
    shown = ids(page)
    assert set(shown[: len(failing)]) == failing
    assert shown[len(failing)] == "masking/boolean_rank_2", "then those requested"


def test_the_list_is_filtered_by_status_profile_dtype_and_words(opened, wrong):
    page = opened("wrong")

    def expected(**wanted):
        return {
            result["case"]
            for result in wrong["results"]
            if all({**result, "profile": result["case"].split("/")[0]}[key] == value for key, value in wanted.items())
        }

    page.get_by_role("button", name=re.compile("^fail ")).click()
    assert set(ids(page)) == expected(status="fail")
    page.locator("#filter-profile").select_option("layout")
    assert set(ids(page)) == expected(status="fail", profile="layout")
    page.locator("#filter-dtype").select_option("bfloat16")
    assert set(ids(page)) == expected(status="fail", profile="layout", dtype="bfloat16")
    page.get_by_role("button", name="Clear").click()
    assert len(ids(page)) == min(200, len(expected()))
    page.get_by_label("Search the cases").fill("SQUARE  probe")
    assert ids(page) == ["causal/square_probe"]
    assert page.get_by_role("status").inner_text().startswith("1 of ")
    page.get_by_label("Search the cases").fill("nothing of this kind")
    assert page.locator(".cases").inner_text() == "No case matches."


def test_a_finding_leads_to_its_cases(opened):
    page = opened("wrong")
    page.locator(".finding", has_text="softmax").first.get_by_role("button").click()
    assert ids(page)
    assert all("softmax" in case_id for case_id in ids(page))


def test_a_finding_of_one_check_leads_to_its_cases_and_to_no_others(opened, accepts_all):
    page = opened("accepts_all")
    finding = page.locator(".finding", has_text="Inputs that must be refused were accepted.")
    finding.get_by_role("button", name="Show these cases").click()
    expected = {result["case"] for result in accepts_all["results"] if result["check"] == "rejects"}
    assert set(ids(page)) == expected
    tally = page.locator(".tally").inner_text()
    assert tally.startswith(f"{len(expected)} of ")
    assert "of one kind: " in tally


def test_a_failing_case_shows_everything(opened, suite):
    page = opened("wrong")
    page.locator(f"[data-case='{SQUARE}']").click()
    detail = page.locator(".detail")
    text = detail.inner_text()
    for wanted in (
        "fail (values)",
        "expected",
        "Keep the key at the query's own position.",
        "sdpa.causal.top_left",
        "query i may attend to key j only if j is at most i",
        "is_causal",
        "default",
        f"--select {SQUARE} --dtype float64",
        f"attnspec show {SQUARE} --python",
    ):
        assert wanted in text
    expected = suite.cases[SQUARE].golden("float64")["output"]
    figure = detail.locator(".figure").nth(0)
    panels = figure.locator("svg.heatmap")
    assert figure.locator(".panel-title").all_inner_texts() == ["expected", "got", "error / tolerance"]
    for panel in panels.all():
        assert panel.locator("rect.cell").count() == expected.shape[-2] * expected.shape[-1]
    drawn = [element.get_attribute("class") for element in panels.nth(0).locator("rect.cell").all()]
    largest = abs(expected).max()
    for value, classes in zip(expected[0, 0].ravel(), drawn, strict=True):
        step = round(value / largest * 6)
        assert classes == ("cell zero" if step == 0 else f"cell {'plus' if step > 0 else 'minus'} step{abs(step)}")
    colours = {
        panels.nth(0).locator(f"rect.cell.{kind}").first.evaluate("element => getComputedStyle(element).fill")
        for kind in ("plus", "minus", "zero")
    }
    assert len(colours) == 3


def test_excluded_keys_are_hatched_and_what_was_not_attended_is_ringed(opened):
    page = opened("wrong", f"#{SQUARE}")
    weights = page.locator(".detail .figure", has=page.locator("h3", has_text="weights"))
    assert weights.locator("svg.heatmap").first.locator("rect[fill='url(#hatch)']").count() == 10
    attended = page.locator(".detail .figure", has=page.locator("h3", has_text="Attended keys"))
    assert attended.locator("svg.heatmap rect.cell.attend").count() == 10
    assert attended.locator("svg.heatmap rect.cell.missed").count() == 5
    assert attended.locator("svg.heatmap circle.ring").count() == 5
    assert attended.locator(".readout").inner_text() == "Query 0 may attend key 0. Its weights went to no key."
    attended.locator("[data-row='3'][data-column='1']").hover()
    assert attended.locator(".readout").inner_text() == "Query 3 may attend keys 0-3. Its weights went to keys 0-2."


def test_the_slices_of_one_run_turn_together(opened):
    page = opened("wrong", f"#{SQUARE}")
    selects = page.locator(".detail .run .slices select")
    assert selects.count() == 3
    selects.nth(0).select_option("batch entry 0, query head 1")
    chosen = selects.evaluate_all("all => all.map((select) => select.selectedOptions[0].text)")
    assert chosen == ["batch entry 0, query head 1"] * 3
    assert page.locator(".detail .readout").first.inner_text().startswith("output[0, 1, ")


def test_everything_is_reached_by_keyboard(opened, suite):
    page = opened("wrong")
    focused = "document.activeElement"
    page.keyboard.press("/")
    assert page.evaluate(f"{focused}.id") == "search"
    page.keyboard.type("causal/square")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(f"{focused}.dataset.case") == ids(page)[0]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    assert page.evaluate(f"{focused}.dataset.case") == ids(page)[-1]
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert page.evaluate(f"{focused}.getAttribute('aria-expanded')") == "true"
    assert page.url.endswith(f"#{ids(page)[0]}")
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.getAttribute('role')") == "tab"
    page.keyboard.press("ArrowRight")
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "✗ float32"
    for _ in range(9):
        page.keyboard.press("Tab")
        if page.evaluate(f"{focused}.tagName") not in ("A", "SELECT", "SUMMARY"):
            break
    assert page.evaluate(f"{focused}.className") == "board"
    outline = page.evaluate(f"getComputedStyle({focused}).outlineStyle")
    assert outline == "solid", "the focus is seen"
    board = page.locator(".board").first
    assert "Arrow keys" in board.get_attribute("aria-label")
    for _ in range(9):
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowLeft")
    readout = page.locator(".detail .readout").first
    assert re.match(r"output\[\d+, \d+, 0, 0\]: expected ", readout.inner_text())
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert re.match(r"output\[\d+, \d+, 1, 1\]: expected ", readout.inner_text())
    cursor = board.locator(".cursor").first
    assert (cursor.get_attribute("x"), cursor.get_attribute("y")) == ("32", "32")
    page.keyboard.press("Escape")
    assert page.locator(".detail").count() == 0
    assert page.evaluate(f"{focused}.dataset.case") == ids(page)[0]


def test_the_tab_order_follows_the_page(opened):
    page = opened("wrong")
    seen = []
    for _ in range(9):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.innerText"))
    assert seen[:2] == ["Skip to the results", "Dark"]
    assert seen[2] == "How close it came"
    assert seen[3].endswith("not graded, by reason")
    cards = page.locator("#findings .finding").locator("a, summary, button").all_inner_texts()
    # What is folded has no text, and no focus.
    assert seen[4:] == [*filter(None, cards)][:5]
    assert "sdpa.causal.top_left" in cards


# Each open figure: its name, heading, what is said of its elements, and which of them are drawn as off or as open.
FIGURES = """() => {
    const saidOf = (text) => text.replace(/ · \\w+ excluded$/, "").split(/: | · /).at(-1);
    const drawn = ordered.filter(({ drawn }) => drawn);
    for (const about of drawn.filter((_, at) => drawn.length < 50 || at % 3 === 0)) {
        toggle(about, byId(`case-${about.at}`));
    }
    return [...document.querySelectorAll(".detail")].flatMap((detail) =>
    [...detail.querySelectorAll("[role=tab]")].flatMap((tab) => {
        tab.click();
        const said = detail.querySelector(".message strong").textContent;
        return [...detail.querySelectorAll(".run .figure")].map((figure) => {
            const panel = [...figure.querySelectorAll(".panel")].at(-1);
            const title = panel?.querySelector(".panel-title").textContent;
            if (title !== "error / tolerance") return null;
            const slices = [...figure.querySelectorAll(".slices option")].map(({ text }) => text);
            const cells = (slices.length ? slices : [null]).flatMap((slice) => {
                const explorer = figure.querySelector(".explorer");
                if (slice) explorer.dispatchEvent(new CustomEvent("slice", { detail: slice }));
                const drawn = [...figure.querySelectorAll(".panel")].at(-1).querySelectorAll("svg.heatmap rect.cell");
                return [...drawn].map((cell) => {
                    cell.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
                    const next = cell.nextElementSibling;
                    return [
                        saidOf(figure.querySelector(".readout").textContent),
                        cell.classList.contains("beyond"),
                        next?.getAttribute("fill") === "url(#dots)",
                    ];
                });
            });
            return [
                detail.id, said, figure.querySelector("h3").textContent, cells,
                figure.querySelector(".legend")?.textContent ?? "",
            ];
        }).filter((found) => found !== null);
    }));
}"""


@pytest.mark.parametrize(("name", "least"), [("wrong", 10), ("slightly_off", 30)])
def test_no_label_contradicts_its_cells(opened, name, least):
    figures = opened(name).evaluate(FIGURES)
    assert len({case for case, *_ in figures}) >= least
    wrong_ones, headings = {}, set()
    for case, status, heading, cells, legend in figures:
        words = {said for said, *_ in cells}
        headings.add("not graded" in heading)
        assert words <= {"right", "wrong", "not graded", "not graded, agrees", "not graded, differs"}, (case, words)
        assert ("not graded" in heading) == (not words & {"right", "wrong"}), (case, heading, words)
        assert all(is_beyond == (said.endswith(("wrong", "differs"))) for said, is_beyond, _ in cells), case
        assert all(has_dots == (said == "not graded") for said, _, has_dots in cells), case
        assert ("wrong" in legend) == ("wrong" in words), (case, legend)
        assert ("differs" in legend) == ("not graded, differs" in words), (case, legend)
        wrong_ones[case, status] = wrong_ones.get((case, status), False) or "wrong" in words
    assert headings == {True, False}, "some outputs are graded, others are not"
    for (case, status), has_wrong in wrong_ones.items():
        assert has_wrong == (status == "fail (values)"), (case, status)


def test_a_sign_says_of_a_row_and_of_a_cell_what_was_counted(opened):
    page = opened("every_status")
    rows = page.locator(".case").evaluate_all(
        "all => all.map((row) => [row.querySelector('.sign').textContent, row.querySelector('.hidden').textContent, "
        "[...row.querySelectorAll('.badge')].map(({ title }) => title.split(': ')[1])])"
    )
    for sign, said, statuses in rows:
        wrong = sum(status in WRONG for status in statuses)
        passed = "pass" in statuses
        expected = f", {wrong} wrong. " if wrong else ", passed. " if passed else ", not graded. "
        assert (sign, said) == ("✗" if wrong else "✓" if passed else NOTHING, expected)
    for cell in page.locator(".cell-button").all():
        sign = cell.inner_text().split()[0]
        counts = re.search(r"(\d+) of \d+ passed, (\d+) wrong", cell.get_attribute("aria-label"))
        passed, wrong = map(int, counts.groups())
        assert sign == ("✗" if wrong else "✓" if passed else NOTHING)


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_text_is_readable_in_light_and_dark(opened, colours):
    page = opened("wrong", f"#{SQUARE}", colours=colours)
    ground = colour_of(page, "body", "backgroundColor")
    sheet = colour_of(page, ".cases", "backgroundColor")
    assert (luminance(ground) < 0.1) == (colours == "dark")
    for selector in (".verdict .sentence", ".case .title", ".axes", ".range", ".readout", ".case .id"):
        assert contrast(colour_of(page, selector), sheet) >= 4.5, selector
    for selector in ("#matrix > .muted", ".tally", "footer", ".matrix tbody th"):
        assert contrast(colour_of(page, selector), ground) >= 4.5, selector
    for selector in (".badge.bad", ".badge.good", ".cell-button.good", ".cell-button.bad", ".cell-button.none"):
        assert contrast(colour_of(page, selector), colour_of(page, selector, "backgroundColor")) >= 4.5, selector
    plus, minus = (colour_of(page, f".strip .{kind}.step6", "fill") for kind in ("plus", "minus"))
    zero = colour_of(page, ".strip .zero", "fill")
    assert min(contrast(plus, zero), contrast(minus, zero)) >= 3, "the ends of the palette stand out from its middle"


def test_the_button_switches_between_light_and_dark(opened):
    page = opened("wrong", colours="dark")
    button = page.locator("#theme")
    assert button.get_attribute("aria-label") == "Switch to light colours"
    button.click()
    assert luminance(colour_of(page, "body", "backgroundColor")) > 0.8
    button.click()
    assert luminance(colour_of(page, "body", "backgroundColor")) < 0.1


@pytest.mark.parametrize("name", ["wrong", "both", "hostile"])
def test_on_a_phone_nothing_sticks_out(opened, name):
    page = opened(name, size=PHONE)
    for case in page.locator(".case").all()[:3]:
        case.click()
    for summary in page.locator("details > summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    # What a box clips does not scroll, so each element is looked at; tables and commands scroll by themselves.
    beyond = """() => [...document.querySelectorAll("main *, footer *")]
        .filter((element) => !element.closest(".scroll .scroll, .scroll > *, .hidden, svg *"))
        .filter((element) => element.getBoundingClientRect().right > 375.5)
        .map((element) => element.outerHTML.slice(0, 80))"""
    assert page.evaluate(beyond) == []
    for button in page.locator(".case, .chip-button, .cell-button").all()[:20]:
        assert button.bounding_box()["height"] >= 24, "large enough for a finger"


def test_several_implementations_stand_side_by_side(opened, right):
    page = opened("both")
    assert page.locator("h1").inner_text() == "2 implementations side by side"
    assert page.locator("#notes p").first.inner_text() == "Left out: torn.json is cut."
    assert page.locator(".verdict .name").all_inner_texts() == ["almost right", "reference"]
    rows = page.locator(".ranking tbody tr").all_inner_texts()
    assert [row.split("\t")[1] for row in rows] == ["reference", "almost right"], "an error beyond tolerance comes last"
    assert page.locator(".matrix .group").all_inner_texts() == ["almost right", "reference"]
    page.locator("#filter-implementation").select_option("reference")
    page.get_by_role("button", name=re.compile("^unsupported ")).click()
    assert ids(page) == []
    page.get_by_role("button", name=re.compile("^unsupported ")).click()
    assert set(ids(page)) <= {result["case"] for result in right["results"]}
    page.locator(f"[data-case='{SQUARE}']").click()
    tabs = page.locator("[role=tab]").all_inner_texts()
    assert "✗ almost right, float64" in tabs
    assert "✓ reference, float64" in tabs


def test_a_case_that_was_requested_is_drawn_though_it_passed(opened):
    page = opened("wrong", "#masking/boolean_rank_2")
    detail = page.locator(".detail")
    assert "Every graded element lies within its tolerance." in detail.inner_text()
    assert detail.locator("svg.heatmap").count() >= 3
    detail.locator("summary", has_text="Inputs").click()
    assert detail.locator(".inputs svg.heatmap:visible").count() == 4


def test_hostile_names_and_messages_are_text(opened):
    page = opened("hostile")
    name = page.locator("h1 .name").inner_text()
    assert name.startswith("<script>alert(1)</script></script><img src=x onerror=alert(2)>⟨001B⟩[31m⟨0000⟩⟨202E⟩⟨D800⟩")
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 0
    page.locator("[data-case^='layout/softmax']").first.click()
    message = page.locator(".message pre").inner_text()
    assert "raised ValueError: <script>alert(1)</script>" in message
    assert "more characters)" in message
    assert len(message) < 2500
    acting = "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
    assert not page.evaluate(f"new RegExp({json.dumps(acting)}).test(document.documentElement.textContent)")


def test_numbers_that_are_none_are_drawn_too(opened):
    page = opened("hostile", "#core/many_heads")
    got = page.locator(".detail svg.heatmap").nth(1)
    assert got.locator("rect.cell.nan").count() == 9
    assert "got nan" in page.locator(".detail .readout").first.inner_text()


def test_without_scripts_a_sentence_says_why_it_is_empty(browser, files):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(files["wrong"])
    assert "Allow scripts to see it" in page.locator("main").inner_text()
    context.close()
