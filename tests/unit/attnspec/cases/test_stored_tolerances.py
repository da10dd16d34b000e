"""Stored tolerances: read where every digest holds, rounded up by little, and those of one case alone."""

import json
import shutil
import zlib

import numpy as np
import pytest

import attnspec
from attnspec.base.files import GOLDEN_FOLDER
from attnspec.cases import load_suite
from attnspec.cases.stored_tolerances import model_digest, rounded_up, unpacked
from attnspec.command_line import main
from attnspec.grading.stored_tolerance import StoredTolerance
from attnspec.runner import prepare_suite

PLAIN = "core/plain"


def folder_of(tmp_path):
    """Return a golden folder of the profile ``core`` with its stored tolerances."""
    folder = tmp_path / "golden"
    shutil.copytree(GOLDEN_FOLDER / "core", folder / "core")
    (folder / "tolerances").mkdir()
    shutil.copy(GOLDEN_FOLDER / "tolerances" / "core.bin", folder / "tolerances")
    shutil.copy(GOLDEN_FOLDER / "tolerances.json", folder)
    index = json.loads((GOLDEN_FOLDER / "index.json").read_bytes())
    cases = {case_id: entry for case_id, entry in index["cases"].items() if case_id.startswith("core/")}
    (folder / "index.json").write_text(json.dumps({"format": 1, "count": len(cases), "cases": cases}))
    return folder


def are_stored(folder) -> bool:
    return load_suite(folder, select=(PLAIN,)).cases[PLAIN].stored_tolerances is not None


def damaged_numbers(folder):
    path = folder / "tolerances" / "core.bin"
    content = bytearray(zlib.decompress(path.read_bytes()))
    content[-100] ^= 1
    path.write_bytes(zlib.compress(bytes(content)))


def cut_off(folder):
    path = folder / "tolerances" / "core.bin"
    path.write_bytes(path.read_bytes()[:-20])


def edited_record(**changes):
    def edit(folder):
        record = json.loads((folder / "tolerances.json").read_bytes())
        (folder / "tolerances.json").write_text(json.dumps(record | changes))

    return edit


def no_object(folder):
    (folder / "tolerances.json").write_text("[]")


def another_title(folder):
    path = folder / f"{PLAIN}.json"
    path.write_text(path.read_text().replace('"title": "', '"title": "Another: '))
    (folder / "index.json").unlink()


DAMAGES = {
    "a changed byte": damaged_numbers,
    "a file that is cut off": cut_off,
    "another model": edited_record(model="0" * 64),
    "another format": edited_record(format=1),
    "no file of the profile": edited_record(files={}),
    "a record that is no object": no_object,
    "another case file": another_title,
    "no record": lambda folder: (folder / "tolerances.json").unlink(),
    "no file": lambda folder: (folder / "tolerances" / "core.bin").unlink(),
}


def test_shipped_ones_are_those_of_this_model_and_of_every_case():
    record = json.loads((GOLDEN_FOLDER / "tolerances.json").read_bytes())
    assert record["model"] == model_digest(), "the error model has changed: run `make regenerate`"
    cases = load_suite().cases.values()
    missing = [case.id for case in cases if case.expected is not None and case.stored_tolerances is None]
    assert missing == [], "`make regenerate` stores them"


def test_they_are_read(tmp_path):
    assert are_stored(folder_of(tmp_path))


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_no_digest_vouches_for_is_computed(tmp_path, damage):
    folder = folder_of(tmp_path)
    DAMAGES[damage](folder)
    assert not are_stored(folder)
    assert attnspec.validate("reference", golden=folder, select="core/pl*").results[0].verdict.status == "pass"


@pytest.mark.parametrize(
    "damage", sorted(DAMAGES.keys() - {"no record", "no file of the profile", "another case file"})
)
def test_check_names_what_no_digest_vouches_for(tmp_path, capsys, damage):
    folder = folder_of(tmp_path)
    record = json.loads((folder / "tolerances.json").read_bytes())
    (folder / "tolerances.json").write_text(json.dumps(record | {"files": {"core": record["files"]["core"]}}))
    assert main(["check", "--golden", str(folder)]) == 0
    DAMAGES[damage](folder)
    assert main(["check", "--golden", str(folder)]) == 1
    assert "tolerances" in capsys.readouterr().err


def test_results_are_the_same_with_them_and_without(tmp_path):
    folder = folder_of(tmp_path)
    stored = attnspec.validate("reference", golden=folder).results
    (folder / "tolerances.json").unlink()
    shutil.move(folder, tmp_path / "without")
    computed = attnspec.validate("reference", golden=tmp_path / "without").results
    assert [result.status for result in stored] == [result.status for result in computed]
    for one, other in zip(stored, computed, strict=True):
        if one.verdict.worst is not None:
            # A ratio falls by as much as its tolerance was rounded up.
            assert other.verdict.worst.ratio / (1 + 2**-8) <= one.verdict.worst.ratio <= other.verdict.worst.ratio


def test_a_tolerance_is_rounded_up_by_at_most_four_thousandths():
    drawn = np.random.default_rng(28)
    numbers = np.concatenate(
        [
            drawn.random(10_000) * 10.0 ** drawn.integers(-300, 300, 10_000),
            [0.0, 1.0, 2.0**-1022, np.finfo(np.float64).max, np.inf],
        ]
    )
    codes = rounded_up(numbers)
    assert codes.max() < 2**20
    stored = (codes.astype(np.uint64) << np.uint64(44)).view(np.float64)
    assert (stored >= numbers).all()
    finite = np.isfinite(stored)
    assert (stored[finite] <= numbers[finite] * (1 + 2.0**-8)).all()
    assert stored[10_000] == 0.0
    assert stored[10_001] == 1.0
    assert np.isnan((rounded_up(np.array([np.nan])).astype(np.uint64) << np.uint64(44)).view(np.float64)).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda case: {"inputs": dict(case.inputs)},
        lambda case: {"attributes": {**case.attributes, "scale": 4.0}},
        lambda case: {"expected": dict(case.expected)},
    ],
)
def test_a_changed_case_is_not_graded_by_them(change):
    suite = load_suite(select=(PLAIN,))
    case = suite.cases[PLAIN]
    assert isinstance(bound_of(case), StoredTolerance)
    changed = bound_of(case._replace(**change(case)))
    assert not isinstance(changed, StoredTolerance)


def bound_of(case):
    suite = load_suite(select=(PLAIN,))
    runs = prepare_suite(type(suite)(suite.folder, suite.digest, {PLAIN: case}, {}), case.operation, ("float64",))
    return runs[0].bound


def test_numbers_cannot_be_written_over():
    content = zlib.decompress((GOLDEN_FOLDER / "tolerances" / "core.bin").read_bytes())
    with pytest.raises(ValueError, match="read-only"):
        unpacked(content).numbers.tolerances[0] = 1.0
