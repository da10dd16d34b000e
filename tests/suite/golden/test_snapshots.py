"""syrupy guards the golden files: each is exactly what its recipe and the certified oracle give."""

from __future__ import annotations

import pytest
from golden_extension import GoldenFileExtension

from attnspec.cases import canonical_json
from attnspec_authoring.recipes import authored_cases
from attnspec_authoring.regeneration import filled_document, golden_texts

CASES = {case.id: case for case in authored_cases()}
QUICK = "documents/"
"""These are recomputed in every run of the tests; recomputing all is a proof, which takes its time."""


@pytest.fixture
def golden_file(snapshot):
    return snapshot.use_extension(GoldenFileExtension)


@pytest.mark.parametrize(
    "case_id",
    [pytest.param(case_id, marks=() if case_id.startswith(QUICK) else pytest.mark.proof) for case_id in CASES],
)
def test_golden_file(golden_file, case_id) -> None:
    text = canonical_json(filled_document(CASES[case_id]))
    assert text == golden_file(name=case_id), (
        f"golden/{case_id}.json is not what its recipe and the oracle give; run `attnspec regenerate --all` "
        "and look at what changed"
    )


@pytest.mark.proof
def test_index(golden_file) -> None:
    text = golden_texts()["index.json"]
    assert text == golden_file(name="index"), (
        "golden/index.json does not vouch for the golden files; run `attnspec regenerate`"
    )
