"""Rotary tables: a cosine and a sine of every phase, whatever the dtype."""

import ml_dtypes
import numpy as np
import pytest

from attnspec_reference import rotary_tables

HALF_PRECISION = [np.float16, ml_dtypes.bfloat16]


def test_gives_the_example_of_the_page():
    cos, sin = rotary_tables([[0, 3]], [1.0, 0.5], attention_factor=2.0)
    assert cos[0] == pytest.approx(np.array([[2.0, 2.0], [-1.979985, 0.1414744]]), rel=1e-6)
    assert sin[0] == pytest.approx(np.array([[0.0, 0.0], [0.28224, 1.99499]]), rel=1e-6)


def test_a_token_is_where_its_position_says():
    frequencies = [1.0, 0.1]
    cos, sin = rotary_tables([[7, 0, 7], [2, 1, 0]], frequencies)
    alone = rotary_tables(np.arange(8)[np.newaxis], frequencies)
    for table, counted in ((cos, alone.cos), (sin, alone.sin)):
        assert table.shape == (2, 3, 2)
        assert np.array_equal(table[0], counted[0, [7, 0, 7]])
        assert np.array_equal(table[1], counted[0, [2, 1, 0]])


def test_position_0_gives_ones_and_zeros():
    cos, sin = rotary_tables([[0]], [1.0, 0.3])
    assert cos.tolist() == [[[1.0, 1.0]]]
    assert sin.tolist() == [[[0.0, 0.0]]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, *HALF_PRECISION])
def test_returns_the_dtype_of_the_frequencies(dtype):
    cos, sin = rotary_tables([[1]], np.array([1.0], dtype=dtype))
    assert cos.dtype == sin.dtype == dtype


@pytest.mark.parametrize("dtype", HALF_PRECISION)
def test_phases_are_not_kept_in_half_precision(dtype):
    frequencies = np.array([1.0, 0.5])
    exact = rotary_tables([[131071, 4097]], frequencies)
    rounded = rotary_tables([[131071, 4097]], frequencies.astype(dtype))
    for name in ("cos", "sin"):
        given, wanted = getattr(rounded, name).astype(float), getattr(exact, name)
        assert given == pytest.approx(wanted, abs=float(ml_dtypes.finfo(dtype).eps))


@pytest.mark.parametrize(
    ("positions", "frequencies", "said"),
    [
        ([0, 1], [1.0], "rank 2"),
        ([[[0]]], [1.0], "rank 2"),
        ([[0]], [[1.0]], "rank 1"),
    ],
)
def test_refuses_what_is_no_table_and_no_row(positions, frequencies, said):
    with pytest.raises(ValueError, match=said):
        rotary_tables(positions, frequencies)
