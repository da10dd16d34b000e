"""Steps of caches: how new tokens are cut, and lengths that do not make them up."""

import numpy as np
import pytest

from attnspec_reference.caches.steps import cut_into_steps


def test_without_lengths_all_tokens_come_in_one_step():
    assert cut_into_steps(None, 3) == [slice(0, 3)]


def test_each_step_begins_where_the_one_before_ends():
    assert cut_into_steps(np.array([2, 0, 1]), 3) == [slice(0, 2), slice(2, 2), slice(2, 3)]
    assert cut_into_steps([], 0) == []


@pytest.mark.parametrize("lengths", [(1, 1), (2, 2), (), (4, -1), (-1, -2, 6)])
def test_lengths_that_do_not_make_up_the_new_tokens_are_refused(lengths):
    with pytest.raises(ValueError, match="must make up the 3 new tokens"):
        cut_into_steps(lengths, 3)
