"""Steps of a decoder: a causal case of attention cut at its queries, with what earlier steps kept.

A past grows by what each call returned as present; a buffer for all tokens is read as far as its lengths say, and holds
NaN behind them.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from attnspec.contract import OPERATIONS
from attnspec.families.attention.parts import fill_where_nothing_is_read
from attnspec.families.parts import BATCH, length_along, position_of_axis, taken
from attnspec.families.record import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.cases import Case
    from attnspec.families.record import Arrays

_QUERY, _KEY = "query", "key"
"""The axes of new and of all tokens, in the contract."""

_BY_LENGTHS = "bottom_right"
"""The alignment with which queries stand at the end of the keys that count."""

_Calls: TypeAlias = "Generator[Case, Arrays, tuple[Arrays, str]]"


def steps(case: Case, kind: str, conventions: Mapping[str, str]) -> Steps | None:
    """Return a case in a prefill of half its tokens, one token, and the rest; None where a declaration excludes it."""
    length = length_along(case, _QUERY)
    ends = (length // 2, length // 2 + 1, length)
    sizes = f"{ends[0]}, 1 and {length - ends[1]} tokens"
    if kind == "past":
        return Steps(f"in steps of {sizes} behind a past", _behind_a_past(case, ends))
    if conventions["causal_alignment"] not in ("any", _BY_LENGTHS):
        return None
    calls = _in_a_buffer(case, ends, fill_where_nothing_is_read(conventions))
    return Steps(f"in steps of {sizes} in a buffer with lengths", calls)


def _behind_a_past(case: Case, ends: Sequence[int]) -> _Calls:
    """Call each step with what the one before it returned as present, or with earlier tokens where it returns none."""
    cached = [name for name in case.inputs if f"past_{name}" in OPERATIONS[case.operation].arguments]
    kept: dict[str, NDArray[Any]] = {}
    answers: list[Arrays] = []
    for begin, end in zip((0, *ends), ends, strict=False):
        of_queries = case._replace(inputs=taken(case, _QUERY, range(begin, end)))
        inputs = taken(of_queries, _KEY, range(end))
        new, so_far = (taken(case, _KEY, range(first, end)) for first in (begin, 0))
        inputs |= {name: new[name] for name in cached}
        got = yield case._replace(inputs=inputs | kept, memory_order={})
        answers.append(got)
        for name in cached:
            whole = so_far[name]
            present = got.get(f"present_{name}", whole)
            if present.shape != whole.shape:
                return {}, f"present_{name} has the shape {present.shape} after {end} tokens; expected {whole.shape}"
            kept[f"past_{name}"] = present.astype(whole.dtype)
            if not np.array_equal(kept[f"past_{name}"], whole, equal_nan=True):
                return {}, f"present_{name} does not hold the {end} tokens so far, unchanged"
    return _joined(case, answers)


def _in_a_buffer(case: Case, ends: Sequence[int], fill: float) -> _Calls:
    """Call each step with as many tokens as there are at last, of which those up to its end count."""
    answers: list[Arrays] = []
    for begin, end in zip((0, *ends), ends, strict=False):
        inputs = taken(case, _QUERY, range(begin, end))
        for name, array in case.inputs.items():
            position = position_of_axis(case.operation, name, array.shape, _KEY)
            if position is not None and _QUERY not in OPERATIONS[case.operation].axes[name]:
                inputs[name] = array.copy()
                np.moveaxis(inputs[name], position, 0)[end:] = fill
        inputs["key_lengths"] = np.full(length_along(case, BATCH), end, np.int64)
        attributes = {**case.attributes, "causal_alignment": _BY_LENGTHS}
        answers.append((yield case._replace(inputs=inputs, attributes=attributes, memory_order={})))
    return _joined(case, answers)


def _joined(case: Case, answers: Sequence[Arrays]) -> tuple[Arrays, str]:
    """Return the rows of all steps behind one another, without what has a column for each key."""
    operation = OPERATIONS[case.operation]
    whole: Arrays = {}
    for name in operation.outputs:
        arrays = [answer[name] for answer in answers if name in answer]
        position = None if not arrays else position_of_axis(case.operation, name, arrays[0].shape, _QUERY)
        if position is None or len(arrays) < len(answers) or _KEY in operation.axes[name]:
            continue
        if len({np.delete(array.shape, position).tobytes() for array in arrays}) == 1:
            whole[name] = np.concatenate(arrays, axis=position)
    first = operation.outputs[0]
    return whole, "" if first in whole else f"{first} of the steps does not make one of the whole"
