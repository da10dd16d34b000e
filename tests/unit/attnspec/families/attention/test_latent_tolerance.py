"""The tolerance of latent attention bounds both of its forms, also where they store their steps, and little else."""

import numpy as np
import pytest

from attnspec.bounds.tolerance import precision_of
from attnspec.families.attention.tolerance.tolerances import tolerance
from attnspec_controls.attention.latents import absorbing, from_stored_keys, kept, stored
from attnspec_reference import latent_attention

CONVENTIONS = {"fully_masked_row": "zero", "logsumexp_base": "e"}
WIDTHS = {"query_content": (1, 4, 3, 16), "query_rotary": (1, 4, 3, 8), "latent": (1, 9, 32), "key_rotary": (1, 9, 8)}
WIDTHS |= {"w_key": (4, 32, 16), "w_value": (4, 32, 16)}
FORMS = {
    "naive": latent_attention,
    "absorbed": absorbing(kept),
    "naive_stored": from_stored_keys,
    "absorbed_stored": absorbing(stored),
}


def numbers(dtype):
    random = np.random.default_rng(1)
    drawn = {name: random.normal(size=shape) * (0.25 if name[0] == "w" else 1.0) for name, shape in WIDTHS.items()}
    return {name: array.astype(dtype) for name, array in drawn.items()}


def ratio(outputs, given, dtype, name="output"):
    """Error / tolerance of the worst element, from the values that float64 gives."""
    wide = {each: array.astype(np.float64) for each, array in given.items()}
    bound = tolerance("latent_attention", wide, {}, precision_of(dtype), CONVENTIONS)
    exact = getattr(latent_attention(**wide), name)
    return float((np.abs(getattr(outputs, name).astype(np.float64) - exact) / bound.error(name)).max())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("output", ["output", "output_latent", "weights", "logsumexp", "scores"])
def test_every_form_stays_within_it(form, dtype, output) -> None:
    given = numbers(dtype)
    assert ratio(FORMS[form](**given), given, dtype, output) < 1


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_scale_of_another_width_does_not(dtype) -> None:
    given = numbers(dtype)
    assert ratio(latent_attention(**given, scale=40**-0.5), given, dtype) > 1


def test_the_error_is_the_larger_one_of_both_forms() -> None:
    # With matrices of one feature that is zero, keys and values carry no error, and an absorbed query does not either.
    given = {name: np.zeros(shape) if name[0] == "w" else np.ones(shape) for name, shape in WIDTHS.items()}
    exact = tolerance("latent_attention", given, {}, precision_of("float16"), CONVENTIONS).error("output")
    rounded = tolerance("latent_attention", numbers("float64"), {}, precision_of("float16"), CONVENTIONS).error(
        "output"
    )
    assert exact.max() < 1e-3 < rounded.max()
