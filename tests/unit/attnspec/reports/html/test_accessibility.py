"""What axe-core finds in the page: nothing, whatever is open, in light and dark, on a desk and on a phone."""

import pytest

DESKTOP = {"width": 1180, "height": 900}
PHONE = {"width": 375, "height": 812}

axe_playwright = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="these tests need axe-core: pip install axe-playwright-python"
)


def violations(page):
    """What axe-core says of a page as it is now: rule, elements, and what is missing."""
    found = axe_playwright.Axe().run(page).response["violations"]
    return [
        (rule["id"], node["target"], [check["message"] for check in (*node["any"], *node["all"], *node["none"])])
        for rule in found
        for node in rule["nodes"]
    ]


def unfold(page):
    """Open a case of every status and one of every profile, drawn ones among them, and whatever else can be opened."""
    page.evaluate("""() => {
        const seen = new Set();
        for (const about of ordered.filter(({ at }) => byId(`case-${at}`))) {
            const kinds = [about.profile, ...about.results.map(({ status }) => status)];
            if (kinds.some((kind) => !seen.has(kind))) toggle(about, byId(`case-${about.at}`));
            kinds.forEach((kind) => seen.add(kind));
        }
        document.querySelectorAll("details").forEach((details) => { details.open = true; });
    }""")


@pytest.mark.parametrize(
    ("colours", "size"),
    [
        pytest.param("light", DESKTOP, id="light-desktop"),
        pytest.param("dark", PHONE, id="dark-phone"),
        pytest.param("light", PHONE, id="light-phone", marks=pytest.mark.proof),
        pytest.param("dark", DESKTOP, id="dark-desktop", marks=pytest.mark.proof),
    ],
)
def test_open_cases_of_every_status_have_no_violation(opened, colours, size):
    page = opened("every_status", size=size, colours=colours)
    unfold(page)
    assert page.locator(".detail").count() >= 6
    assert page.locator("svg.heatmap").count() > 20
    assert violations(page) == []


@pytest.mark.proof
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("name", ["both", "hostile"])
def test_several_reports_and_hostile_ones_have_no_violation(opened, name, colours):
    page = opened(name, colours=colours)
    unfold(page)
    assert violations(page) == []


@pytest.mark.parametrize("colours", ["light", pytest.param("dark", marks=pytest.mark.proof)])
def test_a_filtered_list_has_no_violation(opened, colours):
    page = opened("every_status", "#causal/square", colours=colours)
    page.get_by_role("button", name="fail ", exact=False).first.click()
    page.locator("#filter-dtype").select_option("float32")
    assert page.locator(".badge.dim").count() > 0
    assert violations(page) == []
    page.get_by_label("Search the cases").fill("nothing of this kind")
    assert violations(page) == []
