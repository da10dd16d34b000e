"""Tables: positions in every order, far positions, attention factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE, AuthoredCase, headed, reported
from attnspec_authoring.recipes.generator import require_exact
from attnspec_authoring.recipes.rotary.rotary.frequencies import MADE, PROFILE

if TYPE_CHECKING:
    from collections.abc import Sequence

BFLOAT16 = "EleutherAI/gpt-neox/issues/1003"
POSITIONS = "huggingface/candle/pull/3520"
IGNORED = "epfLLM/Megatron-LLM/issues/23"
FIRST_ENTRY = "morganmcg1/rotobart/pull/1"
THROUGH = "turboderp/exllama/pull/101"
REDUCED = "lablup/mlxcel/pull/1055"
ONE_LATE = "fla-org/flash-linear-attention/issues/766"

HALVES = (1.0, 0.5, 0.25)
"""Frequencies that every dtype holds, and with which no phase of a case needs to be rounded in float32."""


@headed
def tables(
    name: str,
    title: str,
    positions: Sequence[Sequence[int]],
    frequencies: Sequence[float] = HALVES,
    clauses: tuple[str, ...] = (),
    *,
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    report: str | None = None,
    **attributes: Any,
) -> AuthoredCase:
    """Make a case of rotary tables; a clause is named without the operation."""
    case_id = f"{PROFILE}/tables_{name}"
    return AuthoredCase(
        id=case_id,
        title=f"Rotary tables: {title}",
        operation="rotary_tables",
        clauses=tuple(f"rotary_tables.{clause}" for clause in ("cosine", "sine", "shape", *clauses)),
        source=MADE if report is None else reported(report),
        inputs={
            "position_ids": np.array(positions, dtype=np.int64),
            "inverse_frequencies": require_exact(np.array(frequencies), dtypes, named=case_id),
        },
        attributes=attributes,
        outputs=("cos", "sin"),
        dtypes=dtypes,
    )


def powers(base: float, width: int) -> list[float]:
    """Give the frequencies of a model, as float32 holds them."""
    pairs = np.arange(width // 2)
    return np.power(base, -2.0 * pairs / width).astype(np.float32).astype(np.float64).tolist()


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of rotary tables."""
    order, batch, precise, factor = "positions", "batch", "precision.phases", "attention_factor"
    return (
        tables("counted", "the first five positions")([[0, 1, 2, 3, 4]]),
        tables("one_token", "one token at position 0: ones and zeros")([[0]]),
        tables("one_pair", "one pair at six positions")([[0, 1, 2, 3, 4, 5]], (1.0,)),
        tables("still_pairs", "pairs of frequency 0 do not turn")([[0, 3, 4095]], (1.0, 0.5, 0.0, 0.0)),
        tables("decode", "one token far into a text")([[4095]], clauses=(order,), report=ONE_LATE),
        tables("decode_batch", "one token each, at different positions")(
            [[7], [0], [130]], clauses=(order, batch), report=ONE_LATE
        ),
        tables("offset", "positions that start at 17")([[17, 18, 19, 20]], clauses=(order,), report=IGNORED),
        tables("permuted", "positions out of order")(
            [[3, 0, 2, 1], [1, 3, 0, 2]], clauses=(order, batch), report=IGNORED
        ),
        tables("exchanged_in_one_entry", "positions that begin and end like ordinary ones, exchanged in one entry")(
            [[0, 2, 1, 3, 4], [0, 1, 2, 3, 4]], clauses=(order, batch)
        ),
        tables("exchanged_inside", "positions whose ends lie as far apart as if they followed one another")(
            [[0, 2, 1, 3], [5, 7, 6, 8]], clauses=(order, batch)
        ),
        tables("exchanged_inside_one_entry", "the same, of a single entry")(
            [[10, 14, 12, 13, 11, 15]], clauses=(order,)
        ),
        # One after the other, so that who keeps tables without regard to the dtype gives those of the first.
        tables("kept_1_in_float32", "in float32 first")([[3, 40, 1001]], clauses=(precise,), dtypes=("float32",)),
        tables("kept_2_in_float64", "the same numbers in float64")(
            [[3, 40, 1001]], clauses=(precise,), dtypes=("float64",)
        ),
        # Frequencies that no other case has, so that what is kept of them begins with half precision.
        *(
            tables(
                f"kept_{turn}_in_{dtype}", f"frequencies that are asked for in half precision first, here in {dtype}"
            )([[2, 41, 1000]], (0.8125, 0.046875), clauses=(precise,), dtypes=(dtype,))
            for turn, dtype in ((3, "bfloat16"), (4, "float32"), (5, "float64"))
        ),
        *(
            tables(
                f"kept_{turn}_in_{dtype}", f"other frequencies that are asked for in float16 first, here in {dtype}"
            )([[3, 37], [5, 900]], (0.6875, 0.03515625), clauses=(precise, batch), dtypes=(dtype,))
            for turn, dtype in ((6, "float16"), (7, "float32"))
        ),
        *(
            tables(
                f"same_ends_{turn}",
                f"as many frequencies as another case, the same at both ends, and {middle} between them",
            )([[1, 2, 30]], (1.0, middle, 0.0625), clauses=(precise,))
            for turn, middle in ((1, 0.5), (2, 0.25))
        ),
        tables("first_and_last_entry_alike", "four entries, of which the first and the last stand in the same places")(
            [[0, 1, 2], [5, 6, 9], [7, 3, 4], [0, 1, 2]], clauses=(order, batch)
        ),
        tables("same_first_and_last", "entries that begin and end alike")(
            [[4, 5, 6, 9], [4, 7, 8, 9], [4, 4, 4, 9]], clauses=(order, batch)
        ),
        tables("gaps", "positions that rise with gaps between them")([[1, 2, 5, 6, 11, 40], [0, 3, 4, 9, 10, 12]]),
        tables("seventy", "seventy tokens, each third position left out")([[3 * n // 2 for n in range(70)]], (1.0,)),
        tables("repeated", "positions that occur twice")([[5, 5, 0, 5, 0]], clauses=(order,)),
        tables("restarting", "two texts packed into one row")(
            [[0, 1, 2, 0, 1, 2, 3]], clauses=(order,), report=IGNORED
        ),
        tables("left_padding", "batch entries padded on the left")(
            [[0, 1, 2], [0, 0, 1]], clauses=(order, batch), report=FIRST_ENTRY
        ),
        tables("same_for_all", "batch entries with the same positions")(
            [[0, 1, 2], [0, 1, 2]], clauses=(batch,), report=THROUGH
        ),
        tables("batch", "batch entries with different positions")(
            [[0, 1], [10, 11], [200, 100]], clauses=(order, batch), report=FIRST_ENTRY
        ),
        tables("bfloat16_integers", "positions that bfloat16 does not hold")(
            [[255, 256, 257, 259, 511]], clauses=(precise,), report=POSITIONS
        ),
        tables("float16_integers", "positions that float16 does not hold")(
            [[2047, 2049, 2051, 4095]], clauses=(precise,), report=BFLOAT16
        ),
        tables("far", "positions 0, 1, 4095 and 131071")(
            [[0, 1, 4095, 131071]], clauses=(precise, order), report=POSITIONS
        ),
        tables("far_other_order", "far positions first")(
            [[131071, 70000, 40000, 0]], clauses=(precise, order), report=REDUCED
        ),
        tables("far_slow_pairs", "far positions of slow pairs")(
            [[4095, 65537, 131071]], (0.015625, 0.001953125, 0.000244140625), clauses=(precise,), report=BFLOAT16
        ),
        tables("model_32", "the pairs of a model with 32 features")(
            [[131071]], powers(10000.0, 32), (precise,), dtypes=SINGLE_AND_DOUBLE, report=REDUCED
        ),
        tables("model_6", "the pairs of a model with 6 features")(
            [[3, 2048], [77, 8191]], powers(500000.0, 6), (order, batch), dtypes=SINGLE_AND_DOUBLE
        ),
        tables("attention_factor", "an attention factor of 1.25")(
            [[0, 1, 2, 30]], clauses=(factor,), attention_factor=1.25
        ),
        tables("attention_factor_of_still_pairs", "pairs of frequency 0 do not turn, and are stretched all the same")(
            [[0, 3, 4095]], (1.0, 0.5, 0.0, 0.0), clauses=(factor,), attention_factor=1.5
        ),
        tables("attention_factor_of_a_still_pair", "a pair of frequency 0 between others is made smaller as they are")(
            [[2, 9], [1, 100]], (0.5, 0.0, 0.25), clauses=(factor, batch), attention_factor=0.75
        ),
        tables("attention_factor_below_one", "an attention factor of 0.75")(
            [[6, 9], [4, 100]], clauses=(factor, batch), attention_factor=0.75
        ),
        *(
            tables(f"attention_factor_{name}", f"an attention factor of {value:g}, stated")(
                [[0, 5, 6], [2, 1, 9]], clauses=(factor, batch), attention_factor=value
            )
            for name, value in (("zero", 0.0), ("below_zero", -0.5))
        ),
        tables("attention_factor_one", "an attention factor of one, stated")(
            [[0, 5, 6]], clauses=(factor,), attention_factor=1.0
        ),
        tables("attention_factor_of_a_model", "an attention factor beside pairs of a model")(
            [[1, 2, 4095]], powers(10000.0, 8), (factor,), dtypes=SINGLE_AND_DOUBLE, attention_factor=1.140625
        ),
    )
