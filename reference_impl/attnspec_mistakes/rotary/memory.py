"""What goes wrong around the numbers of rotary positions: inputs edited, calls remembered, memory misread."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from attnspec_mistakes.departures import altered, named_output
from attnspec_mistakes.memory import as_it_lies_in_memory, overwriting, remembering, without_gaps
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.rotary.apply_rotary import apply_rotary
from attnspec_reference.rotary.rotary_frequencies import RotaryFrequencies, rotary_frequencies
from attnspec_reference.rotary.rotary_tables import rotary_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_reference.precision import Array


def factors_inverted(**arguments: Any) -> RotaryFrequencies:
    """Put the reciprocal of each factor into the caller's lists."""
    frequencies = rotary_frequencies(**arguments)
    for name in ("short_factors", "long_factors"):
        factors = arguments.get(name)
        if factors is not None:
            factors[:] = [1.0 / factor for factor in factors]
    return frequencies


def next_positions(arguments: Mapping[str, Any], _outputs: Mapping[str, Array]) -> Array:
    """Count every token on by one."""
    return arguments["position_ids"] + 1


def rotated(_arguments: Mapping[str, Any], outputs: Mapping[str, Array]) -> Array:
    """Take the rotated features."""
    return outputs["output"]


of_frequencies = partial(Mistake, operation="rotary_frequencies")
of_tables = partial(Mistake, operation="rotary_tables")
of_applying = partial(Mistake, operation="apply_rotary")

MISTAKES: tuple[Mistake, ...] = (
    of_frequencies(
        id="rotary_frequencies.factors_inverted_in_place",
        clause="rotary_frequencies.inputs_unchanged",
        sentence="The factors were turned into reciprocals within the caller's lists.",
        engineer="Divisions become multiplications, and the lists of the configuration are inverted in place.",
        remedy="Invert copies of the lists.",
        function=factors_inverted,
    ),
    of_frequencies(
        id="rotary_frequencies.length_remembered",
        clause="rotary_frequencies.repeatable",
        sentence="The frequencies of an earlier text were used again, whatever the length of this one.",
        engineer="Frequencies are cached by the configuration; the length of the sequence is not part of the key.",
        remedy="Compute the frequencies anew when the text has another length.",
        **remembering(rotary_frequencies, "sequence_length", "width", "theta", "scaling", "factor", "original_length"),
    ),
    of_tables(
        id="rotary_tables.positions_advanced_in_place",
        clause="rotary_tables.inputs_unchanged",
        sentence="The caller's positions were counted on by one, ready for the next token.",
        engineer="position_ids += 1 works in place on the input buffer.",
        remedy="Leave the positions to the caller, or count on in a copy.",
        function=overwriting(rotary_tables, "position_ids", next_positions),
    ),
    of_tables(
        id="rotary_tables.gaps_ignored",
        clause="rotary_tables.memory_layout",
        sentence="Positions and frequencies were taken to lie side by side, and what lies between them was read.",
        engineer="The innermost stride is assumed to be 1.",
        remedy="Use the innermost stride, or make a contiguous copy first.",
        function=altered(rotary_tables, position_ids=without_gaps, inverse_frequencies=without_gaps),
    ),
    of_tables(
        id="rotary_tables.positions_remembered",
        clause="rotary_tables.repeatable",
        sentence="The positions of an earlier call with the same shapes were used again.",
        engineer="cos_cached and sin_cached are kept by the number of tokens.",
        remedy="Make the tables anew when the positions are others.",
        **remembering(rotary_tables, "position_ids", "inverse_frequencies"),
    ),
    of_applying(
        id="apply_rotary.written_in_place",
        clause="apply_rotary.inputs_unchanged",
        sentence="The rotated features were written over the caller's.",
        engineer="The kernel rotates in place on the input buffer.",
        remedy="Write the rotated features into a new array.",
        function=overwriting(named_output(apply_rotary), "x", rotated),
    ),
    of_applying(
        id="apply_rotary.strides_ignored",
        clause="apply_rotary.memory_layout",
        sentence="The features were read in the order in which they lie in memory.",
        engineer="The kernel assumes that the operand is contiguous, where it is a transposed view of (B, S, H, E).",
        remedy="Use the strides, or make a contiguous copy first.",
        function=altered(named_output(apply_rotary), x=as_it_lies_in_memory),
    ),
    of_applying(
        id="apply_rotary.cosines_remembered",
        clause="apply_rotary.repeatable",
        sentence="The cosines of an earlier call with the same shapes were used again.",
        engineer="The tables are copied to a buffer that is cached by shape and not written again.",
        remedy="Keep nothing between calls.",
        **remembering(named_output(apply_rotary), "cos", "x"),
    ),
)
"""What goes wrong around rotary positions."""
