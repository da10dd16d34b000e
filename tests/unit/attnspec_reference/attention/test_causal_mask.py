"""Causal mask: a query sees its own position and those before it."""

import numpy as np
import pytest

from attnspec_reference import causal_mask


def test_a_square_mask_is_a_lower_triangle_with_its_diagonal():
    assert causal_mask(query_length=3).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (0, [[True, False, False, False], [True, True, False, False]]),
        (2, [[True, True, True, False], [True, True, True, True]]),
        (-1, [[False, False, False, False], [True, False, False, False]]),
    ],
)
def test_offset_is_the_position_of_the_first_query_among_the_keys(offset, expected):
    assert causal_mask(query_length=2, key_length=4, offset=offset).tolist() == expected


def test_more_queries_than_keys():
    assert causal_mask(query_length=3, key_length=2).tolist() == [[True, False], [True, True], [True, True]]


def test_is_boolean_unless_additive():
    assert causal_mask(query_length=2).dtype == np.bool_


def test_additive_holds_zero_and_minus_infinity():
    # As the comments of 002_c44bbdfd43669549.txt ask: 0 on and below the diagonal, minus infinity above.
    mask = causal_mask(query_length=4, additive=True)
    assert np.issubdtype(mask.dtype, np.floating)
    infinity = float("inf")
    assert mask.tolist() == [
        [0, -infinity, -infinity, -infinity],
        [0, 0, -infinity, -infinity],
        [0, 0, 0, -infinity],
        [0, 0, 0, 0],
    ]
