"""Flags of vectors: each is a mistake whose numbers break the rule there, and has a note that says what it is."""

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec_mistakes import CATALOGUE
from attnspec_mistakes.patches import by_name
from attnspec_vectors import vector_files

BY_ID = {mistake.id: mistake for mistake in CATALOGUE}


def breaks_the_rule(test, mistake):
    """Whether a mistake, called with the numbers of a vector, gives others: as a reader of the file finds it out."""
    words = {"float": np.float64, "bool": np.bool_, "int64": np.int64}
    inputs = {
        name: np.array([*map(float, given["data"])]).astype(words[given["dtype"]]).reshape(given["shape"])
        for name, given in test["inputs"].items()
    }
    with np.errstate(all="ignore"):
        got = by_name(mistake.function(**inputs, **test["attributes"]))
    if test["result"] == "invalid":
        return True
    for name, expected in test["expected"].items():
        if got.get(name) is None:
            continue
        wanted = np.array([*map(float, expected["data"])])
        tolerance = np.array([*map(float, test["tolerance"][test["dtypes"][0]][name])])
        given = np.asarray(got[name], np.float64).ravel()
        if given.size != wanted.size:
            return True
        with np.errstate(all="ignore"):
            right = (abs(given - wanted) <= tolerance) | (given == wanted) | np.isinf(tolerance)
        if not (right | (np.isnan(given) & np.isnan(wanted))).all():
            return True
    return False


@pytest.mark.parametrize("profile", ["core", "window", "merge"])
def test_each_flag_is_caught_by_the_numbers_of_its_vector(profile):
    flagged = 0
    for file in vector_files(load_suite(profiles=[profile])):
        for test in file.document["tests"]:
            if test["dtypes"][0] not in ("float64", "any"):
                continue
            for flag in test.get("flags", ()):
                flagged += 1
                assert breaks_the_rule(test, BY_ID[flag]), f"{test['id']} is said to catch {flag}"
    assert flagged > 40


def test_the_flags_begin_with_the_mistakes_that_the_case_was_made_for(vectors):
    suite = load_suite(select=["core/*"])
    found = vectors("core/*")
    made_for = {case.id: case.targets for case in suite.cases.values() if case.targets}
    caught = {name: found[name].get("flags", [])[: len(targets)] for name, targets in made_for.items()}
    assert sum(caught[name] == list(targets) for name, targets in made_for.items()) > len(made_for) / 2


def test_what_only_a_second_call_or_a_layout_shows_is_no_flag():
    shown_otherwise = {mistake.id for mistake in CATALOGUE if mistake.begin or mistake.in_layout}
    for file in vector_files(load_suite(profiles=["memory", "paged", "core"])):
        assert not shown_otherwise & file.document["notes"].keys()


def test_a_note_says_what_the_mistake_is_and_who_made_it():
    (file,) = vector_files(load_suite(select=["core/one_head", "core/width_8"]))
    note = file.document["notes"]["sdpa.scale_missing"]
    mistake = BY_ID["sdpa.scale_missing"]
    assert (note["description"], note["effect"], note["remedy"]) == (mistake.engineer, mistake.sentence, mistake.remedy)
    assert note["links"] == [mistake.source]
    assert (note["bug_type"], note["clause"], note["erratum"]) == ("formula", mistake.clause, mistake.erratum)
    assert note["noticed_by"] > 100
