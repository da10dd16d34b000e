"""The rotary positions of built-in adapters: mappings against the reference, conventions by running them."""

import numpy as np
import pytest

import attnspec_reference as reference
from attnspec.contract.implementation import Outputs, Raised, Request
from attnspec.targets import load

ROTATING = ["transformers", "onnx", "onnxruntime"]
LONGROPE = {"short_factors": [1.0, 1.5, 2.0, 3.0], "long_factors": [2.0, 4.0, 8.0, 16.0]}
CONFIGURATIONS = [
    {},
    {"theta": 500.0},
    {"factor": 4.0, "attention_factor": 2.0},
    {"scaling": "linear", "factor": 4.0},
    {"scaling": "dynamic", "factor": 4.0, "original_length": 16, "sequence_length": 50},
    {"scaling": "dynamic", "factor": 4.0, "original_length": 16},
    {
        "scaling": "llama3",
        "factor": 8.0,
        "original_length": 100,
        "low_frequency_factor": 1.0,
        "high_frequency_factor": 4.0,
    },
    {"scaling": "longrope", "factor": 8.0, "original_length": 100, **LONGROPE},
    {"scaling": "longrope", "factor": 8.0, "original_length": 100, "sequence_length": 101, **LONGROPE},
    {"scaling": "proportional", "proportion": 0.5, "factor": 2.0},
    {"scaling": "yarn", "factor": 4.0, "original_length": 1000},
    {"scaling": "yarn", "factor": 4.0, "original_length": 1000, "truncate": False, "attention_factor": 1.5},
    {
        "scaling": "yarn",
        "factor": 4.0,
        "original_length": 1000,
        "beta_fast": 8.0,
        "magnitude_scaling": 1.0,
        "magnitude_scaling_all_dimensions": 0.5,
    },
]


@pytest.fixture
def implementation(request):
    pytest.importorskip(request.param)
    return load(request.param)


def answered(implementation, operation, inputs, attributes, dtype="float32"):
    return implementation.run(Request(operation, dtype, inputs, attributes))


def outputs(*question):
    answer = answered(*question)
    assert isinstance(answer, Outputs), answer
    return answer.values


def rotation(features, pairs):
    generator = np.random.default_rng(2)
    shapes = {"x": (2, 3, 4, features), "cos": (2, 4, pairs), "sin": (2, 4, pairs)}
    return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("implementation", ["transformers"], indirect=True)
@pytest.mark.parametrize("attributes", CONFIGURATIONS, ids=str)
def test_frequencies(implementation, attributes):
    given = outputs(implementation, "rotary_frequencies", {}, {"width": 8, **attributes}, "any")
    wanted = reference.rotary_frequencies(width=8, **attributes)
    np.testing.assert_allclose(given["inverse_frequencies"], wanted.inverse_frequencies, rtol=1e-6)
    np.testing.assert_allclose(given["attention_factor"], wanted.attention_factor, rtol=1e-15)


@pytest.mark.parametrize("implementation", ["transformers"], indirect=True)
@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_tables(implementation, factor):
    inputs = {
        "position_ids": np.array([[3, 0], [7, 100]]),
        "inverse_frequencies": np.array([1.0, 0.5, 0.25], dtype=np.float32),
    }
    given = outputs(implementation, "rotary_tables", inputs, {"attention_factor": factor})
    wanted = reference.rotary_tables(**inputs, attention_factor=factor)
    for name in ("cos", "sin"):
        np.testing.assert_allclose(given[name], getattr(wanted, name), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("implementation", ROTATING, indirect=True)
@pytest.mark.parametrize("attributes", [{}, {"pairing": "half"}, {"pairing": "interleaved"}], ids=str)
@pytest.mark.parametrize(("features", "pairs"), [(6, 3), (7, 2), (2, 1)])
def test_rotations(implementation, attributes, features, pairs):
    inputs = rotation(features, pairs)
    before = {name: array.copy() for name, array in inputs.items()}
    given = outputs(implementation, "apply_rotary", inputs, attributes)["output"]
    assert given.dtype == np.float32
    np.testing.assert_allclose(given, reference.apply_rotary(**inputs, **attributes), rtol=1e-5, atol=1e-6)
    assert all(np.array_equal(inputs[name], array) for name, array in before.items())


@pytest.mark.parametrize("implementation", ROTATING, indirect=True)
def test_who_is_lenient_repeats_the_tables_of_one_token(implementation):
    inputs = rotation(6, 3)
    inputs |= {name: inputs[name][:, :1] for name in ("cos", "sin")}
    # What the adapter of ONNX Runtime declares in general is said of attention; of rotary positions it says nothing.
    strict = implementation.declaration.adapter == "onnxruntime"
    assert implementation.declaration.conventions.get("apply_rotary.input_checks") != "lenient" or not strict
    assert isinstance(answered(implementation, "apply_rotary", inputs, {}), Raised if strict else Outputs)


@pytest.mark.parametrize("implementation", ROTATING, indirect=True)
def test_an_unknown_pairing_is_refused(implementation):
    assert isinstance(answered(implementation, "apply_rotary", rotation(6, 3), {"pairing": "thirds"}), Raised)


@pytest.mark.parametrize("implementation", ["transformers"], indirect=True)
@pytest.mark.parametrize(
    "attributes", [{"scaling": "cubic"}, {"scaling": "linear"}, {"scaling": "yarn", "factor": 4.0}], ids=str
)
def test_what_configurations_lack_is_refused(implementation, attributes):
    assert isinstance(answered(implementation, "rotary_frequencies", {}, {"width": 8, **attributes}, "any"), Raised)


@pytest.mark.parametrize("implementation", ["transformers"], indirect=True)
def test_frequencies_and_phases_are_computed_in_float32(implementation):
    declared = implementation.declaration.conventions
    assert declared["rotary_frequencies.accumulation"] == declared["rotary_tables.accumulation"] == "float32"
    given = outputs(implementation, "rotary_frequencies", {}, {"width": 64}, "any")["inverse_frequencies"]
    assert given.dtype == np.float32
    inputs = {"position_ids": np.array([[12345]]), "inverse_frequencies": np.array([0.1])}
    table = outputs(implementation, "rotary_tables", inputs, {}, "float64")["cos"]
    assert table.dtype == np.float64
    assert abs(table - np.cos(1234.5)).item() > 1e-9
