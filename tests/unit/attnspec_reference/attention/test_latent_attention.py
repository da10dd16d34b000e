"""Latent attention in both forms, against a plain loop, with a past, in pages; and what it refuses."""

import math

import numpy as np
import pytest

from attnspec_reference import (
    absorbed_latent_attention,
    latent_attention,
    paged_absorbed_latent_attention,
)

BATCH, HEADS, QUERIES, KEYS, LATENT, CONTENT, ROTARY, VALUE = 2, 3, 2, 5, 6, 4, 2, 3


@pytest.fixture
def tensors():
    random = np.random.default_rng(0)
    return {
        "query_content": random.normal(size=(BATCH, HEADS, QUERIES, CONTENT)),
        "query_rotary": random.normal(size=(BATCH, HEADS, QUERIES, ROTARY)),
        "latent": random.normal(size=(BATCH, KEYS, LATENT)),
        "key_rotary": random.normal(size=(BATCH, KEYS, ROTARY)),
        "w_key": random.normal(size=(HEADS, LATENT, CONTENT)),
        "w_value": random.normal(size=(HEADS, LATENT, VALUE)),
    }


def absorbed(tensors, scale):
    query = tensors["query_content"] @ tensors["w_key"].swapaxes(-1, -2)
    return absorbed_latent_attention(
        query, tensors["query_rotary"], tensors["latent"], tensors["key_rotary"], scale=scale
    )


def test_nothing_that_is_not_attended_to_reaches_the_latents(tensors) -> None:
    mask = np.array([[True, True, False, True, True], [True, True, True, False, True]])
    expected = latent_attention(**tensors, mask=mask).output_latent
    tensors["latent"][:, 2] = np.nan
    found = latent_attention(**tensors, mask=mask).output_latent
    np.testing.assert_allclose(found[:, :, 0], expected[:, :, 0], rtol=1e-12)
    assert np.isnan(found[:, :, 1]).all()


def test_a_plain_loop_agrees(tensors) -> None:
    found = latent_attention(**tensors, magnitude=1.25)
    for entry, head, query in np.ndindex(BATCH, HEADS, QUERIES):
        logits = []
        for token in range(KEYS):
            key = tensors["latent"][entry, token] @ tensors["w_key"][head]
            content = tensors["query_content"][entry, head, query] @ key
            rotated = tensors["query_rotary"][entry, head, query] @ tensors["key_rotary"][entry, token]
            logits.append((content + rotated) * 1.25**2 / math.sqrt(CONTENT + ROTARY))
        weights = np.exp(logits) / np.exp(logits).sum()
        output = weights @ (tensors["latent"][entry] @ tensors["w_value"][head])
        np.testing.assert_allclose(found.output[entry, head, query], output, rtol=1e-12)


def test_both_forms_agree(tensors) -> None:
    found, kernel = latent_attention(**tensors), absorbed(tensors, 1 / math.sqrt(CONTENT + ROTARY))
    np.testing.assert_allclose(kernel.output_latent, found.output_latent, rtol=1e-12)
    np.testing.assert_allclose(kernel.output_latent @ tensors["w_value"], found.output, rtol=1e-12)
    np.testing.assert_allclose(kernel.logsumexp, found.logsumexp, rtol=1e-12)


def test_the_scale_of_what_the_kernel_sees_is_another(tensors) -> None:
    found, kernel = latent_attention(**tensors), absorbed(tensors, 1 / math.sqrt(LATENT + ROTARY))
    assert np.abs(kernel.output_latent - found.output_latent).max() > 0.01


def test_a_stated_scale_is_literal(tensors) -> None:
    stated = latent_attention(**tensors, scale=0.3)
    with_magnitude = latent_attention(**tensors, scale=0.3, magnitude=2.0)
    np.testing.assert_array_equal(stated.scores, with_magnitude.scores)


@pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
def test_a_past_is_a_part_of_the_whole(tensors, alignment) -> None:
    past = KEYS - QUERIES
    parted = {**tensors, **{name: tensors[name][:, past:] for name in ("latent", "key_rotary")}}
    earlier = {f"past_{name}": tensors[name][:, :past] for name in ("latent", "key_rotary")}
    found = latent_attention(**parted, **earlier, is_causal=True, causal_alignment=alignment)
    whole = latent_attention(**tensors, is_causal=True, causal_alignment="bottom_right")
    np.testing.assert_array_equal(found.output, whole.output)
    np.testing.assert_array_equal(found.present_latent, tensors["latent"])


def test_pages_hold_the_same_tokens(tensors) -> None:
    query = tensors["query_content"] @ tensors["w_key"].swapaxes(-1, -2)
    pools = {}
    for name in ("latent", "key_rotary"):
        pool = np.full((4, 3, tensors[name].shape[-1]), np.nan)
        for entry, pages in enumerate(((2, 0), (3, 1))):
            for token in range(KEYS):
                pool[pages[token // 3], token % 3] = tensors[name][entry, token]
        pools[f"{name}_pool"] = pool
    found = paged_absorbed_latent_attention(
        query_latent=query,
        query_rotary=tensors["query_rotary"],
        block_table=np.array([[2, 0, 1], [3, 1, 0]]),
        key_lengths=np.array([KEYS, KEYS]),
        scale=0.5,
        **pools,
    )
    np.testing.assert_allclose(found["output_latent"], absorbed(tensors, 0.5).output_latent, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("latent", (BATCH, HEADS, KEYS, LATENT)),
        ("key_rotary", (BATCH, KEYS, ROTARY + 1)),
        ("key_rotary", (BATCH, KEYS - 1, ROTARY)),
        ("query_rotary", (BATCH, HEADS, QUERIES + 1, ROTARY)),
        ("w_key", (1, LATENT, CONTENT)),
        ("w_value", (HEADS, LATENT + 1, VALUE)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(tensors, name, shape) -> None:
    with pytest.raises(ValueError, match=r"shape"):
        latent_attention(**{**tensors, name: np.zeros(shape)})


def test_a_past_of_latents_alone_is_refused(tensors) -> None:
    with pytest.raises(ValueError, match="together"):
        latent_attention(**tensors, past_latent=tensors["latent"])
