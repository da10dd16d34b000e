"""The page: one file that sends no request and executes its own script alone; its data; texts that could act."""

import base64
import copy
import hashlib
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnspec.base.errors import UsageError
from attnspec.cases import Case, Suite
from attnspec.contract.dtypes import numpy_dtype
from attnspec.reports.formats import Report, report_to_json
from attnspec.reports.html import html_page
from attnspec.reports.html.page import MOST_FAILING_CASES, as_island, harmless, page_data
from attnspec.runner import run_suite
from attnspec.targets import load


class Elements(HTMLParser):
    """Every start tag with its attributes, and the text of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.inside = {"script": [], "style": []}
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag in self.inside:
            self.inside[tag].append("")

    def handle_data(self, text):
        if self.cdata_elem is not None:
            self.inside[self.cdata_elem][-1] += text


@pytest.fixture(scope="module")
def page(hostile, suite):
    return html_page([hostile], [hostile["implementation"]["name"]], suite)


def test_nothing_is_loaded_and_nothing_is_inline(page):
    for tag, attributes in Elements(page).found:
        assert not {"src", "srcset", "style", "action"} & attributes.keys(), tag
        assert not any(name.startswith("on") for name in attributes), tag
        assert not str(attributes.get("href", "#")).startswith(("http", "//", "javascript")), tag
        assert tag not in ("link", "iframe", "object", "embed", "img", "base", "form")
    without_data = re.sub(r'(?s)(<script type="application/json" id="data">).*?(</script>)', r"\1\2", page)
    assert len(without_data) < len(page)
    assert re.findall(r"https?://[^\"]+", without_data) == ["http://www.w3.org/2000/svg"]


def test_the_policy_allows_this_script_and_this_style_alone(page):
    elements = Elements(page)
    policy = next(
        attributes["content"]
        for tag, attributes in elements.found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    (_, script), (style,) = elements.inside["script"], elements.inside["style"]
    for kind, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy


def test_a_hostile_implementation_adds_no_element(page, right, suite):
    tags = [tag for tag, _ in Elements(page).found]
    assert tags == [tag for tag, _ in Elements(html_page([right], ["reference"], suite)).found]
    assert tags.count("script") == 2
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\ud800-\udfff]", page)
    page.encode("utf-8")


def test_no_mark_of_the_template_is_left(page):
    assert not re.search(r"@[A-Z]+@", page)


SQUARE = "causal/square"


def position_of(data, case_id):
    return next(position for position, case in enumerate(data["cases"]) if case["id"] == case_id)


def drawn_of(data, case_id):
    return data["drawn"].get(str(position_of(data, case_id)))


def island_of(page):
    """The data of a page, as its script reads them."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_every_result_is_there_as_it_was_reported(wrong, suite):
    data = page_data([wrong], ["mine"], suite)
    (rows,) = data["results"]
    assert len(rows) == wrong["count"]
    for row, result in zip(rows, wrong["results"], strict=True):
        case, dtype, status, message, *_ = row
        assert data["cases"][case]["id"] == result["case"]
        assert data["dtypes"][dtype] == result["dtype"]
        assert data["statuses"][status] == result["status"]
        assert data["texts"][message] == result["message"]
    assert {case["id"]: case["title"] for case in data["cases"]} == {
        case["id"]: suite.cases[case["id"]].title for case in data["cases"]
    }


@pytest.mark.parametrize(
    ("adapter", "conventions", "invocation", "command"),
    [
        ("./mine.py", {}, {}, ["attnspec validate ./mine.py", ""]),
        ("./my file.py", {}, {}, ["attnspec validate './my file.py'", ""]),
        ("node attention.mjs", {}, {"command": True}, ["attnspec validate --command 'node attention.mjs'", ""]),
        ("torch;rm", {"no_keys": "nan"}, {}, ["attnspec validate 'torch;rm'", "--convention no_keys=nan"]),
        ("a\x1b[2J", {}, {"layout": "\x1b"}, ["attnspec validate 'a⟨001B⟩[2J'", "--layout '⟨001B⟩'"]),
        (
            "./mine.py:f",
            {},
            {"as": "softmax", "rename": {"X": "x", "dim": "axis"}, "timeout": 0.5, "isolate": True, "golden": "a b"},
            [
                "attnspec validate ./mine.py:f",
                "--as softmax --timeout 0.5 --golden 'a b' --rename X=x --rename dim=axis --isolate",
            ],
        ),
    ],
)
def test_the_command_that_runs_it_again_is_quoted(right, suite, adapter, conventions, invocation, command):
    document = copy.deepcopy(right)
    document["implementation"].update(adapter=adapter, conventions=conventions)
    document["invocation"].update(invocation)
    (implementation,) = page_data([document], ["it"], suite)["implementations"]
    assert implementation["command"] == command


def test_every_failing_case_is_drawn_and_no_other(wrong, suite):
    data = page_data([wrong], ["mine"], suite)
    failing = {result["case"] for result in wrong["results"] if result["status"] == "fail"}
    assert {data["cases"][int(position)]["id"] for position in data["drawn"]} == failing
    assert data["failing"] == [len(failing), len(failing)]
    runs = drawn_of(data, SQUARE)["runs"]
    assert [data["dtypes"][run["dtype"]] for run in runs] == ["float64", "float32", "bfloat16"]


def test_cases_that_are_requested_are_drawn_too(wrong, suite):
    requested = "masking/all_one"
    assert requested not in {result["case"] for result in wrong["results"]}
    data = page_data([wrong], ["mine"], suite, detailed=[requested])
    drawn = drawn_of(data, requested)
    assert {picture["name"] for picture in drawn["computed"]} == {"output", "weights", "logsumexp"}
    assert {picture["name"] for picture in drawn["inputs"]} == {"query", "key", "value", "mask"}
    assert drawn["runs"] == []


def test_an_array_that_several_pictures_show_is_kept_once(wrong, suite):
    data = page_data([wrong], ["mine"], suite)
    expected = {
        output["expected"]
        for run in drawn_of(data, SQUARE)["runs"]
        for output in run["outputs"]
        if output["name"] == "output"
    }
    assert len(expected) == 1
    texts = [json.dumps(array) for array in data["arrays"]]
    assert len(set(texts)) == len(texts)


def test_of_another_suite_nothing_but_the_report_is_shown(wrong, right, suite):
    stranger = copy.deepcopy(wrong)
    stranger["suite"]["digest"] = "0" * 64
    data = page_data([stranger], ["mine"], suite)
    note, warned = data["notes"]
    assert warned.startswith("mine: Your code warned")
    assert "mine was validated against another suite" in note
    assert any(said.startswith("Systematic errors") for said in data["implementations"][0]["closing"])
    assert {case["title"] for case in data["cases"]} == {None}
    assert set(map(str, data["drawn"].values())) == {"{'runs': []}"}
    assert data["arrays"] == []
    beside = page_data([stranger, right], ["mine", "reference"], suite)
    drawn = drawn_of(beside, SQUARE)
    assert drawn["inputs"]
    assert drawn["runs"] == [], "what came back was for other inputs"


def test_a_case_that_the_suite_does_not_know_does_not_stop_the_page(wrong, suite):
    strange = copy.deepcopy(wrong)
    for result in strange["results"]:
        if result["case"] == SQUARE:
            result["case"] = "causal/unheard_of"
    data = page_data([strange], ["mine"], suite)
    assert data["cases"][position_of(data, "causal/unheard_of")]["title"] is None
    assert drawn_of(data, "causal/unheard_of") == {"runs": []}


def test_an_unknown_or_a_21st_case_is_refused_in_a_sentence(right, suite):
    with pytest.raises(UsageError, match=r"There is no case 'causal/sqare'\. Did you mean causal/square"):
        html_page([right], ["reference"], suite, detailed=["causal/sqare"])
    with pytest.raises(UsageError, match="at most 20 further cases; 21 are requested"):
        html_page([right], ["reference"], suite, detailed=list(suite.cases)[:21])


def test_clauses_and_errata_that_are_named_have_their_words(wrong, suite):
    data = page_data([wrong], ["mine"], suite)
    assert {clause for case in data["cases"] for clause in case["clauses"]} <= data["clauses"].keys()
    assert all(data["clauses"].values())
    assert "E004.no_maximum" in data["errata"]


def test_many_long_messages_are_cut_more(document_of, suite):
    document = document_of("reference", "core/*")
    for position, result in enumerate(document["results"]):
        result["message"] = f"{position} " + "z" * 10_000
    data = page_data([document], ["mine"], suite)
    assert sum(map(len, data["texts"])) < 600_000
    assert data["texts"][0].endswith("more characters)")


def large_suite(count):
    """Cases of 4,096 elements in output and 8,192 in weights."""
    generator = np.random.default_rng(1)
    shape = (1, 2, 64, 32)
    inputs = {name: generator.normal(size=shape) for name in ("query", "key", "value")}
    case = Case(
        id="large/case",
        revision=1,
        title="Attention of 64 queries over 64 keys",
        operation="scaled_dot_product_attention",
        profile="large",
        clauses=("sdpa.weights",),
        targets=(),
        errata=(),
        source={"document": "none"},
        dtypes=("float64", "float32", "float16", "bfloat16"),
        inputs=inputs,
        attributes={"is_causal": True},
        expected={"all": {"output": inputs["value"], "weights": generator.random((1, 2, 64, 64))}},
        sample={},
        memory_order={},
        rejects=None,
        properties=None,
        changed_argument=None,
        conventions=(),
        printed=(),
    )
    cases = {f"large/case_{position:03}": case._replace(id=f"large/case_{position:03}") for position in range(count)}
    return Suite(folder=None, digest="1" * 64, cases=cases, counterparts={})


class Large:
    """Returns wrong numbers, in output and weights."""

    dtypes = ("float64", "bfloat16")

    def scaled_dot_product_attention(self, query, key, value, is_causal=False):
        return np.ones_like(value), np.ones((1, 2, 64, 64), query.dtype)


def large_document(suite):
    """A report in which every case has failed with numbers of its own, made from a run of the first case."""
    (first, *_) = suite.cases
    implementation = load(Large())
    results = run_suite(replace(suite, cases={first: suite.cases[first]}), implementation)
    report = Report(implementation.declaration, {}, "1", suite.digest, {}, results, diagnosis=())
    document = json.loads(json.dumps(report_to_json(report)))
    templates, document["results"] = document["results"], []
    generator = np.random.default_rng(2)
    for case_id in suite.cases:
        for result in templates:
            got = {name: {**entry, "data": other_numbers(entry, generator)} for name, entry in result["got"].items()}
            document["results"].append({**result, "case": case_id, "got": got})
    return document


def other_numbers(entry, generator):
    count = math.prod(entry["shape"] if entry["crop"] is None else entry["crop"]["shape"])
    numbers = generator.normal(size=count).astype(numpy_dtype(entry["dtype"]))
    return base64.b64encode(numbers.tobytes()).decode()


def test_a_page_with_50_large_failing_cases_is_below_3_megabytes():
    suite = large_suite(50)
    document = large_document(suite)
    page = html_page([document], ["large"], suite)
    assert len(page.encode()) < 3_000_000
    data = island_of(page)
    assert len(data["drawn"]) == 50
    position, drawn = next(iter(data["drawn"].items()))
    (run, _) = drawn["runs"]
    result = next(entry for entry in document["results"] if entry["case"] == data["cases"][int(position)]["id"])
    output = next(entry for entry in run["outputs"] if entry["name"] == "output")
    assert 16 <= len(data["arrays"][output["got"]]) < 4_096
    for index, start, length in zip(result["worst"]["index"], output["offsets"], output["lengths"], strict=True):
        assert start <= index < start + length


def test_of_too_many_failing_cases_some_of_every_profile_are_drawn(document_of, suite):
    class Nothing:
        dtypes = ("float64",)

        def scaled_dot_product_attention(self, query, key, value, **_):
            return np.zeros((*query.shape[:-1], value.shape[-1]))

    document = document_of(Nothing(), "[a-g]*", "masking/*", "w*")
    data = page_data([document], ["nothing"], suite)
    assert data["failing"][0] > data["failing"][1] == len(data["drawn"]) == MOST_FAILING_CASES
    drawn = {data["cases"][int(position)]["profile"] for position in data["drawn"]}
    failing = {result["case"].split("/")[0] for result in document["results"] if result["status"] == "fail"}
    assert drawn == failing


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with ünïcode 你好 and a\nnew line\t", "plain, with ünïcode 你好 and a\nnew line\t"),
        ("\x1b[31mred", "⟨001B⟩[31mred"),
        ("null\x00", "null⟨0000⟩"),
        ("\u202eltr\u2066", "⟨202E⟩ltr⟨2066⟩"),
        ("half \ud800", "half ⟨D800⟩"),
        ("\u2028\ufeff\u200f", "⟨2028⟩⟨FEFF⟩⟨200F⟩"),
        ("\r\x7f\x85", "⟨000D⟩⟨007F⟩⟨0085⟩"),
    ],
)
def test_what_would_act_is_spelt_out(text, shown):
    assert harmless(text) == shown


def test_what_would_flood_is_cut_and_counted():
    assert harmless("x" * 10_000, 50) == "x" * 50 + " … (9,950 more characters)"
    assert harmless("x" * 50, 50) == "x" * 50


@settings(max_examples=40)
@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_an_island_never_ends_its_script_element(data):
    island = as_island(data)
    assert re.fullmatch(r"[ -;=?-~]*", island), "only ASCII, without < and >"
    assert "&" not in island
    island.encode("utf-8")
    json.loads(island)


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "]]>", "<script", "&lt;"])
def test_an_island_gives_back_what_was_put_in(text):
    assert json.loads(as_island({"a": [text]})) == {"a": [text]}


def test_keys_are_made_harmless_too():
    assert json.loads(as_island({"\x1b<": 1})) == {"⟨001B⟩<": 1}
