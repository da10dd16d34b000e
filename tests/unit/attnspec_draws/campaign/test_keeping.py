"""The file of a campaign: what is kept is there, what was cut is not, and another campaign does not go on with it."""

import os
from pathlib import Path

import pytest

from attnspec.base.errors import UsageError
from attnspec_draws.campaign.keeping import Kept
from attnspec_draws.campaign.outcome import DrawOutcome, PartOutcome
from attnspec_draws.campaign.plan import Kind, Plan
from attnspec_draws.generators.limits import Limits

PLAN = Plan("7", (Kind("merge_states", Limits("float32")),), None)
ABOUT = {"target": "reference", "seed": "7"}
SOURCES = {"mine.py": "one"}
OUTCOMES = [
    PartOutcome("one", {"pass": 3}, (), {"full_width": 2}, {"queries": 5}, 0.5),
    PartOutcome("two", {"fail": 1}, (DrawOutcome("draw:x", "fail", "values", "it is 0"),)),
]


def written(path):
    kept = Kept(path, ABOUT, SOURCES)
    kept.begin(PLAN)
    for outcome in OUTCOMES:
        kept.keep(outcome)
    kept.close()


def test_what_is_kept_is_there(tmp_path):
    written(tmp_path / "kept")
    again = Kept(tmp_path / "kept", ABOUT, SOURCES)
    again.close()
    assert again.plan == PLAN
    assert list(again.outcomes.values()) == OUTCOMES


def test_wherever_it_is_cut_whole_lines_remain_and_it_goes_on(tmp_path):
    written(tmp_path / "kept")
    content = (tmp_path / "kept").read_bytes()
    for length in range(0, len(content), 7):
        path = tmp_path / "cut"
        path.write_bytes(content[:length])
        kept = Kept(path, ABOUT, SOURCES)
        assert list(kept.outcomes.values()) == OUTCOMES[: max(content[:length].count(b"\n") - 1, 0)]
        if kept.plan is None:
            kept.begin(PLAN)
        for outcome in OUTCOMES:
            kept.keep(outcome)
        kept.close()
        again = Kept(path, ABOUT, SOURCES)
        again.close()
        assert again.outcomes == {outcome.key: outcome for outcome in OUTCOMES}


def test_another_campaign_does_not_go_on_with_it(tmp_path):
    written(tmp_path / "kept")
    with pytest.raises(UsageError, match="was begun with seed 7, and this command has 8: go on with the same words"):
        Kept(tmp_path / "kept", {**ABOUT, "seed": "8"}, SOURCES)
    with pytest.raises(UsageError, match="was begun with without none, and this command has sinks,mask"):
        Kept(tmp_path / "kept", {**ABOUT, "without": ["sinks", "mask"]}, SOURCES)


@pytest.mark.parametrize("now", [{"mine.py": "two"}, {}, {"mine.py": "one", "other.py": "one"}])
def test_other_code_does_not_go_on_with_it(tmp_path, now):
    written(tmp_path / "kept")
    with pytest.raises(UsageError, match=r"(mine|other)\.py changed since .*kept was begun.*name another file"):
        Kept(tmp_path / "kept", ABOUT, now)


@pytest.mark.parametrize("text", ["{}\n", "[]\n", "7\n", "\n", "no campaign\n"])
def test_what_is_no_file_of_a_campaign_is_reported(tmp_path, text):
    (tmp_path / "other").write_text(text)
    with pytest.raises(UsageError, match="is no file of a campaign"):
        Kept(tmp_path / "other", ABOUT, SOURCES)


@pytest.mark.parametrize("path", ["/dev/full", "/dev/zero", "/"])
def test_what_is_no_regular_file_is_not_read(path):
    with pytest.raises(UsageError, match=f"{path} is no regular file"):
        Kept(Path(path), ABOUT, SOURCES)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is no regular file"):
        Kept(tmp_path / "pipe", ABOUT, SOURCES)


def test_what_cannot_be_written_is_reported(tmp_path):
    with pytest.raises(UsageError, match="cannot be read and written: No such file"):
        Kept(tmp_path / "no" / "kept", ABOUT, SOURCES)
