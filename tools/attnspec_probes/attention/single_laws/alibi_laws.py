"""Laws of ALiBi: which distance, between which positions, by the slope of which head, logits lose."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.families.attention.steps.attendance import positions
from attnspec_probes.attention.single_laws.logit_laws import RESIDUALS, Rows
from attnspec_probes.attention.single_laws.probe import Probe


@dataclass(frozen=True)
class AlibiLaw:
    """A law of ALiBi about ``distance``, ``position`` or ``heads``: the bias added to the logits of a probe.

    `at` gives where the first query stands, and `offset` how far that is from where it should; `words` are the rule.
    """

    about: str
    words: str
    offset: int
    bias: Callable[[Probe], NDArray[Any]]
    at: Callable[[Probe], Any]


_EXPECTED = "|p - j|"
"""The expected distance."""

_DISTANCES: dict[str, Callable[[NDArray[np.int64]], NDArray[Any]]] = {
    _EXPECTED: np.abs,
    "p - j": lambda ahead: ahead,
    "max(p - j, 0)": lambda ahead: np.maximum(ahead, 0),
    "max(j - p, 0)": lambda ahead: np.maximum(-ahead, 0),
    "-|p - j|": lambda ahead: -np.abs(ahead),
    "(p - j)^2": lambda ahead: ahead**2,
    "sqrt |p - j|": lambda ahead: np.sqrt(np.abs(ahead)),
    "log(1 + |p - j|)": lambda ahead: np.log1p(np.abs(ahead)),
}


OF_HEAD: dict[str, Callable[[NDArray[Any], Probe], NDArray[Any]]] = {
    "h": lambda slopes, _: slopes,
    "h // (Hq / Hkv)": lambda slopes, of: slopes[of.heads],
    "Hq - 1 - h": lambda slopes, _: slopes[::-1],
    "0": lambda slopes, _: np.full_like(slopes, slopes[0]),
    **{f"h + {off}": lambda slopes, _, off=off: np.roll(slopes, -off) for off in range(1, 12)},
    "h // (Hq / Hkv) * (Hq / Hkv)": lambda slopes, of: slopes[of.heads * (of.shape[1] // of.key_heads)],
    "h % Hkv": lambda slopes, of: slopes[np.arange(len(slopes)) % of.key_heads],
    "(h % Hkv) * (Hq / Hkv) + h // Hkv": lambda slopes, of: slopes[
        np.arange(len(slopes)).reshape(of.key_heads, -1).T.ravel().argsort()
    ],
}
"""Which of the numbers that heads have each query head gets, by the rule; the first is right."""


_STARTS: dict[str, Callable[[Probe], int]] = {
    "i": lambda _: 0,
    "i + P": lambda of: of.past,
    "i + P + Sk - Sq": lambda of: of.shape[3] - of.shape[2],
}
"""Where the first query may be taken to stand, whatever alignment and lengths say."""


def alibi_laws(rows: Rows, probe: Probe, dtype: str) -> list[AlibiLaw]:
    """Return the laws that give what the logits lost, the plainest first; none where there are no slopes."""
    if "alibi_slopes" not in probe.inputs:
        return []
    others = probe.capped(probe.scores) + probe.mask
    allowed = RESIDUALS.get(dtype, np.inf) * max(1.0, float(np.abs(probe.logits).max(initial=0.0)))
    return [law for law in _laws(probe) if rows.residual(others + law.bias(probe)) <= allowed]


def _laws(probe: Probe) -> Generator[AlibiLaw]:
    """Give laws, those first in which one thing alone is another one."""
    for slope in OF_HEAD:
        yield _law(_EXPECTED, slope, 0)
    others = [distance for distance in _DISTANCES if distance != _EXPECTED]
    for distance in others:
        yield _law(distance, "h", 0)
    for start, offset in _STARTS.items():
        yield AlibiLaw("position", f"the query stands at {start}", 0, _bias(_EXPECTED, "h", offset), offset)
    for distance in (_EXPECTED, *others):
        for off in probe.offsets:
            yield _law(distance, "h", off)


def _law(distance: str, slope: str, off: int) -> AlibiLaw:
    about = "heads" if slope != "h" else "position" if off and distance == _EXPECTED else "distance"
    words = {
        "heads": f"query head h has slope {slope}",
        "position": f"positions are {off:+d} off",
        "distance": f"the distance is {distance}" + (f" with positions {off:+d} off" if off else ""),
    }[about]

    def at(of: Probe) -> Any:
        return of.placing.offset + off

    return AlibiLaw(about, words, off, _bias(distance, slope, at), at)


def _bias(distance: str, slope: str, offset: Callable[[Probe], Any]) -> Callable[[Probe], NDArray[Any]]:
    def bias(of: Probe) -> NDArray[Any]:
        if "alibi_slopes" not in of.inputs:
            return np.zeros((1, 1, 1, 1))
        ahead = positions(of.shape[2], offset(of)) - np.arange(of.shape[3])
        slopes = OF_HEAD[slope](of.inputs["alibi_slopes"], of)
        return -slopes.reshape(-1, 1, 1) * _DISTANCES[distance](ahead)

    return bias
