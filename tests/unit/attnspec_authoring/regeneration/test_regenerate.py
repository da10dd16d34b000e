"""Regenerating: the same bytes from nothing, only what changed, and nothing that is not its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attnspec.base.errors import UsageError
from attnspec.cases import load_suite
from attnspec.command_line import main
from attnspec_authoring.regeneration import check, golden_texts, regenerate


def names(outcome) -> list[tuple[str, str]]:
    return [(difference.kind, difference.path.name) for difference in outcome.differences]


def generated(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files that are made from recipes alone, whatever machine makes them."""
    others = ("order.json", "released.json", "retired.json", "smoke.json", "tolerances.json")
    return {name: content for name, content in files.items() if name not in others and name.endswith(".json")}


TOLERANCES = [("changed", "tolerances.json"), ("changed", "documents.bin")]
"""The files that follow from a changed case: its stored tolerances belong to its digest."""


def test_from_nothing_everything_is_computed(recipes, folder) -> None:
    outcome = regenerate(folder)
    assert outcome.cases == outcome.computed == len(recipes.few)
    assert {kind for kind, _ in names(outcome)} == {"missing"}


def test_what_was_made_is_read(recipes, folder) -> None:
    regenerate(folder)
    assert list(load_suite(folder).cases) == sorted(case.id for case in recipes.few)


def test_a_second_run_computes_and_writes_nothing(recipes, folder) -> None:
    regenerate(folder)
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*.json")}
    outcome = regenerate(folder)
    assert (outcome.cases, outcome.computed, outcome.differences) == (4, 0, ())
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.json")} == times


def test_everything_recomputes_and_writes_nothing(recipes, folder) -> None:
    regenerate(folder)
    outcome = regenerate(folder, everything=True)
    assert (outcome.computed, outcome.differences) == (4, ())


def test_progress_is_reported_of_every_case(recipes, folder) -> None:
    calls = []
    regenerate(folder, progress=lambda: calls.append(1))
    check(folder, progress=lambda: calls.append(1))
    assert len(calls) == 8


CHANGES = {
    "title": lambda case: replace(case, title="Another title"),
    "revision": lambda case: replace(case, revision=2),
    "a clause": lambda case: replace(case, clauses=case.clauses[:1]),
    "an input": lambda case: replace(case, inputs={**case.inputs, "decoder_state": np.array([0.5, 0.25, -1.0, 0.75])}),
    "an attribute": lambda case: replace(case, attributes={"scale": 0.5}),
    "a dtype": lambda case: replace(case, dtypes=("float64",)),
    "an output less": lambda case: replace(case, outputs=("context", "weights")),
    "a printed number": lambda case: replace(
        case, printed=(replace(case.printed[0], section="Elsewhere"), *case.printed[1:])
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_only_what_changed_is_computed(recipes, folder, change, texts) -> None:
    case = replace(recipes["context_vector"], printed=recipes["context_vector"].printed[3:4])
    recipes.exchange(case)
    regenerate(folder)
    changed = CHANGES[change](case)
    if change == "an input":
        changed = replace(changed, printed=())
    recipes.exchange(changed)
    outcome = regenerate(folder)
    assert outcome.computed == 1
    assert names(outcome) == [("changed", "context_vector.json"), ("changed", "index.json"), *TOLERANCES]
    assert {name: text.decode() for name, text in generated(texts(folder)).items()} == golden_texts()


@pytest.mark.parametrize(("before", "after"), [(1, 1.0), (1, True), (0.0, -0.0)])
def test_numbers_that_python_holds_equal_are_not_the_same_text(recipes, folder, before, after) -> None:
    plain = replace(recipes["context_vector"], printed=(), errata=())
    recipes.exchange(replace(plain, attributes={"scale": before}))
    regenerate(folder)
    recipes.exchange(replace(plain, attributes={"scale": after}))
    assert regenerate(folder).computed == 1
    assert check(folder).differences == ()


def test_a_file_edited_by_hand_is_computed_anew(recipes, folder, texts) -> None:
    regenerate(folder)
    right = texts(folder)
    path = folder / "documents/003/context_vector.json"
    path.write_text(path.read_text().replace("0.0957869356760461", "0.0957869356760462"))
    outcome = regenerate(folder)
    assert (outcome.computed, names(outcome)) == (1, [("changed", "context_vector.json")])
    assert texts(folder) == right


def test_orphans_are_removed_and_foreign_files_left_alone(recipes, folder, texts) -> None:
    regenerate(folder)
    right = texts(folder)
    (folder / "documents/003/orphan.json").write_text("{}")
    foreign = {"README.md": b"words", "documents/.draft.json": b"{", "documents/003/plot.svg": b"<svg/>"}
    for name, content in foreign.items():
        (folder / name).write_bytes(content)
    outcome = regenerate(folder)
    assert names(outcome) == [("orphan", "orphan.json")]
    assert texts(folder) == {**right, **foreign}


def test_a_case_that_no_recipe_makes_any_more_is_removed(recipes, folder) -> None:
    regenerate(folder)
    recipes.make(*recipes.few[:3])
    outcome = regenerate(folder)
    assert names(outcome) == [
        ("changed", "index.json"),
        *TOLERANCES,
        ("orphan", "split_into_single_columns.json"),
    ]
    assert len(load_suite(folder).cases) == 3


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"cases": []}', b'{"cases": {"a/b": 1}}', b"\xff"])
def test_a_damaged_index_is_made_anew(recipes, folder, damage, texts) -> None:
    regenerate(folder)
    right = texts(folder)
    (folder / "index.json").write_bytes(damage)
    assert regenerate(folder).computed == 4
    assert texts(folder) == right


def test_a_file_instead_of_the_folder_is_a_sentence(recipes, tmp_path, capsys) -> None:
    (tmp_path / "file").write_text("here")
    with pytest.raises(UsageError, match=r"file cannot be written \(.+\); regenerate in a checkout of attnspec\."):
        regenerate(tmp_path / "file")
    assert main(["regenerate", "--golden", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith(f"attnspec: {tmp_path / 'file'} cannot be written")


def test_a_folder_below_a_file_is_a_sentence(recipes, tmp_path) -> None:
    (tmp_path / "file").write_text("here")
    with pytest.raises(UsageError, match=r"There is no folder .*file in which golden could be made"):
        regenerate(tmp_path / "file" / "golden")


def test_a_folder_that_may_not_be_written_is_a_sentence(recipes, folder, monkeypatch) -> None:
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with pytest.raises(UsageError, match=r"cannot be written \(Permission denied: .*golden\)"):
        regenerate(folder)


def test_the_command_says_what_it_did(recipes, folder, capsys) -> None:
    assert main(["regenerate", "--golden", str(folder)]) == 0
    written = capsys.readouterr().out
    assert f"written: {folder / 'index.json'}" in written
    assert "cases: 4, computed: 4, files changed: 7" in written
    (folder / "stray.json").write_text("{}")
    assert main(["regenerate", "--all", "--golden", str(folder)]) == 0
    assert capsys.readouterr().out == f"removed: {folder / 'stray.json'}\ncases: 4, computed: 4, files changed: 1\n"
