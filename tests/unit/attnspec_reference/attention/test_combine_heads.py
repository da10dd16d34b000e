"""Combine heads: slices side by side, tokens before features."""

import ml_dtypes
import numpy as np
import pytest

from attnspec_reference import combine_heads, split_heads


def test_lays_the_heads_of_each_token_side_by_side():
    heads = np.array([[[[1.0], [2.0]], [[10.0], [20.0]]]])
    assert combine_heads(heads).tolist() == [[[1, 10], [2, 20]]]


def test_every_number_lands_where_the_formula_says():
    x = np.arange(2 * 5 * 3 * 4, dtype=float).reshape(2, 5, 3, 4)
    result = combine_heads(x)
    assert result.shape == (2, 3, 20)
    for b, h, s, e in np.ndindex(x.shape):
        assert result[b, s, h * 4 + e] == x[b, h, s, e]


def test_undoes_splitting():
    x = np.arange(2.0 * 3 * 10).reshape(2, 3, 10)
    assert np.array_equal(combine_heads(split_heads(x, num_heads=5)), x)


def test_eight_heads_of_the_document_make_512_features():
    # 001_97c79d128fd4cf2f.txt concatenates eight heads of three tokens and 64 features.
    heads = np.arange(8 * 3 * 64, dtype=float).reshape(8, 3, 64)
    combined = combine_heads(heads[np.newaxis])
    assert combined.shape == (1, 3, 512)
    assert np.array_equal(combined[0], np.hstack(list(heads)))


def test_refuses_a_wrong_rank():
    with pytest.raises(ValueError, match=r"\(3, 64\).*rank 4"):
        combine_heads(np.zeros((3, 64)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int64])
def test_keeps_the_dtype(dtype):
    assert combine_heads(np.zeros((1, 2, 2, 4), dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("heads", [1, 2])
def test_returns_memory_of_its_own(heads):
    x = np.zeros((1, heads, 2, 4))
    combine_heads(x)[:] = 1
    assert not x.any()
