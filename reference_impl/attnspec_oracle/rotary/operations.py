"""The operations of rotary positions that the oracle evaluates."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb

from attnspec_oracle.certification import certify
from attnspec_oracle.rotary.frequencies import Computed, Frequencies
from attnspec_oracle.rounding import round_fraction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from attnspec_oracle.certification import Elements, Outputs


def rotary_frequencies(**attributes: Any) -> Outputs:
    """Evaluate ``rotary_frequencies`` (clauses ``rotary_frequencies.*``)."""
    frequencies = Frequencies(**attributes)
    one = Computed(lambda _: frequencies.factor_of_tables())

    def inverse_frequencies(elements: Elements) -> NDArray[np.float64]:
        row = Computed(frequencies.frequency)
        return certify("inverse_frequencies", lambda _: row, (frequencies.width // 2,), elements)

    def attention_factor(elements: Elements) -> NDArray[np.float64]:
        return certify("attention_factor", lambda _: one, (1,), elements).reshape(())

    return {"inverse_frequencies": inverse_frequencies, "attention_factor": attention_factor}


def rotary_tables(
    *, position_ids: NDArray[Any], inverse_frequencies: NDArray[Any], attention_factor: float = 1.0
) -> Outputs:
    """Evaluate ``rotary_tables`` (clauses ``rotary_tables.*``): (B, S) and (R/2,) to (B, S, R/2) twice."""
    positions = [int(position) for position in position_ids.ravel()]
    frequencies = [arb(float(frequency)) for frequency in inverse_frequencies]
    shape = (*position_ids.shape, len(frequencies))

    def table(name: str, function: Callable[[arb], arb]) -> Callable[[Elements], NDArray[np.float64]]:
        def row(token: int) -> Computed:
            return Computed(lambda pair: arb(attention_factor) * function(positions[token] * frequencies[pair]))

        return lambda elements: certify(name, row, shape, elements)

    return {"cos": table("cos", lambda phase: phase.cos()), "sin": table("sin", lambda phase: phase.sin())}


def apply_rotary(*, x: NDArray[Any], cos: NDArray[Any], sin: NDArray[Any], pairing: str = "half") -> Outputs:
    """Evaluate ``apply_rotary`` (clauses ``apply_rotary.*``): every result is a fraction, rounded once."""
    if pairing not in ("half", "interleaved"):
        raise ValueError(f"pairing is {pairing!r}; it is half or interleaved.")
    pairs = cos.shape[-1]
    step = 2 if pairing == "interleaved" else 1
    start = 1 if pairing == "interleaved" else pairs
    first, second = slice(0, step * pairs, step), slice(start, 2 * pairs, step)
    cosines, sines = (np.broadcast_to(table[:, np.newaxis], (*x.shape[:3], pairs)) for table in (cos, sin))

    def output(elements: Elements) -> NDArray[np.float64]:
        del elements
        rotated = x.copy()
        rotated[..., first] = _turned(cosines, x[..., first], -sines, x[..., second])
        rotated[..., second] = _turned(sines, x[..., first], cosines, x[..., second])
        return rotated

    return {"output": output}


def _turned(left: NDArray[Any], first: NDArray[Any], right: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Round ``left * first + right * second``, each element once; next to NaN and infinity IEEE 754 rules."""
    with np.errstate(invalid="ignore", over="ignore"):
        turned = left * first + right * second
    for index in np.ndindex(turned.shape):
        numbers = [float(factor[index]) for factor in (left, first, right, second)]
        if all(map(math.isfinite, numbers)):
            a, b, c, d = map(Fraction, numbers)
            turned[index] = round_fraction(a * b + c * d)
    return turned


OPERATIONS: Mapping[str, Callable[..., Outputs]] = {
    function.__name__: function for function in (rotary_frequencies, rotary_tables, apply_rotary)
}
"""The operations of rotary positions by name."""
