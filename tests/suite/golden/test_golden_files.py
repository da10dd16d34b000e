"""The golden files as they lie in the repository: sound, complete, named truly, and small."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from attnspec.cases import canonical_json, case_from_json
from attnspec.contract import OPERATIONS
from attnspec.families.lookup import family_of
from attnspec.grading import SYSTEMATIC, is_clause_of_run
from attnspec_authoring.recipes import authored_cases, sampled_cases
from attnspec_authoring.rotation import selection
from attnspec_mistakes import CATALOGUE
from attnspec_mistakes.attention import long_mistakes

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "golden"
SCHEMAS = sorted((ROOT / "spec" / "schemas").glob("*.json"))
PATHS = {
    path.relative_to(GOLDEN).with_suffix("").as_posix(): path
    for path in sorted(GOLDEN.rglob("*.json"))
    if path.parent != GOLDEN
}
PROFILES = sorted({case_id.partition("/")[0] for case_id in PATHS})
FILES_OF_SCHEMA = 1200
"""Files that a proof holds against the schema, others with every change: all take two minutes and a half, and the quick
tests have one of each kind."""
SIZE_LIMIT = 27_000_000
"""Bytes, some 5.6 kB each. A clone in seconds, and files that are read within a second; profile pairs, of many numbers
a case, is a third of it, stored tolerances are 2 MB. Masks, caches, latent attention and norms have 0.4 MB each, and as
much is there for what comes beside them. The wheel holds them compressed."""


@cache
def documents() -> dict[str, dict]:
    return {case_id: json.loads(path.read_text(encoding="utf-8")) for case_id, path in PATHS.items()}


@cache
def validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((ROOT / "spec" / "schemas" / f"{kind}.schema.json").read_text()))


def clauses_of_the_pages() -> set[str]:
    pages = (ROOT / "spec" / "operations").glob("*/*.md")
    return {
        clause
        for page in pages
        for clause in re.findall(r"^- `([a-z0-9_.]+)` — ", page.read_text(encoding="utf-8"), re.MULTILINE)
    }


def errata_of_the_page() -> set[str]:
    text = (ROOT / "spec" / "errata.md").read_text(encoding="utf-8")
    return set(re.findall(r"^(?:###|\|) `(E\d{3}\.[a-z0-9_]+)` ", text, re.MULTILINE))


def test_the_files_are_those_that_the_recipes_make() -> None:
    made = {case.id for case in (*authored_cases(), *sampled_cases())}
    orphans = sorted(PATHS.keys() - made)
    missing = sorted(made - PATHS.keys())
    assert not orphans, f"no recipe makes {orphans}; `attnspec regenerate` removes them"
    assert not missing, f"recipes make {missing}; `attnspec regenerate` writes them"


def test_nothing_else_lies_among_them() -> None:
    foreign = [
        path.relative_to(GOLDEN).as_posix()
        for path in GOLDEN.rglob("*")
        if path.is_file()
        and path.suffix != ".json"
        and path.name != "README.md"
        and path.parent != GOLDEN / "tolerances"
    ]
    assert not foreign


@pytest.mark.parametrize("profile", PROFILES)
def test_every_file_is_canonical_and_is_read(profile) -> None:
    for case_id in (case_id for case_id in PATHS if case_id.startswith(f"{profile}/")):
        text = PATHS[case_id].read_bytes().decode("utf-8")
        document = json.loads(text)
        assert canonical_json(document) == text, case_id
        assert document["id"] == case_id
        assert document["profile"] == profile, case_id
        case_from_json(document)


def schema_errors(case_ids) -> list[str]:
    return [
        f"{case_id} at {error.json_path}: {error.message[:200]}"
        for case_id in case_ids
        for error in validator("case").iter_errors(documents()[case_id])
    ]


def test_a_file_of_every_operation_in_every_profile_follows_the_schema() -> None:
    kinds = {
        (document["profile"], document["operation"], "rejects" in document): case_id
        for case_id, document in documents().items()
    }
    assert schema_errors(kinds.values()) == []


@pytest.mark.proof
@pytest.mark.parametrize("profile", PROFILES)
def test_files_follow_the_schema(profile) -> None:
    tried = selection(PATHS, FILES_OF_SCHEMA)
    assert schema_errors(case_id for case_id in PATHS if case_id in tried and case_id.startswith(f"{profile}/")) == []


def test_the_index_follows_its_schema_and_is_canonical() -> None:
    text = (GOLDEN / "index.json").read_bytes().decode("utf-8")
    index = json.loads(text)
    assert not list(validator("index").iter_errors(index))
    assert canonical_json(index) == text


def test_the_index_vouches_for_every_file() -> None:
    index = json.loads((GOLDEN / "index.json").read_bytes())
    assert index["count"] == len(PATHS)
    assert index["cases"] == {
        case_id: {
            "revision": documents()[case_id]["revision"],
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for case_id, path in PATHS.items()
    }


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_every_schema_is_a_schema(path) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]
    Draft202012Validator.check_schema(schema)
    for reference in re.findall(r'"\$ref": "([^"]+)"', path.read_text(encoding="utf-8")):
        parent, name = reference.rsplit("/", 1)
        assert parent == "#/$defs"
        assert name in schema["$defs"]


def test_the_schema_takes_the_names_of_all_operations_by_pattern() -> None:
    pattern = validator("case").schema["properties"]["operation"]["pattern"]
    assert all(re.search(pattern, operation) for operation in OPERATIONS)


def test_every_named_clause_erratum_mistake_and_counterpart_exists() -> None:
    clauses, errata_listed = clauses_of_the_pages(), errata_of_the_page()
    mistakes = {entry.id for entry in (*CATALOGUE, *long_mistakes.MISTAKES)}
    for case_id, document in documents().items():
        assert set(document["clauses"]) <= clauses, case_id
        errata = {*document.get("errata", ()), *(entry.get("erratum") for entry in document.get("printed", ()))}
        assert errata - {None} <= errata_listed, case_id
        assert set(document.get("targets", ())) <= mistakes, case_id
        if "rejects" in document:
            counterpart = documents()[document["rejects"]["twin"]]
            assert "rejects" not in counterpart
            assert counterpart["operation"] == document["operation"]


def test_every_clause_is_exercised() -> None:
    exercised = {clause for document in documents().values() for clause in document["clauses"]}
    of_runs = {clause for clause in clauses_of_the_pages() if is_clause_of_run(clause)}
    assert sorted(clauses_of_the_pages() - exercised - of_runs) == []
    assert {clause for clause in of_runs if clause.endswith(f".{SYSTEMATIC}")} == {
        f"{operation.short_name}.precision.{SYSTEMATIC}"
        for operation in OPERATIONS.values()
        if family_of(operation.name).directions(operation.name)
    }


def test_every_operation_has_two_cases_of_equal_shapes_and_unequal_values() -> None:
    """An implementation that remembers an answer by the shapes of its inputs must not pass."""
    alike = defaultdict(set)
    for document in documents().values():
        if "rejects" in document:
            continue
        # Lengths say no more than the shapes do; a seed, an offset and a base are values.
        values = {"seed", "offset", "query_length", "key_length", "theta"}
        attributes = {name: value for name, value in document["attributes"].items() if name not in values}
        tensors = [document["inputs"], *document.get("expected", {}).values()]
        shapes = [{name: (tensor["dtype"], tensor["shape"]) for name, tensor in named.items()} for named in tensors]
        question = json.dumps([document["operation"], shapes, attributes], sort_keys=True)
        answer = document.get("expected") or document["attributes"]
        alike[question].add(json.dumps(answer, sort_keys=True))
    operations = {json.loads(question)[0] for question, answers in alike.items() if len(answers) > 1}
    assert operations == set(OPERATIONS)


def test_the_folder_stays_small() -> None:
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*") if path.is_file()) < SIZE_LIMIT
