"""The matrix as JSON and as a page."""

import json
import re
from pathlib import Path

from jsonschema import Draft202012Validator

from attnspec_authoring.proof import find, matrix_html, matrix_json, run_matrix

SCHEMA = json.loads((Path(__file__).parents[4] / "spec" / "schemas" / "mistakes.schema.json").read_text())
HOSTILE = "<script>alert('x')</script>\u202e\x1b[31m&"


def test_the_json_follows_its_schema_and_holds_what_was_noticed(few):
    made = run_matrix(few, processes=1)
    document = matrix_json(made, find(made, ("softmax.definition",), ()))
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(document)
    entry = next(entry for entry in document["trials"] if entry["id"] == "softmax.no_maximum")
    assert entry["wrong"]["float64"] == {"layout/softmax_large": "values"}
    assert {"mistake": "softmax.no_maximum", "dtype": "float64"} in document["findings"]["surviving"]
    assert document["findings"]["unexercised_clauses"] == ["softmax.definition"]
    assert document["sound"] is False


def test_the_schema_refuses_what_does_not_belong(few):
    made = run_matrix(few, only=["softmax.online"], processes=1)
    document = matrix_json(made, find(made, (), ()))
    validator = Draft202012Validator(SCHEMA)
    assert validator.is_valid(document)
    assert not validator.is_valid({**document, "more": 1})
    assert not validator.is_valid({**document, "dtypes": ["float8"]})


def test_the_page_has_a_row_for_each_mistake_and_says_what_survives(matrix, trial):
    made = matrix([trial("softmax.no_maximum", {"float64": ("a/1",), "float32": ("a/1", "a/2")})])
    page = matrix_html(made, find(made, (), ()))
    assert "softmax.no_maximum in float64" in page
    assert "The largest number was not subtracted" in page
    assert '<td class="number bad">1</td><td class="number">2</td>' in page
    assert "Nothing survives" not in page


def test_whatever_a_matrix_holds_is_harmless_on_the_page(matrix, trial):
    made = matrix(
        [
            trial(HOSTILE, {"float64": (HOSTILE,)}, clause=HOSTILE),
            trial(HOSTILE, {"float64": (HOSTILE,)}, kind="control"),
        ],
        targets={HOSTILE: (HOSTILE,)},
        cases=(HOSTILE, "b"),
    )
    page = matrix_html(made, find(made, (HOSTILE,), ()))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"(?:src|href)=", page)
