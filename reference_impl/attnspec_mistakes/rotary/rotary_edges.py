"""What goes wrong around rotary positions: memory, earlier calls, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.misread_memory import as_it_lies_in_memory, overwriting, remembering, without_gaps
from attnspec_mistakes.patches import altered, ignoring_where, named_output, patch
from attnspec_reference.precision import quietly, result_dtype, round_to, widen
from attnspec_reference.rotary.apply_rotary import apply_rotary, pairs_of, put_back, rotate
from attnspec_reference.rotary.frequency_scalings import NEEDED, stretch_base
from attnspec_reference.rotary.rotary_frequencies import RotaryFrequencies, rotary_frequencies
from attnspec_reference.rotary.rotary_tables import RotaryTables, rotary_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnspec_mistakes.mistake import Making
    from attnspec_reference.precision import Array


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
