"""What goes wrong when something is taken that must be refused."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import departure, named_output
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.precision import quietly, result_dtype, round_to, widen
from attnspec_reference.rotary.apply_rotary import apply_rotary, pairs_of, put_back, rotate
from attnspec_reference.rotary.frequency_inputs import NEEDED
from attnspec_reference.rotary.frequency_scalings import stretch_base
from attnspec_reference.rotary.rotary_frequencies import RotaryFrequencies, rotary_frequencies
from attnspec_reference.rotary.rotary_tables import RotaryTables, rotary_tables

if TYPE_CHECKING:
    from attnspec_reference.precision import Array

_DEFAULTS = {
    "factor": 1.0,
    "original_length": 2048,
    "low_frequency_factor": 1.0,
    "high_frequency_factor": 4.0,
}


def odd_feature_dropped(*, width: int, **arguments: Any) -> RotaryFrequencies:
    """Make as many pairs as there can be, and leave out the feature that has no partner."""
    return departure(rotary_frequencies, check_width=unchecked)(width=width // 2 * 2, **arguments)


def unknown_scaling_as_none(**arguments: Any) -> RotaryFrequencies:
    """Take a scaling that is not known for none."""
    if arguments.get("scaling", "none") not in NEEDED:
        arguments["scaling"] = "none"
    return rotary_frequencies(**arguments)


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


def not_stretched(theta: float, width: int, *_given: Any) -> float:
    """Stretch no base for which the exponent would divide by zero."""
    return theta if width < 4 else stretch_base(theta, width, *_given)


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


mistake_of_frequencies = partial(Mistake, operation="rotary_frequencies")
mistake_of_tables = partial(Mistake, operation="rotary_tables")
mistake_of_applying = partial(Mistake, operation="apply_rotary")

MISTAKES: tuple[Mistake, ...] = (
    mistake_of_frequencies(
        id="rotary_frequencies.odd_feature_dropped",
        clause="rotary_frequencies.rejects.width",
        sentence="An odd number of features was taken, and the last one dropped.",
        engineer="width // 2 is not checked for a remainder.",
        remedy="Refuse a width that is odd.",
        function=odd_feature_dropped,
    ),
    mistake_of_frequencies(
        id="rotary_frequencies.unknown_scaling_as_none",
        clause="rotary_frequencies.rejects.scaling",
        sentence="A scaling that is not known was taken for none.",
        engineer="The chain of branches ends without an else that raises.",
        remedy="Refuse a scaling that is not known.",
        function=unknown_scaling_as_none,
    ),
    mistake_of_frequencies(
        id="rotary_frequencies.missing_parameters_filled_in",
        clause="rotary_frequencies.rejects.parameters",
        sentence="A parameter that is missing was given a usual value.",
        engineer="dict.get with a default hides a key that the scaling needs.",
        remedy="Refuse a scaling without the parameters that it needs.",
        function=missing_parameters_filled_in,
    ),
    mistake_of_frequencies(
        id="rotary_frequencies.lists_cut",
        clause="rotary_frequencies.rejects.factor_lists",
        sentence="Lists of factors were taken although they do not hold one for each pair.",
        engineer="The lists are sliced or tiled to the number of pairs.",
        remedy="Refuse lists that do not hold R/2 factors.",
        function=lists_cut,
    ),
    mistake_of_frequencies(
        id="rotary_frequencies.ranges_not_checked",
        clause="rotary_frequencies.rejects.range",
        sentence="Numbers were taken with which the formula makes no sense.",
        engineer="Divisions by zero and roots of negative numbers give infinities and NaN instead of an error.",
        remedy="Refuse theta and factor unless above 0, low above high, and dynamic with two features.",
        function=departure(
            rotary_frequencies,
            check_ranges=unchecked,
            stretch_base=not_stretched,
        ),
    ),
    mistake_of_tables(
        id="rotary_tables.one_axis_too_few",
        clause="rotary_tables.rejects.rank",
        sentence="Positions or frequencies with another number of axes were taken.",
        engineer="The inputs are flattened or given a batch axis without a check of their rank.",
        remedy="Refuse positions that are not (batch, tokens), or declare the convention input_checks=lenient.",
        function=one_axis_too_few,
    ),
    mistake_of_applying(
        id="apply_rotary.axes_filled_in",
        clause="apply_rotary.rejects.rank",
        sentence="Features or tables with an axis too few were taken.",
        engineer="A missing axis is inserted instead of refused.",
        remedy="Check the ranks, or declare the convention input_checks=lenient.",
        function=named_output(axes_filled_in),
    ),
    mistake_of_applying(
        id="apply_rotary.sines_fitted",
        clause="apply_rotary.rejects.tables",
        sentence="Sines of another shape than the cosines were cut or repeated to fit.",
        engineer="Only the shape of cos is checked.",
        remedy="Refuse cos and sin of different shapes.",
        function=named_output(sines_fitted),
    ),
    mistake_of_applying(
        id="apply_rotary.repeated_by_broadcasting",
        clause="apply_rotary.rejects.tokens",
        sentence="Tables of a single token or batch entry were repeated for all.",
        engineer="No shape is checked; broadcasting decides.",
        remedy="Check batch and tokens of the tables, or declare the convention input_checks=lenient.",
        function=named_output(repeated_by_broadcasting),
    ),
    mistake_of_applying(
        id="apply_rotary.surplus_dropped",
        clause="apply_rotary.rejects.width",
        sentence="Tables for more features, tokens or batch entries than there are were cut to fit.",
        engineer="The tables are sliced to the shape of x.",
        remedy="Refuse tables that are larger than x.",
        function=named_output(surplus_dropped),
    ),
    mistake_of_applying(
        id="apply_rotary.unknown_pairing_as_half",
        clause="apply_rotary.rejects.pairing",
        sentence="A pairing that is not known was taken for half.",
        engineer="The pairing is tested for one of its names only.",
        remedy="Refuse a pairing that is neither half nor interleaved.",
        function=named_output(unknown_pairing_as_half),
    ),
)
"""What is taken and must be refused."""
