"""Apply rotary: pairs turn, angles add up, and everything else stays as it is."""

import ml_dtypes
import numpy as np
import pytest

from attnspec_reference import apply_rotary, rotary_frequencies, rotary_tables

PAIRINGS = ["half", "interleaved"]


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def tables(positions, width=4):
    return rotary_tables(positions, rotary_frequencies(width=width).inverse_frequencies)


def test_gives_the_example_of_the_page():
    x = np.arange(1.0, 6.0).reshape(1, 1, 1, 5)
    cos, sin = np.array([[[0.0, 1.0]]]), np.array([[[1.0, 0.0]]])
    assert apply_rotary(x, cos, sin).ravel().tolist() == [-3, 2, 1, 4, 5]
    assert apply_rotary(x, cos, sin, pairing="interleaved").ravel().tolist() == [-2, 1, 3, 4, 5]


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_a_dot_product_depends_on_the_distance_alone(pairing):
    query, key = draw(1, 1, 1, 4), draw(1, 1, 1, 4, seed=1)

    def product(query_position, key_position):
        turned = [
            apply_rotary(x, *tables([[position]]), pairing=pairing)
            for x, position in ((query, query_position), (key, key_position))
        ]
        return float(np.sum(turned[0] * turned[1]))

    assert product(9, 4) == pytest.approx(product(105, 100))
    assert product(9, 4) != pytest.approx(product(9, 5))


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_two_turns_are_one_by_both_angles(pairing):
    x = draw(1, 2, 1, 4)
    twice = apply_rotary(apply_rotary(x, *tables([[3]]), pairing=pairing), *tables([[4]]), pairing=pairing)
    assert twice == pytest.approx(apply_rotary(x, *tables([[7]]), pairing=pairing))


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_a_pair_keeps_its_length(pairing):
    x = draw(2, 3, 2, 4)
    turned = apply_rotary(x, *tables([[1, 5], [9, 0]]), pairing=pairing)
    assert np.sum(turned**2, axis=-1) == pytest.approx(np.sum(x**2, axis=-1))


def test_the_pairings_differ_by_the_order_of_the_features_alone():
    x, both = draw(1, 2, 3, 6), tables([[0, 1, 2]], width=6)
    order = [0, 3, 1, 4, 2, 5]
    assert np.array_equal(apply_rotary(x, *both)[..., order], apply_rotary(x[..., order], *both, pairing="interleaved"))


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_features_that_are_not_rotated_stay_bit_for_bit(pairing, dtype):
    x = draw(2, 2, 2, 7).astype(dtype)
    x[0, 0, 0, 5], x[0, 0, 0, 6] = np.nan, -0.0
    output = apply_rotary(x, *tables([[1, 2], [3, 4]]), pairing=pairing)
    assert output.dtype == dtype
    assert output[..., 4:].tobytes() == x[..., 4:].tobytes()


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_nan_stays_in_its_pair(pairing):
    x = draw(1, 1, 1, 6)
    x[..., 1] = np.nan
    output = apply_rotary(x, *tables([[2]], width=6), pairing=pairing)[0, 0, 0]
    assert np.flatnonzero(np.isnan(output)).tolist() == ([1, 4] if pairing == "half" else [0, 1])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_rounded_once_at_the_end(dtype):
    x = draw(2, 3, 4, 6).astype(dtype)
    both = [table.astype(dtype) for table in tables([[0, 1, 2, 3]] * 2, width=6)]
    wide = apply_rotary(x.astype(np.float32), *[table.astype(np.float32) for table in both])
    assert np.array_equal(apply_rotary(x, *both), wide.astype(dtype))


def test_tables_may_be_wider_than_the_features():
    x = draw(1, 1, 2, 4).astype(np.float16)
    assert apply_rotary(x, *tables([[0, 1]])).dtype == np.float16


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_no_tokens_give_no_tokens(pairing):
    assert apply_rotary(np.zeros((2, 3, 0, 6)), np.zeros((2, 0, 2)), np.zeros((2, 0, 2)), pairing=pairing).shape == (
        (2, 3, 0, 6)
    )


def test_leaves_its_inputs_alone():
    x, (cos, sin) = draw(1, 2, 3, 6), tables([[0, 1, 2]])
    before = [array.copy() for array in (x, cos, sin)]
    output = apply_rotary(x, cos, sin)
    output[:] = 0
    assert all(np.array_equal(array, copy) for array, copy in zip((x, cos, sin), before, strict=True))


@pytest.mark.parametrize(
    ("x", "cos", "sin", "said"),
    [
        ((2, 3, 6), (2, 3, 2), (2, 3, 2), "x has shape"),
        ((2, 1, 3, 6), (3, 2), (3, 2), "rank 3"),
        ((2, 1, 3, 6), (2, 3, 2), (2, 3, 3), "both need the same one"),
        ((2, 1, 3, 6), (2, 1, 2), (2, 1, 2), "number of tokens"),
        ((2, 1, 3, 6), (1, 3, 2), (1, 3, 2), "same batch"),
        ((2, 1, 3, 5), (2, 3, 3), (2, 3, 3), "3 pairs are more than the 5 features"),
    ],
)
def test_refuses_tables_that_do_not_fit(x, cos, sin, said):
    with pytest.raises(ValueError, match=said):
        apply_rotary(np.zeros(x), np.zeros(cos), np.zeros(sin))


def test_refuses_an_unknown_pairing():
    with pytest.raises(ValueError, match="pairing is 'thirds'"):
        apply_rotary(np.zeros((1, 1, 1, 4)), np.zeros((1, 1, 2)), np.zeros((1, 1, 2)), pairing="thirds")
