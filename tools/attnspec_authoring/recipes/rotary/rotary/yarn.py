"""Frequencies under yarn scaling, and its attention factor. No range ends near a whole pair; the oracle sees to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_authoring.recipes.authoring import headed
from attnspec_authoring.recipes.rotary.rotary.frequencies import frequencies

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

TRUNCATED = "https://github.com/vllm-project/vllm/issues/27722"
CLAMPED = "https://github.com/keras-team/keras-hub/pull/2981"
EXCHANGED = "https://github.com/pytorch/torchtitan/pull/3787"
MAGNITUDES = "https://github.com/vllm-project/vllm/issues/48621"
DROPPED = "https://github.com/vllm-project/vllm/pull/48351"
MULTIPLIED = "https://github.com/sgl-project/sglang/pull/33558"
THROUGH_LOGARITHM = "https://github.com/NVIDIA/TensorRT-LLM/pull/16379"

RANGE = ("yarn.range", "yarn.truncate", "yarn.blend", "attention_factor.yarn")
GIVEN = ("attention_factor.given", "yarn.blend")
OF_MAGNITUDES = ("attention_factor.magnitudes", "yarn.blend")


@headed
def yarn(
    name: str, title: str, clauses: tuple[str, ...] = RANGE, *, url: str | None = None, **attributes: Any
) -> AuthoredCase:
    """Make a case of yarn scaling."""
    return frequencies(f"yarn_{name}", f"yarn, {title}")(clauses, url=url, scaling="yarn", **attributes)


def ranges() -> tuple[AuthoredCase, ...]:
    """Hold ranges inside the pairs, beyond their ends, and of no width."""
    return (
        yarn("width_64", "thirty-two pairs")(url=EXCHANGED, width=64, factor=4.0, original_length=4096),
        yarn("width_128", "sixty-four pairs on a base of a million")(
            width=128, theta=1000000.0, factor=2.5, original_length=32768
        ),
        yarn("width_80", "forty pairs")(width=80, factor=8.0, original_length=2000),
        yarn("width_8", "four pairs")(width=8, factor=4.0, original_length=4096),
        yarn("width_6", "three pairs on a base of 2")(width=6, theta=2.0, factor=16.0, original_length=12),
        yarn("width_4", "two pairs, the range below both")(width=4, factor=2.0, original_length=5),
        yarn("upper_bound", "a range that ends beyond the last pair")(
            url=CLAMPED, width=64, factor=4.0, original_length=131072
        ),
        yarn("upper_bound_wide", "twenty-four pairs, the range ends beyond them")(
            url=CLAMPED, width=48, factor=8.0, original_length=131072
        ),
        yarn("upper_bound_clamped", "a range that would end beyond all features")(
            url=CLAMPED, width=6, beta_slow=0.0009765625, factor=4.0, original_length=40000
        ),
        yarn("not_truncated_upper_bound", "not truncated, the range would end beyond all features")(
            width=6, beta_slow=0.0009765625, factor=4.0, original_length=40000, truncate=False
        ),
        yarn("empty_range", "both ends at the first pair")(width=64, factor=4.0, original_length=5),
        yarn("turns", "other numbers of turns")(
            width=32, beta_fast=8.0, beta_slow=2.0, factor=4.0, original_length=1000
        ),
        yarn("turns_wide", "turns far apart")(
            url=EXCHANGED, width=64, beta_fast=128.0, beta_slow=0.25, factor=4.0, original_length=4096
        ),
        yarn("not_truncated", "not truncated, as in gpt-oss")(
            url=TRUNCATED, width=64, theta=150000.0, factor=32.0, original_length=4096, truncate=False
        ),
        yarn("not_truncated_small", "four pairs, not truncated")(
            url=TRUNCATED, width=8, factor=4.0, original_length=300, truncate=False
        ),
        yarn("not_truncated_lower_bound", "not truncated, the range begins below the first pair")(
            width=16, factor=4.0, original_length=100, truncate=False
        ),
        yarn("not_truncated_equal", "not truncated, equal numbers of turns")(
            width=16, beta_fast=4.0, beta_slow=4.0, factor=8.0, original_length=1000, truncate=False
        ),
        yarn("truncated_stated", "truncated, and saying so")(width=16, factor=4.0, original_length=1000, truncate=True),
    )


def attention_factors() -> tuple[AuthoredCase, ...]:
    """Hold attention factors that are given, derived, or quotients."""
    settings: dict[str, Any] = {"width": 8, "original_length": 4096}
    return (
        yarn("given_one", "an attention factor of one is given")(
            GIVEN, url=DROPPED, factor=64.0, attention_factor=1.0, **settings
        ),
        yarn("given", "an attention factor is given")(
            GIVEN, url=MULTIPLIED, factor=4.0, attention_factor=1.375, **settings
        ),
        yarn("given_below_one", "an attention factor below one is given")(
            GIVEN, url=THROUGH_LOGARITHM, factor=32.0, attention_factor=0.75, **settings
        ),
        yarn("attention_factor_zero", "an attention factor of zero, stated")(
            GIVEN, factor=4.0, attention_factor=0.0, **settings
        ),
        yarn("factor_1", "a factor of one")(("attention_factor.yarn", "yarn.blend"), factor=1.0, **settings),
        yarn("magnitudes_one", "two magnitude coefficients of one cancel")(
            OF_MAGNITUDES,
            url=MAGNITUDES,
            factor=16.0,
            magnitude_scaling=1.0,
            magnitude_scaling_all_dimensions=1.0,
            **settings,
        ),
        yarn("magnitudes_equal", "two equal magnitude coefficients cancel")(
            OF_MAGNITUDES,
            url=MAGNITUDES,
            factor=40.0,
            magnitude_scaling=0.707,
            magnitude_scaling_all_dimensions=0.707,
            **settings,
        ),
        yarn("magnitudes", "two magnitude coefficients")(
            OF_MAGNITUDES, factor=40.0, magnitude_scaling=1.0, magnitude_scaling_all_dimensions=0.5, **settings
        ),
        yarn("magnitudes_factor_1", "two magnitude coefficients and a factor of one")(
            OF_MAGNITUDES, factor=1.0, magnitude_scaling=1.0, magnitude_scaling_all_dimensions=0.5, **settings
        ),
        yarn("single_magnitude", "a single magnitude coefficient has no effect")(
            OF_MAGNITUDES, factor=8.0, magnitude_scaling=0.5, **settings
        ),
        yarn("second_magnitude", "the second magnitude coefficient alone has no effect")(
            OF_MAGNITUDES, factor=8.0, magnitude_scaling_all_dimensions=0.5, **settings
        ),
        yarn("magnitude_beside_zero", "a magnitude coefficient beside zero has no effect")(
            OF_MAGNITUDES, factor=8.0, magnitude_scaling=0.5, magnitude_scaling_all_dimensions=0.0, **settings
        ),
        yarn("given_beside_magnitudes", "a given attention factor goes before two coefficients")(
            ("attention_factor.given",),
            factor=8.0,
            attention_factor=1.5,
            magnitude_scaling=1.0,
            magnitude_scaling_all_dimensions=0.5,
            **settings,
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of yarn scaling."""
    return (*ranges(), *attention_factors())
