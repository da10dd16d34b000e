"""Rotations of features in both pairings, and NaN and infinity in features, tables and frequencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE, AuthoredCase, headed, reported
from attnspec_authoring.recipes.generator import grid, require_exact
from attnspec_authoring.recipes.rotary.rotary.frequencies import MADE, PROFILE

if TYPE_CHECKING:
    from numpy.typing import NDArray

WRONG_PAIRS = "NeuraLegion/shainet/pull/111"
NEOX_FLAG = "NVIDIA/TensorRT-LLM/pull/16378"
NOT_PUT_BACK = "vllm-project/vllm-metal/pull/44"
ACROSS = "pie-project/pie/issues/602"
WHOLE_HEAD = "AI-Hypercomputer/maxtext/issues/4616"
SEQUENCE_AXIS = "ml-explore/mlx-lm/issues/1545"
OVERWRITTEN = "flagos-ai/FlagGems/issues/5142"
REPEATED = "facebookresearch/vjepa2/pull/15"

Shape = tuple[int, int, int, int]


@headed
def rotation(
    name: str,
    title: str,
    shape: Shape,
    width: int,
    clauses: tuple[str, ...] = (),
    *,
    pairing: str | None = None,
    x: NDArray[np.float64] | None = None,
    cos: NDArray[np.float64] | None = None,
    sin: NDArray[np.float64] | None = None,
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    memory_order: dict[str, str] | None = None,
    report: str | None = None,
) -> AuthoredCase:
    """Make a case of a rotation of the first `width` features of a shape; what is not given is drawn.

    Cosines and sines are any numbers: a rotation is linear in them, and an attention factor stretches them anyway.
    """
    case_id = f"{PROFILE}/apply_{name}"
    table = (shape[0], shape[2], width // 2)
    inputs = {
        "x": grid(f"{case_id}/x", shape) if x is None else x,
        "cos": grid(f"{case_id}/cos", table) / 2.0 if cos is None else cos,
        "sin": grid(f"{case_id}/sin", table) / 2.0 if sin is None else sin,
    }
    paired = "default" if pairing is None else pairing
    also = ("untouched",) if width < shape[3] else ()
    return AuthoredCase(
        id=case_id,
        title=f"Apply rotary: {title}",
        operation="apply_rotary",
        clauses=tuple(
            f"apply_rotary.{clause}" for clause in (f"pairing.{paired}", "rotation", "tokens", "shape", *also, *clauses)
        ),
        source=MADE if report is None else reported(report),
        inputs={key: require_exact(array, dtypes, named=case_id) for key, array in inputs.items()},
        attributes={} if pairing is None else {"pairing": pairing},
        dtypes=dtypes,
        memory_order=memory_order or {},
    )


def model_tables(positions: list[list[int]], width: int) -> dict[str, NDArray[np.float64]]:
    """Give cosines and sines of a model's angles, rounded to few bits, so that every dtype holds them."""
    frequencies = np.power(10000.0, -2.0 * np.arange(width // 2) / width)
    phases = np.array(positions)[:, :, np.newaxis] * frequencies
    # Sixteenths of 1/256 are exact in every dtype, and no library's cosine is near a boundary between two of them.
    return {"cos": np.round(np.cos(phases) * 128.0) / 128.0, "sin": np.round(np.sin(phases) * 128.0) / 128.0}


@headed
def both(name: str, title: str, shape: Shape, width: int, **more: Any) -> tuple[AuthoredCase, AuthoredCase]:
    """Make a case of either pairing."""
    return (
        rotation(f"{name}_half", f"{title}, halves")(shape, width, pairing="half", **more),
        rotation(f"{name}_interleaved", f"{title}, neighbours")(shape, width, pairing="interleaved", **more),
    )


def shapes() -> tuple[AuthoredCase, ...]:
    """Hold whole and partial widths, single pairs and tokens, and unlike numbers of everything."""
    return (
        rotation("default", "no pairing stated")((1, 2, 2, 6), 6, report=WRONG_PAIRS),
        rotation("default_partial", "no pairing stated, four of six features")((2, 1, 2, 6), 4, report=WHOLE_HEAD),
        *both("whole", "all features")((1, 2, 2, 8), 8, report=NEOX_FLAG),
        *both("partial", "four of eight features")((2, 1, 2, 8), 4, report=ACROSS),
        *both("partial_odd", "four of seven features")((1, 3, 2, 7), 4),
        *both("two_of_nine", "two of nine features: seven behind them, which no tile divides")((1, 2, 2, 9), 2),
        *both("two_of_six", "two of six features")((1, 3, 2, 6), 2, report=ACROSS),
        *both("batch", "two batch entries, three heads, four tokens")((2, 3, 4, 2), 2, report=SEQUENCE_AXIS),
        *both("many_heads", "five heads, two tokens")((1, 5, 2, 4), 4),
        *both("as_many_heads_as_tokens", "two heads, two tokens")((2, 2, 2, 4), 4, report=SEQUENCE_AXIS),
        *both("one_token", "one token")((2, 2, 1, 4), 4, report=NOT_PUT_BACK),
        *both("one_pair", "one pair")((1, 2, 3, 2), 2),
        *both("three_pairs", "three pairs")((1, 1, 3, 6), 6, report=REPEATED),
        *both("tokens_70", "seventy tokens")((2, 1, 70, 2), 2),
        *both("tokens_131", "a hundred and thirty-one tokens")((1, 1, 131, 3), 2),
        *both("width_40_partial", "twenty-four of forty features, six heads")((1, 6, 2, 40), 24),
        rotation("width_64", "sixty-four features")((1, 1, 1, 64), 64, pairing="half"),
        rotation("width_80_partial", "thirty-two of eighty features")(
            (1, 1, 1, 80), 32, pairing="half", report=WHOLE_HEAD
        ),
        *both("no_tokens", "no token at all")((2, 2, 0, 4), 4),
    )


def numbers() -> tuple[AuthoredCase, ...]:
    """Hold right angles, no angle, angles of a model, large numbers, cancellation, and features of many bits."""
    right = {"cos": np.zeros((1, 2, 2)), "sin": np.ones((1, 2, 2))}
    still = {"cos": np.ones((2, 1, 3)), "sin": np.zeros((2, 1, 3))}
    opposed = np.array([[[[1.015625, 3.0, 1.0, 2.953125]], [[-2.0, 0.5, -2.03125, 0.53125]]]])
    equal = {"cos": np.full((1, 1, 2), 0.703125), "sin": np.full((1, 1, 2), 0.703125)}
    ends = {name: grid(f"rotary/ends_alike_{name}", (3, 4, 2)) / 2.0 for name in ("cos", "sin")}
    for table in ends.values():
        # Who looks at the first token, or at the last, takes the entries for entries of the same positions.
        table[:, 0], table[:, -1] = table[0, 0], table[0, -1]
    first_and_last = {name: grid(f"rotary/first_and_last_{name}", (4, 3, 2)) / 2.0 for name in ("cos", "sin")}
    for table in first_and_last.values():
        table[-1] = table[0]
    one_table = {name: grid(f"rotary/one_table_{name}", (3, 2, 2)) / 2.0 for name in ("cos", "sin")}
    half_still = {"cos": one_table["cos"], "sin": np.zeros((3, 2, 2))}
    half_right = {"cos": np.zeros((3, 2, 2)), "sin": one_table["sin"]}
    same_cosines = {"cos": np.broadcast_to(one_table["cos"][:1], (3, 2, 2)).copy(), "sin": one_table["sin"]}
    same_sines = {"cos": one_table["cos"], "sin": np.broadcast_to(one_table["sin"][:1], (3, 2, 2)).copy()}
    # The first feature of a pair times 1.25 exceeds 65504, and half of the second makes up for it.
    signs = np.array([[[1.0, -1.0], [-1.0, 1.0]]])
    digits = grid("rotary/digits", (1, 1, 2, 8)) + grid("rotary/more_digits", (1, 1, 2, 8)) / 8192.0
    return (
        *both("right_angle", "every pair by a right angle")((1, 2, 2, 4), 4, **right, report=OVERWRITTEN),
        *both("still", "no pair turns at position 0")((2, 2, 1, 6), 6, **still),
        *both("model", "angles of a model")((2, 1, 2, 8), 8, **model_tables([[1, 2], [4095, 131071]], 8)),
        *both("ends_alike", "entries whose first and last tokens are turned alike")((3, 2, 4, 4), 4, **ends),
        *both("first_and_last_entry_alike", "four entries, of which the first and the last are turned alike")(
            (4, 1, 3, 4), 4, **first_and_last
        ),
        *both("sines_of_zero", "sines of zero, beside cosines other than one")((3, 2, 2, 5), 4, **half_still),
        *both("cosines_of_zero", "cosines of zero, beside sines other than one")((3, 2, 2, 5), 4, **half_right),
        *both("same_cosines", "entries of the same cosines and other sines")((3, 2, 2, 4), 4, **same_cosines),
        *both("same_sines", "entries of the same sines and other cosines")((3, 2, 2, 4), 4, **same_sines),
        *both("cancelling", "products that nearly cancel")((1, 2, 1, 4), 4, x=opposed, **equal),
        *both("large", "features around a million")(
            (1, 2, 2, 6), 4, x=grid("rotary/large", (1, 2, 2, 6)) * 2.0**20, dtypes=SINGLE_AND_DOUBLE
        ),
        *(
            rotation(
                f"products_beyond_float16_{pairing}",
                f"products that exceed float16, of features that do not, {pairing}",
            )(
                (1, 1, 2, 4),
                4,
                pairing=pairing,
                x=np.array([[[pair, [-number for number in pair]]]]),
                cos=1.25 * signs,
                sin=0.5 * signs,
            )
            for pairing, pair in (
                ("half", [54272.0, -55296.0, 20992.0, -20992.0]),
                ("interleaved", [54272.0, 20992.0, -55296.0, -20992.0]),
            )
        ),
        *both("digits", "features of many digits")((1, 1, 2, 8), 4, x=digits, dtypes=SINGLE_AND_DOUBLE),
        rotation("heads_last", "heads that lie behind the tokens in memory")(
            (2, 3, 2, 4), 4, pairing="half", memory_order={"x": "heads_last"}
        ),
        rotation("heads_last_gapped", "heads that lie side by side for each token, with gaps between tokens")(
            (2, 3, 2, 4), 4, pairing="half", memory_order={"x": "heads_last_gapped"}
        ),
    )


NONFINITE: dict[str, Any] = {"clauses": ("nonfinite",)}
Spot = tuple[tuple[int, ...], float]


def holding(name: str, *placed: Spot, shape: tuple[int, ...] = (1, 1, 2, 7)) -> NDArray[np.float64]:
    """Draw features, or a table, and put numbers at indices of them."""
    numbers = grid(f"rotary/{name}", shape)
    for index, number in placed:
        numbers[index] = number
    return numbers


def beyond() -> tuple[AuthoredCase, ...]:
    """Hold NaN and infinity in features that are not rotated, of an even number.

    A rotation of all features that gives those from R on an angle of zero spreads them: infinity times zero is NaN.
    """
    wide, narrow = (1, 2, 2, 8), (2, 1, 2, 4)
    return tuple(
        case
        for name, what, number in (
            ("nan", "NaN", np.nan),
            ("infinity", "infinity", np.inf),
            ("minus_infinity", "minus infinity", -np.inf),
        )
        for case in (
            *both(
                f"{name}_beyond", f"{what} in the fifth and in the last of eight features, of which four are rotated"
            )(
                wide,
                4,
                x=holding(f"{name}_beyond", ((0, 0, 0, 4), number), ((0, 1, 1, 7), number), shape=wide),
                **NONFINITE,
            ),
            *both(f"{name}_behind_one_pair", f"{what} in both features behind a single pair")(
                narrow,
                2,
                x=holding(f"{name}_behind", ((0, 0, 0, 2), number), ((1, 0, 1, 3), number), shape=narrow),
                **NONFINITE,
            ),
        )
    )


def in_tables() -> tuple[AuthoredCase, ...]:
    """Hold NaN in the tables of one token, as padding may: other tokens and features stay clean."""
    shape, table = (2, 2, 3, 6), (2, 3, 2)
    return tuple(
        case
        for name, spots in {
            "cosine": {"cos": holding("nan_cos", ((0, 1, 1), np.nan), shape=table)},
            "sine": {"sin": holding("nan_sin", ((1, 2, 0), np.nan), shape=table)},
        }.items()
        for case in both(f"nan_{name}", f"NaN in the {name} of one pair of one token")(shape, 4, **spots, **NONFINITE)
    )


def at_rest() -> tuple[AuthoredCase, ...]:
    """Hold infinities in a token that is turned by no angle: infinity times a sine of 0 is NaN all the same."""
    shape, table = (1, 2, 3, 6), (1, 3, 2)
    stands = (np.arange(3) == 0)[np.newaxis, :, np.newaxis]
    cosines = np.where(stands, 1.0, grid("rotary/at_rest_cos", table) / 2.0)
    sines = np.where(stands, 0.0, grid("rotary/at_rest_sin", table) / 2.0)
    return tuple(
        case
        for word, number in (("infinity", np.inf), ("minus_infinity", -np.inf), ("nan", np.nan))
        for case in both(
            f"{word}_at_rest", f"{word.replace('_', ' ')} in a feature of the first token, which is turned by no angle"
        )(
            shape,
            4,
            x=holding(f"{word}_at_rest", ((0, 1, 0, 1), number), ((0, 0, 0, 2), number), shape=shape),
            cos=cosines,
            sin=sines,
            **NONFINITE,
        )
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *shapes(),
        *numbers(),
        *both("nan", "NaN in a first feature")((1, 1, 2, 7), 6, x=holding("nan", ((0, 0, 0, 0), np.nan)), **NONFINITE),
        *both("nan_second", "NaN in a last feature")(
            (1, 1, 2, 7), 6, x=holding("nan_2", ((0, 0, 1, 5), np.nan)), **NONFINITE
        ),
        *both("infinity", "infinity in a feature")(
            (1, 1, 2, 7), 6, x=holding("infinity", ((0, 0, 1, 2), np.inf)), **NONFINITE
        ),
        *both("infinities", "infinities of both signs")(
            (1, 1, 2, 7),
            4,
            x=holding("infinities", ((0, 0, 0, 0), -np.inf), ((0, 0, 1, 1), np.inf), ((0, 0, 1, 2), -np.inf)),
            **NONFINITE,
        ),
        *both("nan_untouched", "NaN in a feature that is not rotated")(
            (1, 1, 2, 7), 4, x=holding("nan_6", ((0, 0, 1, 6), np.nan), ((0, 0, 0, 4), np.inf)), **NONFINITE
        ),
        *beyond(),
        *in_tables(),
        *at_rest(),
    )
