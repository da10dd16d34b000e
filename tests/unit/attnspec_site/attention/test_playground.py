"""The playground: functions in JavaScript run in the page, opened from disk, and are graded as `validate` grades."""

from __future__ import annotations

import json
import math
import random
import re

import numpy as np
import pytest

import attnspec
from attnspec.cases import load_suite
from attnspec_mistakes import CATALOGUE
from attnspec_site.attention.playground_cases import DTYPE, OPERATION, OUTPUT, playground_cases
from attnspec_site.attention.playground_page import SCRIPT, examples

from ..conftest import DESKTOP

PAIRS, OF_A_MISTAKE = 100, 5
ADDRESS = "playground.html"
MISTAKES = {mistake.id: mistake for mistake in CATALOGUE}
FINISHED = "() => !document.getElementById('verdict').textContent.endsWith('…')"
ONE_HEAD = """
  const scores = q.map((row) => k.map((other) => dot(row, other) / Math.sqrt(row.length)));
  const powers = scores.map((row) => row.map((score) => Math.exp(score - Math.max(...row))));
  const totals = powers.map((row) => row.reduce((sum, power) => sum + power, 0));
  return powers.map((row, i) => v[0].map((_, f) => dot(row, v.map((each) => each[f])) / totals[i]));
}
function dot(one, other) { return one.reduce((sum, x, e) => sum + x * other[e], 0); }
"""


@pytest.fixture
def played(opened):
    """Grade a text, or an example by its id; gives the page, with what it says."""
    page = opened(ADDRESS)

    def play(*, source=None, example=None):
        if example is not None:
            page.get_by_label("Pick one").select_option(example)
        else:
            page.get_by_label("The function").fill(source)
            page.get_by_role("button", name="Grade it").click()
        page.wait_for_function(FINISHED)
        return page

    return play


def verdict(page):
    return page.locator("#verdict").inner_text()


def all_passed(page):
    count = len(of_the_page(page))
    return f"attention conforms: {count} of {count} passed."


def problems(page):
    """Each problem's number of cases and first sentence, as they are read."""
    found = page.locator(".finding .sentence").all_text_contents()
    return [(int(text.split()[0]), " ".join(text.split()[1:])) for text in found]


def test_right_functions_pass(played):
    right = [example.id for example in examples() if example.is_right]
    assert len(right) >= 8
    for example in right:
        page = played(example=example)
        said = verdict(page)
        assert said.startswith("attention conforms"), (example, said, problems(page))
        assert problems(page) == []
        passed, _, tried = said.partition(": ")[2].split(" passed")[0].partition(" of ")
        assert passed == tried
        assert int(passed) >= 40


def test_a_mistake_is_named_by_the_first_sentence(played):
    wrong = [example.id for example in examples() if not example.is_right]
    assert len(wrong) >= 40
    for example in wrong:
        count, sentence = problems(played(example=example))[0]
        assert sentence.removeprefix("Most likely: ") == MISTAKES[example].sentence
        assert count >= 2, "one case alone hardly distinguishes mistakes"


def test_a_function_in_javascript_fails_the_cases_that_the_mistake_fails(played):
    page = played(example="plain")
    for example in ("sdpa.scale_missing", "sdpa.heads_tiled", "sdpa.causal_strict", "sdpa.softmax_over_queries"):
        page = played(example=example)
        failing = page.locator("#report tr", has_text="wrong").locator("th").all_text_contents()
        report = attnspec.validate(
            OutputAlone(MISTAKES[example]), operation=OPERATION, dtypes=DTYPE, select=of_the_page(page), probes=False
        )
        assert sorted(failing) == sorted(result.case.id for result in report.results if result.status == "fail")


class OutputAlone:
    """A mistake as an implementation that gives the output, and nothing beside it."""

    def __init__(self, mistake):
        self.mistake = mistake

    def __call__(self, **arguments):
        returned = self.mistake.function(**arguments)
        return {OUTPUT: (returned if isinstance(returned, dict) else returned._asdict())[OUTPUT]}


def of_the_page(page):
    return page.evaluate("cases.map(({ id }) => id)")


def as_answer(target, case):
    """What the worker would hand back, had the function given an output of Python's mistake."""
    try:
        with np.errstate(all="ignore"):
            output = target(**case.inputs, **case.attributes)[OUTPUT]
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        return {"threw": str(error)}
    numbers = [value if math.isfinite(value) else str(value) for value in output.ravel().tolist()]
    return {"data": numbers, "shape": list(output.shape), "changed": []}


def test_a_hundred_pairs_of_mistake_and_case_get_the_verdicts_of_validate(opened):
    page = opened(ADDRESS)
    cases = of_the_page(page)
    noticed = page.evaluate("Object.fromEntries(cases.map(({ id, prints }) => [id, Object.keys(prints)]))")
    draw = random.Random("pairs of the playground")
    answers, expected = [], {}
    for mistake in draw.sample(page.evaluate("Object.keys(mistakes)"), PAIRS // OF_A_MISTAKE):
        noticing = [case for case in cases if mistake in noticed[case]]
        drawn = draw.sample(noticing, min(2, len(noticing)))
        drawn += draw.sample([case for case in cases if case not in drawn], OF_A_MISTAKE - len(drawn))
        target = OutputAlone(MISTAKES[mistake])
        report = attnspec.validate(target, operation=OPERATION, dtypes=DTYPE, select=drawn, probes=False)
        verdicts = {result.case.id: result.status == "pass" for result in report.results}
        # Steps of a decoder are results of the run, too; a page that grades one call has none.
        expected |= {(mistake, case): verdicts[case] for case in drawn}
        answers += ([[mistake, case], as_answer(target, attnspec.case(case, DTYPE))] for case in drawn)
    got = page.evaluate(
        """(answers) => answers.map(([[mistake, id], answer]) => {
          const data = answer.data?.map((number) => Number(String(number).replace("inf", "Infinity")));
          const { status } = graded(cases.find((each) => each.id === id), { ...answer, data });
          return [mistake, id, status === "right"];
        })""",
        answers,
    )
    assert len(expected) == PAIRS
    assert PAIRS // 5 <= sum(expected.values()) <= 4 * PAIRS // 5, "both verdicts are drawn"
    assert {(mistake, case): is_right for mistake, case, is_right in got} == expected


def test_a_function_of_one_head_is_called_head_by_head(played):
    for begins in (
        "function attention(q, k, v) {",
        "export default function mine(q, k, v) {",
        "const attention = async (q, k, v) => {",
        "function mine(q, k, v) {",
        "const unused = (x) => x;\nlet mine = function (q, k, v) {",
    ):
        page = played(source=begins + ONE_HEAD)
        assert " conforms in part: 32 of 32 passed" in verdict(page), begins
        assert "head by head" in page.locator("#report").inner_text()


def test_options_may_be_parameters_and_in_camel_case(played):
    plain = next(example.source for example in examples() if example.id == "plain")
    given = "mask, is_causal, causal_alignment, scale, softcap, window"
    listed = plain.replace("value, options)", f"value, {given})").replace(f"  const {{ {given} }} = options;\n", "")
    assert "options" not in listed
    page = played(source=listed)
    assert verdict(page) == all_passed(page)
    camel = plain.replace(f"{{ {given} }}", "{ mask, isCausal, causalAlignment, scale, softcap, window }")
    camel = camel.replace("(is_causal", "(isCausal").replace("causal_alignment ===", "causalAlignment ===")
    page = played(source=camel)
    assert verdict(page) == all_passed(page)


def test_a_default_is_no_option_to_read(played):
    source = f"function attention(q, k, v, causal = false) {{{ONE_HEAD}"
    page = played(source=source)
    assert problems(page) == [(3, MISTAKES["sdpa.causal_ignored"].sentence)], "the alignment of these is the default"
    right = source.replace("=> dot(row, other)", "=> (causal && j > i ? -Infinity : dot(row, other))")
    right = right.replace("q.map((row)", "q.map((row, i)").replace("k.map((other)", "k.map((other, j)")
    assert " conforms in part: 35 of 35 passed" in verdict(played(source=right))


def test_an_option_that_is_never_read_is_not_graded(played):
    plain = next(example.source for example in examples() if example.id == "plain")
    page = played(source=plain.replace(", softcap, window", ", window").replace("softcap ? softcap", "false ? 0"))
    assert " conforms in part: " in verdict(page)
    assert "cases with softcap, which the function never reads" in page.locator("#report").inner_text()


def test_what_cannot_be_called_gets_a_sentence_with_its_line(played):
    for source, said in (
        ("function attention(q) {\n  return q.map((x) => x * );\n}", "Line 2 cannot be read as JavaScript: Unexpected"),
        ("function attention(q) {\n  return q;", "It ends before every bracket, quotation or comment is closed."),
        ("const a = 1;\nconst b = c;\nfunction attention() {}", "Line 2 ended with ReferenceError: c is not defined."),
        ("let attention = 3;", "No function was found."),
        ("", "No function was found."),
    ):
        page = played(source=source)
        assert verdict(page).startswith(said)
        if said.startswith("Line 2"):
            assert page.locator("#report pre").inner_text().startswith(f"2: {source.splitlines()[1]}")


def test_what_is_no_output_gets_a_sentence(played):
    for body, said in (
        ("q.map((x) => x);", "It returned undefined, not an array. Is a `return` missing?"),
        ("\n  return q.legnth.map((x) => x);", "(line 2)."),
        ("return q.map(() => Float32Array.of(1));", "numbers are graded in float64"),
        ("return [[1, 2], [3]];", "output[1] has another shape than output[0]."),
        ("return [['1']];", "output[0][0] is a string, not a number."),
        ("return [[[[1]]]];", "The output has another shape than expected."),
    ):
        page = played(source=f"function attention(q, k, v) {{{body}}}")
        assert said in " ".join(sentence for _, sentence in problems(page)), body


def test_arguments_that_are_changed_are_noticed(played):
    plain = next(example.source for example in examples() if example.id == "plain")
    page = played(source=plain.replace("return weights.map(", "rows[0][0] += 1;\n      return weights.map("))
    assert problems(page) == [(len(of_the_page(page)), "It changed its argument query; inputs must stay as they are.")]


def test_an_error_is_wrong_from_the_tolerance_on(opened):
    verdicts = opened(ADDRESS).evaluate(
        """cases.flatMap((tested) => {
          const [expected, tolerance] = [tested.expected.data, tested.tolerance].map((row) => row.map(Number));
          // Where rounding leaves room to stand on either side of the tolerance.
          const at = expected.findIndex((number, index) => tolerance[index] > 100 * Number.EPSILON * Math.abs(number));
          if (at < 0 || tolerance[at] === Infinity) return [];
          const off = (share) => expected.with(at, expected[at] + share * tolerance[at]);
          return [[0, 0.95, 1.05, NaN].map((share) => graded(tested, { data: off(share) }).status)];
        })"""
    )
    assert len(verdicts) >= 5
    assert all(each == ["right", "right", "wrong", "wrong"] for each in verdicts)


@pytest.mark.parametrize("source", ["function attention() { for (;;) {} }", "function attention() {}\nfor (;;) {}"])
def test_a_loop_without_end_is_given_up(opened, source):
    page = opened(ADDRESS)
    page.clock.install()
    page.get_by_label("The function").fill(source)
    page.get_by_label("The function").press("Control+Enter")
    page.clock.fast_forward(3000)
    page.wait_for_function(FINISHED)
    assert verdict(page) == "It gave no answer within 3 seconds in its first case. Does a loop never end?"
    # The page goes on.
    page.get_by_label("Pick one").select_option("plain")
    page.wait_for_function(FINISHED)
    assert verdict(page) == all_passed(page)


def test_numbers_that_no_mistake_gives_have_no_name(played):
    plain = next(example.source for example in examples() if example.id == "plain")
    page = played(
        source=plain.replace("powers.map((power) => power / total)", "powers.map((power) => 1.001 * power / total)")
    )
    assert [sentence for _, sentence in problems(page)] == ["Nothing in the catalogue explains these numbers."]


def test_a_cause_is_read_beside_its_case_and_its_pictures(played):
    page = played(example="sdpa.heads_tiled")
    finding = page.locator(".finding").first
    assert finding.locator("a").evaluate_all("links => links.map((link) => link.getAttribute('href'))")[:2] == [
        "clauses/sdpa.heads.grouped.html",
        "mistakes/sdpa.heads_tiled.html",
    ]
    finding.get_by_text("Pictures of that case").click()
    assert finding.locator("svg.heatmap").count() == 3


def test_an_address_picks_an_example_and_an_own_text_comes_back(opened):
    page = opened(f"{ADDRESS}#sdpa.heads_tiled")
    page.wait_for_function("() => document.querySelector('.finding')")
    assert re.fullmatch(r"\d of 1\d\d went wrong:", verdict(page))
    page.get_by_label("The function").fill("function attention() { return 1; }")
    page.get_by_label("Pick one").select_option("plain")
    page.get_by_label("Pick one").select_option("")
    assert page.get_by_label("The function").input_value() == "function attention() { return 1; }"


def test_a_reader_without_scripts_has_the_function_and_how_it_is_called(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.as_uri()}/{ADDRESS}")
    assert page.locator("noscript").inner_text().startswith("The playground needs scripts.")
    assert page.get_by_label("The function").input_value().strip() == examples()[0].source.strip()
    assert "options.causal_alignment" in page.locator("main").inner_text()
    context.close()


@pytest.mark.parametrize(
    ("colours", "size"),
    [
        pytest.param("light", {"width": 375, "height": 812}, id="light-phone"),
        pytest.param("dark", DESKTOP, id="dark-desktop", marks=pytest.mark.proof),
    ],
)
def test_a_graded_page_is_accessible_and_fits(opened, colours, size):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    page = opened(f"{ADDRESS}#sdpa.no_maximum", size=size, colours=colours)
    page.wait_for_function("() => document.querySelector('.finding')")
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    violations = axe.run(page, options={"preload": False}).response["violations"]
    assert [(rule["id"], [node["target"] for node in rule["nodes"]][:3]) for rule in violations] == []


def test_the_data_are_small_and_hold_the_numbers_of_the_cases(site):
    text = (site / SCRIPT).read_text(encoding="utf-8")
    assert len(text) < 700_000
    data = json.loads(text.removeprefix("window.playground = ").rstrip().rstrip(";"))
    cases = playground_cases(load_suite(whole=True).cases.values())
    assert [case["id"] for case in data["cases"]] == [case.id for case in cases]
    for shown in data["cases"][::8]:
        case = attnspec.case(shown["id"], DTYPE)
        np.testing.assert_array_equal([*map(float, shown["expected"]["data"])], case.expected[OUTPUT].ravel())
        np.testing.assert_array_equal([*map(float, shown["tolerance"])], case.tolerance[OUTPUT].ravel())
        np.testing.assert_array_equal([*map(float, shown["inputs"]["query"]["data"])], case.inputs["query"].ravel())
