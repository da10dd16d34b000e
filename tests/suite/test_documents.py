"""The documents' own code, right and wrong, validated as anybody's would be."""

from pathlib import Path

import pytest

import attnspec
from attnspec.command_line import main

IMPLEMENTATIONS = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    "route",
    ["Plain", "Fused", "FinalMatmul", "FinalEinsum", "FinalMatmulAgain", "FinalDotAfterEinsum"],
)
def test_every_route_of_document_000_passes_the_same_cases(route: str) -> None:
    report = attnspec.validate(f"{IMPLEMENTATIONS / 'document_000_routes.py'}:{route}")
    assert report.wrong == ()
    passed = {result.case.id for result in report.results if result.status == "pass"}
    offered = {result.case.id for result in report.results if result.case.operation == "single_head_attention"}
    assert passed == offered
    assert "documents/000/single_head" in passed


def test_the_module_of_document_002_as_meant_conforms_in_what_it_offers() -> None:
    report = attnspec.validate(
        str(IMPLEMENTATIONS / "document_002_as_meant.py"), select=["documents/*", "nonfinite/document_002*"]
    )
    assert report.wrong == ()
    passed = {result.case.id for result in report.results if result.status == "pass"}
    refused = [result for result in report.results if result.case.rejects is not None]
    offered = [result for result in refused if result.case.operation in report.declaration.operations]
    assert {result.status for result in offered} == {"pass", "unsupported"}
    assert {result.verdict.message for result in offered if result.status == "unsupported"} == {"grouped heads"}
    assert {
        "documents/002/refuses_fully_masked_row",
        "documents/002/refuses_key_narrower_than_query",
        "documents/002/refuses_mask_that_does_not_fit",
        "documents/002/refuses_query_of_rank_2",
        "documents/002/refuses_batch_of_three_against_two",
        "documents/002/refuses_value_shorter_than_key",
        "documents/002/module_refuses_7_over_2",
        "documents/002/split_refuses_63_over_4",
        "nonfinite/document_002_refuses_nan_in_query",
    } <= passed
    under = {result.verdict.under for result in report.results if result.status == "pass"}
    assert {"fully_masked_row=refuse", "nonfinite_input=refuse"} <= under


def test_the_features_first_network_of_document_004_passes_behind_its_wrapper() -> None:
    report = attnspec.validate(
        str(IMPLEMENTATIONS / "features_first.py"), layout="features_first", select="documents/004/two_heads"
    )
    assert [result.status for result in report.results] == ["pass"] * len(report.results) != []


def test_a_features_first_network_fails_without_its_wrapper() -> None:
    report = attnspec.validate(str(IMPLEMENTATIONS / "features_first.py"), select="documents/004/two_heads")
    assert not report.conforms


def test_a_loaded_features_first_network_is_taken_as_it_is() -> None:
    wrapped = attnspec.features_first(str(IMPLEMENTATIONS / "features_first.py"))
    assert attnspec.validate(wrapped, select="documents/004/two_heads").conforms


@pytest.mark.parametrize(
    ("student", "sentence", "clause", "erratum", "step", "right_before"),
    [
        (
            "student_softmax_axis_0.py",
            "taken over the queries instead of the keys",
            "single_head.softmax.keys",
            "E000.softmax_axis",
            "The first step that diverges is 'weights'",
            "query, key, value, scores are right",
        ),
        (
            "student_context_broadcast.py",
            "weights were laid along the features",
            "context_vector.context",
            "E003.context_broadcast",
            "The first step that diverges is 'context'",
            "raw_scores, scores, weights are right",
        ),
    ],
)
def test_a_student_reads_clause_erratum_and_step(
    capsys: pytest.CaptureFixture[str],
    student: str,
    sentence: str,
    clause: str,
    erratum: str,
    step: str,
    right_before: str,
) -> None:
    assert main(["validate", str(IMPLEMENTATIONS / student), "--profile", "documents"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    for words in (sentence, f"It breaks {clause}:", f"Erratum {erratum}:", step, right_before):
        assert words in said


def test_a_student_who_returns_the_output_alone_reads_the_same_mistake(tmp_path: Path) -> None:
    target = tmp_path / "output_alone.py"
    target.write_text(
        "import numpy as np\n"
        "def context_vector(encoder_states, decoder_state, scale=None):\n"
        "    scale = 1 / np.sqrt(len(decoder_state)) if scale is None else scale\n"
        "    exponentials = np.exp(encoder_states @ decoder_state * scale)\n"
        "    return sum(exponentials / exponentials.sum() * encoder_states)\n"
    )
    report = attnspec.validate(str(target), profile="documents")
    assert [entry.erratum for entry in report.diagnosis] == ["E003.context_broadcast"]
    assert {result.verdict.first_step for result in report.wrong} == {None}


def test_a_mistake_that_nobody_knows_stays_unknown(tmp_path: Path) -> None:
    target = tmp_path / "odd.py"
    target.write_text(
        "def context_vector(encoder_states, decoder_state, scale=None):\n"
        "    return encoder_states.mean(axis=0) * 0.37 + decoder_state\n"
    )
    report = attnspec.validate(str(target))
    first, *others = report.diagnosis
    assert (first.mistake, first.clause) == ("unknown", None)
    assert first.suspects[0].clause.startswith("context_vector.")
    assert [(entry.mistake, entry.clause) for entry in others] == [("unknown", "context_vector.rejects.width")]
