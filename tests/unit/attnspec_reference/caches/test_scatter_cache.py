"""The reference of scattered caches, where no case looks: axes that hold no tokens, and histories that nobody wants."""

import numpy as np
import pytest

from attnspec_reference import scatter_cache

CACHE, UPDATE = np.zeros((2, 3, 2)), np.ones((2, 1, 2))


@pytest.mark.parametrize("axis", [0, -3])
def test_the_axis_of_the_batch_is_none_of_tokens(axis):
    with pytest.raises(ValueError, match="the first axis is that of the batch"):
        scatter_cache(CACHE, CACHE[:1], axis=axis)


def test_an_update_of_another_rank_is_refused():
    with pytest.raises(ValueError, match="the first axis is that of the batch"):
        scatter_cache(CACHE, UPDATE[0])


def test_without_steps_there_is_no_history():
    assert scatter_cache(CACHE, UPDATE).history is None
    assert scatter_cache(CACHE, UPDATE, step_lengths=[1]).history.shape == (1, 2, 3, 2)


def test_the_result_lies_in_memory_of_its_own():
    steps = scatter_cache(CACHE, UPDATE, step_lengths=[1])
    assert not np.shares_memory(steps.present, CACHE)
    assert not np.shares_memory(steps.present, steps.history)
