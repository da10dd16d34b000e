"""The authored cases of the documents, against the spec pages, the errata and arithmetic done by hand."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from attnspec.contract import OPERATIONS
from attnspec.contract.implementation import Request
from attnspec.targets.loading import load
from attnspec_authoring.recipes import EVERY_DTYPE, authored_cases
from attnspec_authoring.recipes.attention.documents import document_000_single_head as document_000
from attnspec_authoring.recipes.attention.documents import document_003_three_questions as document_003
from attnspec_authoring.recipes.attention.documents import document_004_features_first as document_004

ROOT = Path(__file__).parents[3]
CASES = [case for case in authored_cases() if case.source.document]
BY_ID = {case.id: case for case in CASES}
VALID = [case for case in CASES if case.rejects is None]
OF_ATTENTION = {
    name for name, operation in OPERATIONS.items() if operation.family == "attention" and not operation.backward_of
} - {"merge_states", "latent_attention", "absorbed_latent_attention"}
"""The operations that the documents have."""
DOCUMENTS = {
    "000": "000_2ac35f9ff703a433.txt",
    "001": "001_97c79d128fd4cf2f.txt",
    "002": "002_c44bbdfd43669549.txt",
    "003": "003_fd68dee9562e4594.txt",
    "004": "004_5c8046fafa7f4c7c.txt",
}
NARROWER = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
CLAUSE = re.compile(r"^- `([a-z0-9_.]+)` — ", re.MULTILINE)
ERRATUM = re.compile(r"^(?:### `(E\d{3}\.[a-z0-9_]+)` — .+|\| `(E\d{3}\.[a-z0-9_]+)` \| .+)$", re.MULTILINE)


def clauses_of_the_spec() -> set[str]:
    pages = (ROOT / "spec" / "operations").glob("*/*.md")
    return {clause for page in pages for clause in CLAUSE.findall(page.read_text(encoding="utf-8"))}


def errata_text() -> str:
    return (ROOT / "spec" / "errata.md").read_text(encoding="utf-8")


def errata() -> list[str]:
    return [heading or row for heading, row in ERRATUM.findall(errata_text())]


def printed(case_id: str, of: str, index: tuple[int, ...] = ()) -> np.ndarray:
    """Return the first printed numbers of `of` at `index`, in the orientation of the document."""
    entries = (entry for entry in BY_ID[case_id].printed if entry.of == of and entry.index == index)
    return np.array(next(entry.data for entry in entries if entry.quantity == "values"), dtype=np.float64)


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def test_ids_are_unique_and_name_their_document() -> None:
    assert len(BY_ID) == len(CASES)
    for case in CASES:
        found = re.fullmatch(r"(?:documents/|nonfinite/document_)(00[0-4])[/_][a-z0-9_]+", case.id)
        assert found is not None
        assert case.source.document == DOCUMENTS[found[1]]
        assert case.source.section


def test_titles_are_unique_plain_lines() -> None:
    titles = [case.title for case in CASES]
    assert len(set(titles)) == len(titles)
    assert all(title == title.strip() and "\n" not in title and not title.endswith(".") for title in titles)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_names_exist(case) -> None:
    operation = OPERATIONS[case.operation]
    assert set(case.inputs) <= {*operation.inputs, *operation.optional_inputs}
    assert set(operation.inputs) <= set(case.inputs)
    assert set(case.attributes) <= set(operation.attributes)
    assert set(case.outputs) <= set(operation.outputs)
    assert operation.outputs[0] in case.outputs
    assert {entry.of for entry in case.printed} <= {*case.inputs, *case.outputs}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_clauses_and_errata_exist(case) -> None:
    assert case.clauses
    assert set(case.clauses) <= clauses_of_the_spec()
    claimed = {*case.errata, *(entry.erratum for entry in case.printed if entry.erratum)}
    assert claimed <= set(errata())


def test_every_operation_is_covered() -> None:
    assert {case.operation for case in VALID} == OF_ATTENTION


@pytest.mark.parametrize("case", [case for case in CASES if set(case.dtypes) > {"float64"}], ids=lambda case: case.id)
def test_inputs_are_exact_wherever_half_precision_is_offered(case) -> None:
    halves = [dtype for dtype in case.dtypes if dtype in {"float16", "bfloat16"}]
    for dtype in ["float32", *halves] if halves else []:
        for name, array in case.inputs.items():
            if array.dtype == np.float64:
                narrowed = array.astype(NARROWER[dtype]).astype(np.float64)
                np.testing.assert_array_equal(narrowed, array, err_msg=f"{name} in {dtype}")


def test_the_exact_cases_are_offered_in_every_dtype() -> None:
    offered = {case.id for case in CASES if case.dtypes == EVERY_DTYPE}
    assert {"documents/001/single_head", "documents/002/module_four_heads_causal"} <= offered


def test_every_operation_has_two_cases_of_equal_shapes_and_unequal_values() -> None:
    alike = defaultdict(list)
    for case in VALID:
        shapes = tuple((name, array.shape) for name, array in sorted(case.inputs.items()))
        sizes = case.attributes if case.operation in {"causal_mask", "glorot_normal"} else {}
        square = tuple(sizes.get(name, 4) for name in ("query_length", "key_length", "fan_in", "fan_out"))
        kind = sizes.get("additive", False)
        alike[case.operation, shapes, square, kind].append(case)
    operations = {
        operation
        for (operation, *_), cases in alike.items()
        if len({repr((case.inputs, dict(case.attributes))) for case in cases}) > 1
    }
    assert operations == OF_ATTENTION


@pytest.mark.parametrize("case", [case for case in CASES if case.rejects], ids=lambda case: case.id)
def test_a_refusal_has_a_valid_counterpart(case) -> None:
    counterpart = BY_ID[case.rejects.counterpart]
    assert counterpart.rejects is None
    assert counterpart.operation == case.operation
    assert set(case.dtypes) <= set(counterpart.dtypes)
    assert case.rejects.reason.endswith(".")
    assert not case.printed


def test_refusals_cover_what_the_document_checks() -> None:
    conventions = {case.clauses[0]: case.rejects.convention for case in CASES if case.rejects}
    strict = ("input_checks", "strict")
    assert conventions == {
        "sdpa.rejects.rank": strict,
        "sdpa.rejects.length": strict,
        "sdpa.rejects.batch": strict,
        "sdpa.rejects.width": None,
        "sdpa.rejects.mask_shape": None,
        "sdpa.rejects.grouped": None,
        "sdpa.fully_masked_row": ("fully_masked_row", "refuse"),
        "sdpa.nonfinite_input": ("nonfinite_input", "refuse"),
        "multi_head.rejects.divisible": None,
        "multi_head.rejects.rank": strict,
        "split_heads.rejects.divisible": None,
        "context_vector.rejects.width": None,
    }


def test_errata_ids_are_unique_and_every_document_has_some() -> None:
    ids = errata()
    assert len(set(ids)) == len(ids)
    assert {identifier[1:4] for identifier in ids} == set(DOCUMENTS)
    assert all(f"## {document}" in errata_text() for document in DOCUMENTS.values())


def test_every_erratum_starts_with_one_sentence_on_one_line() -> None:
    bodies = re.findall(r"^### `E\d{3}\.[a-z0-9_]+` — [^\n]+\n\n([^\n]+)\n(?:\n|\Z)", errata_text(), re.MULTILINE)
    assert len(bodies) == len(re.findall(r"^### `E", errata_text(), re.MULTILINE))
    assert all(body.endswith(".") for body in bodies)


def test_errata_name_clauses_of_the_spec() -> None:
    lines = re.findall(r"^Clauses: .+(?:\n.+)*", errata_text(), re.MULTILINE)
    named = {clause for line in lines for clause in re.findall(r"`([a-z0-9_.]+)`", line)}
    assert lines
    assert named <= clauses_of_the_spec()


def test_errata_tables_have_four_cells() -> None:
    table_rows = [line for line in errata_text().splitlines() if line.startswith("| `E")]
    assert len(table_rows) > 40
    assert all(line.count("|") == 5 for line in table_rows)


def test_replaying_the_context_broadcast_gives_the_printed_digits() -> None:
    states, decoder = document_003.ENCODER_STATES, document_003.DECODER_STATES[1]
    weights = softmax(states @ decoder / 2.0)
    replayed = sum(weights * states)
    as_printed = printed("documents/003/context_vector", "context")
    np.testing.assert_array_equal(np.round(replayed, 8), as_printed)
    np.testing.assert_array_equal(np.round(weights * states.sum(axis=0), 8), as_printed)
    by_formula = np.round(weights @ states, 8)
    np.testing.assert_array_equal(by_formula, [0.09578694, 0.14982156, 0.24673243, 0.38854995])
    earlier_weights = np.array([[0.4], [0.3], [0.1], [0.2]])
    np.testing.assert_allclose(sum(earlier_weights * states), [0.146, 0.067, 0.543, 0.165], atol=1e-15)


def test_the_student_of_document_003_gives_the_printed_digits() -> None:
    case = BY_ID["documents/003/context_vector"]
    student = load(str(ROOT / "tests" / "examples" / "student_context_broadcast.py"))
    answer = student.run(Request(case.operation, "float64", case.inputs, case.attributes))
    for name in case.outputs:
        np.testing.assert_array_equal(np.round(answer.values[name], 8), printed(case.id, name))


def test_only_the_context_vector_and_one_shape_disagree() -> None:
    disagreeing = {(case.id, entry.erratum) for case in CASES for entry in case.printed if entry.erratum}
    assert disagreeing == {
        ("documents/003/context_vector", "E003.context_broadcast"),
        ("documents/003/concatenated_heads", "E003.concatenated_weights"),
    }


def test_softmax_down_the_queries_gives_the_row_sums_of_the_erratum() -> None:
    query, key = (printed("documents/000/scores_from_printed_projections", of, (0, 0)) for of in ("query", "key"))
    scores = query @ key.T
    exponentials = np.exp(scores - scores.max())
    row_sums = (exponentials / exponentials.sum(axis=0)).sum(axis=1)
    np.testing.assert_allclose(row_sums, [2.9e-11, 2.99999994, 6.2e-7], rtol=1e-2)


def test_seven_printed_scores_follow_from_the_printed_projections() -> None:
    case = BY_ID["documents/000/scores_from_printed_projections"]
    scores = np.array(document_000.PRINTED_SCORES, dtype=np.float64)
    legible = ~np.isnan(scores)
    recomputed = (case.inputs["query"] @ case.inputs["key"].swapaxes(-1, -2))[0, 0]
    assert legible.sum() == 7
    np.testing.assert_allclose(recomputed[legible], scores[legible], rtol=0.0, atol=8e-8)
    assert recomputed[2, 1] == pytest.approx(120.6, abs=0.05)


def test_document_001_by_hand() -> None:
    case = BY_ID["documents/001/single_head"]
    query, key, value = (case.inputs["x"] @ case.inputs[f"w_{name}"] for name in ("query", "key", "value"))
    for name, array in (("query", query), ("key", key), ("value", value), ("scores", query @ key.T)):
        np.testing.assert_array_equal(printed(case.id, name), array)
    first = softmax(query @ key.T)[0]
    summands = first[:, None] * value
    weighted = "documents/001/weighted_values_of_first_token"
    for token, summand in enumerate(summands):
        np.testing.assert_allclose(printed(weighted, "output", (token, 0, 0)), summand, rtol=0.0, atol=5e-9)
    np.testing.assert_allclose(printed(weighted, "output", (3, 0, 0)), summands.sum(axis=0), atol=5e-9)
    np.testing.assert_allclose([1.93662106, 6.68310531, 1.59506841], first @ value, rtol=0.0, atol=5e-9)


def test_seeded_tokens_are_the_printed_ones() -> None:
    tokens = BY_ID["documents/004/two_heads"].inputs["query"][0].T
    np.testing.assert_array_equal(np.round(tokens, 8), np.array(document_004.PRINTED_X, dtype=np.float64))


def test_seeded_heads_give_the_printed_output() -> None:
    case = BY_ID["documents/004/two_heads"]
    x = case.inputs["query"][0]
    query, key, value = (
        np.split(x @ case.inputs[f"w_{name}"] + case.inputs[f"b_{name}"], 2, axis=1)
        for name in ("query", "key", "value")
    )
    heads = [softmax(q @ k.T / 2.0) @ v for q, k, v in zip(query, key, value, strict=True)]
    output = np.concatenate(heads, axis=1) @ case.inputs["w_output"]
    as_printed = np.array(document_004.PRINTED_OUTPUT, dtype=np.float64)
    np.testing.assert_allclose(output.T, as_printed, rtol=0.0, atol=5.0e-4)


def test_head_layouts_distinguish_every_element() -> None:
    for case in VALID:
        if case.operation in {"split_heads", "combine_heads"} and case.source.document != DOCUMENTS["003"]:
            assert len(np.unique(case.inputs["x"])) == case.inputs["x"].size
