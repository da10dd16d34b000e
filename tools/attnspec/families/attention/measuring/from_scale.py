"""What the factor of the scores depends on: the width, the given scale, or nothing at all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.families.attention.measuring import clauses
from attnspec.families.attention.measuring.clauses import clause
from attnspec.families.attention.measuring.finding import Finding
from attnspec.families.attention.measuring.logit_laws import logit_laws, rows_of
from attnspec.families.attention.measuring.reading import read

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from attnspec.families.attention.measuring.probe import Probe
    from attnspec.probing import Asking

_SAME = 1e-4
"""Relative difference up to which two measured factors are one."""


def from_scale(factor: float, probe: Probe, asking: Asking, dtype: str) -> Finding:
    """Return the law of the factor of the scores, from one call in which it is wrong.

    Parameters
    ----------
    factor
        The factor that was measured.
    probe
        The call.
    asking, dtype
        The black box, and the dtype in which it is asked.
    """

    def measured(of: Probe, wider: int = 0) -> float | None:
        return _factor_of(of, asking, dtype, wider)

    is_default = probe.attributes.get("scale") is None
    ratio = factor / probe.scale if probe.scale else 0.0
    # The same factor beside another scale is one of the exponent.
    other = probe.said(scale=probe.scale) if is_default else probe.without("scale")
    beside = measured(other)
    if beside is not None and abs(ratio) > _SAME and abs(beside / other.scale / ratio - 1) < _SAME:
        return _base(ratio)
    return _default(factor, probe, measured) if is_default else _explicit(factor, probe, measured)


def _base(ratio: float) -> Finding:
    base = math.exp(ratio) if ratio < math.log(np.finfo(float).max) else math.inf
    return Finding(
        "base",
        clauses.clauses(("weights", "softmax.keys", "scores")),
        f"All scores are multiplied by {ratio:.6g} beside the scale: exponentials have the base {base:.6g}, not e.",
        {"ratio": ratio, "base": base},
        _by_factor(lambda of: of.scale * ratio),
    )


def _default(factor: float, probe: Probe, measured: Callable[..., float | None]) -> Finding:
    """Return how the factor depends on the widths where no scale is given."""
    width, values = probe.inputs["query"].shape[-1], probe.inputs["value"].shape[-1]
    doubled = {name: np.concatenate([probe.inputs[name]] * 2, axis=-1) for name in _WIDE if name in probe.inputs}
    parameters: dict[str, float | str] = {"factor": factor, "owed": probe.scale}
    told = f"Scores are multiplied by {factor:.6g}; owed is {probe.scale:.6g}."
    powers = [_power(factor, measured(probe.given(**doubled))), _power(factor, measured(probe, values))]
    if None in powers:
        return Finding("scale", (clause("scale.default"),), told, parameters, _where_default(lambda _: factor))
    of_width, of_values = (power or 0.0 for power in powers)
    constant = factor / width**of_width / values**of_values
    parameters |= {"power": of_width, "constant": constant}
    form = f"{constant:.6g} E^{of_width:.4g}"
    if abs(of_values) > _SAME:
        parameters["power_of_value_width"] = of_values
        form += f" Ev^{of_values:.4g}"
    return Finding(
        "scale",
        (clause("scale.default"),),
        f"{told} With E features it is {form}; 1/sqrt(E) is owed.",
        parameters,
        _where_default(
            lambda of: (
                constant * of.inputs["query"].shape[-1] ** of_width * float(of.inputs["value"].shape[-1]) ** of_values
            )
        ),
    )


_WIDE = ("query", "key", "past_key")
"""Inputs whose features make the scores."""


def _explicit(factor: float, probe: Probe, measured: Callable[..., float | None]) -> Finding:
    """Return how the factor depends on the scale that is given."""
    scale = probe.scale
    parameters: dict[str, float | str] = {"factor": factor, "owed": scale}
    told = f"Scores are multiplied by {factor:.6g}; owed is {scale:.6g}."
    doubled, turned = measured(probe.said(scale=2 * scale)), measured(probe.said(scale=-scale))
    power = _power(factor, doubled) if scale else None
    if power is None or turned is None:
        by = _where_explicit(lambda of: factor if of.scale == scale else of.scale)
        return Finding("scale", (clauses.of_scale(probe),), told, parameters, by)
    is_odd = factor * turned < 0
    constant = factor / abs(scale) ** power * (np.sign(scale) if is_odd else 1)
    parameters |= {"power": power, "constant": constant}
    # What goes wrong with scales of both signs is no matter of one.
    is_wrong_elsewhere = abs(turned + scale) > _SAME * abs(scale) and scale < 0
    form = "" if abs(power - 1) < _SAME else f" to the power {power:.4g}"
    return Finding(
        "scale",
        (clause("scale.explicit") if is_wrong_elsewhere else clauses.of_scale(probe),),
        f"{told} It is {constant:.6g} times the given scale{form}.",
        parameters,
        _where_explicit(lambda of: constant * abs(of.scale) ** power * (np.sign(of.scale) if is_odd else 1)),
    )


def _power(factor: float, doubled: float | None) -> float | None:
    """Return to which power the factor grows with what was doubled."""
    return None if doubled is None or not factor or doubled / factor <= 0 else math.log2(doubled / factor)


def _where_default(factor: Callable[[Probe], float]) -> Callable[[Probe], NDArray[Any]]:
    return _by_factor(lambda of: of.scale if "scale" in of.arguments else factor(of))


def _where_explicit(factor: Callable[[Probe], float]) -> Callable[[Probe], NDArray[Any]]:
    return _by_factor(lambda of: factor(of) if "scale" in of.arguments else of.scale)


def _by_factor(factor: Callable[[Probe], float]) -> Callable[[Probe], NDArray[Any]]:
    def output(of: Probe) -> NDArray[Any]:
        logits = of.capped(of.products * factor(of)) + of.bias + of.mask
        return of.output_of(of.weights_of(logits, of.placing.attendable))

    return output


def _factor_of(probe: Probe, asking: Asking, dtype: str, wider: int) -> float | None:
    """Return the factor of the scores of a call, where its logits are linear in them.

    `wider` is how many features of zeros the values have more than those that read the weights.
    """
    reading = read(probe, asking, dtype, wider=wider)
    rows = None if reading is None else rows_of(reading, with_sinks=False)
    for law in [] if rows is None else logit_laws(rows, probe, dtype):
        if "score_factor" in law.parameters:
            return law.parameters["score_factor"] * probe.scale
    return None
