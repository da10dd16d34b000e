"""The promise: what was released keeps its meaning, or says that it changed; an id is never used again."""

import json
from pathlib import Path

import pytest

from attnspec.base import __version__
from attnspec.cases.releases import broken_promises, read_released, read_retired

from .conftest import CONTEXT, REFUSAL, ROWS

ROOT = Path(__file__).parents[4]


MEANINGS = {
    "an expected number": (CONTEXT, lambda case: case.update(expected=another_expected(case))),
    "an input": (ROWS, lambda case: case["inputs"]["x"]["data"][0].__setitem__(0, 9.5)),
    "an attribute": (ROWS, lambda case: case["attributes"].update(axis=0)),
    "the dtypes": (ROWS, lambda case: case["dtypes"].pop()),
    "the conventions": (ROWS, lambda case: case["conventions"].append("accumulation")),
    "the layout in memory": (ROWS, lambda case: case.update(presentation={"x": "fortran"})),
    "the changed argument": (ROWS, lambda case: case.update(changed_argument={"name": "x", "reversed": True})),
    "the counterpart": (REFUSAL, lambda case: case["rejects"].update(twin=ROWS)),
}
PROSE = {
    "the title": (ROWS, lambda case: case.update(title="Another title")),
    "the source": (ROWS, lambda case: case.update(source={"url": "https://example.org"})),
    "the clauses": (ROWS, lambda case: case["clauses"].append("softmax.stability")),
    "the targets": (ROWS, lambda case: case.update(targets=["softmax.opposite_axis"])),
    "the errata": (ROWS, lambda case: case.update(errata=["E000.softmax_axis"])),
    "what was printed": (ROWS, lambda case: case.pop("printed", None)),
    "the reason of a refusal": (REFUSAL, lambda case: case["rejects"].update(reason="Another reason.")),
}


def another_expected(case):
    text = json.dumps(case["expected"])
    digit = next(character for character in text if character in "3456789")
    return json.loads(text.replace(digit, str(int(digit) - 1), 1))


@pytest.mark.parametrize("what", MEANINGS)
def test_a_meaning_that_changes_unseen_is_found(what, golden):
    case_id, change = MEANINGS[what]
    golden.edit(case_id, change)
    (sentence,) = broken_promises(golden.folder)
    assert sentence == (
        f"{case_id} means something else than when revision 1 was released. "
        "Raise its revision to 2 in the recipe, or undo the change."
    )
    golden.edit(case_id, lambda case: case.update(revision=2))
    assert broken_promises(golden.folder) == ()


@pytest.mark.parametrize("what", PROSE)
def test_prose_may_change(what, golden):
    case_id, change = PROSE[what]
    golden.edit(case_id, change)
    assert broken_promises(golden.folder) == ()


def test_a_case_that_vanishes_leaves_a_tombstone(golden):
    golden.remove(ROWS)
    (sentence,) = broken_promises(golden.folder)
    assert sentence.startswith(
        f"{ROWS} was released and is gone. Bring it back, or write its tombstone in retired.json"
    )
    golden.retire(ROWS)
    assert broken_promises(golden.folder) == ()


def test_a_retired_id_is_never_used_again(golden):
    golden.remove(ROWS)
    golden.retire(ROWS)
    golden.add(ROWS)
    assert broken_promises(golden.folder) == (f"{ROWS} is retired and cannot be used again. Give the case a new id.",)


def test_a_tombstone_stays(golden):
    golden.remove(ROWS)
    golden.retire(ROWS)
    assert golden.attnspec("release")[0] == 0
    assert golden.attnspec("check")[0] == 0
    golden.retire()
    expected = f"{ROWS} was retired and has lost its tombstone. Bring it back into retired.json."
    assert broken_promises(golden.folder) == (expected,)


def test_a_revision_does_not_go_back(golden):
    golden.edit(ROWS, lambda case: case.update(revision=3))
    assert golden.attnspec("release")[0] == 0
    golden.edit(ROWS, lambda case: case.update(revision=2))
    assert broken_promises(golden.folder) == (f"{ROWS} was released as revision 3 and is revision 2 now.",)


def test_a_new_case_breaks_nothing(golden):
    golden.add("documents/001/softmax_of_columns")
    assert broken_promises(golden.folder) == ()


def test_without_a_release_nothing_is_promised(golden):
    (golden.folder / "released.json").unlink()
    golden.remove(ROWS)
    assert broken_promises(golden.folder) == ()


def test_check_fails_on_a_broken_promise(golden):
    assert golden.attnspec("check") == (0, "3 files are sound.\n", "")
    golden.edit(ROWS, lambda case: case["dtypes"].pop())
    status, out, err = golden.attnspec("check")
    assert (status, out) == (1, "")
    assert err.startswith(f"{ROWS} means something else")


def test_a_broken_promise_cannot_be_released(golden):
    before = (golden.folder / "released.json").read_bytes()
    golden.edit(ROWS, lambda case: case["dtypes"].pop())
    status, out, err = golden.attnspec("release")
    assert (status, out) == (1, "")
    assert err.startswith(f"{ROWS} means something else")
    assert (golden.folder / "released.json").read_bytes() == before


def test_what_a_release_writes(golden):
    status, out, _ = golden.attnspec("release")
    assert (status, out) == (0, f"{golden.folder / 'released.json'}: 3 cases, released as {__version__}.\n")
    released = read_released(golden.folder)
    assert released.release == __version__
    assert set(released.cases) == {ROWS, CONTEXT, REFUSAL}
    assert {stamp.revision for stamp in released.cases.values()} == {1}
    assert len({stamp.meaning for stamp in released.cases.values()}) == 3
    first = (golden.folder / "released.json").read_bytes()
    golden.attnspec("release")
    assert (golden.folder / "released.json").read_bytes() == first


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("released.json", "{", "is not valid JSON"),
        ("released.json", '{"format": 1}', "does not follow the released schema"),
        ("retired.json", '{"format": 1, "cases": {"a/b": {}}}', "does not follow the retired schema at /cases/a~1b"),
    ],
)
def test_a_damaged_record_is_said(name, content, sentence, golden):
    (golden.folder / name).write_text(content, "utf-8")
    for command in ("check", "release"):
        status, out, err = golden.attnspec(command)
        assert (status, out) == (2, "")
        assert sentence in err


def test_the_shipped_records_hold():
    assert broken_promises(ROOT / "golden") == ()
    assert read_released(ROOT / "golden").release is not None
    assert read_retired(ROOT / "golden").keys().isdisjoint(read_released(ROOT / "golden").cases)
