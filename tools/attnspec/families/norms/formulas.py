"""The formula of each norm in lines of NumPy, with the features of one case and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.base.literals import number_literal

if TYPE_CHECKING:
    from attnspec.cases import Case


def formula(case: Case) -> list[str]:
    """Return the lines that compute the outputs of a case from its inputs, under the contract's names."""
    if case.operation == "rms_norm":
        root = _root("x", case)
        return [f"root = {root}", f"output = x / root * {_factor('weight', case)}"]
    return [line for name in ("query", "key") for line in _lines_of(name, case)]


def _root(name: str, case: Case) -> str:
    epsilon = number_literal(case.attributes["epsilon"])
    return f"np.sqrt(np.mean({name}**2, axis=-1, keepdims=True) + {epsilon})"


def _factor(weight: str, case: Case) -> str:
    return f"(1 + {weight})" if case.attributes.get("weight_offset") == "one" else weight


def _lines_of(name: str, case: Case) -> list[str]:
    factor = _factor(f"{name}_weight", case)
    if case.attributes.get("normalized_over") == "all_heads":
        normalized = [
            f"B, H, S, E = {name}.shape",
            f"rows = {name}.swapaxes(1, 2).reshape(B, S, H * E)",
            f"rows = rows / {_root('rows', case)} * {factor}",
            f"{name}_output = rows.reshape(B, S, H, E).swapaxes(1, 2)",
        ]
    else:
        normalized = [f"{name}_output = {name} / {_root(name, case)} * {factor}"]
    return [*normalized, *(_rotation(f"{name}_output", case) if "cos" in case.inputs else [])]


def _rotation(name: str, case: Case) -> list[str]:
    interleaved = case.attributes.get("pairing") == "interleaved"
    first, second = ("0:R:2", "1:R:2") if interleaved else (":R // 2", "R // 2 : R")
    return [
        "R, c, s = 2 * cos.shape[-1], cos[:, None], sin[:, None]",
        f"first, second = {name}[..., {first}].copy(), {name}[..., {second}].copy()",
        f"{name}[..., {first}] = c * first - s * second",
        f"{name}[..., {second}] = s * first + c * second",
    ]
