"""The norms that the oracle evaluates: fractions over the root of a fraction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, fmpq

from attnspec_oracle.certification import Quantity, certify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec_oracle.certification import Elements, Outputs


@dataclass(frozen=True)
class Normalized(Quantity):
    """A row of fractions, each divided by the root of one fraction."""

    numerators: Sequence[Fraction]
    mean_square: Fraction

    def balls(self, positions: Sequence[int]) -> list[arb]:
        """Enclose the numbers at some positions."""
        root = _ball(self.mean_square).sqrt()
        return [_ball(self.numerators[position]) / root for position in positions]

    def rational(self, position: int) -> Fraction | None:
        """Give the number at a position where it is rational: a 0, or where the root is a fraction."""
        if not self.numerators[position]:
            return Fraction(0)
        upper, lower = (math.isqrt(part) for part in self.mean_square.as_integer_ratio())
        root = Fraction(upper, lower)
        return self.numerators[position] / root if root * root == self.mean_square else None


def rms_norm(*, x: NDArray[Any], weight: NDArray[Any], epsilon: float, weight_offset: str = "zero") -> Outputs:
    """Evaluate ``rms_norm`` (clauses ``rms_norm.*``)."""
    factors = _factors(weight, weight_offset)
    rows = x.reshape(-1, x.shape[-1])

    def row(token: int) -> Normalized:
        features = _fractions(rows[token])
        weighted = [feature * factor for feature, factor in zip(features, factors, strict=True)]
        return Normalized(weighted, _mean_square(features, epsilon))

    def output(elements: Elements) -> NDArray[np.float64]:
        found = certify("output", row, x.shape, elements)
        for token in np.flatnonzero(~np.isfinite(rows).all(axis=-1)):
            # By IEEE 754: NaN goes everywhere, infinity over infinity is NaN, and a number over infinity is 0.
            spoilt = np.isnan(rows[token]).any() | ~np.isfinite(rows[token])
            chosen = found.reshape(rows.shape)[token]
            chosen[np.isfinite(chosen)] = np.where(spoilt, np.nan, 0.0)[np.isfinite(chosen)]
        return found

    return {"output": output}


def qk_norm(
    *,
    query: NDArray[Any],
    key: NDArray[Any],
    query_weight: NDArray[Any],
    key_weight: NDArray[Any],
    cos: NDArray[Any] | None = None,
    sin: NDArray[Any] | None = None,
    epsilon: float,
    normalized_over: str = "head",
    weight_offset: str = "zero",
    pairing: str = "half",
) -> Outputs:
    """Evaluate ``qk_norm`` (clauses ``qk_norm.*``)."""

    def of(name: str, x: NDArray[Any], weight: NDArray[Any]) -> Callable[[Elements], NDArray[np.float64]]:
        factors = _factors(weight, weight_offset)
        heads, width = x.shape[1], x.shape[3]

        def row(index: int) -> Normalized:
            entry, head, token = map(int, np.unravel_index(index, x.shape[:3]))
            own = _fractions(x[entry, head, token])
            together = own if normalized_over == "head" else _fractions(x[entry, :, token].ravel())
            of_head = factors if normalized_over == "head" else factors[head * width : (head + 1) * width]
            weighted = [feature * factor for feature, factor in zip(own, of_head, strict=True)]
            if cos is not None and sin is not None:
                weighted = _turned(weighted, _fractions(cos[entry, token]), _fractions(sin[entry, token]), pairing)
            return Normalized(weighted, _mean_square(together, epsilon))

        if len(factors) != (width if normalized_over == "head" else heads * width):
            raise ValueError(f"{name} has {width} features and {heads} heads, and {len(factors)} weights.")
        return lambda elements: certify(name, row, x.shape, elements)

    return {
        "query_output": of("query_output", query, query_weight),
        "key_output": of("key_output", key, key_weight),
    }


def _turned(features: list[Fraction], cos: list[Fraction], sin: list[Fraction], pairing: str) -> list[Fraction]:
    """Rotate the pairs of one head of one token."""
    turned = list(features)
    for pair, (cosine, sine) in enumerate(zip(cos, sin, strict=True)):
        first, second = (2 * pair, 2 * pair + 1) if pairing == "interleaved" else (pair, pair + len(cos))
        turned[first] = cosine * features[first] - sine * features[second]
        turned[second] = sine * features[first] + cosine * features[second]
    return turned


def _fractions(numbers: NDArray[Any]) -> list[Fraction]:
    """Give the exact numbers of a row; those that are not finite count as 0, and are replaced afterwards."""
    return [Fraction(float(number)) if math.isfinite(number) else Fraction(0) for number in numbers]


def _factors(weight: NDArray[Any], weight_offset: str) -> list[Fraction]:
    if weight_offset not in ("zero", "one"):
        raise ValueError(f"weight_offset is {weight_offset!r}; it is zero or one.")
    return [int(weight_offset == "one") + factor for factor in _fractions(weight)]


def _mean_square(features: list[Fraction], epsilon: float) -> Fraction:
    return sum((feature * feature for feature in features), Fraction(0)) / len(features) + Fraction(epsilon)


def _ball(fraction: Fraction) -> arb:
    return arb(fmpq(fraction.numerator, fraction.denominator))


OPERATIONS: Mapping[str, Callable[..., Outputs]] = {function.__name__: function for function in (rms_norm, qk_norm)}
"""The norms by name."""
