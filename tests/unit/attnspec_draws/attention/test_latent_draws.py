"""Draws of latent attention: what a kernel does not see is no axis of its draws, and a past changes no other token."""

import numpy as np
import pytest

from attnspec.base.errors import UsageError
from attnspec_draws import recipe_from_text
from attnspec_draws.drawing import drawn_of

OF_KERNELS = {"batch", "heads", "queries", "keys", "latent", "rotary"}
PAST, LENGTHS = {"past_latent", "past_key_rotary"}, {"key_lengths", "query_lengths"}
OF_KEYS = {"mask", *LENGTHS}
"""Inputs that depend on how many keys there are, past ones included."""


def drawn(text):
    return drawn_of(recipe_from_text(f"draw:{text}"))


def test_a_kernel_has_no_axes_of_heads_before_absorption() -> None:
    assert drawn("absorbed_latent_attention/latents/1:float32").extents.keys() == OF_KERNELS
    with pytest.raises(UsageError, match="there is no axis 'content'"):
        drawn("absorbed_latent_attention/latents/1:float32:content=3")


def test_a_past_that_is_stated_is_there_and_changes_no_other_token() -> None:
    for number in range(20):
        text = f"latent_attention/latents/{number}:float32:past=3:keys=2:queries=2:latent=3:batch=1:heads=1"
        one = drawn(text)
        other = drawn(f"{text}:without=past_latent")
        assert one.inputs["past_latent"].shape[1] == one.inputs["past_key_rotary"].shape[1] == one.extents["past"] == 3
        assert other.extents["past"] == 0
        assert other.inputs.keys() - OF_KEYS == one.inputs.keys() - OF_KEYS - PAST
        for name in other.inputs.keys() - OF_KEYS:
            assert np.array_equal(one.inputs[name], other.inputs[name]), (number, name)


def test_as_many_queries_as_keys_are_drawn_where_others_are_left_out() -> None:
    for operation in ("latent_attention", "absorbed_latent_attention"):
        for stated, length in (("", None), (":keys=5", 5), (":queries=4", 4)):
            extents = drawn(f"{operation}/latents/3:float32{stated}:without=unequal_lengths").extents
            assert extents["queries"] == extents["keys"]
            assert length in (None, extents["keys"])
            assert not extents.get("past", 0)


def test_lengths_open_the_alignment_of_causal_draws() -> None:
    draws = [drawn(f"latent_attention/latents/{number}:float32:queries=4:keys=4:past=0") for number in range(200)]
    causal = [one for one in draws if "is_causal" in one.attributes]
    for has_lengths in (True, False):
        found = [one for one in causal if bool(LENGTHS & one.inputs.keys()) == has_lengths]
        assert {"causal_alignment" in one.conventions for one in found} == {has_lengths}
