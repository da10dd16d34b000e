"""Case generator of rotary frequencies: every scaling, with all that it uses and with what it does not."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attnspec_draws.generators.drawn import Drawn
from attnspec_draws.generators.limits import Limits, as_stated, draw_axes
from attnspec_draws.generators.refusing import Misfit
from attnspec_draws.generators.words import Words, weights, whole_numbers

_SHORT = 12

_SCALINGS = {None: 2, **weights("scaling")}
"""Scalings for longer texts, with weights; none is not stated."""

_TABLE: Any = json.loads(Path(__file__).with_suffix(".json").read_bytes())
_NEEDED: Mapping[str | None, Sequence[str]] = _TABLE["needed"]
_USED: Mapping[str | None, Sequence[str]] = _TABLE["used"]
_OTHERS: Mapping[str, float] = _TABLE["others"]
"""Scaling to the parameters that it cannot do without, and to those that it hears; values of those that it does not."""

_THETAS = {None: 4, 500000.0: 4, 1000000.0: 2, 100.0: 2, 8.0: 1, 10000.0: 1}
_FACTORS = {4.0: 4, 8.0: 3, 2.0: 3, 1.5: 2, 32.0: 2, 1.0: 1}
_LENGTHS = {4096: 4, 8192: 3, 1024: 2, 32768: 2, 16: 1}
_TEXTS = {None: 2, "half": 2, "equal": 2, "next": 2, "longer": 5}
_TIMES_LONGER = 8
_LOW = {1.0: 4, 2.0: 2, 0.5: 1, 4.0: 1}
_ABOVE_LOW = {3.0: 4, 1.0: 2, 0.5: 1, 7.0: 1}
_EIGHTHS = 8
_FAST = {None: 5, 16.0: 2, 64.0: 2, 8.0: 1}
_SLOW = {None: 5, 2.0: 2, 0.5: 2, 4.0: 1}
_TRUNCATE = {None: 5, False: 4, True: 2}
_MAGNITUDES = {None: 5, "both": 4, "first": 2, "second": 1, "zero": 1}
_COEFFICIENTS = (0.5, 0.75, 1.0, 1.25)
_ATTENTION_FACTORS = {None: 8, 1.25: 1, 0.5: 1, 0.0: 1}
"""Values of the parameters, with weights; none is not stated."""

_UNUSED = 25
"""Of a hundred draws, how many state a parameter that the scaling does not use."""

_NEAR = 1 / 64
"""How near an end of the range of yarn may come to a whole number: on which side of it rounding falls is chance."""

_UNCHANGED = frozenset(("theta", "beta_fast", "beta_slow"))
"""Arguments not changed alone under yarn, for the range that comes of it may be none."""


def draw_frequencies(words: Words, limits: Limits) -> Drawn:
    """Draw a case of rotary frequencies."""
    extents = as_stated(draw_axes(words.of("extents"), ("pairs",), {"pairs": 1}, limits, short=_SHORT), limits)
    pairs = extents["pairs"]
    values = _values(words, pairs)
    scaling = words.of("scaling").weighted(_SCALINGS)
    if scaling == "dynamic" and pairs == 1:
        scaling = "linear"
    attributes = _attributes(words, scaling, values, limits)
    if attributes.get("scaling") == "yarn" and not _has_range(2 * pairs, attributes):
        attributes = _attributes(words, "linear", values, limits)
    return Drawn(
        inputs={},
        attributes={"width": 2 * pairs, **attributes},
        features=tuple(f"scaling={value}" if name == "scaling" else name for name, value in attributes.items()),
        extents=extents,
        clauses=tuple(f"rotary_frequencies.{clause}" for clause in _clauses(attributes)),
        needed=dict.fromkeys(_refused_without(attributes.get("scaling")), "rotary_frequencies.rejects.parameters"),
        unchanged=_UNCHANGED if attributes.get("scaling") == "yarn" else frozenset(),
    )


def _refused_without(scaling: str | None) -> Sequence[str]:
    """Return what it is refused to leave away; models of longrope derive the factor from their longest text."""
    needed = _NEEDED.get(scaling, ())
    return tuple(name for name in needed if name != "factor") if scaling == "longrope" else needed


def _values(words: Words, pairs: int) -> dict[str, Any]:
    """Draw a value of every parameter, whether it will be stated or not."""
    stream = words.of("parameters")
    values: dict[str, Any] = {
        "theta": stream.weighted(_THETAS),
        "factor": stream.weighted(_FACTORS),
        "original_length": stream.weighted(_LENGTHS),
    }
    original, relation = values["original_length"], stream.weighted(_TEXTS)
    further = stream.between(2, _TIMES_LONGER * original)
    lengths = {None: None, "half": original // 2, "equal": original, "next": original + 1}
    values["sequence_length"] = lengths.get(relation, original + further)
    low = stream.weighted(_LOW)
    values |= {"low_frequency_factor": low, "high_frequency_factor": low + stream.weighted(_ABOVE_LOW)}
    values["proportion"] = stream.between(0, _EIGHTHS) / _EIGHTHS
    values |= {"beta_fast": stream.weighted(_FAST), "beta_slow": stream.weighted(_SLOW)}
    values["truncate"] = stream.weighted(_TRUNCATE)
    stated, first, second = stream.weighted(_MAGNITUDES), stream.one_of(_COEFFICIENTS), stream.one_of(_COEFFICIENTS)
    values["magnitude_scaling"] = first if stated in ("both", "first", "zero") else None
    values["magnitude_scaling_all_dimensions"] = 0.0 if stated == "zero" else second
    if stated in (None, "first"):
        values["magnitude_scaling_all_dimensions"] = None
    values["attention_factor"] = stream.weighted(_ATTENTION_FACTORS)
    for name in ("short_factors", "long_factors"):
        values[name] = (whole_numbers(words.of(name), (pairs,), 8, 32) / 8).tolist()
    return values


def _attributes(words: Words, scaling: str | None, values: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """Return what is stated: the scaling if it is allowed with all that it needs, and what of the rest is allowed."""
    if scaling is None or not limits.allow("scaling", f"scaling={scaling}", *_NEEDED.get(scaling, ())):
        scaling = None
    found: dict[str, Any] = {"scaling": scaling} if scaling else {}
    used = (*_NEEDED.get(scaling, ()), *_USED.get(scaling, ()))
    found |= {name: values[name] for name in ("theta", *used) if values[name] is not None and limits.allow(name)}
    stream = words.of("unused")
    unused, name = stream.percent(_UNUSED), stream.one_of(tuple(_OTHERS))
    if unused and name not in used and limits.allow(name):
        found[name] = _OTHERS[name]
    return found


def _has_range(width: int, attributes: Mapping[str, Any]) -> bool:
    """Return whether the ends of the range of yarn are in order, and neither is rounded by chance."""
    spread = width / (2 * math.log(attributes.get("theta", 10000.0)))
    around = attributes["original_length"] / (2 * math.pi)
    ends = [
        spread * math.log(around / attributes.get(name, usual)) for name, usual in (("beta_fast", 32), ("beta_slow", 1))
    ]
    low, high = ends
    if attributes.get("truncate", True):
        if any(abs(end - round(end)) < _NEAR for end in ends):
            return False
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0) <= min(high, width - 1)


def _clauses(attributes: Mapping[str, Any]) -> tuple[str, ...]:
    scaling = attributes.get("scaling", "none")
    original = attributes.get("original_length", 0)
    is_long = (attributes.get("sequence_length") or 0) > original
    of_scaling = {
        "none": ("powers",),
        "linear": ("linear",),
        "dynamic": ("dynamic.base" if is_long else "dynamic.short",),
        "llama3": ("llama3.long_waves", "llama3.short_waves", "llama3.between"),
        "longrope": ("longrope.long" if is_long else "longrope.short",),
        "proportional": ("proportional",),
        "yarn": ("yarn.range", "yarn.truncate", "yarn.blend"),
    }[scaling]
    both = ("magnitude_scaling", "magnitude_scaling_all_dimensions")
    if scaling not in ("longrope", "yarn"):
        factor = "one"
    elif "attention_factor" in attributes:
        factor = "given"
    else:
        factor = "magnitudes" if scaling == "yarn" and all(attributes.get(name) for name in both) else scaling
    used = {*_NEEDED.get(scaling, ()), *_USED.get(scaling, ()), "scaling", "theta"}
    parameters = () if used.issuperset(attributes) else ("parameters",)
    return (*of_scaling, "theta", f"attention_factor.{factor}", *parameters)


_UNKNOWN_SCALINGS = ("", "YARN", "ntk", "su")
"""Names of a scaling elsewhere, and names of none."""


def _misfit(argument: str, reason: str, values: Callable[[Any], Sequence[Any]]) -> Misfit:
    """Return what an argument that is stated is refused as, made of its value."""
    return Misfit(
        argument,
        f"rotary_frequencies.rejects.{reason}",
        lambda drawn: values(drawn.attributes[argument]) if argument in drawn.attributes else (),
    )


def _high_factors(drawn: Drawn) -> list[float]:
    low = drawn.attributes.get("low_frequency_factor")
    return [] if low is None or "high_frequency_factor" not in drawn.attributes else [low, low / 2]


MISFITS_OF_FREQUENCIES = (
    _misfit("width", "width", lambda width: [width + 1, width - 1, 0, -width]),
    # It is refused where none is stated, too.
    Misfit("scaling", "rotary_frequencies.rejects.scaling", lambda _: _UNKNOWN_SCALINGS),
    *(_misfit(name, "range", lambda value: [0.0, -value]) for name in ("theta", "factor")),
    Misfit("high_frequency_factor", "rotary_frequencies.rejects.range", _high_factors),
    _misfit("proportion", "range", lambda _: [-0.125, 1.125]),
    *(
        _misfit(name, "factor_lists", lambda factors: [[*factors, factors[-1]], factors[:-1]])
        for name in ("short_factors", "long_factors")
    ),
)
