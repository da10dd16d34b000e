"""Split heads: consecutive slices of the features, heads before tokens."""

import ml_dtypes
import numpy as np
import pytest

from attnspec_reference import split_heads

# W_Q of 003_fd68dee9562e4594.txt, and the two halves that the document printed.
MATRIX = np.array(
    [[0.12, -0.87, 0.33, 0.45], [0.76, 0.21, -0.34, 0.67], [-0.55, 0.18, 0.29, -0.73], [0.03, -0.99, 0.42, 0.11]]
)


def test_gives_what_the_document_printed():
    heads = split_heads(MATRIX[np.newaxis], num_heads=2)
    assert heads.shape == (1, 2, 4, 2)
    assert heads[0, 0].tolist() == [[0.12, -0.87], [0.76, 0.21], [-0.55, 0.18], [0.03, -0.99]]
    assert heads[0, 1].tolist() == [[0.33, 0.45], [-0.34, 0.67], [0.29, -0.73], [0.42, 0.11]]


def test_every_number_lands_where_the_formula_says():
    batch, tokens, heads, width = 2, 3, 5, 4
    x = np.arange(batch * tokens * heads * width, dtype=float).reshape(batch, tokens, heads * width)
    result = split_heads(x, num_heads=heads)
    assert result.shape == (batch, heads, tokens, width)
    for b, h, s, e in np.ndindex(result.shape):
        assert result[b, h, s, e] == x[b, s, h * width + e]


@pytest.mark.parametrize("num_heads", [3, 0, -1])
def test_refuses_heads_that_do_not_divide_the_features(num_heads):
    with pytest.raises(ValueError, match=r"\(1, 2, 4\).*cut into"):
        split_heads(np.zeros((1, 2, 4)), num_heads=num_heads)


def test_refuses_a_wrong_rank():
    with pytest.raises(ValueError, match=r"\(2, 4\).*rank 3"):
        split_heads(np.zeros((2, 4)), num_heads=2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int64])
def test_keeps_the_dtype(dtype):
    assert split_heads(np.zeros((1, 2, 4), dtype=dtype), num_heads=2).dtype == dtype


@pytest.mark.parametrize("num_heads", [1, 2])
def test_returns_memory_of_its_own(num_heads):
    x = np.zeros((1, 2, 4))
    split_heads(x, num_heads=num_heads)[:] = 1
    assert not x.any()
