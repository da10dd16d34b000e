"""A recipe that contradicts itself is answered with its id and a sentence, and nothing is written."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from attnspec.base.errors import MissingDependencyError, RecipeError
from attnspec.cases import ChangedArgument
from attnspec.command_line import main
from attnspec_authoring.recipes import Printed, Rejects
from attnspec_authoring.recipes.attention import documents
from attnspec_authoring.regeneration import check, filled_document, regenerate

PLAIN = Printed(of="weights", section="Question 1", data=["0.1876594", "0.17566497", "0.22271181", "0.41396383"])
COUNTERPART = "documents/003/context_vector"
VECTOR = np.array([0.5, 0.25])


def without(case, name):
    return {key: value for key, value in case.inputs.items() if key != name}


WRONG = {
    "unknown operation": (lambda case: replace(case, operation="atention"), "there is no operation 'atention'"),
    "unknown input": (
        lambda case: replace(case, inputs={**case.inputs, "encoder": VECTOR}),
        "context_vector has no argument 'encoder'",
    ),
    "unknown attribute": (
        lambda case: replace(case, attributes={"scal": 1.0}),
        "context_vector has no argument 'scal'",
    ),
    "missing input": (
        lambda case: replace(case, inputs=without(case, "decoder_state")),
        "context_vector needs 'decoder_state'",
    ),
    "unknown output": (
        lambda case: replace(case, outputs=("context", "contxt")),
        "context_vector has no output 'contxt'",
    ),
    "first output missing": (
        lambda case: replace(case, outputs=("weights",), printed=()),
        "the output 'context' is expected and must be stored",
    ),
    "input in half precision": (
        lambda case: replace(case, inputs={**case.inputs, "decoder_state": np.zeros(4, np.float16)}),
        "input 'decoder_state' is float16; author float64, bool, int64",
    ),
    "shapes that do not fit": (
        lambda case: replace(case, inputs={**case.inputs, "decoder_state": VECTOR}, printed=()),
        "the oracle cannot compute it",
    ),
    "refused and graded by properties": (
        lambda case: replace(case, rejects=Rejects("Never.", COUNTERPART), properties={"mean": 0.0}),
        "only one of them",
    ),
    "changed argument in two ways": (
        lambda case: replace(case, changed_argument=ChangedArgument("encoder_states", 2.0, reversed=True)),
        "'encoder_states' is to be reversed and to get a value; it can be only one of them",
    ),
    "changed argument that the case lacks": (
        lambda case: replace(case, changed_argument=ChangedArgument("scale", 2.0)),
        "contradicts itself at /changed_argument/name: only an attribute of the case can get a value",
    ),
    "printed number disagrees": (
        lambda case: replace(case, printed=(replace(PLAIN, data=["0.1876595", *PLAIN.data[1:]]),)),
        "what 'Question 1' printed for 'weights' disagrees without an erratum",
    ),
    "printed shape disagrees": (
        lambda case: replace(case, printed=(replace(PLAIN, data=[4, 1], quantity="shape"),)),
        "disagrees without an erratum",
    ),
    "fewer printed numbers": (
        lambda case: replace(case, printed=(replace(PLAIN, data=PLAIN.data[:3]),)),
        "disagrees without an erratum",
    ),
    "erratum although it agrees": (
        lambda case: replace(case, printed=(replace(PLAIN, erratum="E003.context_broadcast"),)),
        "names E003.context_broadcast, but agrees",
    ),
    "printed nothing that is stored": (
        lambda case: replace(case, printed=(replace(PLAIN, of="wieghts"),)),
        "'wieghts', which is no input or stored output",
    ),
    "printed at no index": (
        lambda case: replace(case, printed=(replace(PLAIN, index=(0, 0)),)),
        "printed for 'weights' cannot be compared",
    ),
    "printed no number": (
        lambda case: replace(case, printed=(replace(PLAIN, data=["0,18", *PLAIN.data[1:]]),)),
        "printed for 'weights' cannot be compared",
    ),
    "rounding that propagates unknown ways": (
        lambda case: replace(case, printed=(replace(PLAIN, rounded_inputs={"encoder_states": 2}),)),
        "How the rounding of printed inputs reaches 'weights' is not known",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
@pytest.mark.parametrize("door", [regenerate, check])
def test_a_wrong_recipe(recipes, folder, door, mistake) -> None:
    change, words = WRONG[mistake]
    recipes.exchange(change(replace(recipes["context_vector"], printed=(PLAIN,))))
    with pytest.raises(RecipeError) as raised:
        door(folder)
    assert COUNTERPART in str(raised.value)
    assert words in str(raised.value)
    assert not folder.exists()


def test_the_printed_numbers_that_these_tests_spoil_agree(recipes, folder) -> None:
    recipes.exchange(replace(recipes["context_vector"], printed=(PLAIN,)))
    assert regenerate(folder).computed == 4


def test_a_last_printed_digit_is_worth_half_a_unit(recipes, folder) -> None:
    weight = 0.187659395870847
    for number, decimals, agrees in [
        ("0.2", 1, True),
        ("0.19", 2, True),
        ("0.18", 2, False),
        ("0.1877", 4, True),
        ("0.1876", 4, False),
        ("1.877e-01", 3, True),
        ("1.876e-01", 3, False),
        ("0.1876594", 8, True),
        ("0.18765941", 8, False),
    ]:
        assert (abs(float(number) - weight) <= 0.5 * 10.0 ** -(decimals + ("e" in number))) is agrees
        entry = Printed(of="weights", section="Here", data=number, decimals=decimals, index=(0,))
        recipes.exchange(replace(recipes["context_vector"], printed=(entry,)))
        if agrees:
            regenerate(folder)
        else:
            with pytest.raises(RecipeError, match="disagrees without an erratum"):
                regenerate(folder)


def test_a_counterpart_that_no_recipe_makes(recipes, folder) -> None:
    refusal = recipes["context_vector_width_mismatch"]
    recipes.exchange(replace(refusal, rejects=replace(refusal.rejects, counterpart="documents/003/nobody")))
    with pytest.raises(RecipeError) as raised:
        regenerate(folder)
    assert str(raised.value) == f"{refusal.id} names the counterpart 'documents/003/nobody', which no recipe makes."
    assert not folder.exists()


def test_two_cases_with_one_id(recipes, folder) -> None:
    recipes.make(*recipes.few, replace(recipes["causal_mask_boolean"], id=COUNTERPART))
    with pytest.raises(RecipeError, match=f"Two recipes make the case '{COUNTERPART}'; an id is used once"):
        regenerate(folder)
    assert not folder.exists()


def test_a_wrong_recipe_leaves_the_files_of_the_others_as_they_are(recipes, folder, texts) -> None:
    regenerate(folder)
    before = texts(folder)
    recipes.exchange(
        replace(recipes["causal_mask_boolean"], title="New"), replace(recipes["context_vector"], outputs=())
    )
    with pytest.raises(RecipeError):
        regenerate(folder)
    assert texts(folder) == before


def test_the_command_line_ends_with_2(recipes, folder, capsys) -> None:
    recipes.exchange(replace(recipes["context_vector"], attributes={"scal": 1.0}))
    assert main(["regenerate", "--golden", str(folder)]) == 2
    assert capsys.readouterr().err == f"attnspec: {COUNTERPART}: context_vector has no argument 'scal'.\n"


def test_the_command_without_flint_names_what_installs_it(monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setitem(sys.modules, "flint", None)
    assert main(["regenerate", "--golden", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "python-flint" in said
    assert 'pip install --editable ".[regenerate]"' in said
    assert said.count("\n") == 1


def test_a_missing_flint_is_reported_once(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(MissingDependencyError) as caught:
        filled_document(documents.cases()[0])
    assert str(caught.value).count("python-flint") == 1
    assert str(caught.value).endswith('pip install "attnspec[regenerate]".')
