"""Usual names of the arguments of latent attention: a function that has them is known by them."""

import inspect

import pytest

from attnspec.targets.naming import guess_operation


def both_forms(q_nope, q_pe, kv_c, k_pe, w_uk, w_uv, softmax_scale=None, mscale=1.0):
    raise NotImplementedError


def inside_a_kernel(ql_nope, q_pe, ckv, k_pe, sm_scale):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "operation"), [(both_forms, "latent_attention"), (inside_a_kernel, "absorbed_latent_attention")]
)
def test_usual_names_say_which_form_it_is(function, operation) -> None:
    called, *_ = guess_operation(function.__name__, inspect.signature(function).parameters)
    assert called.name == operation
