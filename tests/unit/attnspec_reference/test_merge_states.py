import numpy as np
import pytest

from attnspec_reference import merge_states


def state(output, logsumexp):
    return np.reshape(np.array(output, dtype=float), (1, 1, 1, -1)), np.full((1, 1, 1), float(logsumexp))


def test_gives_the_example_of_the_page():
    merged = merge_states(*state([1, 2], 0), *state([4, 5], np.log(3)))
    np.testing.assert_allclose(merged.output.ravel(), [3.25, 4.25], rtol=1e-14)
    assert merged.logsumexp.item() == pytest.approx(1.3863, abs=5e-5)
    to_base_2 = merge_states(*state([1, 2], 0), *state([4, 5], np.log(3) * np.log(2)))
    np.testing.assert_allclose(to_base_2.output.ravel(), [3.0450, 4.0450], atol=5e-5)


def test_a_part_without_keys_is_left_out_whatever_it_holds():
    merged = merge_states(*state([np.nan, np.inf], -np.inf), *state([4, 5], 2))
    assert merged.output.ravel().tolist() == [4, 5]
    assert merged.logsumexp.item() == 2


def test_no_keys_at_all_give_zeros():
    merged = merge_states(*state([np.nan, 7], -np.inf), *state([1, np.inf], -np.inf))
    assert merged.output.ravel().tolist() == [0, 0]
    assert merged.logsumexp.item() == -np.inf


@pytest.mark.parametrize(("first", "second"), [(1e4, 1e4), (-1e5, -1e5), (2.0**60, 2.0**60)])
def test_equal_parts_are_averaged_however_large_their_logarithms(first, second):
    assert merge_states(*state([1], first), *state([3], second)).output.item() == 2


def test_half_precision_is_rounded_once():
    first, second = state([1, 2], 0), state([4, 5], 1)
    halves = [array.astype(np.float16) for array in (*first, *second)]
    merged = merge_states(*halves)
    assert merged.output.dtype == merged.logsumexp.dtype == np.float16
    wide = merge_states(*(array.astype(np.float32) for array in halves))
    assert np.array_equal(merged.output, wide.output.astype(np.float16))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((1, 2, 3), (1, 2), (1, 2, 3), (1, 2)), "rank 4"),
        (((1, 2, 3, 4), (1, 2, 3), (1, 2, 3, 1), (1, 2, 3)), "the same shape"),
        (((1, 2, 3, 4), (1, 1, 3), (1, 2, 3, 4), (1, 2, 3)), r"logsumexp_a has shape \(1, 1, 3\)"),
        (((1, 2, 3, 4), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 1)), r"logsumexp_b has shape \(1, 2, 3, 1\)"),
    ],
)
def test_refuses_parts_that_do_not_fit(shapes, message):
    with pytest.raises(ValueError, match=message):
        merge_states(*map(np.zeros, shapes))
