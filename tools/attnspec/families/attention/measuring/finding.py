"""One law from one call that goes wrong: its weights are read, and what they tell is looked for part by part."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from attnspec.families.attention.measuring import clauses
from attnspec.families.attention.measuring.alibi_laws import alibi_law
from attnspec.families.attention.measuring.attended_laws import attended_in, attended_laws, blamed
from attnspec.families.attention.measuring.clauses import clause
from attnspec.families.attention.measuring.head_laws import head_map
from attnspec.families.attention.measuring.logit_laws import logit_law, logits_are_right, rows_of
from attnspec.families.attention.measuring.plain_laws import feature_law, tile_law
from attnspec.families.attention.measuring.reading import read
from attnspec.families.attention.measuring.rounding_laws import looks_rounded, rounding_law
from attnspec.families.attention.measuring.total_laws import fill_law, total_law

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from attnspec.families.attention.measuring.attended_laws import AttendedLaw
    from attnspec.families.attention.measuring.logit_laws import LogitLaw, Rows
    from attnspec.families.attention.measuring.probe import Probe
    from attnspec.families.attention.measuring.reading import Reading
    from attnspec.probing import Asking

_LONG_ROWS = (97, 61, 34)
"""Keys of rows that show tiles: of up to half their length, and not multiples of common ones."""

_BITS = {"float64": 53, "float32": 24}

_CALM = 3.0
"""The largest score of a call that is made moderate."""


@dataclass(frozen=True)
class Finding:
    """What one call told.

    Attributes
    ----------
    kind
        What it is about.
    clauses
        The clauses that it breaks, or those that it may break.
    sentence
        What is computed, and what is owed.
    parameters
        What was fitted, by name.
    output
        Gives the output of any call by the law; None where the law does not say it.
    """

    kind: str
    clauses: tuple[str, ...]
    sentence: str
    parameters: Mapping[str, float | str] = field(default_factory=dict[str, "float | str"])
    output: Callable[[Probe], NDArray[Any] | None] | None = None


def find(probe: Probe, asking: Asking, dtype: str) -> list[Finding]:
    """Return what a call that goes wrong tells: laws that all give its weights, or else clauses that it may break.

    Parameters
    ----------
    probe
        A call that goes wrong, and with fewer arguments does not.
    asking, dtype
        The black box, and the dtype in which it is asked.
    """
    calm = _calmed(probe)
    if calm is not probe:
        if not calm.fails(asking, dtype):
            largest = float(np.abs(np.where(probe.placing.attendable, probe.logits, 0.0)).max(initial=0.0))
            names = ["softmax.stability", "precision.accumulation"]
            if probe.has_float_mask:
                names.append("mask.additive")
            return [
                Finding(
                    "large logits",
                    clauses.clauses(names),
                    f"It goes wrong where logits are as large as {largest:.3g}, and not where they are small.",
                    {"logit": largest},
                )
            ]
        probe = calm
    return _laws(probe, asking, dtype) or [part(probe)]


def _laws(probe: Probe, asking: Asking, dtype: str) -> list[Finding]:
    output = probe.ask(asking, dtype)
    if output is not None:
        rounded = _rounded(probe, output, dtype)
        if rounded is not None:
            return [rounded]
    reading = read(probe, asking, dtype)
    if reading is None:
        return []
    heads = _heads(reading, dtype)
    if heads is not None:
        return [heads]
    keys = _keys(reading, dtype)
    if keys:
        return keys
    found = (
        _logits(reading, asking, dtype)
        or _total(reading, dtype)
        or _tiles(probe, asking, dtype)
        or _values(reading, dtype)
        or (_noise(probe, output, dtype) if output is not None else None)
    )
    return [found] if found else []


def _calmed(probe: Probe) -> Probe:
    """Return the call with smaller scores, mask and slopes, where its logits are large."""
    if probe.is_moderate:
        return probe

    def smaller(array: NDArray[Any], largest: float) -> NDArray[Any]:
        beyond = float(np.abs(np.where(np.isfinite(array), array, 0.0)).max(initial=0.0)) / largest
        return array / beyond if beyond > 1 else array

    scores = float(np.abs(probe.scores).max(initial=0.0))
    calmed = {"query": probe.inputs["query"] * min(1.0, _CALM / max(scores, 1e-300))}
    if probe.has_float_mask:
        calmed["mask"] = smaller(probe.inputs["mask"], _CALM)
    for name in ("sinks", "alibi_slopes"):
        if name in probe.inputs:
            calmed[name] = smaller(probe.inputs[name], _CALM)
    return probe.given(**calmed)


def part(probe: Probe) -> Finding:
    """Return what the arguments alone tell."""
    given = sorted(probe.arguments)
    needed = f"with {', '.join(given)}" if given else "without optional arguments"
    return Finding("arguments", clauses.of_arguments(probe.arguments), f"It goes wrong {needed}, and with no fewer.")


def _rounded(probe: Probe, output: NDArray[Any], dtype: str) -> Finding | None:
    """Return the step that was rounded, where that explains what is wrong."""
    law = rounding_law(probe, output, dtype)
    if law is None:
        return None
    return Finding(
        "rounding",
        _of_step(law.step, probe),
        f"The step {law.step!r} is rounded to {law.bits} significant bits; {dtype} has {_BITS[dtype]}.",
        {"bits": float(law.bits), "step": law.step},
    )


def _noise(probe: Probe, output: NDArray[Any], dtype: str) -> Finding | None:
    """Return that the error has the size of a rounding, though of no step by itself."""
    bits = looks_rounded(probe, output, dtype)
    if bits is None:
        return None
    return Finding(
        "rounding",
        (clause("precision.accumulation"), *clauses.of_arguments(probe.arguments)),
        f"Numbers are right to about {bits} significant bits; {dtype} has {_BITS[dtype]}.",
        {"bits": float(bits)},
    )


def _of_step(step: str, probe: Probe) -> tuple[str, ...]:
    """Return the clauses about a step that was rounded."""
    if step == "scale":
        return (clauses.of_scale(probe),)
    own = {"mask": "mask.additive", "distance": "alibi.distance", "sinks": "sinks.denominator"}
    if step in own:
        return (clause(own[step]),)
    named = {"weights": "weights", "exponentials": "weights", "sums": "weights", "value": "output", "output": "output"}
    return clauses.clauses(("precision.accumulation", named.get(step, "scores")))


def _heads(reading: Reading, dtype: str) -> Finding | None:
    found = head_map(reading, dtype)
    if found is None:
        return None
    owed = reading.probe.heads.tolist()
    rule = f" (head {found.rule})" if found.rule else ""
    # A past that is laid out otherwise than the new keys shows where it is needed.
    return Finding(
        "head map",
        (clause("past.concatenation") if "past_key" in reading.probe.arguments else clause("heads.grouped"),),
        f"Query heads read {found.of} of the heads {list(found.heads)}{rule}; owed are {owed}.",
        {"heads": " ".join(map(str, found.heads)), "rule": found.rule, "of": found.of},
        _by_heads(found.of, np.array(found.heads)) if len(set(owed)) > 1 else None,
    )


def _by_heads(what: str, measured: NDArray[np.int64]) -> Callable[[Probe], NDArray[Any] | None]:
    def output(of: Probe) -> NDArray[Any] | None:
        if (of.shape[1], of.key_heads) != (len(measured), int(measured.max()) + 1):
            return None
        keys = measured if "keys" in what else of.heads
        logits = of.capped(of.products_by(keys) * of.scale) + of.bias + of.mask
        return of.weights_of(logits, of.placing.attendable) @ of.value[:, measured if "values" in what else of.heads]

    return output


def _keys(reading: Reading, dtype: str) -> list[Finding]:
    """Return which keys were attended, where they are others than those owed: all laws that give them."""
    probe = reading.probe
    differ = (attended_in(reading) != probe.placing.attendable) & probe.live[..., np.newaxis]
    if not differ.any():
        return []
    found = [_attended(law, probe) for law in attended_laws(reading)]
    fill = fill_law(reading, dtype)
    excluding = blamed(reading)
    named = tuple(clauses.of_constraint(name, probe) for name in excluding)
    if fill is not None:
        number = fill.parameters["fill"]
        more = " more than they would be" if fill.name != "fill" else ""
        found.append(
            Finding(
                "fill",
                named[:1] or clauses.of_arguments(probe.arguments),
                f"Excluded keys keep a share: their logits are {number:.6g}{more}, not minus infinity.",
                {**fill.parameters, "form": fill.name},
                lambda of: of.output_of(fill.weights(of)),
            )
        )
    if not found and named:
        told = f"Keys are attended that {' and '.join(excluding)} exclude{'s' if len(excluding) == 1 else ''}."
        may = tuple(dict.fromkeys((*named, *clauses.of_arguments(probe.arguments))))
        found.append(Finding("keys", may, told, {"constraint": " ".join(excluding)}))
    return found or [part(probe)]


_KINDS = {
    "position": "offset",
    "causal": "offset",
    "left": "window",
    "right": "window",
    "open_side": "window",
    "mask axes": "mask",
}
"""Constraint to what a law about it is called; others are called as the constraint is."""


def _attended(law: AttendedLaw, probe: Probe) -> Finding:
    what = "Positions" if law.constraint == "position" else f"The constraint {law.constraint!r}"

    def output(of: Probe) -> NDArray[Any] | None:
        attended = law.attended(of)
        return None if attended is None else of.output_of(of.weights_of(of.logits, attended))

    named = (clauses.of_constraint(law.constraint, probe),)
    if law.constraint == "keys" and probe.arguments:
        named = clauses.of_arguments(probe.arguments)
    parameters = {"constraint": law.constraint, **law.parameters}
    return Finding(_KINDS.get(law.constraint, law.constraint), named, f"{what}: {law.change}.", parameters, output)


def _logits(reading: Reading, asking: Asking, dtype: str) -> Finding | None:
    """Return what logits are made of, where they are others than those owed."""
    probe = reading.probe
    rows = rows_of(reading, with_sinks=False)
    if rows is None or logits_are_right(rows, probe, dtype):
        # Beside a sink, what all keys of a row lose or gain shows, too; unless the sink is wrong.
        rows = rows_of(reading) if "sinks" in probe.inputs and total_law(reading, dtype) is None else None
    if rows is None or logits_are_right(rows, probe, dtype):
        return None
    alibi = alibi_law(rows, probe, dtype)
    if alibi is not None:
        return Finding(
            {"position": "offset", "heads": "head map"}.get(alibi.about, alibi.about),
            (clause(f"alibi.{alibi.about}"),),
            f"Logits lose slope times distance, where {alibi.words}.",
            {"rule": alibi.words, "offset": float(alibi.offset)},
            lambda of: of.output_of(
                of.weights_of(of.capped(of.scores) + of.mask + alibi.bias(of), of.placing.attendable)
            ),
        )
    law = logit_law(rows, probe, dtype)
    if law is None:
        return _features(rows, probe)
    parameters = dict(law.parameters)
    if law.name == "scale":
        return _scale(law, probe, asking, dtype)
    return Finding(
        _kind_of_logits(law.name),
        _of_logits(law, probe),
        _logit_words(law),
        parameters,
        lambda of: of.output_of(of.weights_of(law.logits(of), of.placing.attendable)),
    )


def _of_logits(law: LogitLaw, probe: Probe) -> tuple[str, ...]:
    if law.name in ("mask capped", "distance capped", "all capped", "capped before scale"):
        return (clause("softcap.order"),)
    if law.name.startswith(("cap", "clipped", "uncapped")):
        return (clause("softcap.definition" if probe.softcap else "softcap.off"),)
    if law.name.startswith("mask"):
        return (clauses.of_mask(probe),)
    if law.name == "distance":
        return (clause("alibi.distance"),)
    named = (
        ("scale", clauses.of_scale(probe)),
        ("mask", clauses.of_mask(probe)),
        ("distance", clause("alibi.distance")),
    )
    return tuple(of for name, of in named if name in law.name) or clauses.of_arguments(probe.arguments)


def _kind_of_logits(name: str) -> str:
    if "cap" in name or name == "clipped":
        return "cap"
    return "mask" if name.startswith("mask") else name


def _logit_words(law: LogitLaw) -> str:
    told = ", ".join(f"{name.replace('_', ' ')} {value:.6g}" for name, value in law.parameters.items())
    return f"Logits: {law.name}{f' ({told})' if told else ''}."


def _scale(law: LogitLaw, probe: Probe, asking: Asking, dtype: str) -> Finding:
    """Return the factor of the scores, and what it depends on."""
    factor = law.parameters["score_factor"] * probe.scale
    parameters: dict[str, float | str] = {"factor": factor, "owed": probe.scale}
    told = f"Scores are multiplied by {factor:.6g}; owed is {probe.scale:.6g}."
    is_default = probe.attributes.get("scale") is None
    # With the owed number given as `scale`, the same factor is one of the exponent, and not of the scale.
    said = probe.said(scale=probe.scale) if is_default else probe.without("scale")
    also = _factor_of(said, asking, dtype)
    ratio = factor / probe.scale
    if also is not None and abs(also / said.scale / ratio - 1) < 1e-4 and abs(ratio) > 1e-9:
        base = math.exp(ratio) if ratio < 600 else math.inf
        parameters |= {"ratio": ratio, "base": base}
        return Finding(
            "base",
            clauses.clauses(("weights", "softmax.keys")),
            f"All scores are multiplied by {ratio:.6g} beside the scale: exponentials have the base {base:.6g}, not e.",
            parameters,
            _by_factor(lambda of: of.scale * ratio),
        )
    if not is_default:
        scale = probe.scale
        other = _factor_of(probe.said(scale=2 * scale), asking, dtype) if scale else None
        if other is not None and factor and other / factor > 0:
            power = math.log2(other / factor)
            parameters["power"] = power
            told += f" It grows as the scale to the power {power:.3g}."
            constant = factor / abs(scale) ** power
            return Finding(
                "scale",
                (clauses.of_scale(probe),),
                told,
                parameters,
                _by_factor(lambda of: constant * abs(of.scale) ** power if "scale" in of.arguments else of.scale),
            )
        return Finding("scale", (clauses.of_scale(probe),), told, parameters, _by_factor(lambda _: factor))
    width = probe.inputs["query"].shape[-1]
    wider = probe.given(
        **{
            name: np.concatenate([array, array], axis=-1)
            for name, array in probe.inputs.items()
            if name in ("query", "key", "past_key")
        }
    )
    other = _factor_of(wider, asking, dtype)
    by = _by_factor(lambda _: factor)
    if other is not None and other / factor > 0:
        power = math.log2(other / factor)
        constant = factor / width**power
        parameters |= {"power": power, "constant": constant}
        told += f" With E features it is {constant:.6g} E^{power:.4g}; 1/sqrt(E) is owed."
        by = _by_factor(
            lambda of: constant * of.inputs["query"].shape[-1] ** power if "scale" not in of.arguments else of.scale
        )
    return Finding("scale", (clauses.of_scale(probe),), told, parameters, by)


def _by_factor(factor: Callable[[Probe], float]) -> Callable[[Probe], NDArray[Any]]:
    def output(of: Probe) -> NDArray[Any]:
        logits = of.capped(of.products * factor(of)) + of.bias + of.mask
        return of.output_of(of.weights_of(logits, of.placing.attendable))

    return output


def _factor_of(probe: Probe, asking: Asking, dtype: str) -> float | None:
    """Return the factor of the scores of a call, where its logits are linear in them."""
    reading = read(probe, asking, dtype)
    rows = None if reading is None else rows_of(reading)
    law = None if rows is None else logit_law(rows, probe, dtype)
    return None if law is None or "score_factor" not in law.parameters else law.parameters["score_factor"] * probe.scale


def _features(rows: Rows, probe: Probe) -> Finding | None:
    law = feature_law(rows, probe)
    if law is None:
        return None
    lost = law.lost
    told = (
        f"Features {', '.join(map(str, lost))} do not count in the scores."
        if lost
        else (f"Features count with factors from {law.factors.min():.6g} to {law.factors.max():.6g}.")
    )
    return Finding("features", clauses.clauses(("scores",)), told, {"lost": float(len(lost))})


def _total(reading: Reading, dtype: str) -> Finding | None:
    """Return what the weights are divided by, where keys and logits are right."""
    probe = reading.probe
    rows = rows_of(reading, with_sinks=False)
    if rows is not None and not logits_are_right(rows, probe, dtype):
        return None
    with np.errstate(invalid="ignore"):
        if (np.abs(reading.weights - probe.weights)[probe.live] <= probe.slack(dtype)).all():
            return None
    law = total_law(reading, dtype)
    named = clauses.clauses(("sinks.denominator",) if "sinks" in probe.arguments else ("weights",))
    if law is None:
        named = tuple(dict.fromkeys((*named, *clauses.of_arguments(probe.arguments))))
        sums = reading.weights.sum(axis=-1)[probe.live]
        told = f"Weights stand to each other as they should; their sums are {sums.min():.6g} to {sums.max():.6g}."
        return Finding("total", named, told)
    told = ", ".join(
        f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in law.parameters.items()
    )
    return Finding(
        "head map" if "other heads" in law.name else "added mass" if "mass" in law.name else "sinks",
        named,
        f"The total of the exponentials is another one: {law.name}{f' ({told})' if told else ''}.",
        law.parameters,
        lambda of: of.output_of(law.weights(of)),
    )


def _tiles(probe: Probe, asking: Asking, dtype: str) -> Finding | None:
    """Return how a plain call goes wrong in long rows."""
    if probe.arguments:
        return None
    for keys in _LONG_ROWS:
        law = tile_law(asking, dtype, keys)
        if law is None:
            continue
        shares = ", ".join(f"{factor:.4g}" for factor in law.factors[:6])
        lost = any(factor == 0 for factor in law.factors)
        begin = ", ".join(map(str, law.starts[:6]))
        told = f"In rows of {law.keys} keys, runs that begin at {begin} have {shares} times their weights."
        parameters: dict[str, float | str] = {} if law.tile is None else {"tile": float(law.tile)}
        return Finding(
            "tiles", clauses.clauses(("softmax.keys", "weights") if lost else ("weights",)), told, parameters
        )
    return None


def _values(reading: Reading, dtype: str) -> Finding | None:
    """Return that the weights are right, where they are: then it is the values that are weighed wrongly."""
    probe = reading.probe
    with np.errstate(invalid="ignore"):
        right = (np.abs(reading.weights - probe.weights)[probe.live] <= probe.slack(dtype)).all()
    if not right:
        return None
    return Finding(
        "values",
        clauses.clauses(("output",)) if not probe.arguments else clauses.of_arguments(probe.arguments),
        "The weights are right where values are rows of the identity; others are weighed wrongly.",
    )
