"""The order of tokens in a window under the declared convention `window_order`: a ring, or the order of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.bounds.tolerance import Estimate, Tolerance, deferred
from attnspec.families.record import Expected

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.families.record import Arrays

_CONVENTION = "window_order"


class WindowTolerance(Tolerance):
    """Values of a window, and how many tokens have come at the end and after each step: (B), and (T, B)."""

    def __init__(self, values: Mapping[str, Estimate], inputs: Arrays, keep: int) -> None:
        super().__init__(deferred(**values))
        self.keep = keep
        steps = inputs.get("step_lengths", np.zeros(0, dtype=np.int64))
        self.seen = inputs["past_lengths"] + inputs["key"].shape[2]
        self.seen_after_steps = inputs["past_lengths"] + np.cumsum(steps)[:, np.newaxis]


def expected(outputs: Arrays, conventions: Mapping[str, str], bound: Tolerance, run: int) -> Expected:
    """Return the expected outputs under declared conventions, as :class:`attnspec.families.record.Family` has it."""
    del run
    if conventions.get(_CONVENTION) != "temporal" or not isinstance(bound, WindowTolerance):
        return Expected(outputs, {}, ())
    in_order = {
        name: (
            np.array([in_order_of_text(*step, bound.keep) for step in zip(array, bound.seen_after_steps, strict=True)])
            if name.endswith("_history")
            else in_order_of_text(array, bound.seen, bound.keep)
        )
        for name, array in outputs.items()
    }
    changed = any(not np.array_equal(outputs[name], array, equal_nan=True) for name, array in in_order.items())
    return Expected(in_order, {}, (f"{_CONVENTION}=temporal",) if changed else ())


def handed(
    operation: str, inputs: Arrays, attributes: Mapping[str, Any], conventions: Mapping[str, str]
) -> Mapping[str, NDArray[Any]]:
    """Return the inputs under declared conventions: windows in the order of the text."""
    if operation != "write_window" or conventions.get(_CONVENTION) != "temporal":
        return inputs
    keep = attributes.get("keep", 0)
    windows = ("key_cache", "value_cache")
    return {
        name: in_order_of_text(array, inputs["past_lengths"], keep) if name in windows else array
        for name, array in inputs.items()
    }


def in_order_of_text(window: NDArray[Any], seen: NDArray[np.int64], keep: int) -> NDArray[Any]:
    """Return a ring (B, H, L, E) with the tokens behind the kept ones from the oldest to the newest."""
    length = window.shape[2]
    if not 0 <= keep < length or seen.shape != window.shape[:1]:
        return window
    ordered = window.copy()
    for entry, count in enumerate(seen.tolist()):
        if count > length:
            ordered[entry, :, keep:] = np.roll(window[entry, :, keep:], -((count - keep) % (length - keep)), axis=1)
    return ordered
