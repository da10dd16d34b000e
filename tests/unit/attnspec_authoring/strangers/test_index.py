"""Index of strangers' implementations: a row for each, a digest for each batch, and a first score that stays."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from attnspec.base.errors import UsageError
from attnspec.cases import load_suite
from attnspec.contract import OPERATIONS
from attnspec.specification import clauses
from attnspec_authoring.strangers import (
    INDEX,
    PAGE,
    ArchiveError,
    Batch,
    Stranger,
    batch_names,
    files_digest,
    files_in,
    index_text,
    read_batch,
    read_index,
    strangers_page,
    unpacked,
    with_first_score,
)
from attnspec_authoring.strangers.__main__ import renewed
from attnspec_authoring.strangers.trials import Trial

WRITTEN = "259e590d53ac9c64cb36f80da4c750d3e671cadf2a3faff6f3cd2b36dda8a0e5"
"""Digest of the digests of all 3,817 files of batches 7 to 77, as their authors left them."""
RENEWED = "write it anew: python -m attnspec_authoring.strangers --write"


@pytest.fixture(scope="module")
def index():
    return read_index()


@pytest.fixture
def batch(tmp_path):
    folder = tmp_path / "batch_100"
    for name in ("wrong/001_one.py", "wrong/002_two.py", "wrong/_shared.py", "right/01_one.py"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'"""File {path.stem},\nof two lines.\n\nAnd more."""\n')
    entry = {"operation": "softmax", "sentence": "It is wrong.", "where": "here", "clauses": ["softmax.definition"]}
    entries = [{"file": f"wrong/{name}.py", **entry, "in_reach": name == "001_one"} for name in ("001_one", "002_two")]
    (folder / "batch.json").write_text(json.dumps(entries))
    return folder


def test_every_batch_has_the_digest_of_all_its_files(index):
    assert {batch.name: batch.sha256 for batch in index.batches} == {
        batch: files_digest(files_in(unpacked(batch))) for batch in batch_names()
    }


def test_files_are_as_their_authors_left_them():
    files: dict[str, bytes] = {}
    for batch in batch_names():
        if int(batch.rpartition("_")[2]) <= 77:
            files |= files_in(unpacked(batch))
    assert len(files) == 3817
    assert files_digest(files) == WRITTEN


@pytest.mark.parametrize("changed", [{"a": b"2", "b": b""}, {"a": b"1", "c": b""}, {"a": b"1"}, {"a": b"", "b": b"1"}])
def test_a_digest_is_of_every_file_and_its_name(changed):
    assert files_digest({"b": b"", "a": b"1"}) == files_digest({"a": b"1", "b": b""}) != files_digest(changed)


def test_what_an_author_said_stands_in_the_index(index):
    for name in batch_names():
        batch, strangers = read_batch(unpacked(name))
        listed = index.of(name)
        assert [
            replace(stranger, first=None, taught=None, noticed_by=None, reason=None, left_open=False, needs=None)
            for stranger in listed
        ] == [*strangers]
        assert batch.sha256 in [known.sha256 for known in index.batches if known.name == name]


def test_the_index_is_compact_and_sorted_and_reads_back(index):
    text = INDEX.read_text(encoding="utf-8")
    assert text == index_text(index)
    assert text.count("\n") == 2 * len(index.batches) + len(index.strangers) + 3
    assert json.loads(text)["format"] == 2
    assert [batch.name for batch in index.batches] == [*batch_names()]
    assert len({stranger.name for stranger in index.strangers}) == len(index.strangers)
    assert index.with_strangers(reversed(index.strangers)) == index


def test_what_the_index_says_is_possible(index):
    known, spoken = load_suite().cases.keys(), clauses().keys()
    for stranger in index.strangers:
        assert stranger.noticed_by is None or stranger.noticed_by in known, f"{stranger.name}: {RENEWED}"
        assert stranger.first in ((None, "passed", "failed") if stranger.is_right else (None, "killed", "survived"))
        assert not (stranger.must_fail and stranger.must_pass), stranger.name
        assert not stranger.left_open or stranger.reason, f"{stranger.name}: say what the pages leave open"
        if stranger.is_right:
            assert stranger.noticed_by is None or stranger.reason, f"{stranger.name}: say why a case may fail it"
        else:
            assert stranger.operation in OPERATIONS
            assert {*stranger.clauses} <= spoken


def test_the_page_says_what_the_index_says(index):
    assert PAGE.read_text(encoding="utf-8") == strangers_page(index), RENEWED


def test_the_page_counts_each_kind_by_itself(index):
    strangers = (
        Stranger("batch_100", "wrong/1.py", shown_by_small_cases=True, first="killed", noticed_by="core/plain"),
        Stranger("batch_100", "wrong/2.py", shown_by_small_cases=True, first="survived", noticed_by="core/plain"),
        Stranger("batch_100", "wrong/3.py", shown_by_small_cases=True, first="survived", reason="nothing shows it"),
        Stranger("batch_100", "wrong/4.py", shown_by_small_cases=False, first="survived"),
        Stranger("batch_100", "right/1.py", first="failed", noticed_by="core/plain", reason="it is not right"),
        Stranger("batch_100", "right/2.py", first="passed"),
        Stranger("batch_101", "wrong/1.py", shown_by_small_cases=True),
    )
    batches = (Batch("batch_100", "", 12, "", "A note."), Batch("batch_101", ""))
    page = strangers_page(replace(index, cases=34, batches=batches, strangers=strangers))
    assert "| 100 | 12 | 3 | 1 | 2 | 1 | 0 | 0 | 2 | 1 | 1 |" in page
    assert "| 101 | - | 1 | - | 0 | 0 | 0 | 0 | 0 | 0 | 0 |" in page
    assert "| all |  | 4 | 1 | 2 | 1 | 0 | 0 | 2 | 1 | 1 |" in page
    assert "- Batch 100: A note." in page
    assert "| nothing shows it | 1 |" in page
    assert "| it is not right | 1 |" in page
    assert "the suite of 34 cases" in page


def test_a_batch_is_read_as_its_author_hands_it_over(batch):
    found, strangers = read_batch(batch)
    assert [stranger.file for stranger in strangers] == ["right/01_one.py", "wrong/001_one.py", "wrong/002_two.py"]
    assert [stranger.shown_by_small_cases for stranger in strangers] == [None, True, False]
    assert [stranger.sentence for stranger in strangers] == ["File 01_one, of two lines.", *["It is wrong."] * 2]
    assert strangers[1].clauses == ("softmax.definition",)
    assert found.sha256 == files_digest(files_in(batch))


def test_judges_have_the_last_word_on_clauses(batch):
    (batch / "clauses.json").write_text(json.dumps({"wrong/001_one.py": {"accepted": ["softmax.axis"]}}))
    _, strangers = read_batch(batch)
    assert [stranger.clauses for stranger in strangers] == [(), ("softmax.axis",), ("softmax.definition",)]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda batch: (batch / "wrong" / "003_three.py").write_text(""), "003_three.py is in the folder and not in"),
        (lambda batch: (batch / "wrong" / "001_one.py").unlink(), "001_one.py is in batch.json and not in the folder"),
        (lambda batch: batch.rename(batch.with_name("elsewhere")), "batch_100 holds no implementation"),
        (lambda batch: (batch / "batch.json").unlink(), "001_one.py is in the folder and not in batch.json"),
    ],
)
def test_a_wrong_one_belongs_in_the_folder_and_in_its_list(spoil, words, batch):
    spoil(batch)
    with pytest.raises(UsageError, match=words):
        read_batch(batch)


def test_a_first_score_is_written_once(index, batch):
    found, strangers = read_batch(batch)
    failing = {"wrong/001_one.py": ["core/two", "core/one"], "wrong/002_two.py": [], "right/01_one.py": ["core/one"]}
    scored = with_first_score(index, replace(found, cases=12, suite="digest"), strangers, failing)
    assert [(stranger.first, stranger.noticed_by) for stranger in scored.of("batch_100")] == [
        ("failed", "core/one"),
        ("killed", "core/one"),
        ("survived", None),
    ]
    assert scored.batches[-1] == Batch("batch_100", found.sha256, 12, "digest")
    assert scored.strangers[: len(index.strangers)] == index.strangers
    with pytest.raises(UsageError, match="batch_100 has its first score already"):
        with_first_score(scored, found, strangers, failing)


def test_a_kill_is_renewed_and_a_surprise_is_not(index):
    was = Stranger("batch_100", "wrong/1.py", noticed_by="core/plain")
    survivor = Stranger("batch_100", "wrong/2.py")
    right = Stranger("batch_100", "right/1.py")
    left_open = Stranger("batch_100", "wrong/3.py", left_open=True, reason="open")
    before = replace(index, strangers=(right, was, survivor, left_open))
    trials = [Trial(right, "core/one", ""), Trial(was), Trial(survivor, "core/one", "")]
    trials.append(Trial(left_open, "core/one", ""))
    assert [bool(trial.surprise) for trial in trials] == [True, True, False, True]
    assert renewed(before, trials).strangers == (right, was, replace(survivor, noticed_by="core/one"), left_open)
    moved = renewed(before, [Trial(was, "core/two", "")])
    assert moved.strangers[1].noticed_by == "core/two"
    assert (moved.cases, moved.suite) == (index.cases, index.suite)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 3}', '{"format": 2, "strangers": {"batch_1": [["no"]]}}'])
def test_an_index_that_cannot_be_read_is_reported_in_a_sentence(text, tmp_path):
    (tmp_path / "index.json").write_text(text)
    with pytest.raises(ArchiveError, match=r"index\.json cannot be read .* take it from the repository again"):
        read_index(tmp_path / "index.json")
    with pytest.raises(ArchiveError, match="cannot be read"):
        read_index(Path("/nowhere"))
