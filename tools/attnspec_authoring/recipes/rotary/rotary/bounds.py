"""Both sides of every bound: parameters that are just taken and just refused, and numbers beyond float16."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.authoring import BEYOND_FLOAT16, WITHOUT_FLOAT16, row
from attnspec_authoring.recipes.generator import grid
from attnspec_authoring.recipes.rotary.rotary.frequencies import frequencies, plain
from attnspec_authoring.recipes.rotary.rotary.rejects import (
    DYNAMIC,
    LINEAR,
    LLAMA3,
    LONGROPE,
    PROPORTIONAL,
    YARN,
    refused,
    without,
)
from attnspec_authoring.recipes.rotary.rotary.rotations import rotation
from attnspec_authoring.recipes.rotary.rotary.tables import tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

PLAIN: Mapping[str, Any] = {"width": 6}
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "linear": LINEAR,
    "dynamic": DYNAMIC,
    "llama3": LLAMA3,
    "longrope": LONGROPE,
    "proportional": PROPORTIONAL,
    "yarn": YARN,
}
ALL: Mapping[str, Mapping[str, Any]] = {"none": PLAIN, **SETTINGS}
WIDTH = "rotary_frequencies.rejects.width"
RANGE = "rotary_frequencies.rejects.range"
PARAMETERS = "rotary_frequencies.rejects.parameters"
LISTS = "rotary_frequencies.rejects.factor_lists"


def counterpart_of(scaling: str) -> str:
    """Return the name of a scaling's valid counterpart."""
    return "frequencies_width_6" if scaling == "none" else f"frequencies_twin_{scaling}"


def taken() -> tuple[AuthoredCase, ...]:
    """Hold parameters on the valid side of their bounds."""
    one = "attention_factor.one"
    return (
        plain("theta_below_one", "a base below one: pairs turn ever faster")(width=4, theta=0.5),
        frequencies("linear_theta_below_one", "linear scaling of a base below one")(
            ("linear", "theta", one), **LINEAR, theta=0.25
        ),
        frequencies("yarn_theta_above_one", "yarn, a base little above one")(
            ("yarn.blend", "yarn.range", "attention_factor.yarn"),
            # So many turns that the range lies between 1.3 and 2.8: the page has no range that ends before it begins.
            **without(YARN, theta=1.25),
            beta_fast=148.0,
            beta_slow=136.0,
        ),
        frequencies("llama3_near_factors", "llama3, frequency factors close to each other")(
            ("llama3.between", "llama3.long_waves", one),
            **without(LLAMA3, low_frequency_factor=4.0, high_frequency_factor=4.25),
        ),
        frequencies("proportional_one_stated", "proportional, all pairs, stated")(
            ("proportional", one), **without(PROPORTIONAL, proportion=1.0)
        ),
        frequencies("proportional_factor_below_one", "proportional, at twice the speed")(
            ("proportional", one), **PROPORTIONAL, factor=0.5
        ),
        frequencies("dynamic_zero_length", "dynamic, a text of no tokens")(
            ("dynamic.short", one), **without(DYNAMIC, sequence_length=0)
        ),
        frequencies("longrope_zero_length", "longrope, a text of no tokens")(
            ("longrope.short", "attention_factor.longrope"), **LONGROPE, sequence_length=0
        ),
    )


def of_widths() -> tuple[AuthoredCase, ...]:
    """Refuse widths that are odd, zero or negative, under every scaling."""
    wrong = {"none": 3, "dynamic": 5, "llama3": 7, "longrope": 7, "proportional": 9, "yarn": 1}
    return (
        *(
            refused(f"width_{width}_of_{scaling}", f"A width of {width} is refused under {scaling}")(
                WIDTH,
                counterpart_of(scaling),
                f"{width} is odd: the last feature has no partner.",
                attributes=without(ALL[scaling], width=width),
                strict=True,
            )
            for scaling, width in wrong.items()
        ),
        *(
            refused(f"{name}_width_of_{scaling}", f"A width of {width} is refused under {scaling}")(
                WIDTH,
                counterpart_of(scaling),
                "There are no features.",
                attributes=without(ALL[scaling], width=width),
                strict=True,
            )
            for name, width, scaling in (
                ("no", 0, "none"),
                ("negative", -2, "none"),
                ("no", 0, "yarn"),
                ("negative", -4, "linear"),
                ("no", 0, "proportional"),
            )
        ),
    )


def of_ranges() -> tuple[AuthoredCase, ...]:
    """Refuse parameters at and beyond their bounds, under each scaling that uses them."""
    wrong: list[tuple[str, str, str, dict[str, Any]]] = []
    for scaling, parameters in ALL.items():
        for name, theta in (("zero", 0.0), ("negative", -10000.0)):
            if (scaling, name) != ("linear", "zero"):
                changed = without(parameters, theta=theta)
                wrong.append(
                    (f"{name}_theta_of_{scaling}", f"A theta of {theta:g} is refused under {scaling}", scaling, changed)
                )
    for scaling, parameters in SETTINGS.items():
        for name, factor in (("zero", 0.0), ("negative", -4.0)):
            if (scaling, name) != ("linear", "zero"):
                changed = without(parameters, factor=factor)
                wrong.append(
                    row(f"{name}_factor_of_{scaling}", f"A factor of {factor:g} is refused under {scaling}")(
                        scaling, changed
                    )
                )
    for name, theta in (("half", 0.5), ("almost_one", 0.9375)):
        title = f"A theta of {theta:g} is refused under yarn"
        wrong.append((f"theta_{name}_of_yarn", title, "yarn", without(YARN, theta=theta)))
    for name, low, high in (("below", 4.0, 1.0), ("little_below", 4.0, 3.75)):
        title = f"A high frequency factor of {high:g} below a low one of {low:g} is refused"
        changed = without(LLAMA3, low_frequency_factor=low, high_frequency_factor=high)
        wrong.append((f"high_frequency_factor_{name}", title, "llama3", changed))
    for name, proportion in (
        ("little_above_1", 1.0625),
        ("little_below_0", -0.0625),
        ("two", 2.0),
        ("minus_one", -1.0),
    ):
        title = f"A proportion of {proportion:g} is refused"
        wrong.append((f"proportion_{name}", title, "proportional", without(PROPORTIONAL, proportion=proportion)))
    short = without(DYNAMIC, width=2, sequence_length=8)
    wrong.append(
        row("dynamic_width_2_of_a_short_text", "Dynamic scaling of two features is refused for a short text, too")(
            "dynamic", short
        )
    )
    return tuple(
        refused(name, title)(
            RANGE, counterpart_of(scaling), f"{title.removesuffix(' is refused')}.", attributes=changed, strict=True
        )
        for name, title, scaling, changed in wrong
    )


def of_parameters() -> tuple[AuthoredCase, ...]:
    """Refuse every scaling without each parameter that it needs, and scalings that are spelt in other ways."""
    missing = (
        ("dynamic", "factor"),
        ("llama3", "factor"),
        ("llama3", "original_length"),
        ("llama3", "low_frequency_factor"),
        ("longrope", "original_length"),
        ("longrope", "short_factors"),
        ("yarn", "factor"),
    )
    names = (
        ("empty", "", "linear"),
        ("capital", "Linear", "linear"),
        ("upper_case", "YARN", "yarn"),
        ("default", "default", "linear"),
    )
    return (
        *(
            refused(f"{scaling}_without_{name}", f"The scaling {scaling} without {name} is refused")(
                PARAMETERS, counterpart_of(scaling), f"{name} is not given.", attributes=without(ALL[scaling], name)
            )
            for scaling, name in missing
        ),
        *(
            refused(f"scaling_{name}", f"The scaling {scaling!r} is refused")(
                "rotary_frequencies.rejects.scaling",
                counterpart_of(counterpart),
                "There is no scaling of that name.",
                attributes=without(ALL[counterpart], scaling=scaling),
            )
            for name, scaling, counterpart in names
        ),
    )


def of_lists() -> tuple[AuthoredCase, ...]:
    """Refuse short and long factors that are fewer or more than the pairs, alone and together.

    The list that the length does not ask for is looked at by strict implementations alone.
    """
    fewer, more, single, none = [2.0, 4.0], [2.0, 4.0, 8.0, 16.0], [2.0], list[float]()
    wrong = (
        row("fewer_long_factors", "Two long factors for three pairs")({"long_factors": fewer}, True),
        row("more_long_factors", "Four long factors for three pairs")({"long_factors": more}, True),
        row("single_long_factor", "One long factor for three pairs")({"long_factors": single}, True),
        row("more_short_factors", "Four short factors for three pairs")({"short_factors": more}, False),
        row("no_short_factors", "No short factor for three pairs")({"short_factors": none}, False),
        row("no_long_factors", "No long factor for three pairs")({"long_factors": none}, True),
        row("fewer_of_both", "Two factors in both lists for three pairs")(
            {"short_factors": fewer, "long_factors": fewer}, False
        ),
        row("more_of_both", "Four factors in both lists for three pairs")(
            {"short_factors": more, "long_factors": more}, False
        ),
    )
    long: dict[str, tuple[dict[str, Any], bool]] = {
        "fewer_short_factors_of_a_long_text": ({"short_factors": fewer}, True),
        "more_long_factors_of_a_long_text": ({"long_factors": more}, False),
    }
    return (
        *(
            refused(name, f"{what} are refused")(
                LISTS, counterpart_of("longrope"), f"{what}.", attributes=without(LONGROPE, **changed), strict=strict
            )
            for name, what, changed, strict in wrong
        ),
        *(
            refused(name, f"{name.replace('_', ' ').capitalize()} are refused")(
                LISTS,
                counterpart_of("longrope"),
                "One list does not have a factor for each of three pairs.",
                attributes=without(LONGROPE, sequence_length=128, **changed),
                strict=strict,
            )
            for name, (changed, strict) in long.items()
        ),
    )


LARGE, TINY = BEYOND_FLOAT16.values()


def beyond_float16_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases: the first token has large numbers, the second one tiny ones."""
    shape, name = (1, 2, 2, 6), "rotary/beyond_float16"
    of_tokens = np.array([LARGE, TINY])[:, np.newaxis]
    table = (1, 2, 2)
    return (
        *(
            rotation(f"beyond_float16_features_{pairing}", f"features too large and too small for float16, {pairing}")(
                shape, 4, pairing=pairing, x=of_tokens * grid(f"{name}/x", shape), dtypes=WITHOUT_FLOAT16
            )
            for pairing in ("half", "interleaved")
        ),
        rotation("beyond_float16_tables", "tables too large and too small for float16")(
            shape,
            4,
            cos=of_tokens * grid(f"{name}/cos", table),
            sin=of_tokens * grid(f"{name}/sin", table),
            dtypes=WITHOUT_FLOAT16,
        ),
        tables("beyond_float16", "frequencies too small for float16, at positions that make something of them")(
            [[0, 65536, 131071]], (1.0, TINY, 3 * TINY), ("precision.phases",), dtypes=WITHOUT_FLOAT16
        ),
        tables("beyond_float16_of_one_token", "frequencies too small for float16, at one position far into a text")(
            [[98304], [131071]], (2 * TINY, TINY), ("precision.phases", "batch"), dtypes=WITHOUT_FLOAT16
        ),
        plain("theta_of_a_trillion", "frequencies too small for float16")(width=8, theta=1e12),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (*taken(), *of_widths(), *of_ranges(), *of_parameters(), *of_lists(), *beyond_float16_cases())
