"""Operations that owe several outputs are compared in all of them."""

import numpy as np
import pytest

from attnspec.validation import validate
from attnspec_reference import scaled_dot_product_attention_backward as right

CASES = "backward/*mask*"
EXPECTED = ("grad_query", "grad_key", "grad_value")


def reported_first(changed):
    def scaled_dot_product_attention_backward(**arguments):
        gradients = right(**arguments)
        given = gradients._asdict() if hasattr(gradients, "_asdict") else dict(gradients)
        return changed({name: array for name, array in given.items() if array is not None})

    report = validate(
        scaled_dot_product_attention_backward,
        operation="scaled_dot_product_attention_backward",
        select=CASES,
        probes=False,
    )
    (first, *_) = report.diagnosis
    return [suspect.clause for suspect in first.suspects if suspect.is_reported]


@pytest.mark.parametrize("name", ["grad_query", "grad_value"])
def test_the_gradient_that_alone_is_wrong_is_reported(name):
    # Nothing in the catalogue has this number.
    assert reported_first(lambda given: {**given, name: given[name] * 1.31})[0] == f"sdpa_backward.{name}"


def test_a_gradient_of_the_wrong_shape_points_at_what_is_said_of_its_shape():
    def with_four_axes(given):
        mask = given.get("grad_mask")
        return given if mask is None else {**given, "grad_mask": mask.reshape((1,) * (4 - mask.ndim) + mask.shape)}

    assert "sdpa_backward.grad_mask.broadcast" in reported_first(with_four_axes)


def test_no_clause_is_suspected_about_an_argument_that_is_not_taken():
    def summed_along_tokens(grad_output, query, key, value):
        gradients = right(grad_output, query, key, value)._asdict()
        return {name: np.cumsum(gradients[name], axis=2) for name in EXPECTED}

    operation = "scaled_dot_product_attention_backward"
    (first, *_) = validate(summed_along_tokens, operation=operation, profile="backward", probes=False).diagnosis
    assert first.suspects
    assert "sdpa_backward.causal" not in {suspect.clause for suspect in first.suspects}
