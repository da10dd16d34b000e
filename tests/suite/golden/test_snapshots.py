"""syrupy guards the golden files: each is exactly what its recipe and the certified oracle give.

Here it is held of every document's case, and of one of each operation in each profile. That it holds of all files is
what ``make check-goldens`` proves.
"""

from __future__ import annotations

import pytest
from golden_extension import GoldenFileExtension

from attnspec.cases import canonical_json
from attnspec_authoring.recipes import authored_cases
from attnspec_authoring.regeneration import filled_document

ALL = authored_cases()
FIRSTS = {(case.profile, case.operation): case for case in reversed(ALL)}.values()
CASES = {case.id: case for case in ALL if case.profile == "documents"} | {case.id: case for case in FIRSTS}


@pytest.fixture
def golden_file(snapshot):
    return snapshot.use_extension(GoldenFileExtension)


@pytest.mark.parametrize("case_id", CASES)
def test_golden_file(golden_file, case_id) -> None:
    text = canonical_json(filled_document(CASES[case_id]))
    assert text == golden_file(name=case_id), (
        f"golden/{case_id}.json is not what its recipe and the oracle give; run `attnspec regenerate --all` "
        "and look at what changed"
    )
