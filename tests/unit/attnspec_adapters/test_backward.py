"""The backward passes of the built-in adapters of PyTorch and JAX, against the reference."""

import importlib.util

import numpy as np
import pytest

import attnspec_reference as reference
from attnspec.contract.implementation import Declined, Outputs, Request
from attnspec.targets import load

BACKWARD = "scaled_dot_product_attention_backward"
TORCH = ["torch", "torch-math", "torch-flash"]
FLOAT_MASKED = ["torch", "torch-math", "jax"]
TOLERANCE = {"float64": 1e-13, "float32": 4e-6}
LOOSER = {"jax": 2e-6}
"""The softmax of JAX is in float32, whatever comes in."""

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def implementation(adapter):
    library = adapter.partition("-")[0]
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not here")
    return load(adapter)


def called(adapter, scenarios, name, dtype="float64", stored=False, **more):
    """What an adapter gives, and what is expected."""
    inputs, attributes = scenarios[name]
    forward = reference.scaled_dot_product_attention(**inputs, **attributes)
    given = {"grad_output": np.random.default_rng(5).normal(size=forward.output.shape), **inputs}
    given |= more | ({"output": forward.output, "logsumexp": forward.logsumexp} if stored else {})
    given = {key: array.astype(dtype) if array.dtype == np.float64 else array for key, array in given.items()}
    known = {key: value for key, value in attributes.items() if adapter != "jax" or key != "causal_alignment"}
    answer = implementation(adapter).run(Request(BACKWARD, dtype, given, known))
    return answer, reference.scaled_dot_product_attention_backward(**given, **attributes)


def near(adapter, answer, expected, dtype="float64"):
    assert isinstance(answer, Outputs), answer
    due = ["grad_query", "grad_key", "grad_value", *(["grad_mask"] if expected.grad_mask is not None else [])]
    assert sorted(answer.values) == sorted(due)
    allowed = max(TOLERANCE[dtype], LOOSER.get(adapter, 0))
    for name in due:
        got, wanted = answer.values[name], getattr(expected, name)
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(got, wanted, rtol=allowed, atol=allowed, err_msg=name)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "name", ["plain", "grouped_heads", "scale_negative", "bool_mask_4x5", "causal_top_left", "causal_bottom_right"]
)
@pytest.mark.parametrize("adapter", [*TORCH, "jax"])
def test_the_gradients_of_what_is_mapped(scenarios, adapter, name, dtype):
    if (adapter, name) == ("jax", "causal_bottom_right"):
        pytest.skip("jax has one alignment")
    near(adapter, *called(adapter, scenarios, name, dtype), dtype)


@pytest.mark.parametrize("name", ["float_mask_4x5", "float_mask_3x1x5", "float_mask_1x5", "grouped_mask"])
@pytest.mark.parametrize("adapter", FLOAT_MASKED)
def test_the_gradient_of_a_mask(scenarios, adapter, name):
    near(adapter, *called(adapter, scenarios, name))


def test_the_flash_kernel_has_no_gradient_of_a_mask(scenarios):
    answer, _ = called("torch-flash", scenarios, "float_mask_4x5")
    assert isinstance(answer, Declined)
    assert "no gradient of a mask" in answer.reason


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["plain", "grouped_heads", "scale", "causal_top_left", "bool_mask_4x5"])
@pytest.mark.parametrize("adapter", [*TORCH, "jax"])
def test_what_the_forward_pass_gave_changes_nothing(scenarios, adapter, name, dtype):
    near(adapter, *called(adapter, scenarios, name, dtype, stored=True), dtype)


def test_the_operator_of_the_flash_kernel_uses_what_the_forward_pass_gave(scenarios):
    answer, expected = called("torch-flash", scenarios, "plain", stored=True)
    near("torch-flash", answer, expected)
    inputs, _ = scenarios["plain"]
    other, _ = called("torch-flash", scenarios, "plain", stored=True, query=inputs["query"] * 2)
    moved, _ = called("torch-math", scenarios, "plain", stored=True, query=inputs["query"] * 2)
    assert not np.allclose(other.values["grad_key"], moved.values["grad_key"])


@pytest.mark.parametrize("name", ["key_lengths", "window", "window_and_causal"])
def test_what_jax_alone_maps(scenarios, name):
    near("jax", *called("jax", scenarios, name))


def test_the_logsumexp_of_jax_stops_gradients():
    # Should it ever let them through, the adapter can offer `grad_logsumexp`.
    jax = pytest.importorskip("jax")
    key = jax.numpy.array([1.0, 2.0]).reshape(1, 2, 1, 1)

    def logsumexp(query):
        return jax.nn.dot_product_attention(query, key, key, scale=1.0, return_residual=True)[1].sum()

    assert jax.grad(logsumexp)(jax.numpy.ones((1, 1, 1, 1))).item() == 0


@pytest.mark.parametrize("adapter", [*TORCH, "jax"])
def test_there_is_no_logsumexp_to_differentiate(scenarios, adapter):
    inputs, _ = scenarios["plain"]
    answer, _ = called(adapter, scenarios, "plain", grad_logsumexp=np.ones(inputs["query"].shape[:3]))
    assert answer == Declined("it has no argument 'grad_logsumexp'")


@pytest.mark.parametrize("adapter", TORCH)
def test_the_users_torch_is_left_as_it_was(scenarios, adapter):
    called(adapter, scenarios, "plain")
    torch = pytest.importorskip("torch")
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()


def test_without_heads_autograd_stands_in_for_the_flash_kernel_which_would_end_the_process(scenarios):
    none = {name: array[:, :0] for name, array in scenarios["plain"][0].items()}
    near("torch-flash", *called("torch-flash", {"none": (none, {})}, "none", stored=True))
