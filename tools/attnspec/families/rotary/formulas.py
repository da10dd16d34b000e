"""The formula of each operation of rotary positions in lines of NumPy, with the features of one case and no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attnspec.base.literals import number_literal

if TYPE_CHECKING:
    from attnspec.cases import Case


def formula(case: Case) -> list[str]:
    """Return the lines that compute the outputs of a case from its inputs, under the contract's names."""
    return _FORMULAS[case.operation](case)


def _rotary_frequencies_lines(case: Case) -> list[str]:
    attributes = case.attributes
    scaling = attributes.get("scaling", "none")
    return [
        f"R, theta = {attributes['width']}, {number_literal(attributes.get('theta', 10000.0))}",
        *_names(attributes, {"factor": "s", "original_length": "L0", "sequence_length": "n"}),
        *(_dynamic_lines(attributes) if scaling == "dynamic" else []),
        "i = np.arange(R // 2)",
        "inverse_frequencies = theta ** (-2 * i / R)",
        *_SCALED[scaling](attributes),
        f"attention_factor = {_attention_factor_expression(scaling, attributes)}",
    ]


def _names(attributes: Mapping[str, Any], short: Mapping[str, str]) -> list[str]:
    stated = {letter: attributes[name] for name, letter in short.items() if attributes.get(name) is not None}
    return [f"{letter} = {number_literal(value)}" for letter, value in stated.items()]


def _dynamic_lines(attributes: Mapping[str, Any]) -> list[str]:
    length = "L0" if attributes.get("sequence_length") is None else "max(n, L0)"
    return [f"theta = theta * (s * {length} / L0 - s + 1) ** (R / (R - 2))"]


def _llama3_lines(attributes: Mapping[str, Any]) -> list[str]:
    low, high = (number_literal(attributes[f"{end}_frequency_factor"]) for end in ("low", "high"))
    return [
        f"g = np.clip((L0 * inverse_frequencies / (2 * np.pi) - {low}) / ({high} - {low}), 0, 1)",
        "inverse_frequencies = g * inverse_frequencies + (1 - g) * inverse_frequencies / s",
    ]


def _longrope_lines(attributes: Mapping[str, Any]) -> list[str]:
    length = attributes.get("sequence_length")
    long = length is not None and length > attributes["original_length"]
    factors = attributes["long_factors" if long else "short_factors"]
    return [f"inverse_frequencies = inverse_frequencies / np.array({list(factors)!r})"]


def _proportional_lines(attributes: Mapping[str, Any]) -> list[str]:
    kept = f"i < np.floor({number_literal(attributes.get('proportion', 1.0))} * R / 2)"
    divided = "inverse_frequencies" + ("" if attributes.get("factor") is None else " / s")
    return [f"inverse_frequencies = np.where({kept}, {divided}, 0)"]


def _yarn_lines(attributes: Mapping[str, Any]) -> list[str]:
    fast, slow = number_literal(attributes.get("beta_fast", 32)), number_literal(attributes.get("beta_slow", 1))
    ends = [f"R * np.log(L0 / (2 * np.pi * {turns})) / (2 * np.log(theta))" for turns in (fast, slow)]
    if attributes.get("truncate", True):
        ends = [f"np.floor({ends[0]})", f"np.ceil({ends[1]})"]
    return [
        f"low, high = max({ends[0]}, 0), min({ends[1]}, R - 1)",
        "r = np.clip((i - low) / (high - low if high != low else 0.001), 0, 1)",
        "inverse_frequencies = r * inverse_frequencies / s + (1 - r) * inverse_frequencies",
    ]


def _attention_factor_expression(scaling: str, attributes: Mapping[str, Any]) -> str:
    stated = attributes.get("attention_factor")
    if scaling not in ("longrope", "yarn"):
        return "1.0"
    if stated is not None:
        return number_literal(stated)
    if scaling == "longrope":
        return "np.sqrt(1 + np.log(s) / np.log(L0))"
    both = [attributes.get(f"magnitude_scaling{suffix}") for suffix in ("", "_all_dimensions")]
    magnitudes = [f"(0.1 * {number_literal(coefficient)} * np.log(s) + 1)" for coefficient in both if coefficient]
    return " / ".join(magnitudes) if len(magnitudes) == 2 else "0.1 * np.log(s) + 1"


def _rotary_tables_lines(case: Case) -> list[str]:
    factor = case.attributes.get("attention_factor", 1.0)
    times = "" if factor == 1 else f" * {number_literal(factor)}"
    return [
        "phases = position_ids[:, :, None] * inverse_frequencies",
        f"cos, sin = np.cos(phases){times}, np.sin(phases){times}",
    ]


def _apply_rotary_lines(case: Case) -> list[str]:
    interleaved = case.attributes.get("pairing") == "interleaved"
    first, second = ("0:R:2", "1:R:2") if interleaved else (":R // 2", "R // 2 : R")
    return [
        "R, c, s = 2 * cos.shape[-1], cos[:, None], sin[:, None]",
        f"first, second = x[..., {first}], x[..., {second}]",
        "output = x.copy()",
        f"output[..., {first}] = c * first - s * second",
        f"output[..., {second}] = s * first + c * second",
    ]


_SCALED: Mapping[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "none": lambda _: [],
    "dynamic": lambda _: [],
    "linear": lambda _: ["inverse_frequencies = inverse_frequencies / s"],
    "llama3": _llama3_lines,
    "longrope": _longrope_lines,
    "proportional": _proportional_lines,
    "yarn": _yarn_lines,
}

_FORMULAS: Mapping[str, Callable[[Case], list[str]]] = {
    "rotary_frequencies": _rotary_frequencies_lines,
    "rotary_tables": _rotary_tables_lines,
    "apply_rotary": _apply_rotary_lines,
}
