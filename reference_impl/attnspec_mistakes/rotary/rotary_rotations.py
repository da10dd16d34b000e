"""What goes wrong in the rotation, in its tables, in memory, and in arguments that are to be refused."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.misread_memory import as_it_lies_in_memory, overwriting, remembering, without_gaps
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import (
    Computation,
    altered,
    cut_to_bfloat16,
    ignoring,
    ignoring_where,
    named_output,
    patch,
    replacing,
    through_float16,
)
from attnspec_reference.precision import Array, Integers, quietly, result_dtype, round_to, widen
from attnspec_reference.rotary.apply_rotary import apply_rotary, pairs_of, put_back, rotate
from attnspec_reference.rotary.frequency_scalings import NEEDED, stretch_base
from attnspec_reference.rotary.rotary_frequencies import RotaryFrequencies, rotary_frequencies
from attnspec_reference.rotary.rotary_tables import RotaryTables, multiply, phases_of, rotary_tables


def at(moved: Callable[[Integers], Integers]) -> Computation:
    """Make tables at other positions."""
    return altered(rotary_tables, position_ids=lambda positions: moved(np.asarray(positions)))


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


def in_half_precision(rounded: Callable[[Integers, Array, np.dtype[Any]], Array]) -> Computation:
    """Compute the phases in the dtype of the inputs, where it is half precision."""

    def computation(position_ids: Any, inverse_frequencies: Any, *, attention_factor: float = 1.0) -> RotaryTables:
        dtype = result_dtype(inverse_frequencies)

        def phases(positions: Integers, frequencies: Array) -> Array:
            if dtype.itemsize > 2:
                return phases_of(positions, frequencies)
            return rounded(positions, frequencies, dtype).astype(frequencies.dtype)

        patched = patch(rotary_tables, phases_of=phases)
        return patched(position_ids, inverse_frequencies, attention_factor=attention_factor)

    return computation


def rounded_positions(positions: Integers, frequencies: Array, dtype: np.dtype[Any]) -> Array:
    """Round the positions, and multiply them in float32."""
    return positions[:, :, np.newaxis].astype(dtype).astype(frequencies.dtype) * frequencies


def reduced_roughly(positions: Integers, frequencies: Array) -> Array:
    """Take full turns away, with a turn of few digits."""
    return np.mod(phases_of(positions, frequencies), np.asarray(6.2832, dtype=frequencies.dtype))


def sine_from_cosine(phases: Array) -> tuple[Array, Array]:
    """Take the sine from the cosine, which does not know its sign."""
    cos = np.cos(phases)
    return cos, np.sqrt(np.maximum(1.0 - cos * cos, 0.0))


def but_for_still_pairs(position_ids: Any, inverse_frequencies: Any, **attention_factor: float) -> RotaryTables:
    """Give pairs that do not turn ones and zeros."""
    cos, sin = rotary_tables(position_ids, inverse_frequencies, **attention_factor)
    still = np.asarray(inverse_frequencies) == 0
    return RotaryTables(np.where(still, np.ones_like(cos), cos), np.where(still, np.zeros_like(sin), sin))


def in_the_phase(position_ids: Any, inverse_frequencies: Any, *, attention_factor: float = 1.0) -> RotaryTables:
    """Multiply the phases by the attention factor."""
    return patch(
        rotary_tables,
        phases_of=lambda positions, frequencies: multiply(phases_of(positions, frequencies), attention_factor),
    )(position_ids, inverse_frequencies)


def changed(change: Callable[[Array], Array]) -> Callable[..., RotaryTables]:
    """Make tables that are changed once they are right."""

    def computed(**arguments: Any) -> RotaryTables:
        return RotaryTables(*map(change, rotary_tables(**arguments)))

    return computed


def stepping(**steps: Any) -> Computation:
    """Replace steps of the rotation."""
    return named_output(patch(apply_rotary, **steps))


def copied_at_rest(x: Any, cos: Any, sin: Any, **pairing: Any) -> Array:
    """Copy the tokens that are turned by no angle."""
    turned = apply_rotary(x, cos, sin, **pairing)
    rests = (np.asarray(cos) == 1).all(axis=-1) & (np.asarray(sin) == 0).all(axis=-1)
    return np.where(rests[:, np.newaxis, :, np.newaxis], np.asarray(x), turned)


def side_by_side(first: Array, second: Array, pairing: str, rest: Array) -> Array:
    """Lay all first features before all second ones, however they were paired."""
    del pairing
    return put_back(first, second, "half", rest)


@quietly
def tables_for_the_other_pairing(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Write each number of the tables twice in the order of the other pairing."""
    dtype = result_dtype(x)
    width = 2 * np.shape(cos)[-1]
    wide = widen(x, dtype)
    cosines, sines = (
        np.repeat(table, 2, -1) if pairing == "half" else np.concatenate([table] * 2, axis=-1)
        for table in (widen(given, dtype)[:, np.newaxis] for given in (cos, sin))
    )
    first, second = pairs_of(wide[..., :width], pairing)
    turned = put_back(-second, first, pairing, wide[..., width:][..., :0])
    rotated = wide[..., :width] * cosines + turned * sines
    return np.concatenate([round_to(dtype, rotated), np.asarray(x)[..., width:]], axis=-1)


def across_the_head(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Pair feature i with feature i + E/2, where only R of the E features turn."""
    pairs, features = np.shape(cos)[-1], np.shape(x)[-1]
    if features % 2:
        raise ValueError(f"x has shape {np.shape(x)}; an odd number of features has no half.")
    if pairing == "interleaved":
        return apply_rotary(x, cos, sin, pairing=pairing)
    missing = ((0, 0), (0, 0), (0, features // 2 - pairs))
    return apply_rotary(x, np.pad(cos, missing, constant_values=1), np.pad(sin, missing), pairing=pairing)


def float16_as_it_is(array: Any, dtype: np.dtype[Any]) -> Array:
    """Widen bfloat16 alone: NumPy computes in float16 by itself."""
    numbers = np.asarray(array)
    return numbers if numbers.dtype == np.float16 else widen(numbers, dtype)


def one_after_the_other(first: Array, second: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Overwrite the first feature, and use it for the second."""
    first = cos * first - sin * second
    return first, sin * first + cos * second


def of_first(axis: int) -> Callable[[Array], Array]:
    """Take the first row of the tables for all along an axis."""
    return lambda table: np.broadcast_to(np.take(table, [0], axis=axis), table.shape)


def of_first_if_alike_at_first(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Take the tables of the first entry for all where the first tokens of all have the same rows."""
    tables = [np.asarray(table) for table in (cos, sin)]
    if all((table[:, :1] == table[:1, :1]).all() for table in tables):
        tables = [np.broadcast_to(table[:1], table.shape) for table in tables]
    return apply_rotary(x, *tables, pairing=pairing)


def by_head(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Take the heads for the tokens: head h is turned by row h."""
    heads, tokens = np.shape(x)[1:3]
    if heads > tokens:
        raise ValueError(f"x has shape {np.shape(x)}; {heads} heads find no row among those of {tokens} tokens.")
    cosines, sines = np.asarray(cos)[:, :heads], np.asarray(sin)[:, :heads]
    turned = apply_rotary(np.swapaxes(np.asarray(x), 1, 2), cosines, sines, pairing=pairing)
    return np.swapaxes(turned, 1, 2)


def first_head_only(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Rotate one head."""
    turned = np.array(x)
    turned[:, :1] = apply_rotary(turned[:, :1], cos, sin, pairing=pairing)
    return turned


def rest(change: Callable[[Array, int], Array]) -> Computation:
    """Change what is given for the features from R on."""
    return named_output(
        lambda x, cos, sin, *, pairing="half": change(apply_rotary(x, cos, sin, pairing=pairing), 2 * np.shape(cos)[-1])
    )


def zeroed(output: Array, width: int) -> Array:
    """Put zeros there."""
    output[..., width:] = 0
    return output


def through_bfloat16(output: Array, width: int) -> Array:
    """Keep the upper 16 bits of a float32."""
    output[..., width:] = cut_to_bfloat16(output[..., width:])
    return output


def scaled_too(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Rotate the rest as well, by the first angles."""
    width, features = 2 * np.shape(cos)[-1], np.shape(x)[-1]
    turned = apply_rotary(x, cos, sin, pairing=pairing)
    more = (features - width) // 2
    if 0 < more <= np.shape(cos)[-1]:
        behind = np.asarray(x)[..., width : width + 2 * more]
        rotated = apply_rotary(behind, np.asarray(cos)[..., :more], np.asarray(sin)[..., :more], pairing=pairing)
        turned[..., width : width + 2 * more] = rotated
    return turned


def last_features(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Rotate the last R features."""
    left = np.shape(x)[-1] - 2 * np.shape(cos)[-1]
    turned = apply_rotary(np.asarray(x)[..., left:], cos, sin, pairing=pairing)
    return np.concatenate([np.asarray(x)[..., :left], turned], axis=-1)


@quietly
def by_a_whole_matrix(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Multiply by a matrix of the whole head, in which NaN times 0 is NaN."""
    dtype = result_dtype(x)
    features, width = np.shape(x)[-1], 2 * np.shape(cos)[-1]
    matrices = np.zeros((*np.shape(cos)[:2], features, features), dtype=widen(x, dtype).dtype)
    every = np.arange(features, dtype=np.int64)
    matrices[..., every, every] = 1.0
    first, second = pairs_of(every[:width], pairing)
    matrices[..., first, first] = matrices[..., second, second] = widen(cos, dtype)
    matrices[..., first, second] = widen(sin, dtype)
    matrices[..., second, first] = -widen(sin, dtype)
    products = widen(x, dtype)[..., :, np.newaxis] * matrices[:, np.newaxis]
    return round_to(dtype, products.sum(axis=-2))


def factors_inverted(**arguments: Any) -> RotaryFrequencies:
    """Put the reciprocal of each factor into the caller's lists."""
    frequencies = rotary_frequencies(**arguments)
    for name in ("short_factors", "long_factors"):
        factors = arguments.get(name)
        if factors is not None:
            factors[:] = [1.0 / factor for factor in factors]
    return frequencies


_DEFAULTS = {"factor": 1.0, "original_length": 2048, "low_frequency_factor": 1.0, "high_frequency_factor": 4.0}


def missing_parameters_filled_in(**arguments: Any) -> RotaryFrequencies:
    """Give a parameter that is missing a usual value."""
    usual = {**_DEFAULTS, **dict.fromkeys(("short_factors", "long_factors"), [1.0] * (arguments["width"] // 2))}
    for name in NEEDED.get(arguments.get("scaling", "none"), ()):
        if arguments.get(name) is None:
            arguments[name] = usual[name]
    return rotary_frequencies(**arguments)


def lists_cut(**arguments: Any) -> RotaryFrequencies:
    """Take as many factors as there are pairs, from lists that are longer or are begun anew."""
    pairs = arguments["width"] // 2
    for name in ("short_factors", "long_factors"):
        if arguments.get(name) is not None:
            arguments[name] = np.resize(np.asarray(arguments[name], dtype=np.float64), pairs).tolist()
    return rotary_frequencies(**arguments)


def unchecked(*_given: Any) -> None:
    """Refuse nothing."""


def one_axis_too_few(position_ids: Any, inverse_frequencies: Any, *, attention_factor: float = 1.0) -> RotaryTables:
    """Take positions without a batch axis for a batch of one."""
    positions = np.atleast_2d(np.asarray(position_ids))
    return rotary_tables(
        positions.reshape(-1, positions.shape[-1]), np.ravel(inverse_frequencies), attention_factor=attention_factor
    )


@quietly
def repeated_by_broadcasting(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Leave every shape to the rules of broadcasting."""
    dtype = result_dtype(x)
    cos, sin = (np.expand_dims(widen(table, dtype), -3) for table in (cos, sin))
    rotated_width = 2 * cos.shape[-1]
    first, second = pairs_of(widen(x, dtype)[..., :rotated_width], pairing)
    first, second = rotate(first, second, cos, sin)
    rest = np.asarray(x)[..., rotated_width:]
    return put_back(round_to(dtype, first), round_to(dtype, second), pairing, rest)


def unknown_pairing_as_half(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Take whatever is not interleaved for half."""
    return apply_rotary(x, cos, sin, pairing="interleaved" if pairing == "interleaved" else "half")


def surplus_dropped(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Cut the tables to the batch entries, the tokens and the features that there are."""
    batch, _, tokens, features = np.shape(x)
    cos, sin = (np.asarray(table)[:batch, :tokens, : features // 2] for table in (cos, sin))
    return apply_rotary(x, cos, sin, pairing=pairing)


def sines_fitted(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Cut the sines to the cosines, or repeat them."""
    batch, tokens, pairs = np.shape(cos)
    sin = np.asarray(sin)[:batch, :tokens, :pairs]
    return apply_rotary(x, cos, np.broadcast_to(sin, np.shape(cos)), pairing=pairing)


def axes_filled_in(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Take features without heads for one head, and tables without batch entries for those of all."""
    features = np.asarray(x)
    heads = features if features.ndim == 4 else features[:, np.newaxis]
    shape = (heads.shape[0], *np.shape(cos)[-2:])
    turned = apply_rotary(heads, np.broadcast_to(cos, shape), np.broadcast_to(sin, shape), pairing=pairing)
    return turned.reshape(features.shape)


FUNCTIONS: Mapping[str, Making] = {
    "rotary_tables.positions_ignored": at(
        lambda positions: np.broadcast_to(np.arange(positions.shape[1], dtype=np.int64), positions.shape)
    ),
    "rotary_tables.positions_from_first": at(lambda positions: positions - positions[:, :1]),
    "rotary_tables.positions_counted_on": at(
        lambda positions: positions[:, :1] + np.arange(positions.shape[1], dtype=np.int64)
    ),
    "rotary_tables.positions_one_late": at(lambda positions: positions + 1),
    "rotary_tables.positions_in_int16": at(lambda positions: positions.astype(np.int16).astype(np.int64)),
    "rotary_tables.positions_of_first_entry": at(lambda positions: np.broadcast_to(positions[:1], positions.shape)),
    "rotary_tables.positions_counted_through": at(counted_through),
    "rotary_tables.positions_in_half_precision": in_half_precision(rounded_positions),
    "rotary_tables.phases_in_half_precision": in_half_precision(
        lambda positions, frequencies, dtype: phases_of(positions, frequencies).astype(dtype)
    ),
    "rotary_tables.phases_reduced_roughly": patch(rotary_tables, phases_of=reduced_roughly),
    "rotary_tables.exchanged": patch(rotary_tables, cosine_and_sine=lambda phases: (np.sin(phases), np.cos(phases))),
    "rotary_tables.sine_negated": patch(
        rotary_tables, cosine_and_sine=lambda phases: (np.cos(phases), -np.sin(phases))
    ),
    "rotary_tables.sine_unsigned": patch(rotary_tables, cosine_and_sine=sine_from_cosine),
    "rotary_tables.attention_factor_ignored": ignoring(rotary_tables, "attention_factor"),
    "rotary_tables.attention_factor_once_for_both": replacing(
        rotary_tables, sin=lambda _tables, given: rotary_tables(**{**given, "attention_factor": 1.0}).sin
    ),
    "rotary_tables.attention_factor_squared": altered(
        rotary_tables, attention_factor=lambda attention_factor: attention_factor * attention_factor
    ),
    "rotary_tables.still_pairs_not_stretched": but_for_still_pairs,
    "rotary_tables.attention_factor_in_phase": in_the_phase,
    "rotary_tables.of_every_feature": changed(lambda table: np.concatenate([table, table], axis=-1)),
    "rotary_tables.tokens_before_batch": changed(lambda table: np.swapaxes(table, 0, 1)),
    "rotary_tables.counted_between_the_ends": at(counted_between),
    "rotary_tables.through_float16": patch(rotary_tables, widen=through_float16),
    "apply_rotary.interleaved_by_default": named_output(
        lambda x, cos, sin, *, pairing="interleaved": apply_rotary(x, cos, sin, pairing=pairing)
    ),
    "apply_rotary.pairing_ignored": named_output(ignoring(apply_rotary, "pairing")),
    "apply_rotary.pairing_exchanged": named_output(
        altered(apply_rotary, pairing=lambda pairing: "half" if pairing == "interleaved" else "interleaved")
    ),
    "apply_rotary.not_put_back": stepping(put_back=side_by_side),
    "apply_rotary.tables_for_other_pairing": named_output(tables_for_the_other_pairing),
    "apply_rotary.paired_across_head": named_output(across_the_head),
    "apply_rotary.first_token": named_output(altered(apply_rotary, cos=of_first(1), sin=of_first(1))),
    "apply_rotary.first_entry": named_output(altered(apply_rotary, cos=of_first(0), sin=of_first(0))),
    "apply_rotary.entries_alike_at_first": named_output(of_first_if_alike_at_first),
    "apply_rotary.tokens_reversed": named_output(
        altered(apply_rotary, **dict.fromkeys(("cos", "sin"), lambda table: table[:, ::-1]))
    ),
    "apply_rotary.heads_as_tokens": named_output(by_head),
    "apply_rotary.first_head_only": named_output(first_head_only),
    "apply_rotary.turned_back": stepping(rotate=lambda first, second, cos, sin: rotate(first, second, cos, -sin)),
    "apply_rotary.minus_missing": stepping(
        rotate=lambda first, second, cos, sin: (cos * first + sin * second, sin * first + cos * second)
    ),
    "apply_rotary.first_overwritten": stepping(rotate=one_after_the_other),
    "apply_rotary.second_from_wrong_products": stepping(
        rotate=lambda first, second, cos, sin: (cos * first - sin * second, sin * second + cos * first)
    ),
    "apply_rotary.part_by_part": stepping(rotate=lambda first, second, cos, sin: (cos * first, sin * second)),
    "apply_rotary.twice": named_output(lambda *, x, **given: apply_rotary(apply_rotary(x, **given), **given)),
    "apply_rotary.by_whole_matrix": named_output(by_a_whole_matrix),
    "apply_rotary.nan_zeroed": named_output(
        altered(apply_rotary, x=lambda x: np.where(np.isnan(x.astype(np.float64)), np.zeros_like(x), x))
    ),
    "apply_rotary.rest_rotated": named_output(scaled_too),
    "apply_rotary.tokens_at_rest_copied": named_output(copied_at_rest),
    "apply_rotary.rest_zeroed": rest(zeroed),
    "apply_rotary.rest_in_bfloat16": rest(through_bfloat16),
    "apply_rotary.last_features": named_output(last_features),
    "apply_rotary.rest_dropped": rest(lambda output, width: output[..., :width]),
    "apply_rotary.products_in_float16": stepping(widen=float16_as_it_is),
    "apply_rotary.through_float16": stepping(widen=through_float16),
    "rotary_frequencies.factors_inverted_in_place": factors_inverted,
    "rotary_frequencies.length_remembered": remembering(
        rotary_frequencies, "sequence_length", "width", "theta", "scaling", "factor", "original_length"
    ),
    "rotary_tables.positions_advanced_in_place": overwriting(
        rotary_tables, "position_ids", lambda arguments, _outputs: arguments["position_ids"] + 1
    ),
    "rotary_tables.gaps_ignored": altered(rotary_tables, position_ids=without_gaps, inverse_frequencies=without_gaps),
    "rotary_tables.positions_remembered": remembering(rotary_tables, "position_ids", "inverse_frequencies"),
    "apply_rotary.written_in_place": overwriting(
        named_output(apply_rotary), "x", lambda _arguments, outputs: outputs["output"]
    ),
    "apply_rotary.strides_ignored": altered(named_output(apply_rotary), x=as_it_lies_in_memory),
    "apply_rotary.cosines_remembered": remembering(named_output(apply_rotary), "cos", "x"),
    "rotary_frequencies.odd_feature_dropped": altered(
        patch(rotary_frequencies, check_width=unchecked), width=lambda width: width // 2 * 2
    ),
    "rotary_frequencies.unknown_scaling_as_none": ignoring_where(
        rotary_frequencies, lambda given: given.get("scaling") not in NEEDED, "scaling"
    ),
    "rotary_frequencies.missing_parameters_filled_in": missing_parameters_filled_in,
    "rotary_frequencies.lists_cut": lists_cut,
    "rotary_frequencies.ranges_not_checked": patch(
        rotary_frequencies,
        check_ranges=unchecked,
        stretch_base=lambda theta, width, *_given: theta if width < 4 else stretch_base(theta, width, *_given),
    ),
    "rotary_tables.one_axis_too_few": one_axis_too_few,
    "apply_rotary.axes_filled_in": named_output(axes_filled_in),
    "apply_rotary.sines_fitted": named_output(sines_fitted),
    "apply_rotary.repeated_by_broadcasting": named_output(repeated_by_broadcasting),
    "apply_rotary.surplus_dropped": named_output(surplus_dropped),
    "apply_rotary.unknown_pairing_as_half": named_output(unknown_pairing_as_half),
}
