"""Running: the same outcomes on any workers, draws that end their process, failures made small and explained."""

import pytest

from attnspec.base.errors import UsageError
from attnspec_draws import drawn_of, recipe_from_text
from attnspec_draws.campaign.executors import open_executor
from attnspec_draws.campaign.outcome import tallied
from attnspec_draws.campaign.working import shrunk_failure

from .conftest import task


def test_the_same_draws_come_to_the_same_on_one_worker_and_on_two(campaign):
    assert campaign("reference", 70) == campaign("reference", 70, "local:2")


def test_what_is_right_passes(campaign):
    tally = tallied(campaign("reference", 60).values())
    assert tally.wrong == ()
    assert tally.passed + tally.ungraded == tally.draws == 60
    assert tally.features["is_causal"] > 5
    assert tally.longest["keys"] > 8


def test_a_draw_that_ends_its_process_is_found_and_the_others_are_graded(crashing):
    tally = tallied(crashing[1].values())
    assert {failed.status for failed in tally.wrong} == {"crash"}
    assert tally.draws == 40
    for failed in tally.wrong:
        assert drawn_of(recipe_from_text(failed.recipe)).attributes.get("softcap")


def test_a_failure_is_made_small(campaign):
    tally = tallied(campaign("wrong", 60).values())
    failed = tally.wrong[0]
    assert drawn_of(recipe_from_text(failed.recipe)).extents["keys"] >= 20
    small = shrunk_failure(task("wrong"), failed)
    drawn = drawn_of(recipe_from_text(small.recipe))
    assert small.kind == failed.kind
    assert drawn.extents["keys"] == 20
    assert {length for axis, length in drawn.extents.items() if axis not in ("keys", "queries", "past")} == {1}


def test_a_draw_that_ends_its_process_is_made_small_in_a_process_of_its_own(crashing):
    failed = tallied(crashing[1].values()).wrong[0]
    small = shrunk_failure(task("crashing"), failed)
    assert small.status == "crash"
    assert "exit code 3" in small.message
    assert set(drawn_of(recipe_from_text(small.recipe)).extents.values()) <= {0, 1}


@pytest.mark.parametrize("text", ["", "local", "local:0", "local:many", "dask:", "cloud:1"])
def test_what_names_no_executor_is_reported(text):
    with pytest.raises(UsageError, match=r"write local:N, or dask:tcp://HOST:PORT"):
        open_executor(text)
