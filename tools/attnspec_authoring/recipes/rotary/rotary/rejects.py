"""What is refused, each beside a valid counterpart that differs only in what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract import OPERATIONS
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, Rejects, headed, row
from attnspec_authoring.recipes.generator import grid
from attnspec_authoring.recipes.rotary.rotary.frequencies import MADE, PROFILE, frequencies
from attnspec_authoring.recipes.rotary.rotary.rotations import rotation
from attnspec_authoring.recipes.rotary.rotary.tables import tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

STRICT = ("input_checks", "strict")

LINEAR: Mapping[str, Any] = {"width": 6, "scaling": "linear", "factor": 4.0}
DYNAMIC: Mapping[str, Any] = {
    "width": 4,
    "scaling": "dynamic",
    "factor": 2.0,
    "original_length": 16,
    "sequence_length": 40,
}
LLAMA3: Mapping[str, Any] = {
    "width": 6,
    "scaling": "llama3",
    "factor": 4.0,
    "original_length": 64,
    "low_frequency_factor": 1.0,
    "high_frequency_factor": 4.0,
}
LONGROPE: Mapping[str, Any] = {
    "width": 6,
    "scaling": "longrope",
    "factor": 4.0,
    "original_length": 64,
    "short_factors": [1.0, 1.25, 1.5],
    "long_factors": [2.0, 4.0, 8.0],
}
PROPORTIONAL: Mapping[str, Any] = {"width": 8, "scaling": "proportional", "proportion": 0.5}
YARN: Mapping[str, Any] = {"width": 8, "scaling": "yarn", "factor": 4.0, "original_length": 1000}

EVERYTHING: Mapping[str, Any] = {
    "width": 8,
    "factor": 4.0,
    "original_length": 1000,
    "sequence_length": 2000,
    "low_frequency_factor": 1.0,
    "high_frequency_factor": 4.0,
    "short_factors": [1.0, 1.25, 1.5, 2.0],
    "long_factors": [2.0, 4.0, 8.0, 16.0],
    "proportion": 0.5,
    "magnitude_scaling": 1.0,
    "magnitude_scaling_all_dimensions": 0.5,
    "attention_factor": 1.25,
}
"""Every parameter that any scaling uses, and that is not usual."""

NEEDED: Mapping[str, tuple[str, ...]] = {
    "linear": ("factor",),
    "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length", "low_frequency_factor", "high_frequency_factor"),
    "longrope": ("original_length", "short_factors", "long_factors"),
    "yarn": ("factor", "original_length"),
}
"""Scaling to what it needs; models of longrope derive the factor from their longest text."""

POSITIONS = [[0, 1, 2], [3, 4, 5]]


@headed
def refused(
    name: str,
    title: str,
    clause: str,
    counterpart: str,
    reason: str,
    *,
    inputs: Mapping[str, NDArray[Any]] | None = None,
    attributes: Mapping[str, Any] | None = None,
    strict: bool = False,
) -> AuthoredCase:
    """Make a case that must be refused, by everyone or under strict checks of inputs."""
    operation = clause.split(".", maxsplit=1)[0]
    return AuthoredCase(
        id=f"{PROFILE}/rejects_{name}",
        title=title,
        operation=operation,
        clauses=(clause,),
        source=MADE,
        inputs=inputs or {},
        attributes=attributes or {},
        outputs=OPERATIONS[operation].outputs[:1],
        dtypes=EVERY_DTYPE if inputs else (),
        rejects=Rejects(reason, f"{PROFILE}/{counterpart}", STRICT if strict else None),
    )


def counterparts() -> tuple[AuthoredCase, ...]:
    """Return the valid cases beside which others are refused."""
    one = "attention_factor.one"
    return (
        frequencies("twin_linear", "valid twin, linear")(("linear", one), **LINEAR),
        frequencies("twin_dynamic", "valid twin, dynamic")(("dynamic.base", one), **DYNAMIC),
        frequencies("twin_llama3", "valid twin, llama3")(("llama3.between", one), **LLAMA3),
        frequencies("twin_longrope", "valid twin, longrope")(
            ("longrope.short", "attention_factor.longrope"), **LONGROPE
        ),
        frequencies("twin_proportional", "valid twin, proportional")(("proportional", one), **PROPORTIONAL),
        frequencies("twin_yarn", "valid twin, yarn")(("yarn.blend", "attention_factor.yarn"), **YARN),
        *(
            frequencies(f"everything_beside_{scaling}", f"every parameter that any scaling uses, under {scaling}")(
                ("parameters", effect, f"attention_factor.{factor}"), scaling=scaling, **EVERYTHING
            )
            for scaling, effect, factor in (
                ("linear", "linear", "one"),
                ("dynamic", "dynamic.base", "one"),
                ("llama3", "llama3.between", "one"),
                ("longrope", "longrope.long", "given"),
                ("yarn", "yarn.blend", "given"),
            )
        ),
        tables("twin", "valid twin")(POSITIONS),
        rotation("twin", "valid twin")((2, 1, 3, 5), 4, pairing="half"),
        rotation("twin_interleaved", "valid twin, neighbours")((2, 1, 3, 5), 4, pairing="interleaved"),
    )


def without(parameters: Mapping[str, Any], *names: str, **changed: Any) -> dict[str, Any]:
    """Return parameters without some of them, and with others changed."""
    return {**{name: value for name, value in parameters.items() if name not in names}, **changed}


def of_frequencies() -> tuple[AuthoredCase, ...]:
    """Hold widths, scalings and parameters that are refused."""
    width, unknown = "rotary_frequencies.rejects.width", "rotary_frequencies.rejects.scaling"
    lists, ranged = "rotary_frequencies.rejects.factor_lists", "rotary_frequencies.rejects.range"
    wrong = (
        row("odd_width", "An odd width is refused")(
            width, "linear", "Seven features do not make pairs.", without(LINEAR, width=7), True
        ),
        row("odd_width_of_yarn", "An odd width is refused under yarn")(
            width, "yarn", "Nine features do not make pairs.", without(YARN, width=9), True
        ),
        row("no_features", "A width of 0 is refused")(
            width, "linear", "There are no features.", without(LINEAR, width=0), True
        ),
        row("unknown_scaling", "An unknown scaling is refused")(
            unknown, "linear", "There is no scaling of that name.", without(LINEAR, scaling="cubic"), False
        ),
        row("misspelt_scaling", "A misspelt scaling is refused")(
            unknown, "llama3", "There is no scaling of that name.", without(LLAMA3, scaling="llama_3"), False
        ),
        row("too_few_factors", "Two factors for three pairs are refused")(
            lists,
            "longrope",
            "There are two short factors for three pairs.",
            without(LONGROPE, short_factors=[1.0, 1.25]),
            False,
        ),
        row("too_many_factors", "Six factors for three pairs are refused")(
            lists,
            "longrope",
            "There are six short factors for three pairs.",
            without(LONGROPE, short_factors=[1.0, 1.0, 1.25, 1.25, 1.5, 1.5]),
            False,
        ),
        row("single_factor", "One factor for three pairs is refused")(
            lists,
            "longrope",
            "There is one short factor for three pairs.",
            without(LONGROPE, short_factors=[1.25]),
            True,
        ),
        row("factor_0", "A factor of 0 is refused")(
            ranged, "linear", "The factor is 0.", without(LINEAR, factor=0.0), True
        ),
        row("theta_0", "A theta of 0 is refused")(ranged, "linear", "Theta is 0.", without(LINEAR, theta=0.0), True),
        row("equal_frequency_factors", "Equal frequency factors are refused")(
            ranged, "llama3", "Both frequency factors are 4.", without(LLAMA3, low_frequency_factor=4.0), True
        ),
        row("theta_1_of_yarn", "A theta of 1 is refused under yarn")(
            ranged, "yarn", "The logarithm of theta is 0.", without(YARN, theta=1.0), True
        ),
        row("proportion_above_1", "A proportion above 1 is refused")(
            ranged, "proportional", "There are no more pairs than all.", without(PROPORTIONAL, proportion=1.5), True
        ),
        row("negative_proportion", "A negative proportion is refused")(
            ranged, "proportional", "There are no fewer pairs than none.", without(PROPORTIONAL, proportion=-0.5), True
        ),
        row("dynamic_width_2", "Dynamic scaling of two features is refused")(
            ranged, "dynamic", "With two features, R - 2 is 0.", without(DYNAMIC, width=2), True
        ),
    )
    missing = (
        ("linear", "factor", LINEAR),
        ("dynamic", "original_length", DYNAMIC),
        ("llama3", "high_frequency_factor", LLAMA3),
        ("longrope", "long_factors", LONGROPE),
        ("yarn", "original_length", YARN),
    )
    return (
        *(
            refused(name, title)(
                clause, f"frequencies_twin_{counterpart}", reason, attributes=attributes, strict=strict
            )
            for name, title, clause, counterpart, reason, attributes, strict in wrong
        ),
        *(
            refused(f"{scaling}_without_{name}", f"The scaling {scaling} without {name} is refused")(
                "rotary_frequencies.rejects.parameters",
                f"frequencies_twin_{scaling}",
                f"{name} is not given.",
                attributes=without(parameters, name),
            )
            for scaling, name, parameters in missing
        ),
        *(
            refused(
                f"{scaling}_without_{name}_beside_everything",
                f"The scaling {scaling} without {name} is refused beside every other parameter",
            )(
                "rotary_frequencies.rejects.parameters",
                f"frequencies_everything_beside_{scaling}",
                f"{name} is not given.",
                attributes=without(EVERYTHING, name, scaling=scaling),
            )
            for scaling, names in NEEDED.items()
            for name in names
        ),
    )


def of_tables() -> tuple[AuthoredCase, ...]:
    """Hold positions and frequencies of wrong ranks."""
    rank = "rotary_tables.rejects.rank"
    positions, frequencies_ = np.array(POSITIONS, dtype=np.int64), np.array([1.0, 0.5, 0.25])
    wrong = (
        row("one_row_of_positions", "Positions without batch entries are refused")(
            "position_ids has one axis.", positions[0], frequencies_
        ),
        row("table_of_frequencies", "Frequencies of two axes are refused")(
            "inverse_frequencies has two axes.", positions, frequencies_[np.newaxis]
        ),
    )
    return tuple(
        refused(name, title)(
            rank, "tables_twin", reason, inputs={"position_ids": ids, "inverse_frequencies": row}, strict=True
        )
        for name, title, reason, ids, row in wrong
    )


def of_rotations() -> tuple[AuthoredCase, ...]:
    """Hold features and tables that do not fit, and pairings that are not known."""
    shape = (2, 1, 3, 5)
    valid = {
        "x": grid("rotary/refused_x", shape),
        "cos": grid("rotary/refused_cos", (2, 3, 2)),
        "sin": grid("rotary/refused_sin", (2, 3, 2)),
    }
    wider = {name: grid(f"rotary/wider_{name}", (2, 3, 3)) for name in ("cos", "sin")}
    longer = {name: grid(f"rotary/longer_{name}", (2, 4, 2)) for name in ("cos", "sin")}
    of_three = {name: grid(f"rotary/of_three_{name}", (3, 3, 2)) for name in ("cos", "sin")}
    pairing = "apply_rotary.rejects.pairing"
    width, tokens, both = (f"apply_rotary.rejects.{name}" for name in ("width", "tokens", "tables"))
    rank = "apply_rotary.rejects.rank"
    wrong = (
        row("three_pairs_of_five_features", "Tables of three pairs for five features are refused")(
            width, "Five features do not make three pairs.", wider, False
        ),
        row("three_pairs_of_four_features", "Tables of three pairs for four features are refused")(
            width, "Four features do not make three pairs.", {**wider, "x": valid["x"][..., :4]}, True
        ),
        row("more_tokens", "Tables of four tokens for three are refused")(
            tokens, "The tables hold four tokens, x has three.", longer, False
        ),
        row("fewer_tokens", "Tables of two tokens for three are refused")(
            tokens,
            "The tables hold two tokens, x has three.",
            {name: valid[name][:, :2] for name in ("cos", "sin")},
            False,
        ),
        *(
            row(name, f"{title} are refused")(
                tokens,
                f"{title} are for other entries and tokens than x.",
                {table: valid[table].reshape(laid_out) for table in ("cos", "sin")},
                False,
            )
            for name, title, laid_out in (
                ("exchanged_tables", "Tables of three entries and two tokens instead of the opposite", (3, 2, 2)),
                ("tables_of_one_entry", "Tables of six tokens in one entry", (1, 6, 2)),
                ("tables_of_one_token", "Tables of one token in six entries", (6, 1, 2)),
            )
        ),
        row("more_entries", "Tables of three batch entries for two are refused")(
            tokens, "The tables hold three batch entries, x has two.", of_three, False
        ),
        row("one_token_for_all", "Tables of one token for three are refused")(
            tokens,
            "The tables hold one token, x has three.",
            {name: valid[name][:, :1] for name in ("cos", "sin")},
            True,
        ),
        row("one_entry_for_all", "Tables of one batch entry for two are refused")(
            tokens,
            "The tables hold one batch entry, x has two.",
            {name: valid[name][:1] for name in ("cos", "sin")},
            True,
        ),
        row("unlike_tables", "Cosines of two pairs and sines of three are refused")(
            both, "cos holds two pairs, sin three.", {"sin": wider["sin"]}, False
        ),
        row("one_row_of_sines", "Sines of one token for three are refused")(
            both, "cos holds three tokens, sin one.", {"sin": valid["sin"][:, :1]}, True
        ),
        row("no_heads", "Features without heads are refused")(rank, "x has three axes.", {"x": valid["x"][:, 0]}, True),
        row("tables_without_batch", "Tables without batch entries are refused")(
            rank, "The tables have two axes.", {name: valid[name][0] for name in ("cos", "sin")}, True
        ),
    )
    return (
        *(
            refused(name, title)(
                clause, "apply_twin", reason, inputs={**valid, **changed}, attributes={"pairing": "half"}, strict=strict
            )
            for name, title, clause, reason, changed, strict in wrong
        ),
        refused("unknown_pairing", "An unknown pairing is refused")(
            pairing, "apply_twin", "There is no pairing of that name.", inputs=valid, attributes={"pairing": "thirds"}
        ),
        refused("misspelt_pairing", "A misspelt pairing is refused")(
            pairing,
            "apply_twin_interleaved",
            "There is no pairing of that name.",
            inputs=valid,
            attributes={"pairing": "interleave"},
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the refused cases and their counterparts."""
    return (*counterparts(), *of_frequencies(), *of_tables(), *of_rotations())
