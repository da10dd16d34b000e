"""The operations of caches that the oracle evaluates: number by number, as the pages' formulas have them."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec_oracle.certification import Outputs


def append_cache(
    *, past_key: NDArray[Any], past_value: NDArray[Any], key: NDArray[Any], value: NDArray[Any]
) -> Outputs:
    """Evaluate ``append_cache`` (clauses ``append.*``)."""
    return _known(present_key=_behind(past_key, key), present_value=_behind(past_value, value))


def _behind(past: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    batch, heads, tokens, width = past.shape
    present = np.empty((batch, heads, tokens + new.shape[2], width))
    for token in range(present.shape[2]):
        present[:, :, token] = past[:, :, token] if token < tokens else new[:, :, token - tokens]
    return present


def scatter_cache(
    *,
    cache: NDArray[Any],
    update: NDArray[Any],
    write_indices: NDArray[Any] | None = None,
    step_lengths: NDArray[Any] | None = None,
    axis: int = -2,
    mode: str = "linear",
) -> Outputs:
    """Evaluate ``scatter_cache`` (clauses ``scatter.*``)."""
    axis %= cache.ndim
    present, history = np.array(cache), list[Any]()
    for step in _steps(step_lengths, update.shape[axis]):
        for index in np.ndindex(update.shape):
            if index[axis] not in step:
                continue
            slot = index[axis] + (0 if write_indices is None else int(write_indices[index[0]]))
            if mode == "circular":
                slot %= cache.shape[axis]
            present[(*index[:axis], slot, *index[axis + 1 :])] = update[index]
        history.append(present.copy())
    return _known(present=present, **({} if step_lengths is None else {"history": np.array(history)}))


def _steps(step_lengths: NDArray[Any] | None, new: int) -> Sequence[range]:
    lengths = [new] if step_lengths is None else step_lengths.tolist()
    return [range(sum(lengths[:number]), sum(lengths[: number + 1])) for number in range(len(lengths))]


def write_slots(
    *,
    key_pool: NDArray[Any],
    value_pool: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    slot_mapping: NDArray[Any],
    key_scale: NDArray[Any] | None = None,
    value_scale: NDArray[Any] | None = None,
) -> Outputs:
    """Evaluate ``write_slots`` (clauses ``slots.*``): quotients are fractions, rounded once."""
    size = key_pool.shape[1]
    destinations = [divmod(slot, size) if slot >= 0 else None for slot in slot_mapping.tolist()]
    return _known(
        present_key=_placed(key_pool, key, destinations, key_scale),
        present_value=_placed(value_pool, value, destinations, value_scale),
    )


def write_paged_cache(
    *,
    key_pool: NDArray[Any],
    value_pool: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    batch_indices: NDArray[Any],
    positions: NDArray[Any],
    page_indices: NDArray[Any],
    page_starts: NDArray[Any],
) -> Outputs:
    """Evaluate ``write_paged_cache`` (clauses ``pages.*``)."""
    size = key_pool.shape[1]
    destinations: list[tuple[int, int] | None] = []
    for sequence, position in zip(batch_indices.tolist(), positions.tolist(), strict=True):
        pages = page_indices.tolist()[page_starts[sequence] : page_starts[sequence + 1]]
        destinations.append((pages[position // size], position % size))
    return _known(
        present_key=_placed(key_pool, key, destinations, None),
        present_value=_placed(value_pool, value, destinations, None),
    )


def _placed(
    pool: NDArray[Any], tokens: NDArray[Any], destinations: Sequence[tuple[int, int] | None], scale: NDArray[Any] | None
) -> NDArray[Any]:
    placed: NDArray[Any] = pool.astype(np.float64)
    scales = None if scale is None else np.broadcast_to(scale, tokens.shape[1:2])
    for (token, head, feature), number in np.ndenumerate(tokens):
        found: tuple[int, int] | None = destinations[int(token)]
        if found is not None:
            placed[(*found, head, feature)] = (
                number if scales is None else _quantized(float(number), float(scales[head]), pool.dtype)
            )
    return placed


def _quantized(number: float, scale: float, dtype: np.dtype[Any]) -> float:
    """Divide and round to the nearest number of a dtype, of two to the one whose code is even, without leaving it."""
    if np.isnan(number):
        return number
    numbers, is_even = _numbers_of(dtype)
    if np.isinf(number):
        return numbers[-1] if number > 0 else numbers[0]
    quotient = Fraction(number) / Fraction(scale)
    above = bisect_left(numbers, quotient)
    if above in (0, len(numbers)):
        return numbers[min(above, len(numbers) - 1)]
    below = above - 1
    under, over = quotient - Fraction(numbers[below]), Fraction(numbers[above]) - quotient
    if under == over:
        return numbers[above if is_even[above] else below]
    return numbers[above if over < under else below]


@cache
def _numbers_of(dtype: np.dtype[Any]) -> tuple[list[float], list[bool]]:
    """Return the finite numbers of a dtype of 8 bits, rising, and whether the last bit of each one's code is 0."""
    codes = np.arange(256, dtype=np.uint8)
    numbers = codes.view(dtype).astype(np.float64)
    order = [index for index in np.argsort(numbers, kind="stable") if np.isfinite(numbers[index])]
    # Of the two zeros, one alone: both are even.
    kept = [index for index in order if not (numbers[index] == 0 and np.signbit(numbers[index]))]
    return [float(numbers[index]) for index in kept], [index % 2 == 0 for index in kept]


def write_window(
    *,
    key_cache: NDArray[Any],
    value_cache: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    past_lengths: NDArray[Any],
    step_lengths: NDArray[Any] | None = None,
    keep: int = 0,
) -> Outputs:
    """Evaluate ``write_window`` (clauses ``window.*``)."""
    outputs: dict[str, NDArray[Any]] = {}
    for name, window, new in (("key", key_cache, key), ("value", value_cache, value)):
        present, history = np.array(window), list[Any]()
        for step in _steps(step_lengths, new.shape[2]):
            for entry, past in enumerate(past_lengths.tolist()):
                for token in step:
                    position = past + token
                    slot = position if position < keep else keep + (position - keep) % (window.shape[2] - keep)
                    present[entry, :, slot] = new[entry, :, token]
            history.append(present.copy())
        outputs[f"present_{name}"] = present
        if step_lengths is not None:
            outputs[f"{name}_history"] = np.array(history)
    return _known(**outputs)


def _known(**outputs: NDArray[Any]) -> Outputs:
    return {name: lambda _, array=array: array for name, array in outputs.items()}


OPERATIONS: Mapping[str, Callable[..., Outputs]] = {
    function.__name__: function
    for function in (append_cache, scatter_cache, write_slots, write_paged_cache, write_window)
}
"""The operations of caches by name."""

OF_BYTES = ("write_slots",)
"""The operations that round to the dtype of a pool of 8 bits."""
