"""Backward passes of functions that have none themselves: by the library whose tensors they take."""

import importlib.util

import numpy as np
import pytest

import attnspec_reference as reference
from attnspec.base.errors import TargetError, UsageError
from attnspec.contract.declarations import resolve_conventions
from attnspec.process.process import isolated
from attnspec.targets import Declined, Malformed, Outputs, Raised, Request, load
from attnspec.targets.target import Target

FORWARD = "scaled_dot_product_attention"
BACKWARD = f"{FORWARD}_backward"
LIBRARIES = [
    pytest.param(name, marks=pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not here"))
    for name in ("torch", "jax")
]
TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not here")

MODULES = {
    "torch": """
import torch
tensors = "torch"
dtypes = {"scaled_dot_product_attention": ("float64", "float32")}
conventions = {"scaled_dot_product_attention.masked_nonfinite": "propagates"}

def scaled_dot_product_attention(query, key, value, mask=None, sinks=None, *, scale=None, softcap=None):
    group = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(group, 1), value.repeat_interleave(group, 1)
    logits = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    logits = softcap * torch.tanh(logits / softcap) if softcap else logits
    if mask is not None:
        logits = logits + mask if mask.is_floating_point() else logits.masked_fill(~mask, -torch.inf)
    if sinks is not None:
        column = sinks[:, None, None].expand(*logits.shape[:-1], 1)
        logits = torch.cat([logits, column], -1)
    weights = torch.softmax(logits, -1)[..., : key.shape[2]]
    return {"output": weights @ value, "logsumexp": logits.logsumexp(-1)}
""",
    "jax": """
import jax
import jax.numpy as jnp
tensors = "jax"
dtypes = {"scaled_dot_product_attention": ("float64", "float32")}
conventions = {"scaled_dot_product_attention.masked_nonfinite": "propagates"}

def scaled_dot_product_attention(query, key, value, mask=None, sinks=None, *, scale=None, softcap=None):
    group = query.shape[1] // key.shape[1]
    key, value = jnp.repeat(key, group, 1), jnp.repeat(value, group, 1)
    logits = query @ key.swapaxes(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    logits = softcap * jnp.tanh(logits / softcap) if softcap else logits
    if mask is not None:
        logits = jnp.where(mask, logits, -jnp.inf) if mask.dtype == bool else logits + mask
    if sinks is not None:
        column = jnp.broadcast_to(sinks[:, None, None], (*logits.shape[:-1], 1))
        logits = jnp.concatenate([logits, column], -1)
    weights = jax.nn.softmax(logits, -1)[..., : key.shape[2]]
    return {"output": weights @ value, "logsumexp": jax.nn.logsumexp(logits, -1)}
""",
}


def drawn(**shapes):
    random = np.random.default_rng(5)
    sizes = {"grad_output": (2, 4, 3, 2), "query": (2, 4, 3, 5), "key": (2, 2, 6, 5), "value": (2, 2, 6, 2), **shapes}
    return {name: random.normal(size=shape) for name, shape in sizes.items()}


def written(tmp_path, source):
    path = tmp_path / "differentiated.py"
    path.write_text(source)
    return str(path)


def called(implementation, inputs, **attributes):
    return implementation.run(Request(BACKWARD, "float64", inputs, attributes))


def near(answer, inputs, **attributes):
    assert isinstance(answer, Outputs), answer
    expected = reference.scaled_dot_product_attention_backward(**inputs, **attributes)._asdict()
    expected = {
        name: array for name, array in expected.items() if array is not None and name not in ("delta", "grad_scores")
    }
    assert set(answer.values) == set(expected)
    for name, array in expected.items():
        assert answer.values[name].dtype == array.dtype
        np.testing.assert_allclose(answer.values[name], array, rtol=1e-13, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("shapes", "attributes"),
    [
        ({}, {}),
        ({"mask": (4, 1, 6), "sinks": (4,), "grad_logsumexp": (2, 4, 3)}, {"softcap": 1.5, "scale": 0.4}),
        ({"output": (2, 4, 3, 2), "logsumexp": (2, 4, 3)}, {}),
    ],
    ids=["plain", "everything", "what the forward pass gave is not needed"],
)
def test_gradients_are_those_of_the_forward_pass(tmp_path, library, shapes, attributes):
    implementation = load(written(tmp_path, MODULES[library]), backward="autograd")
    inputs = drawn(**shapes)
    answer = called(implementation, inputs, **attributes)
    near(answer, {name: array for name, array in inputs.items() if name not in ("output", "logsumexp")}, **attributes)


@TORCH
def test_it_is_declared_in_the_file_and_reaches_a_process_of_its_own(tmp_path):
    path = written(tmp_path, MODULES["torch"] + '\nbackward = "autograd"\n')
    assert load(path).declaration.operations == (FORWARD, BACKWARD)
    plain = tmp_path / "plain.py"
    plain.write_text(MODULES["torch"])
    assert load(str(plain)).declaration.operations == (FORWARD,)
    inputs = drawn()
    program = isolated(Target(str(plain), backward="autograd"))
    try:
        near(called(program, inputs), inputs)
    finally:
        program.close()


@TORCH
def test_what_is_declared_of_the_forward_pass_holds(tmp_path):
    declaration = load(written(tmp_path, MODULES["torch"]), backward="autograd").declaration
    assert declaration.dtypes_offered(BACKWARD) == ("float64", "float32")
    assert resolve_conventions(declaration.conventions, BACKWARD)["masked_nonfinite"] == "propagates"
    itself = {**declaration.conventions, f"{BACKWARD}.masked_nonfinite": "ignored"}
    assert resolve_conventions(itself, BACKWARD)["masked_nonfinite"] == "ignored"
    assert resolve_conventions(dict(reversed(itself.items())), BACKWARD)["masked_nonfinite"] == "ignored"
    assert resolve_conventions(itself, FORWARD)["masked_nonfinite"] == "propagates"


@TORCH
def test_a_truth_value_has_no_gradient(tmp_path):
    implementation = load(written(tmp_path, MODULES["torch"]), backward="autograd")
    inputs = drawn() | {"mask": np.arange(18).reshape(3, 6) % 4 < 3}
    near(called(implementation, inputs), inputs)


@TORCH
def test_what_is_one_array_has_a_gradient_for_each_use(tmp_path):
    implementation = load(written(tmp_path, MODULES["torch"]), backward="autograd")
    inputs = drawn(grad_output=(1, 2, 3, 5), query=(1, 2, 3, 5), key=(1, 2, 3, 5))
    inputs |= {"key": inputs["query"], "value": inputs["query"]}
    near(called(implementation, inputs), inputs)


@TORCH
def test_what_the_function_does_not_take_or_give_is_declined(tmp_path):
    source = MODULES["torch"].replace(
        '{"output": weights @ value, "logsumexp": logits.logsumexp(-1)}', "weights @ value"
    )
    implementation = load(written(tmp_path, source), backward="autograd")
    inputs = drawn()
    near(called(implementation, inputs), inputs)
    assert called(implementation, inputs | {"key_lengths": np.array([1, 2])}) == Declined(
        "it has no argument 'key_lengths'"
    )
    answer = called(implementation, inputs | {"grad_logsumexp": np.ones((2, 4, 3))})
    assert isinstance(answer, Declined)
    assert "'logsumexp'" in answer.reason


@TORCH
def test_an_output_that_keeps_no_gradient_is_declined(tmp_path):
    source = MODULES["torch"].replace("logits.logsumexp(-1)", "logits.logsumexp(-1).detach()")
    implementation = load(written(tmp_path, source), backward="autograd")
    inputs = drawn()
    near(called(implementation, inputs), inputs)
    answer = called(implementation, inputs | {"grad_logsumexp": np.ones((2, 4, 3))})
    assert answer == Declined("it keeps no gradient of its 'logsumexp'")


@TORCH
@pytest.mark.parametrize("how", ["@torch.no_grad()", "@torch.inference_mode()"])
def test_a_function_that_keeps_no_gradients_is_reported_so(tmp_path, how):
    source = MODULES["torch"].replace("def scaled", f"{how}\ndef scaled")
    answer = called(load(written(tmp_path, source), backward="autograd"), drawn())
    assert isinstance(answer, Raised)
    assert "no way from output back to query, key, value" in answer.message


@TORCH
def test_without_tokens_there_is_nothing_to_keep(tmp_path):
    source = MODULES["torch"].replace("def scaled", "@torch.no_grad()\ndef scaled")
    inputs = drawn(grad_output=(1, 2, 0, 2), query=(1, 2, 0, 5), key=(1, 2, 3, 5), value=(1, 2, 3, 2))
    near(called(load(written(tmp_path, source), backward="autograd"), inputs), inputs)


@TORCH
def test_an_output_without_a_name_is_malformed(tmp_path):
    source = MODULES["torch"].replace('{"output"', '{"result"')
    answer = called(load(written(tmp_path, source), backward="autograd"), drawn())
    assert isinstance(answer, Malformed)
    assert "'result'" in answer.message


@TORCH
def test_an_input_that_is_edited_is_seen(tmp_path):
    source = MODULES["torch"].replace("    group =", "    value.data.zero_()\n    group =")
    answer = called(load(written(tmp_path, source), backward="autograd"), drawn())
    assert isinstance(answer, Outputs)
    assert answer.inputs_changed == ("value",)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def scaled_dot_product_attention(query, key, value):\n    return value\n", 'tensors="torch"'),
        pytest.param('tensors = "torch"\ndef softmax(x, axis=-1):\n    return x\n', FORWARD, marks=TORCH),
        pytest.param(
            MODULES["torch"] + f"\ndef {BACKWARD}(grad_output, query, key, value):\n    return query\n",
            "itself",
            marks=TORCH,
        ),
    ],
    ids=["arrays of NumPy", "nothing to differentiate", "its own"],
)
def test_a_target_for_which_it_is_not_is_reported_so(tmp_path, source, words):
    with pytest.raises(TargetError, match='backward="autograd"') as caught:
        load(written(tmp_path, source), backward="autograd")
    assert words in str(caught.value)


def test_an_implementation_that_stands_is_not_differentiated():
    with pytest.raises(TargetError, match='backward="autograd"'):
        load(load("reference"), backward="autograd")


@TORCH
def test_another_way_is_quoted(tmp_path):
    with pytest.raises(UsageError, match="'numerical'"):
        load(written(tmp_path, MODULES["torch"]), backward="numerical")
