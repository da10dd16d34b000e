"""Documents of vectors: the numbers of the golden cases, and all that a reader without attnspec needs."""

import json
import re

import numpy as np
import pytest

import attnspec
from attnspec.cases import load_suite, schema_validator
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import to_run_dtype
from attnspec_vectors import vector_files

SELECTED = (
    "documents/003/con*",
    "nonfinite/nan_in_query",
    "masking/boolean_batch*",
    "quantized/query_grouped",
    "sinks/b*",
    "rotary/apply_batch*",
    "layout/causal_mask_fewer*",
    "backward/nan_in_float_mask_[as]*",
)


def numbers(row):
    """What a program reads: floats, of the three words, too."""
    return np.array([*map(float, row)])


@pytest.mark.parametrize("select", SELECTED)
def test_the_numbers_read_back_are_those_of_the_case_in_each_dtype(vectors, select):
    found = vectors(select)
    assert found
    for test in found.values():
        for dtype in test["dtypes"]:
            case = attnspec.case(test["id"].partition("@")[0], None if dtype == "any" else dtype)
            assert test["revision"] >= 1
            for name, array in case.inputs.items():
                given = test["inputs"][name]
                assert given["shape"] == list(array.shape)
                read = numbers(given["data"])
                np.testing.assert_array_equal(read, array.astype(np.float64).ravel())
                if given["dtype"] == "float":
                    # Rounding them to the dtype under test changes nothing.
                    np.testing.assert_array_equal(to_run_dtype(read, case.inputs[name].dtype.name).astype(float), read)
                else:
                    assert given["dtype"] == array.dtype.name
            assert test["inputs"].keys() == case.inputs.keys()
            if test["result"] == "invalid":
                assert test["reason"] == case.refusal
                continue
            assert test["required"] == list(case.required)
            assert test["expected"].keys() == test["tolerance"][dtype].keys() == case.expected.keys()
            for name, array in case.expected.items():
                np.testing.assert_array_equal(numbers(test["expected"][name]["data"]), array.ravel())
                assert test["expected"][name]["shape"] == list(array.shape)
                np.testing.assert_array_equal(numbers(test["tolerance"][dtype][name]), case.tolerance[name].ravel())


def test_every_case_with_numbers_is_there_in_all_of_its_dtypes():
    suite = load_suite(profiles=("core", "documents", "rejects"))
    found = {}
    for file in vector_files(suite):
        assert file.document["count"] == len(file.document["tests"])
        for test in file.document["tests"]:
            found.setdefault(test["id"].partition("@")[0], []).extend(test["dtypes"])
    assert {name: sorted(dtypes) for name, dtypes in found.items()} == {
        case.id: sorted(case.runs) for case in suite.cases.values() if case.properties is None
    }


def test_every_document_follows_the_schema():
    validator = schema_validator("vectors")
    files = [*vector_files(load_suite(select=["documents/*", "rejects/b*", "quantized/q*", "rotary/f*"]))]
    assert {file.operation for file in files} >= {"softmax", "rotary_frequencies", "scaled_dot_product_attention"}
    for file in files:
        document = json.loads(file.text)
        assert not [*validator.iter_errors(document)][:3]
        for kind, explained in (("flags", "notes"), ("clauses", "clauses"), ("conventions", "conventions")):
            assert {name for test in document["tests"] for name in test.get(kind, ())} == document[explained].keys()
        assert document["attributes"].keys() == OPERATIONS[file.operation].attributes.keys()


def test_what_the_schema_forbids_is_found():
    validator = schema_validator("vectors")
    (file,) = vector_files(load_suite(select=["core/plain"]))
    document = json.loads(file.text)
    document["tests"][0]["expected"]["output"]["data"][0] = "inf"
    del document["tests"][0]["tolerance"]
    assert len([*validator.iter_errors(document)]) == 2


def test_a_case_whose_inputs_are_rounded_otherwise_in_each_dtype_is_one_vector_for_each(vectors):
    found = vectors("documents/003/context_vector")
    assert [*found] == [f"documents/003/context_vector@{dtype}" for dtype in ("float64", "float32")]
    assert [test["dtypes"] for test in found.values()] == [["float64"], ["float32"]]
    assert [*vectors("core/plain")] == ["core/plain"]


def test_an_infinity_and_nan_are_words_that_each_language_reads(vectors):
    def strictly(word):
        raise AssertionError(f"{word} is no JSON")

    text = "".join(file.text for file in vector_files(load_suite(select=["nonfinite/present_*_in_values"])))
    json.loads(text, parse_constant=strictly)
    assert {*re.findall(r'"(-?NaN|-?inf\w*)"', text, re.IGNORECASE)} == {"NaN", "Infinity", "-Infinity"}


def test_a_test_names_the_conventions_under_which_it_holds(vectors):
    assert (
        vectors("layout/multi_head_fully*")["layout/multi_head_fully_masked_boolean_no_bias"]["conventions"][
            "fully_masked_row"
        ]
        == "zero"
    )
    refused = vectors("rejects/batch_*")
    assert {test["conventions"]["input_checks"] for test in refused.values() if test["result"] == "invalid"} == {
        "strict"
    }


def test_attributes_have_the_values_of_the_call(vectors):
    suite = load_suite(select=["window/*"])
    for name, test in vectors("window/*").items():
        given = {key: float(value) if key == "scale" else value for key, value in test["attributes"].items()}
        assert given == suite.cases[name.partition("@")[0]].attributes
