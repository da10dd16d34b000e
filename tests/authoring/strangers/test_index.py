"""Index of strangers' implementations: one line for each file of the archives, and a first score that stays."""

import hashlib
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


def digests(index):
    found = {stranger.name: stranger.sha256 for stranger in index.strangers}
    return found | {f"{batch.name}/{file}": digest for batch in index.batches for file, digest in batch.others.items()}


def test_every_file_of_every_archive_is_listed_with_its_digest(index):
    contents = {
        name: hashlib.sha256(content).hexdigest()
        for batch in batch_names()
        for name, content in files_in(unpacked(batch)).items()
    }
    assert digests(index) == contents


def test_files_are_as_their_authors_left_them(index):
    lines = [
        f"{digest}  {name}\n" for name, digest in digests(index).items() if int(name.split("/")[0].split("_")[1]) <= 77
    ]
    assert len(lines) == 3817
    assert hashlib.sha256("".join(sorted(lines)).encode()).hexdigest() == WRITTEN


def test_what_an_author_said_stands_in_the_index(index):
    for name in batch_names():
        batch, strangers = read_batch(unpacked(name))
        listed = index.of(name)
        assert [
            replace(stranger, first=None, taught=None, noticed_by=None, reason=None, left_open=False, needs=None)
            for stranger in listed
        ] == [*strangers]
        assert batch.others in [known.others for known in index.batches if known.name == name]


def test_the_index_is_compact_and_sorted_and_reads_back(index):
    text = INDEX.read_text(encoding="utf-8")
    assert text == index_text(index)
    assert text.count("\n") == len(index.batches) + len(index.strangers) + 5
    assert json.loads(text)["format"] == 1
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
        Stranger("batch_100", "wrong/1.py", "", in_reach=True, first="killed", noticed_by="core/plain"),
        Stranger("batch_100", "wrong/2.py", "", in_reach=True, first="survived", noticed_by="core/plain"),
        Stranger("batch_100", "wrong/3.py", "", in_reach=True, first="survived", reason="nothing shows it"),
        Stranger("batch_100", "wrong/4.py", "", in_reach=False, first="survived"),
        Stranger("batch_100", "right/1.py", "", first="failed", noticed_by="core/plain", reason="it is not right"),
        Stranger("batch_100", "right/2.py", "", first="passed"),
        Stranger("batch_101", "wrong/1.py", "", in_reach=True),
    )
    batches = (Batch("batch_100", 12, "", "A note."), Batch("batch_101"))
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
    assert [stranger.in_reach for stranger in strangers] == [None, True, False]
    assert [stranger.sentence for stranger in strangers] == ["File 01_one, of two lines.", *["It is wrong."] * 2]
    assert strangers[1].clauses == ("softmax.definition",)
    assert found.others.keys() == {"batch.json", "wrong/_shared.py"}


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
    assert scored.batches[-1] == Batch("batch_100", 12, "digest", None, found.others)
    assert scored.strangers[: len(index.strangers)] == index.strangers
    with pytest.raises(UsageError, match="batch_100 has its first score already"):
        with_first_score(scored, found, strangers, failing)


def test_a_kill_is_renewed_and_a_surprise_is_not(index):
    was = Stranger("batch_100", "wrong/1.py", "", noticed_by="core/plain")
    survivor = Stranger("batch_100", "wrong/2.py", "")
    right = Stranger("batch_100", "right/1.py", "")
    left_open = Stranger("batch_100", "wrong/3.py", "", left_open=True, reason="open")
    before = replace(index, strangers=(right, was, survivor, left_open))
    trials = [Trial(right, "core/one", ""), Trial(was), Trial(survivor, "core/one", "")]
    trials.append(Trial(left_open, "core/one", ""))
    assert [bool(trial.surprise) for trial in trials] == [True, True, False, True]
    assert renewed(before, trials).strangers == (right, was, replace(survivor, noticed_by="core/one"), left_open)
    moved = renewed(before, [Trial(was, "core/two", "")])
    assert moved.strangers[1].noticed_by == "core/two"
    assert (moved.cases, moved.suite) == (index.cases, index.suite)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "strangers": [{"no": 1}]}'])
def test_an_index_that_cannot_be_read_is_reported_in_a_sentence(text, tmp_path):
    (tmp_path / "index.json").write_text(text)
    with pytest.raises(ArchiveError, match=r"index\.json cannot be read .* take it from the repository again"):
        read_index(tmp_path / "index.json")
    with pytest.raises(ArchiveError, match="cannot be read"):
        read_index(Path("/nowhere"))
