"""Sampled outputs: written as a flat list, read at their indices, compared there and nowhere else."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
from attnspec.base.errors import FixtureError, RecipeError
from attnspec.cases import canonical_json, case_from_json, check_file, load_suite
from attnspec_authoring.recipes import AuthoredCase, Source
from attnspec_authoring.regeneration import filled_document
from attnspec_oracle import evaluate
from attnspec_reference import scaled_dot_product_attention

OPERATION = "scaled_dot_product_attention"
DRAW = np.random.default_rng(1).integers
INPUTS = {name: DRAW(-20, 20, (1, 2, tokens, 3)) / 16 for name, tokens in (("query", 6), ("key", 4), ("value", 4))}
OUTPUT, WEIGHTS = (0, 7, 19, 35), (3, 4, 47)


def authored(**changes):
    case = AuthoredCase(
        id="stress/long",
        title="A long one.",
        operation=OPERATION,
        clauses=("sdpa.output",),
        source=Source(section="sample"),
        inputs=INPUTS,
        outputs=("output", "weights", "logsumexp"),
        dtypes=("float64", "float32"),
        sample={"output": OUTPUT, "weights": WEIGHTS},
    )
    return replace(case, **changes)


def written(folder, document):
    path = folder / "stress" / "long.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(canonical_json(document))
    return path


def results(function, folder):
    holder = SimpleNamespace(**{OPERATION: function}, dtypes=("float64", "float32"))
    return attnspec.validate(holder, golden=folder).results


def spoiled(name, flat):
    """The reference, wrong at one element."""

    def attend(**arguments):
        returned = scaled_dot_product_attention(**arguments)._asdict()
        returned[name] = returned[name].copy()
        returned[name].reshape(-1)[flat] += 1
        return returned

    return attend


def test_the_file_holds_the_shape_of_the_whole_and_the_sampled_values():
    document = filled_document(authored())
    whole = evaluate(OPERATION, INPUTS, {})
    tensor = document["expected"]["all"]["output"]
    assert tensor["shape"] == [1, 2, 6, 3]
    assert tensor["data"] == [whole["output"].flat[index] for index in OUTPUT]
    assert document["expected"]["all"]["weights"]["data"] == [whole["weights"].flat[index] for index in WEIGHTS]
    assert np.shape(document["expected"]["all"]["logsumexp"]["data"]) == (1, 2, 6)
    assert document["sample"] == {"output": list(OUTPUT), "weights": list(WEIGHTS)}


def test_it_is_read_at_its_indices(tmp_path):
    check_file(written(tmp_path, filled_document(authored())))
    (case,) = load_suite(tmp_path).cases.values()
    output = case.golden("float64")["output"]
    assert output.shape == (1, 2, 6, 3)
    assert np.flatnonzero(~np.isnan(output)).tolist() == list(OUTPUT)
    np.testing.assert_array_equal(output.flat[list(OUTPUT)], evaluate(OPERATION, INPUTS, {})["output"].flat[[*OUTPUT]])
    assert case.sample["weights"].tolist() == list(WEIGHTS)


def test_inputs_rounded_to_each_dtype_have_a_sample_each():
    inexact = {name: array / 3 for name, array in INPUTS.items()}
    case = case_from_json(filled_document(authored(inputs=inexact)))
    for dtype in ("float64", "float32"):
        assert np.flatnonzero(~np.isnan(case.golden(dtype)["weights"])).tolist() == list(WEIGHTS)


def test_only_the_sample_is_compared_and_counted(tmp_path):
    written(tmp_path, filled_document(authored()))
    for result in results(scaled_dot_product_attention, tmp_path):
        assert result.status == "pass", result.verdict.message
        assert (result.verdict.graded, result.verdict.ungraded) == (len(OUTPUT) + len(WEIGHTS) + 12, 0)
        assert result.verdict.median is not None
    for result in results(spoiled("output", 8), tmp_path):
        assert result.status == "pass"


@pytest.mark.parametrize(("name", "flat", "index"), [("output", 19, (0, 1, 0, 1)), ("weights", 47, (0, 1, 5, 3))])
def test_the_worst_element_has_its_indices_in_the_whole_tensor(name, flat, index, tmp_path):
    written(tmp_path, filled_document(authored()))
    for result in results(spoiled(name, flat), tmp_path):
        assert (result.status, result.verdict.output) == ("fail", name)
        assert result.verdict.worst.index == index
        assert result.verdict.worst.error == pytest.approx(1)


def test_a_shape_is_compared_as_a_whole(tmp_path):
    written(tmp_path, filled_document(authored()))

    def cut(**arguments):
        return scaled_dot_product_attention(**arguments).output[:, :, :-1]

    assert {result.verdict.check for result in results(cut, tmp_path)} == {"shape"}


def test_conventions_apply_to_a_sample(tmp_path):
    mask = np.ones((6, 4), dtype=bool)
    mask[2] = False
    # Elements 6, 7 and 8 of the output belong to the query that may attend no key.
    case = authored(inputs={**INPUTS, "mask": mask}, conventions=("fully_masked_row",))
    written(tmp_path, filled_document(case))

    def nan_rows(**arguments):
        returned = scaled_dot_product_attention(**arguments)
        return np.where(returned.logsumexp[..., None] == -np.inf, np.nan, returned.output)

    holder = SimpleNamespace(**{OPERATION: nan_rows}, conventions={"fully_masked_row": "nan"})
    (result,) = attnspec.validate(holder, golden=tmp_path).results
    assert (result.status, result.verdict.under) == ("pass", "fully_masked_row=nan")
    assert {result.status for result in results(nan_rows, tmp_path)} == {"fail"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"output": [0, 7, 19]}, r"/expected/all/output.*hold 4 numbers.*3 indices"),
        ({"output": [0, 7, 19, 36]}, r"/expected/all/output.*below 36"),
        ({"output": [7, 0, 19, 35]}, r"/expected/all/output.*must rise"),
        ({"output": [0, 7, 7, 35]}, r"schema at /sample/output"),
        ({"scores": [1]}, r"/sample/scores.*no such output"),
        ({"output": []}, r"schema at /sample/output"),
    ],
)
def test_a_sample_that_does_not_fit_is_a_damaged_file(change, sentence, tmp_path):
    document = filled_document(authored())
    document["sample"] = {**document["sample"], **change}
    with pytest.raises(FixtureError, match=sentence):
        check_file(written(tmp_path, document))


@pytest.mark.parametrize(
    ("sample", "sentence"),
    [
        ({"scores": (1,)}, "'scores' is sampled, but not among the outputs"),
        ({"result": (1,)}, "no output 'result'"),
        ({"output": (7, 0)}, "must rise"),
    ],
)
def test_a_sample_that_does_not_fit_is_refused_when_it_is_authored(sample, sentence):
    with pytest.raises(RecipeError, match=sentence):
        filled_document(authored(sample=sample))
