"""Preparing a case whose parts do not fit each other, as an outsider's may not."""

import json
from pathlib import Path

import pytest

import attnspec
from attnspec.base.errors import FixtureError
from attnspec.base.files import GOLDEN_FOLDER

SINGLE = "documents/000/single_head"


@pytest.mark.parametrize(
    "change",
    [
        {"attributes": {"scale": "big"}},
        {"attributes": {"scale": [1.0, 2.0]}},
        {"inputs": {"w_query": {"dtype": "float64", "shape": [1, 1], "data": [[1.0]]}}},
    ],
)
def test_parts_that_do_not_fit_are_reported_in_a_sentence(change, tmp_path: Path):
    case = json.loads((GOLDEN_FOLDER / f"{SINGLE}.json").read_bytes())
    for part, entries in change.items():
        case[part] |= entries
    path = tmp_path / f"{SINGLE}.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(case), "utf-8")
    with pytest.raises(FixtureError, match=f"The case '{SINGLE}' cannot be graded, because its inputs and attributes"):
        attnspec.validate("reference", golden=tmp_path)
