"""The file of a campaign: what is kept is there, what was cut is not, and another campaign does not go on with it."""

import pytest

from attnspec.campaign import DrawOutcome, Kind, PartOutcome, Plan
from attnspec.campaign.keeping import Kept
from attnspec.errors import UsageError
from attnspec.lattice import Limits

PLAN = Plan("7", (Kind("merge_states", Limits("float32")),), None)
ABOUT = {"target": "reference", "seed": "7"}
OUTCOMES = [
    PartOutcome("one", {"pass": 3}, (), {"full_width": 2}, {"queries": 5}, 0.5),
    PartOutcome("two", {"fail": 1}, (DrawOutcome("draw:x", "fail", "values", "it is 0"),)),
]


def written(path):
    kept = Kept(path, ABOUT)
    kept.begin(PLAN)
    for outcome in OUTCOMES:
        kept.keep(outcome)
    kept.close()


def test_what_is_kept_is_there(tmp_path):
    written(tmp_path / "kept")
    again = Kept(tmp_path / "kept", ABOUT)
    again.close()
    assert again.plan == PLAN
    assert list(again.outcomes.values()) == OUTCOMES


def test_wherever_it_is_cut_whole_lines_remain_and_it_goes_on(tmp_path):
    written(tmp_path / "kept")
    content = (tmp_path / "kept").read_bytes()
    for length in range(0, len(content), 7):
        path = tmp_path / "cut"
        path.write_bytes(content[:length])
        kept = Kept(path, ABOUT)
        assert list(kept.outcomes.values()) == OUTCOMES[: max(content[:length].count(b"\n") - 1, 0)]
        if kept.plan is None:
            kept.begin(PLAN)
        for outcome in OUTCOMES:
            kept.keep(outcome)
        kept.close()
        again = Kept(path, ABOUT)
        again.close()
        assert again.outcomes == {outcome.key: outcome for outcome in OUTCOMES}


def test_another_campaign_does_not_go_on_with_it(tmp_path):
    written(tmp_path / "kept")
    with pytest.raises(UsageError, match="a campaign with another seed"):
        Kept(tmp_path / "kept", {**ABOUT, "seed": "8"})
    (tmp_path / "other").write_text("{}\n")
    with pytest.raises(UsageError, match="is no file of a campaign"):
        Kept(tmp_path / "other", ABOUT)
