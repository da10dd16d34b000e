"""Where a softcap meets NaN and numbers beyond half precision, and gradients that would repeat themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.backward.gradients import BATCH, PLAIN, STEPS, gradients
from attnspec_authoring.recipes.attention.backward.nonfinite import spoilt
from attnspec_authoring.recipes.attention.backward.rejects import of_shape, refused

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def hidden_cases() -> tuple[AuthoredCase, ...]:
    """Excluded keys hold NaN, and so do their scores, of which the derivative of the cap is taken."""
    third = (np.arange(5) == 2)[:, np.newaxis]
    beyond = np.arange(5).reshape(1, 1, 5, 1) >= np.array([5, 2, 3]).reshape(3, 1, 1, 1)
    both = ("key", "value")
    return (
        gradients("hidden_nan_softcap", "A Boolean mask hides NaN in a key and its value from a softcap")(
            PLAIN,
            mask=np.arange(5).reshape(1, 5) != 2,
            softcap=1.5,
            **spoilt("hidden_nan_softcap", PLAIN, both, third, np.nan),
        ),
        gradients("beyond_nan_softcap", "Keys and values beyond the key lengths hold NaN, beside a softcap")(
            BATCH, key_lengths=[5, 2, 3], softcap=2.0, **spoilt("beyond_nan_softcap", BATCH, both, beyond, np.nan)
        ),
    )


def range_cases() -> tuple[AuthoredCase, ...]:
    """Scores beyond half precision, which a cap brings back, so that its derivative is not 0."""
    # With one key the weight is 1, however the score is rounded, and the gradient of the logit that of the logsumexp.
    one_key = Sizes(1, 1, 1, 2, 1, 2, 1)
    return (
        gradients("scores_beyond_float16_softcap", "Scores lie beyond half precision, and a softcap brings them back")(
            one_key,
            clauses=("precision.accumulation",),
            outputs=STEPS,
            softcap=2.0**17,
            scale=1.0,
            query=np.array([[192.0, 160.0], [-224.0, -144.0]]).reshape(1, 1, 2, 2),
            key=np.array([256.0, 224.0]).reshape(1, 1, 1, 2),
            grad_logsumexp=np.array([1.5, -1.25]).reshape(1, 1, 2),
        ),
    )


def refusals() -> tuple[AuthoredCase, ...]:
    """Give one number of `grad_logsumexp` for many, which would repeat itself."""
    rows = (
        ("entries", "One gradient of the logsumexp for three batch entries", (1, 1, 4)),
        ("queries", "One gradient of the logsumexp for four queries", (3, 1, 1)),
    )
    return tuple(
        refused(f"one_grad_logsumexp_for_all_{what}", title)(
            "gradient_shape",
            "twin_plain",
            f"The grad_logsumexp has the shape {shape}.",
            {"grad_logsumexp": of_shape(f"one_grad_logsumexp_for_all_{what}", *shape)},
        )
        for what, title, shape in rows
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases at these borders."""
    return (*hidden_cases(), *range_cases(), *refusals())
