"""The formula of each operation of caches in lines of NumPy, with the features of one case and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.contract.dtypes import own_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec.cases import Case

_NAMES = ("key", "value")
_LARGEST = {"float8_e4m3fn": "-448, 448", "float8_e5m2": "-57344, 57344", "int8": "-128, 127"}


def formula(case: Case) -> list[str]:
    """Return the lines that compute the outputs of a case from its inputs, under the contract's names."""
    return _FORMULAS[case.operation](case)


def _append_lines(_: Case) -> list[str]:
    return [f"present_{name} = np.concatenate([past_{name}, {name}], axis=2)" for name in _NAMES]


def _scatter_lines(case: Case) -> list[str]:
    axis = case.attributes.get("axis", -2)
    slots = "first + np.arange(length)"
    if case.attributes.get("mode") == "circular":
        slots = f"({slots}) % cache.shape[{axis}]"
    first = "write_indices[b] + done" if "write_indices" in case.inputs else "done"
    steps = "step_lengths" if "step_lengths" in case.inputs else f"[update.shape[{axis}]]"
    return [
        f"present, new = np.moveaxis(cache.copy(), {axis}, 1), np.moveaxis(update, {axis}, 1)",
        "after, done = [], 0",
        f"for length in {steps}:",
        "    for b in range(len(cache)):",
        f"        first = {first}",
        f"        present[b, {slots}] = new[b, done : done + length]",
        f"    after.append(np.moveaxis(present, 1, {axis}).copy())",
        "    done = done + length",
        "present = after[-1]",
        *(["history = np.array(after)"] if "step_lengths" in case.inputs else []),
    ]


def _written(case: Case, name: str) -> list[str]:
    written = f"{name}[t]"
    if f"{name}_scale" in case.inputs:
        dtype = case.inputs[f"{name}_pool"].dtype.name
        written = f"np.clip({name}[t] / np.expand_dims({name}_scale, -1), {_LARGEST[dtype]})"
        written = f"np.rint({written})" if dtype == "int8" else f"({written}).astype(ml_dtypes.{dtype})"
    return [f"        present_{name}[page, row] = {written}"]


def _slot_lines(case: Case) -> list[str]:
    is_float8 = any(own_dtype(array) in _LARGEST.keys() - {"int8"} for array in case.inputs.values())
    return [
        *(["import ml_dtypes"] if is_float8 else []),
        "present_key, present_value = key_pool.copy(), value_pool.copy()",
        "for t, slot in enumerate(slot_mapping):",
        "    if slot >= 0:",
        "        page, row = divmod(slot, key_pool.shape[1])",
        *(line for name in _NAMES for line in _written(case, name)),
    ]


def _page_lines(_: Case) -> list[str]:
    return [
        "present_key, present_value = key_pool.copy(), value_pool.copy()",
        "for t, (b, position) in enumerate(zip(batch_indices, positions)):",
        "    page, row = divmod(position, key_pool.shape[1])",
        "    page = page_indices[page_starts[b] + page]",
        "    present_key[page, row], present_value[page, row] = key[t], value[t]",
    ]


def _window_lines(case: Case) -> list[str]:
    keep = case.attributes.get("keep", 0)
    in_steps = "step_lengths" in case.inputs
    ring = f"{keep} + (position - {keep}) % (key_cache.shape[2] - {keep})"
    slot = f"position if position < {keep} else {ring}" if keep else "position % key_cache.shape[2]"
    histories = [
        f"{name}_history = np.array([after[{number}] for after in history])" for number, name in enumerate(_NAMES)
    ]
    return [
        "present_key, present_value, history = key_cache.copy(), value_cache.copy(), []",
        *(["ends = np.cumsum(step_lengths)"] if in_steps else []),
        "for t in range(key.shape[2]):",
        *(["    history += [(present_key.copy(), present_value.copy())] * np.sum(ends == t)"] if in_steps else []),
        "    for b, past in enumerate(past_lengths):",
        "        position = past + t",
        f"        slot = {slot}",
        "        present_key[b, :, slot], present_value[b, :, slot] = key[b, :, t], value[b, :, t]",
        *(["history += [(present_key, present_value)] * np.sum(ends == key.shape[2])", *histories] if in_steps else []),
    ]


_FORMULAS: Mapping[str, Callable[[Case], list[str]]] = {
    "append_cache": _append_lines,
    "scatter_cache": _scatter_lines,
    "write_slots": _slot_lines,
    "write_paged_cache": _page_lines,
    "write_window": _window_lines,
}
