"""What goes wrong in rotary tables: positions, the precision of phases, the attention factor, the two functions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import altered, departure, ignoring
from attnspec_mistakes.mistake import Mistake
from attnspec_mistakes.through_float16 import through_float16, widened_through_float16
from attnspec_reference.precision import result_dtype
from attnspec_reference.rotary.rotary_tables import RotaryTables, multiply, phases_of, rotary_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array, Integers

OPERATION = "rotary_tables"


def at(places: Callable[[Integers], Integers]) -> Computation:
    """Make tables at other positions."""

    def placed(positions: Any) -> Integers:
        return places(np.asarray(positions))

    return altered(rotary_tables, position_ids=placed)


def counted(positions: Integers) -> Integers:
    """Count the tokens of each batch entry from 0."""
    return np.broadcast_to(np.arange(positions.shape[1], dtype=np.int64), positions.shape)


def counted_between(positions: Integers) -> Integers:
    """Count on from the first position, where the last one allows it."""
    tokens = positions.shape[1]
    if not tokens or not (positions[:, -1] - positions[:, 0] == tokens - 1).all():
        return positions
    return positions[:, :1] + np.arange(tokens, dtype=np.int64)


def counted_through(positions: Integers) -> Integers:
    """Go on counting from one batch entry to the next."""
    entries, tokens = positions.shape
    return positions + tokens * np.arange(entries, dtype=np.int64)[:, np.newaxis]


def of_first_entry(positions: Integers) -> Integers:
    """Take the positions of the first batch entry for all."""
    return np.broadcast_to(positions[:1], positions.shape)


def from_the_first(positions: Integers) -> Integers:
    """Count from the first token of each batch entry."""
    return positions - positions[:, :1]


def from_the_first_on(positions: Integers) -> Integers:
    """Take the position of the first token, and count on from it."""
    return positions[:, :1] + np.arange(positions.shape[1], dtype=np.int64)


def one_late(positions: Integers) -> Integers:
    """Count from 1."""
    return positions + 1


def in_16_bits(positions: Integers) -> Integers:
    """Keep the last 16 bits, with a sign."""
    return positions.astype(np.int16).astype(np.int64)


def in_half_precision(rounded: Callable[[Integers, Array, np.dtype[Any]], Array]) -> Computation:
    """Compute the phases in the dtype of the inputs, where it is half precision."""

    def computation(position_ids: Any, inverse_frequencies: Any, *, attention_factor: float = 1.0) -> RotaryTables:
        dtype = result_dtype(inverse_frequencies)

        def phases(positions: Integers, frequencies: Array) -> Array:
            if dtype.itemsize > 2:
                return phases_of(positions, frequencies)
            return rounded(positions, frequencies, dtype).astype(frequencies.dtype)

        departed = departure(rotary_tables, phases_of=phases)
        return departed(position_ids, inverse_frequencies, attention_factor=attention_factor)

    return computation


def rounded_positions(positions: Integers, frequencies: Array, dtype: np.dtype[Any]) -> Array:
    """Round the positions, and multiply them in float32."""
    return positions[:, :, np.newaxis].astype(dtype).astype(frequencies.dtype) * frequencies


def rounded_phases(positions: Integers, frequencies: Array, dtype: np.dtype[Any]) -> Array:
    """Multiply in float32, and round the phases."""
    return phases_of(positions, frequencies).astype(dtype)


def reduced_roughly(positions: Integers, frequencies: Array) -> Array:
    """Take full turns away, with a turn of few digits."""
    return np.mod(phases_of(positions, frequencies), np.asarray(6.2832, dtype=frequencies.dtype))


def sine_and_cosine(phases: Array) -> tuple[Array, Array]:
    """Return the two in the other order."""
    return np.sin(phases), np.cos(phases)


def cosine_and_minus_sine(phases: Array) -> tuple[Array, Array]:
    """Turn the other way."""
    return np.cos(phases), -np.sin(phases)


def sine_from_cosine(phases: Array) -> tuple[Array, Array]:
    """Take the sine from the cosine, which does not know its sign."""
    cos = np.cos(phases)
    return cos, np.sqrt(np.maximum(1.0 - cos * cos, 0.0))


def squared(attention_factor: float) -> float:
    """Multiply the attention factor by itself."""
    return attention_factor * attention_factor


def on_the_cosine_only(**arguments: Any) -> RotaryTables:
    """Multiply one table of the two."""
    given = rotary_tables(**arguments)
    return RotaryTables(given.cos, rotary_tables(**{**arguments, "attention_factor": 1.0}).sin)


def but_for_still_pairs(position_ids: Any, inverse_frequencies: Any, **attention_factor: float) -> RotaryTables:
    """Give pairs that do not turn ones and zeros."""
    cos, sin = rotary_tables(position_ids, inverse_frequencies, **attention_factor)
    still = np.asarray(inverse_frequencies) == 0
    return RotaryTables(np.where(still, np.ones_like(cos), cos), np.where(still, np.zeros_like(sin), sin))


def in_the_phase(position_ids: Any, inverse_frequencies: Any, *, attention_factor: float = 1.0) -> RotaryTables:
    """Multiply the phases by the attention factor."""

    def phases(positions: Integers, frequencies: Array) -> Array:
        return multiply(phases_of(positions, frequencies), attention_factor)

    return departure(rotary_tables, phases_of=phases)(position_ids, inverse_frequencies)


def of_every_feature(**arguments: Any) -> RotaryTables:
    """Write every number twice."""
    given = rotary_tables(**arguments)
    return RotaryTables(*(np.concatenate([table, table], axis=-1) for table in given))


def tokens_before_batch(**arguments: Any) -> RotaryTables:
    """Exchange the first two axes."""
    given = rotary_tables(**arguments)
    return RotaryTables(*(np.swapaxes(table, 0, 1) for table in given))


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="rotary_tables.positions_ignored",
        clause="rotary_tables.positions",
        sentence="The tokens were counted from 0, whatever position_ids says.",
        engineer="arange(seq_len) stands in for position_ids.",
        remedy="Take the positions from position_ids.",
        function=at(counted),
        source="https://github.com/epfLLM/Megatron-LLM/issues/23",
    ),
    mistake(
        id="rotary_tables.positions_from_first",
        clause="rotary_tables.positions",
        sentence="The positions were counted from the first token of each batch entry.",
        engineer="The offset of the cached tokens is subtracted, so every call restarts at 0.",
        remedy="Take the positions as they are; the first need not be 0.",
        function=at(from_the_first),
        source="https://github.com/RobertCsordas/moeut/pull/6",
    ),
    mistake(
        id="rotary_tables.positions_counted_on",
        clause="rotary_tables.positions",
        sentence="Only the first position was read, and counted on from there.",
        engineer="position_ids[:, 0] is taken as an offset of arange(seq_len).",
        remedy="Take every position from position_ids: they may be in any order.",
        function=at(from_the_first_on),
    ),
    mistake(
        id="rotary_tables.positions_one_late",
        clause="rotary_tables.positions",
        sentence="Every token was taken for its successor: the positions are one too large.",
        engineer="The count of seen tokens is advanced before the positions are made from it.",
        remedy="Let the first token stand at position 0.",
        function=at(one_late),
        source="https://github.com/fla-org/flash-linear-attention/issues/766",
    ),
    mistake(
        id="rotary_tables.positions_in_int16",
        clause="rotary_tables.positions",
        sentence="Positions beyond 32767 were cut to 16 bits.",
        engineer="Positions are stored as int16.",
        remedy="Hold positions in 32 bits or more.",
        function=at(in_16_bits),
    ),
    mistake(
        id="rotary_tables.positions_of_first_entry",
        clause="rotary_tables.batch",
        sentence="All batch entries got the positions of the first one.",
        engineer="position_ids[0] is used for the whole batch.",
        remedy="Make a table for each batch entry from its own positions.",
        function=at(of_first_entry),
        source="https://github.com/morganmcg1/rotobart/pull/1",
    ),
    mistake(
        id="rotary_tables.positions_counted_through",
        clause="rotary_tables.batch",
        sentence="The positions went on from one batch entry to the next.",
        engineer="The row index over batch and tokens is used as the position, without a modulus.",
        remedy="Take the positions of each batch entry as they are.",
        function=at(counted_through),
        source="https://github.com/turboderp/exllama/pull/101",
    ),
    mistake(
        id="rotary_tables.positions_in_half_precision",
        clause="rotary_tables.precision.phases",
        sentence="Positions were rounded to half precision, which does not hold all integers.",
        engineer="The position vector inherits the dtype of inv_freq.",
        remedy="Hold positions and phases in float32, and round the tables alone.",
        function=in_half_precision(rounded_positions),
        source="https://github.com/huggingface/candle/pull/3520",
        shows_in=("float16", "bfloat16"),
    ),
    mistake(
        id="rotary_tables.phases_in_half_precision",
        clause="rotary_tables.precision.phases",
        sentence="The phases were rounded to half precision before cosine and sine.",
        engineer="The outer product of positions and frequencies is taken in the model dtype.",
        remedy="Hold positions and phases in float32, and round the tables alone.",
        function=in_half_precision(rounded_phases),
        source="https://github.com/EleutherAI/gpt-neox/issues/1003",
        shows_in=("float16", "bfloat16"),
    ),
    mistake(
        id="rotary_tables.phases_reduced_roughly",
        clause="rotary_tables.cosine",
        sentence="Full turns were taken away with too few digits of 2 pi.",
        engineer="A fast sine and cosine without a proper range reduction is called on large phases.",
        remedy="Take cosine and sine from a library that reduces large arguments.",
        function=departure(rotary_tables, phases_of=reduced_roughly),
        source="https://github.com/lablup/mlxcel/pull/1055",
    ),
    mistake(
        id="rotary_tables.exchanged",
        clause="rotary_tables.cosine",
        sentence="Cosine and sine were exchanged.",
        engineer="The two caches are returned in the other order.",
        remedy="Return cosines as cos and sines as sin.",
        function=departure(rotary_tables, cosine_and_sine=sine_and_cosine),
    ),
    mistake(
        id="rotary_tables.sine_negated",
        clause="rotary_tables.sine",
        sentence="The sines have the wrong sign.",
        engineer="The complex exponential is conjugated.",
        remedy="Take the sine of position times frequency, and leave its sign.",
        function=departure(rotary_tables, cosine_and_sine=cosine_and_minus_sine),
    ),
    mistake(
        id="rotary_tables.sine_unsigned",
        clause="rotary_tables.sine",
        sentence="The sines were computed from the cosines and lost their sign.",
        engineer="sin = sqrt(1 - cos * cos).",
        remedy="Take the sine of the phase.",
        function=departure(rotary_tables, cosine_and_sine=sine_from_cosine),
    ),
    mistake(
        id="rotary_tables.attention_factor_ignored",
        clause="rotary_tables.attention_factor",
        sentence="The attention factor had no effect.",
        engineer="attention_scaling is computed and never multiplied into the cache.",
        remedy="Multiply both tables by the attention factor.",
        function=ignoring(rotary_tables, "attention_factor"),
    ),
    mistake(
        id="rotary_tables.attention_factor_once_for_both",
        clause="rotary_tables.attention_factor",
        sentence="Only the cosines were multiplied by the attention factor.",
        engineer="mscale is applied to the cos cache and forgotten on the sin cache.",
        remedy="Multiply both tables by the attention factor.",
        function=on_the_cosine_only,
    ),
    mistake(
        id="rotary_tables.attention_factor_squared",
        clause="rotary_tables.attention_factor",
        sentence="Both tables were multiplied by the attention factor twice.",
        engineer="mscale is in the cache already and is applied again.",
        remedy="Multiply each table by the attention factor once.",
        function=altered(rotary_tables, attention_factor=squared),
    ),
    mistake(
        id="rotary_tables.still_pairs_not_stretched",
        clause="rotary_tables.attention_factor",
        sentence="Pairs of frequency 0 got a cosine of 1, without the attention factor.",
        engineer="The cache is filled with 1 and 0 where inv_freq is 0, after mscale has been applied.",
        remedy="Multiply the tables of every pair by the attention factor.",
        function=but_for_still_pairs,
    ),
    mistake(
        id="rotary_tables.attention_factor_in_phase",
        clause="rotary_tables.attention_factor",
        sentence="The phases were multiplied by the attention factor instead of the tables.",
        engineer="The factor is applied to freqs before cos and sin.",
        remedy="Multiply cosines and sines by it, not the angles.",
        function=in_the_phase,
    ),
    mistake(
        id="rotary_tables.of_every_feature",
        clause="rotary_tables.shape",
        sentence="The tables hold a number for each feature instead of one for each pair.",
        engineer="The frequencies are concatenated with themselves: the tables are R wide.",
        remedy="Return R/2 numbers for each token.",
        function=of_every_feature,
    ),
    mistake(
        id="rotary_tables.tokens_before_batch",
        clause="rotary_tables.shape",
        sentence="The tokens stand before the batch entries in the tables.",
        engineer="The cache is laid out (seq, batch, dim).",
        remedy="Return (batch, tokens, pairs).",
        function=tokens_before_batch,
    ),
    mistake(
        id="rotary_tables.counted_between_the_ends",
        clause="rotary_tables.positions",
        sentence="Positions whose first and last lie as far apart as if they followed one another were counted.",
        engineer="Contiguity is tested by the ends alone: last - first == tokens - 1.",
        remedy="Look at every position.",
        function=at(counted_between),
    ),
    widened_through_float16(
        "rotary_tables", OPERATION, "rotary_tables.precision.phases", departure(rotary_tables, widen=through_float16)
    ),
)
"""What goes wrong in rotary tables."""
