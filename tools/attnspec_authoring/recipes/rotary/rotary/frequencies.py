"""Frequencies without scaling and under linear scaling."""

from __future__ import annotations

from typing import Any

from attnspec_authoring.recipes.authoring import AuthoredCase, Source, headed

PROFILE = "rotary"
MADE = Source(section="made for the profile rotary")
ONE = "rotary_frequencies.attention_factor.one"


@headed
def frequencies(
    name: str, title: str, clauses: tuple[str, ...], *, url: str | None = None, **attributes: Any
) -> AuthoredCase:
    """Make a case of rotary frequencies; a clause is named without the operation."""
    return AuthoredCase(
        id=f"{PROFILE}/frequencies_{name}",
        title=f"Rotary frequencies: {title}",
        operation="rotary_frequencies",
        clauses=tuple(f"rotary_frequencies.{clause}" for clause in clauses),
        source=MADE if url is None else Source(url=url),
        attributes=attributes,
        outputs=("inverse_frequencies", "attention_factor"),
        dtypes=(),
    )


@headed
def plain(name: str, title: str, *, url: str | None = None, **attributes: Any) -> AuthoredCase:
    """Make a case without scaling."""
    clauses = ("powers", "theta", "attention_factor.one")
    return frequencies(name, title)(clauses, url=url, **attributes)


def cases() -> tuple[AuthoredCase, ...]:
    """Return frequencies of several widths and bases, and those of linear scaling."""
    theta = "https://github.com/sgl-project/SpecForge/issues/265"
    inverted = "https://github.com/xlite-dev/LeetCUDA/issues/289"
    linear = ("linear", "attention_factor.one")
    return (
        plain("width_2", "a single pair turns by one radian")(width=2),
        plain("width_4", "two pairs, one and a hundredth")(width=4, url=inverted),
        plain("width_6", "three pairs")(width=6),
        plain("width_64", "thirty-two pairs")(width=64),
        plain("width_80", "forty pairs")(width=80),
        plain("theta_million", "a base of a million")(width=8, theta=1000000.0, url=theta),
        plain("theta_500000", "sixty-four pairs on a base of half a million")(width=128, theta=500000.0, url=theta),
        plain("theta_3", "a small base")(width=6, theta=3.0),
        plain("theta_1", "a base of one: all pairs turn alike")(width=4, theta=1.0),
        frequencies("factor_beside_none", "a factor and an attention factor without scaling have no effect")(
            ("parameters", "powers", "attention_factor.one"), width=8, factor=4.0, attention_factor=1.5
        ),
        frequencies("lengths_beside_none", "lengths and factors without scaling have no effect")(
            ("parameters", "powers", "attention_factor.one"),
            width=6,
            scaling="none",
            factor=2.5,
            original_length=16,
            sequence_length=64,
            low_frequency_factor=1.0,
            high_frequency_factor=4.0,
            proportion=1.5,
        ),
        frequencies("linear_4", "linear scaling by four")(linear, width=8, scaling="linear", factor=4.0),
        frequencies("linear_2_5", "linear scaling by two and a half")(
            linear, width=6, scaling="linear", factor=2.5, theta=500.0
        ),
        frequencies("linear_1", "linear scaling by one changes nothing")(linear, width=4, scaling="linear", factor=1.0),
        frequencies("linear_of_a_long_text", "linear scaling hears no length")(
            ("linear", "parameters", "attention_factor.one"),
            url="https://github.com/ml-explore/mlx-lm/pull/1562",
            width=8,
            scaling="linear",
            factor=2.0,
            original_length=16,
            sequence_length=64,
        ),
        frequencies("linear_of_a_longer_text", "linear scaling hears neither length nor attention factor")(
            ("linear", "parameters", "attention_factor.one"),
            width=6,
            scaling="linear",
            factor=8.0,
            original_length=4096,
            sequence_length=131072,
            attention_factor=1.25,
        ),
    )
