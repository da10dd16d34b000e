"""Laws of the factor of the scores: by the width, the given scale, or nothing at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnspec_probes.attention import clauses_of_laws as clauses
from attnspec_probes.attention.clauses_of_laws import Finding, clause
from attnspec_probes.attention.single_laws.logit_laws import logit_laws, rows_of
from attnspec_probes.attention.single_laws.probe import Probe, read

if TYPE_CHECKING:
    from attnspec_probes import Calling

_SAME = 1e-4
"""Relative difference up to which two measured factors are one."""


def from_scale(factor: float, probe: Probe, calling: Calling, dtype: str) -> list[Finding]:
    """Return laws of the factor of the scores, measured in one call in which it is wrong, the most general first."""

    def measured(of: Probe, wider: int = 0) -> float | None:
        return _factor_of(of, calling, dtype, wider)

    is_default = probe.attributes.get("scale") is None
    ratio = factor / probe.scale if probe.scale else 0.0
    # The same factor beside another scale is one of the exponent.
    other = probe.said(scale=probe.scale) if is_default else probe.without("scale")
    beside = measured(other)
    if beside is not None and abs(ratio) > _SAME and abs(beside / other.scale / ratio - 1) < _SAME:
        return [_base(ratio)]
    found = [_default(factor, probe, measured)] if is_default else [_explicit(factor, probe, measured)]
    return [*found, _finding(factor, probe)]


def _finding(
    factor: float,
    probe: Probe,
    form: str = "",
    parameters: Mapping[str, float | str] | None = None,
    by: Callable[[Probe], NDArray[Any] | None] | None = None,
    of: str | None = None,
) -> Finding:
    """Return the factor of the scores as a finding: its form in words, what was fitted, the outputs, and the clause."""
    reported = f"Scores are multiplied by {factor:.6g}; expected {probe.scale:.6g}.{form and f' {form}'}"
    fitted = {"factor": factor, "expected": probe.scale, **(parameters or {})}
    return Finding("scale", (of or clauses.of_scale(probe),), reported, fitted, by or _as_here(factor, probe))


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
    """Return how the factor depends on widths and heads where no scale is given."""
    width, values, heads = probe.inputs["query"].shape[-1], _width_read(probe), probe.shape[1]
    wider = {name: np.concatenate([probe.inputs[name]] * 2, axis=-1) for name in _WIDE if name in probe.inputs}
    more = {name: np.concatenate([array] * 2, axis=1) for name, array in probe.inputs.items() if array.ndim == _RANK}
    of_heads = None if {"sinks", "alibi_slopes"} & probe.inputs.keys() else measured(probe.given(**more))
    doubled = [measured(probe.given(**wider)), measured(probe, values), of_heads]
    by_width, by_values, by_heads = (_power(factor, each) or 0.0 for each in doubled)
    if doubled[0] is None:
        by_width = -0.5  # as is expected
    added = _added(factor, doubled[0], width)
    if added is not None and abs(by_values) + abs(by_heads) < _SAME:
        words = f"With E features it is 1/sqrt(E {added:+.6g}); 1/sqrt(E) is expected."
        by = _where_default(lambda of: max(of.inputs["query"].shape[-1] + added, 1e-300) ** -0.5)
        return _finding(factor, probe, words, {"added_to_width": added}, by)
    # Marks of heads widen the values that read the weights, too.
    by_heads -= by_values * (math.log2(_width_read(probe.given(**more)) / values) if of_heads else 0.0)
    constant = factor / width**by_width / values**by_values / heads**by_heads
    form, parameters = [f"{constant:.6g}"], dict[str, float]()
    names = {"power": ("E", by_width), "power_of_value_width": ("Ev", by_values), "power_of_heads": ("Hq", by_heads)}
    for name, (extent, power) in names.items():
        if abs(power) > _SAME or name == "power":
            parameters[name] = power
        if abs(power) > _SAME:
            form.append(f"{extent}^{power:.4g}")
    if len(form) == 1:
        form.append("for every E")
    by = _where_default(
        lambda of: (
            constant
            * float(of.inputs["query"].shape[-1]) ** by_width
            * float(of.inputs["value"].shape[-1]) ** by_values
            * float(of.shape[1]) ** by_heads
        )
    )
    words = f"It is {' '.join(form)}; 1/sqrt(E) is expected."
    return _finding(factor, probe, words, {**parameters, "constant": constant}, by)


def _width_read(probe: Probe) -> int:
    """Return how wide the values are that read the weights: a row of the identity, and a mark of each head."""
    return probe.shape[3] + probe.shape[0] * probe.key_heads


def _added(factor: float, doubled: float | None, width: int) -> float | None:
    """Return k where the factor is 1/sqrt(E + k), from those of E and 2 E features; None where it is not."""
    if doubled is None or factor <= 0 or doubled <= 0:
        return None
    slope = (doubled**-2 - factor**-2) / width
    added = factor**-2 - width
    return added if abs(slope - 1) < _SAME and abs(added) > _SAME else None


_WIDE = ("query", "key", "past_key")
"""Inputs whose features make the scores."""

_RANK = 4
"""Inputs of this rank have heads as their second axis, and masks, which may have one."""


def _explicit(factor: float, probe: Probe, measured: Callable[..., float | None]) -> Finding:
    """Return how the factor depends on the scale that is given."""
    scale = probe.scale
    default = probe.without("scale").scale
    if abs(factor / default - 1) < _SAME:
        by = _where_explicit(lambda of: of.without("scale").scale)
        return _finding(factor, probe, "That is the default: the given scale is not looked at.", by=by)
    doubled, turned = measured(probe.said(scale=2 * scale)), measured(probe.said(scale=-scale))
    power = _power(factor, doubled) if scale else None
    if power is None or turned is None:
        return _finding(factor, probe)
    is_odd = factor * turned < 0
    constant = factor / abs(scale) ** power * (np.sign(scale) if is_odd else 1)
    # A call that goes wrong with scales of both signs is no matter of one.
    is_wrong_elsewhere = abs(turned + scale) > _SAME * abs(scale) and scale < 0
    form = "" if abs(power - 1) < _SAME else f" to the power {power:.4g}"
    by = _where_explicit(lambda of: constant * abs(of.scale) ** power * (np.sign(of.scale) if is_odd else 1))
    words, fitted = f"It is {constant:.6g} times the given scale{form}.", {"power": power, "constant": constant}
    return _finding(factor, probe, words, fitted, by, clause("scale.explicit") if is_wrong_elsewhere else None)


def _as_here(factor: float, probe: Probe) -> Callable[[Probe], NDArray[Any] | None]:
    """Return what gives the output of calls of the same widths, heads and scale, and says nothing of others."""
    given = _by_factor(lambda _: factor)

    def output(of: Probe) -> NDArray[Any] | None:
        is_same = of.inputs["query"].shape[1::2] == probe.inputs["query"].shape[1::2] and of.scale == probe.scale
        return given(of) if is_same else None

    return output


def _power(factor: float, doubled: float | None) -> float | None:
    """Return to which power the factor grows with what was doubled."""
    return None if doubled is None or not factor or doubled / factor <= 0 else math.log2(doubled / factor)


def _where_default(factor: Callable[[Probe], float]) -> Callable[[Probe], NDArray[Any]]:
    return _by_factor(lambda of: of.scale if "scale" in of.arguments else factor(of))


def _where_explicit(factor: Callable[[Probe], float]) -> Callable[[Probe], NDArray[Any]]:
    return _by_factor(lambda of: factor(of) if "scale" in of.arguments else of.scale)


def _by_factor(factor: Callable[[Probe], float]) -> Callable[[Probe], NDArray[Any]]:
    return lambda of: of.output_by(of.capped(of.products * factor(of)) + of.bias + of.mask)


def _factor_of(probe: Probe, calling: Calling, dtype: str, wider: int) -> float | None:
    """Return the factor of the scores of a call, where its logits are linear in them.

    `wider` is how many features of zeros the values have more than those that read the weights.
    """
    reading = read(probe, calling, dtype, wider=wider)
    rows = None if reading is None else rows_of(reading, with_sinks=False)
    for law in [] if rows is None else logit_laws(rows, probe, dtype):
        if "score_factor" in law.parameters:
            return law.parameters["score_factor"] * probe.scale
    return None
