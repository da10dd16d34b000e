"""What every built-in adapter is tried on: small cases by name, compared with the reference."""

import os

import ml_dtypes
import numpy as np
import pytest

import attnspec_reference as reference
from attnspec.contract.implementation import Declined, Outputs, Request

# Keras looks at it when it is imported, which a test may do before the adapter does.
os.environ["KERAS_BACKEND"] = "torch"

B, H, SQ, SK, E = 2, 3, 4, 5, 2
P = 3
DTYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
TOLERANCE = {"float64": 1e-13, "float32": 2e-6, "float16": 8e-3, "bfloat16": 6e-2}


def normal(name, shape):
    return np.random.default_rng([*name.encode()]).normal(size=shape)


def mask(shape, kind):
    attended = np.random.default_rng(4).random(size=shape) < 0.5
    attended[..., 0] = True
    return attended if kind == "bool" else np.where(attended, normal("mask", shape), -np.inf)


def tokens(*, groups=1, query_length=SQ, key_length=SK, value_width=E, past=None):
    heads = {"key": H, "value": H, "past_key": H, "past_value": H, "query": groups * H}
    shapes = {"query": (query_length, E), "key": (key_length, E), "value": (key_length, value_width)}
    if past is not None:
        shapes |= {"past_key": (past, E), "past_value": (past, value_width)}
    return {name: normal(name, (B, heads[name], *shape)) for name, shape in shapes.items()}


def lengths(*values):
    return np.array(values, dtype=np.int64)


TOP, BOTTOM = {"causal_alignment": "top_left"}, {"causal_alignment": "bottom_right"}
CAUSAL = {"is_causal": True}
SCENARIOS = {
    "plain": (tokens(), {}),
    "grouped_heads": (tokens(groups=2), {}),
    "wide_values": (tokens(value_width=3), {}),
    "scale": (tokens(), {"scale": 0.25}),
    "scale_zero": (tokens(), {"scale": 0.0}),
    "scale_negative": (tokens(), {"scale": -0.5}),
    **{
        f"{kind}_mask_{'x'.join(map(str, shape))}": (tokens() | {"mask": mask(shape, kind)}, {})
        for kind in ("bool", "float")
        for shape in [(SQ, SK), (H, SQ, SK), (B, H, SQ, SK), (B, 1, SQ, SK), (1, SK), (H, 1, SK), (B, 1, 1, SK)]
    },
    "grouped_mask": (tokens(groups=2) | {"mask": mask((B, 2 * H, SQ, SK), "float")}, {}),
    "causal": (tokens(query_length=SK), CAUSAL),
    "causal_top_left": (tokens(), CAUSAL | TOP),
    "causal_top_left_long": (tokens(query_length=7), CAUSAL | TOP),
    "causal_bottom_right": (tokens(), CAUSAL | BOTTOM),
    "causal_bottom_right_long": (tokens(query_length=7), CAUSAL | BOTTOM),
    "causal_and_bool_mask": (tokens() | {"mask": mask((SQ, SK), "bool")}, CAUSAL | TOP),
    "causal_and_float_mask": (tokens() | {"mask": mask((B, H, SQ, SK), "float")}, CAUSAL | TOP),
    "softcap": (tokens() | {"mask": mask((SQ, SK), "float")}, {"softcap": 0.5}),
    "window": (tokens(), {"window": [2, 1]} | TOP),
    "window_open": (tokens(), {"window": [None, 0]} | TOP),
    "window_bottom_right": (tokens(), {"window": [1, None]} | BOTTOM),
    "window_and_causal": (tokens(query_length=SK, groups=2), {"window": [2, 2]} | CAUSAL),
    "past": (tokens(past=P), {}),
    "past_and_causal": (tokens(past=P, query_length=SK), CAUSAL),
    "past_and_mask": (tokens(past=P, groups=2) | {"mask": mask((SQ, P + SK), "bool")}, {}),
    "past_of_length_zero": (tokens(past=0, query_length=SK), CAUSAL),
    "key_lengths": (tokens() | {"key_lengths": lengths(2, 5)}, {}),
    "key_lengths_top_left": (tokens() | {"key_lengths": lengths(2, 5)}, CAUSAL | TOP),
    "key_lengths_bottom_right": (tokens() | {"key_lengths": lengths(2, 5)}, CAUSAL | BOTTOM),
    "query_lengths": (tokens() | {"key_lengths": lengths(2, 5), "query_lengths": lengths(3, 4)}, {}),
    "query_lengths_bottom_right": (
        tokens() | {"key_lengths": lengths(2, 5), "query_lengths": lengths(3, 4)},
        {"window": [1, 1]} | BOTTOM,
    ),
    "sinks": (tokens() | {"sinks": normal("sinks", (H,))}, CAUSAL | TOP),
    "sinks_and_dead_row": (tokens(query_length=7) | {"sinks": normal("sinks", (H,))}, CAUSAL | BOTTOM),
    "alibi": (tokens() | {"alibi_slopes": np.array([0.5, 0.25, 2.0])}, BOTTOM),
}


@pytest.fixture(scope="session")
def scenarios():
    return SCENARIOS


@pytest.fixture(params=SCENARIOS)
def scenario(request):
    """The name of each scenario in turn."""
    return request.param


@pytest.fixture(scope="session")
def ask():
    """Run an adapter on a scenario in a dtype, and give its answer and what the reference says."""

    def run(implementation, name, dtype, **changes):
        inputs, attributes = SCENARIOS[name]
        inputs = {
            key: array.astype(DTYPES[dtype]) if array.dtype == np.float64 else array
            for key, array in (inputs | changes).items()
        }
        attributes = dict(attributes)
        if "scaled_dot_product_attention.causal_alignment" in implementation.declaration.conventions:
            # As the harness does for an adapter that has one alignment alone.
            attributes.pop("causal_alignment", None)
        before = {key: array.copy() for key, array in inputs.items()}
        answer = implementation.run(Request("scaled_dot_product_attention", dtype, inputs, attributes))
        for key, array in inputs.items():
            np.testing.assert_array_equal(array, before[key])
        wide = {key: array if array.dtype.kind in "bi" else array.astype(np.float64) for key, array in inputs.items()}
        return answer, reference.scaled_dot_product_attention(**wide, **SCENARIOS[name][1])

    return run


@pytest.fixture(scope="session")
def agrees(ask):
    """Hold every output of an adapter against the reference, and return the names of the outputs."""

    def check(implementation, name, dtype, tolerance=None, ungraded=()):
        answer, expected = ask(implementation, name, dtype)
        assert isinstance(answer, Outputs), answer
        inputs, _ = SCENARIOS[name]
        graded = np.arange(inputs["query"].shape[2]) < inputs.get("query_lengths", lengths(99, 99))[:, np.newaxis]
        for output, got in answer.values.items():
            if output in ungraded:
                continue
            wanted = getattr(expected, output)
            assert got.shape == wanted.shape
            if output == "output":
                assert got.dtype == DTYPES[dtype]
            rows = np.s_[...] if output.startswith("present") else np.broadcast_to(graded[:, None], got.shape[:3])
            allowed = tolerance or TOLERANCE[dtype]
            np.testing.assert_allclose(
                got.astype(np.float64)[rows], wanted[rows], rtol=allowed, atol=allowed, err_msg=output
            )
        return set(answer.values)

    return check


@pytest.fixture(scope="session")
def declines(ask):
    """Assert that an adapter says that it cannot do a scenario, and return its words."""

    def check(implementation, name, dtype="float32"):
        answer, _ = ask(implementation, name, dtype)
        assert isinstance(answer, Declined), answer
        return answer.reason

    return check


@pytest.fixture(scope="session")
def spoilt(ask):
    """Return which elements of an adapter's output are NaN when one entry of an input is, and which should be."""

    def check(implementation, name, spoilt_input, index, dtype="float32"):
        inputs, _ = SCENARIOS[name]
        array = inputs[spoilt_input].copy()
        array[index] = np.nan
        answer, expected = ask(implementation, name, dtype, **{spoilt_input: array})
        assert isinstance(answer, Outputs), answer
        return np.isnan(answer.values["output"].astype(np.float64)), np.isnan(expected.output)

    return check
