"""JUnit XML as its readers expect it."""

import re
from collections import Counter
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite

from attnspec.reports.formats.junit import junit_xml

KINDS = {"fail": Failure, "unsupported": Skipped}


def suites(document):
    parsed = JUnitXml.fromstring(junit_xml(document).encode())
    assert isinstance(parsed, JUnitXml)
    return parsed, list(parsed)


@pytest.mark.parametrize("name", ["reference", "student", "hostile", "very_broken"])
def test_counts_add_up(name, request):
    document = request.getfixturevalue(name)
    parsed, found = suites(document)
    for suite in found:
        assert isinstance(suite, TestSuite)
        stated = (suite.tests, suite.failures, suite.errors, suite.skipped)
        kinds = Counter(type(entry) for case in suite for entry in case.result)
        assert stated == (len(list(suite)), kinds[Failure], kinds[Error], kinds[Skipped])
        assert suite.time == pytest.approx(sum(case.time for case in suite), abs=1e-4)
    for attribute in ("tests", "failures", "errors"):
        assert getattr(parsed, attribute) == sum(getattr(suite, attribute) for suite in found)
    assert parsed.tests == document["count"]
    assert parsed.time == pytest.approx(sum(suite.time for suite in found), abs=1e-4)


ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "time", "tests", "failures", "errors", "skipped"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"name", "time", "classname"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
}
"""Of each element, the attributes that it has here: all of them are in junit-10.xsd of Jenkins' xunit plugin."""


@pytest.mark.parametrize("name", ["reference", "student", "hostile"])
def test_elements_and_attributes_are_those_that_jenkins_knows(name, request):
    root = Xml.fromstring(junit_xml(request.getfixturevalue(name)).encode())
    for element in root.iter():
        assert {*element.attrib} == ATTRIBUTES[element.tag]
        assert re.fullmatch(r"\d+\.\d+", element.get("time", "0.0"))
    assert {child.tag for child in root} == {"testsuite"}
    assert {child.tag for child in root[0]} == {"properties", "testcase"}


def test_a_testsuite_is_a_profile_and_a_testcase_a_case_in_a_dtype(reference):
    _, found = suites(reference)
    assert [suite.name.partition(": ")[2] for suite in found] == ["documents", "rejects"]
    names = [(case.classname, case.name) for suite in found for case in suite]
    assert len({*names}) == reference["count"]
    # Jenkins takes what stands before the last dot for the package: there must be one dot.
    assert {classname for classname, _ in names} == {"attnspec_reference.documents", "attnspec_reference.rejects"}
    assert ("attnspec_reference.documents", "documents/001/softmax_of_rows[float64]") in names


def test_each_status_has_its_element_with_type_and_message(student):
    statuses = {(result["case"], result["dtype"]): result for result in student["results"]}
    _, found = suites(student)
    for case in (case for suite in found for case in suite):
        case_id, dtype = re.fullmatch(r"(.*)\[(.*)\]", case.name).groups()
        result = statuses[case_id, dtype]
        assert len(case.result) == (result["status"] != "pass")
        for entry in case.result:
            assert type(entry) is KINDS[result["status"]]
            assert entry.type == (result["check"] or "unsupported")
            assert entry.message == result["message"]
            assert entry.text.startswith(result["message"])


def test_a_failure_holds_the_facts(student):
    _, (suite,) = suites(student)
    text = next(entry.text for case in suite for entry in case.result if isinstance(entry, Failure))
    for piece in (
        "output[0, 0] is 64.35",
        "The softmax was taken over the queries instead of the keys",
        "It breaks single_head.softmax.keys: ",
        "What to do: Normalise along the last axis, the keys.",
        "The first step that diverges is 'weights'",
        "Worst element output[0, 0]: expected 23.5",
        "Clause single_head.projections: ",
        "student_softmax_axis_0.py --select documents/000/single_head --dtype float64",
    ):
        assert piece in text
    assert len(text.splitlines()) > 8


def test_errors_have_the_status_as_their_type(student):
    (wrong,) = [result for result in student["results"] if result["status"] == "fail"][:1]
    for status in ("error", "crash", "timeout", "malformed"):
        result = {**wrong, "status": status, "check": None, "message": "ended"}
        _, (suite,) = suites({**student, "results": [result], "count": 1})
        ((entry,),) = [case.result for case in suite]
        assert (type(entry), entry.type, entry.message, suite.errors) == (Error, status, "ended", 1)


def test_properties_say_what_was_run(student):
    _, (suite,) = suites(student)
    properties = {entry.name: entry.value for entry in suite.properties()}
    assert properties["attnspec.digest"] == student["suite"]["digest"]
    assert properties["implementation.name"] == student["implementation"]["name"]
    assert properties["numpy"] == student["environment"]["numpy"]
    # Readers that go by the order of the schema want them first.
    assert Xml.fromstring(junit_xml(student).encode())[0][0].tag == "properties"


def test_hostile_texts_stay_in_their_attributes(hostile):
    text = junit_xml(hostile)
    assert not re.search(r"[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff\n]|\u202e", text)
    root = Xml.fromstring(text.encode())
    assert {element.tag for element in root.iter()} == {
        *("testsuites", "testsuite", "properties", "property", "testcase", "error", "skipped"),
    }
    assert any("<script>" in element.get("message", "") for element in root.iter("error"))
    assert max(len(value) for element in root.iter() for value in element.attrib.values()) < 1_000
    assert len({element.get("classname") for element in root.iter("testcase")}) == 1
    assert root.find(".//testcase").get("classname").count(".") == 1


@given(st.text(st.characters(), max_size=30))
@example("\x00\x1b\ud800\ufffe\uffff]]>")
def test_any_name_and_message_gives_xml_that_can_be_read(student, text):
    wrong = next(result for result in student["results"] if result["status"] == "fail")
    implementation = {**student["implementation"], "name": text, "adapter": text}
    document = {**student, "implementation": implementation, "results": [{**wrong, "message": text}]}
    _, (suite,) = suites(document)
    assert suite.failures == 1
