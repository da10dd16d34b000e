"""What the reference gives as gradients where there is nothing to give."""

import numpy as np
import pytest

from attnspec_reference import scaled_dot_product_attention_backward

QUERY = np.ones((1, 2, 3, 2))
KEY = np.ones((1, 2, 4, 2))


def gradients(**arguments):
    return scaled_dot_product_attention_backward(QUERY, QUERY, KEY, KEY, **arguments)


@pytest.mark.parametrize("mask", [None, np.tri(3, 4, dtype=bool)])
def test_a_mask_that_adds_no_numbers_has_no_gradient(mask):
    assert gradients(mask=mask).grad_mask is None


def test_a_float_mask_has_a_gradient_of_its_shape():
    assert gradients(mask=np.zeros((1, 4))).grad_mask.shape == (1, 4)


def test_sinks_have_a_gradient_where_there_are_some():
    assert gradients().grad_sinks is None
    assert gradients(sinks=np.zeros(2)).grad_sinks.shape == (2,)
