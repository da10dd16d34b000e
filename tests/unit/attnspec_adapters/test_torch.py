"""The built-in adapter `torch`: mappings against the reference, conventions by running them."""

from __future__ import annotations

import importlib
import math
import warnings

import ml_dtypes
import numpy as np
import pytest

import attnspec_reference as reference
from attnspec.base.errors import Unsupported
from attnspec.targets.in_process import InProcessImplementation

torch = pytest.importorskip("torch")
package = importlib.import_module("attnspec_adapters.torch")
tensors = importlib.import_module("attnspec.tensors.of_torch")
adapter = package.Torch()

B, H, SQ, SK, E, EV = 2, 3, 4, 5, 2, 3
WIDTH = H * E
DTYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
TOLERANCE = {"float64": 1e-14, "float32": 1e-6, "float16": 4e-3, "bfloat16": 3e-2}
MASK_SHAPES = [(SQ, SK), (1, SK), (H, SQ, SK), (H, 1, SK), (B, H, SQ, SK), (B, 1, SQ, SK), (B, 1, 1, SK)]
ALIGNMENTS = ["top_left", "bottom_right"]
MATRICES = ("w_query", "w_key", "w_value", "w_output")
BIASES = ("b_query", "b_key", "b_value", "b_output")


def normal(seed, **shapes):
    random = np.random.default_rng(seed)
    return {name: random.normal(size=shape) for name, shape in shapes.items()}


def tokens(heads=H, value_width=EV, query_length=SQ, key_length=SK):
    return normal(
        0, query=(B, heads, query_length, E), key=(B, H, key_length, E), value=(B, H, key_length, value_width)
    )


def multi_head_inputs(biases=True):
    inputs = normal(1, query=(B, SQ, WIDTH), key=(B, SK, WIDTH), value=(B, SK, WIDTH))
    inputs |= normal(2, **dict.fromkeys(MATRICES, (WIDTH, WIDTH)))
    return inputs | (normal(3, **dict.fromkeys(BIASES, (WIDTH,))) if biases else {})


def make_mask(shape, kind):
    random = np.random.default_rng(4)
    attended = random.random(size=shape) < 0.5
    attended[..., 0] = True
    return attended if kind == "bool" else np.where(attended, random.normal(size=shape), -np.inf)


def near(got, expected, tolerance=1e-13):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance)


def cast(inputs, dtype):
    return {name: array.astype(DTYPES[dtype]) for name, array in inputs.items()}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [-1, 0, 1, None])
def test_softmax(axis, dtype):
    x = normal(0, x=(2, 3, 4))["x"].astype(DTYPES[dtype])
    near(adapter.softmax(x, axis=axis), reference.softmax(x, axis=axis), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value_width", [E, EV])
@pytest.mark.parametrize("heads", [H, 2 * H])
def test_attention_with_and_without_grouped_heads(heads, value_width, dtype):
    inputs = cast(tokens(heads, value_width), dtype)
    expected = reference.scaled_dot_product_attention(**inputs).output
    near(adapter.scaled_dot_product_attention(**inputs), expected, TOLERANCE[dtype])


@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("shape", MASK_SHAPES, ids=str)
@pytest.mark.parametrize("value_width", [E, EV])
def test_attention_with_a_mask(value_width, shape, kind):
    inputs = tokens(value_width=value_width) | {"mask": make_mask(shape, kind)}
    expected = reference.scaled_dot_product_attention(**inputs).output
    near(adapter.scaled_dot_product_attention(**inputs), expected)


@pytest.mark.parametrize("alignment", ALIGNMENTS)
@pytest.mark.parametrize("lengths", [(4, 4), (3, 5), (5, 3), (1, 4)])
@pytest.mark.parametrize("heads", [H, 2 * H])
@pytest.mark.parametrize("value_width", [E, EV])
@pytest.mark.filterwarnings("ignore:Lower right causal bias")
def test_causal_attention_in_both_alignments(value_width, heads, lengths, alignment):
    inputs = tokens(heads, value_width, *lengths)
    options = {"is_causal": True, "causal_alignment": alignment, "scale": 0.25}
    expected = reference.scaled_dot_product_attention(**inputs, **options).output
    near(adapter.scaled_dot_product_attention(**inputs, **options), expected)


@pytest.mark.parametrize("scale", [0.0, -0.5, 2.0])
def test_an_explicit_scale_is_taken_literally(scale):
    expected = reference.scaled_dot_product_attention(**tokens(), scale=scale).output
    near(adapter.scaled_dot_product_attention(**tokens(), scale=scale), expected)


def test_a_mask_with_is_causal_is_unsupported():
    with pytest.raises(Unsupported, match="a mask or is_causal, not both"):
        adapter.scaled_dot_product_attention(**tokens(), mask=make_mask((SQ, SK), "bool"), is_causal=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("biases", [True, False])
def test_multi_head_attention(biases, dtype):
    inputs = cast(multi_head_inputs(biases), dtype)
    expected = reference.multi_head_attention(**inputs, num_heads=H)
    output, weights = adapter.multi_head_attention(**inputs, num_heads=H)
    scale = np.abs(expected.output.astype(np.float64)).max()
    near(output, expected.output, TOLERANCE[dtype] * 4 * scale)
    near(weights, expected.weights, TOLERANCE[dtype] * 4)


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("shape", [None, *MASK_SHAPES], ids=str)
def test_multi_head_attention_with_masks(shape, kind, is_causal):
    options = {"num_heads": H, "is_causal": is_causal}
    if shape is not None:
        options["mask"] = make_mask(shape, kind)
    expected = reference.multi_head_attention(**multi_head_inputs(), **options)
    output, weights = adapter.multi_head_attention(**multi_head_inputs(), **options)
    near(output, expected.output, 1e-12)
    near(weights, expected.weights, 1e-12)


def test_multi_head_attention_has_no_scale_but_the_default():
    inputs = multi_head_inputs()
    default, _ = adapter.multi_head_attention(**inputs, num_heads=H)
    stated, _ = adapter.multi_head_attention(**inputs, num_heads=H, scale=1 / math.sqrt(E))
    near(stated, default)
    with pytest.raises(Unsupported, match="no scale but 1/sqrt"):
        adapter.multi_head_attention(**inputs, num_heads=H, scale=1.0)


@pytest.mark.parametrize("with_output", [True, False])
def test_single_head_attention(with_output):
    inputs = normal(5, x=(SQ, E), **dict.fromkeys(MATRICES if with_output else MATRICES[:3], (E, E)))
    expected = reference.single_head_attention(**inputs)
    output, weights = adapter.single_head_attention(**inputs)
    near(output, expected.output)
    near(weights, expected.weights)


def test_single_head_attention_of_another_width_or_scale_is_unsupported():
    square = normal(5, x=(SQ, E), **dict.fromkeys(MATRICES, (E, E)))
    with pytest.raises(Unsupported, match="no scale but 1/sqrt"):
        adapter.single_head_attention(**square, scale=1.0)
    narrow = normal(5, x=(SQ, E), w_query=(E, 1), w_key=(E, 1), w_value=(E, E))
    with pytest.raises(Unsupported, match="square"):
        adapter.single_head_attention(**narrow)


def test_glorot_normal_depends_on_the_seed_alone():
    first = adapter.glorot_normal(fan_in=64, fan_out=128, seed=3)
    torch.rand(5)
    assert first.shape == (64, 128)
    assert first.dtype == np.float64
    assert abs(first.std() - math.sqrt(2 / 192)) < 0.005
    np.testing.assert_array_equal(first, adapter.glorot_normal(fan_in=64, fan_out=128, seed=3))
    assert not np.array_equal(first, adapter.glorot_normal(fan_in=64, fan_out=128, seed=4))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_arrays_become_tensors_and_come_back_bit_for_bit(shape, dtype):
    values = np.resize(np.array([0.0, -0.0, 1.5, -2.75, np.inf, -np.inf, np.nan, 2.0**-20]), shape)
    array = values.astype(DTYPES[dtype])
    tensor = tensors.to_tensor(array)
    back = tensors.to_array(tensor)
    assert str(tensor.dtype) == f"torch.{dtype}"
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_a_tensor_is_a_copy_with_the_axes_in_the_same_order():
    array = np.asfortranarray(normal(0, x=(3, 4))["x"])
    tensor = tensors.to_tensor(array)
    assert tensor.stride() == (1, 3)
    tensor.zero_()
    assert array.all()


@pytest.mark.parametrize("view", [lambda x: x[::-1], lambda x: np.broadcast_to(x[:1], x.shape)])
def test_unusual_arrays_become_tensors_too(view):
    array = view(normal(0, x=(3, 4))["x"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(tensors.to_array(tensors.to_tensor(array)), array)


def test_the_users_torch_is_left_as_it_was():
    state = torch.random.get_rng_state()
    inputs = multi_head_inputs()
    before = {name: array.copy() for name, array in inputs.items()}
    adapter.multi_head_attention(**inputs, num_heads=H)
    adapter.glorot_normal(fan_in=2, fan_out=3, seed=1)
    assert torch.equal(state, torch.random.get_rng_state())
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    for name, array in inputs.items():
        np.testing.assert_array_equal(array, before[name])


def test_it_is_an_adapter():
    declaration = InProcessImplementation(adapter, "torch").declaration
    assert declaration.name == "torch"
    assert declaration.version == torch.__version__
    assert declaration.dtypes == tuple(DTYPES)
    assert set(declaration.operations) == {
        "softmax",
        "scaled_dot_product_attention",
        "scaled_dot_product_attention_backward",
        "single_head_attention",
        "multi_head_attention",
        "glorot_normal",
        "rms_norm",
    }


# Conventions: what is declared is what PyTorch does.


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_fully_masked_row_of_softmax(dtype):
    x = np.array([[-np.inf, -np.inf], [0, 0]]).astype(DTYPES[dtype])
    dead = {"nan": np.nan}[adapter.conventions["softmax.fully_masked_row"]]
    np.testing.assert_array_equal(adapter.softmax(x).astype(np.float64), [[dead, dead], [0.5, 0.5]], strict=True)


@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("value_width", [E, EV])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_fully_masked_row_of_attention(dtype, value_width, kind):
    inputs = tokens(value_width=value_width) | {"mask": make_mask((SQ, SK), kind)}
    inputs["mask"][1] = False if kind == "bool" else -np.inf
    inputs = {name: x if x.dtype == np.bool_ else x.astype(DTYPES[dtype]) for name, x in inputs.items()}
    output = adapter.scaled_dot_product_attention(**inputs).astype(np.float64)
    assert "fully_masked_row" not in adapter.conventions
    np.testing.assert_array_equal(output[:, :, 1], np.zeros((B, H, value_width)))
    assert np.isfinite(output[:, :, [0, 2, 3]]).all()


@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_fully_masked_row_of_multi_head_attention(dtype, kind):
    mask = make_mask((SQ, SK), kind)
    mask[1] = False if kind == "bool" else -np.inf
    mask = mask if kind == "bool" else mask.astype(DTYPES[dtype])
    inputs = cast(multi_head_inputs(), dtype)
    output, weights = adapter.multi_head_attention(**inputs, mask=mask, num_heads=H)
    assert adapter.conventions["multi_head_attention.fully_masked_row"] == "nan"
    assert np.isnan(output[:, 1].astype(np.float64)).all()
    assert np.isnan(weights[:, :, 1].astype(np.float64)).all()
    assert np.isfinite(output[:, [0, 2, 3]].astype(np.float64)).all()


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_a_nan_propagates_in_attention(name):
    inputs = tokens()
    inputs[name][0, 0, 2, 0] = np.nan
    got = np.isnan(adapter.scaled_dot_product_attention(**inputs))
    np.testing.assert_array_equal(got, np.isnan(reference.scaled_dot_product_attention(**inputs).output))
    assert "nonfinite_input" not in adapter.conventions


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_a_nan_propagates_in_multi_head_attention(name):
    inputs = multi_head_inputs()
    inputs[name][0, 2, 0] = np.nan
    output, _ = adapter.multi_head_attention(**inputs, num_heads=H)
    expected = reference.multi_head_attention(**inputs, num_heads=H).output
    np.testing.assert_array_equal(np.isnan(output), np.isnan(expected))


@pytest.mark.parametrize(
    ("name", "index"),
    [("query", np.s_[..., :1]), ("query", np.s_[:, :2]), ("mask", np.s_[..., :4]), ("mask", np.s_[:3])],
)
def test_attention_refuses_what_everyone_must_refuse(name, index):
    inputs = tokens() | {"mask": make_mask((SQ, SK), "bool")}
    inputs[name] = inputs[name][index]
    with pytest.raises(RuntimeError):
        adapter.scaled_dot_product_attention(**inputs)


def test_multi_head_attention_refuses_what_everyone_must_refuse():
    with pytest.raises(AssertionError, match="divisible"):
        adapter.multi_head_attention(**multi_head_inputs(), num_heads=4)
    with pytest.raises(RuntimeError):
        adapter.multi_head_attention(**multi_head_inputs(), num_heads=H, mask=make_mask((2, SQ, SK), "bool"))


def test_input_checks_are_lenient():
    assert adapter.conventions["input_checks"] == "lenient"
    one_head = {name: array[0, 0] for name, array in tokens().items()}
    assert adapter.scaled_dot_product_attention(**one_head).shape == (SQ, EV)
    inputs = multi_head_inputs()
    inputs |= {name: inputs[name][0] for name in ("query", "key", "value")}
    output, _ = adapter.multi_head_attention(**inputs, num_heads=H)
    assert output.shape == (SQ, WIDTH)


@pytest.mark.parametrize("value_width", [E, EV])
def test_scores_are_not_stored_in_half_precision(value_width):
    # Scores near 300 are rounded to multiples of 0.25 in float16, which would move the weights by a tenth.
    assert adapter.conventions["half_precision_grade"] == "fused"
    query = np.array([[[[30.0, 1.0]]]], dtype=np.float16)
    key = np.array([[[[10.0, 0.1], [10.0, 0.0]]]], dtype=np.float16)
    value = np.eye(2, value_width, dtype=np.float16)[np.newaxis, np.newaxis]
    output = adapter.scaled_dot_product_attention(query, key, value, scale=1.0)
    expected = reference.scaled_dot_product_attention(
        *(x.astype(np.float64) for x in (query, key, value)), scale=1.0
    ).output
    np.testing.assert_allclose(output.astype(np.float64), expected, atol=1e-3)
