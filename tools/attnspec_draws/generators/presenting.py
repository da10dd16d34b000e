"""In which memory layouts the inputs of a drawn case are handed over."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_draws.generators.limits import Limits
    from attnspec_draws.generators.words import Words

_LAYOUTS = {
    "fortran": 3,
    "heads_last": 4,
    "heads_last_gapped": 2,
    "reversed": 3,
    "gapped": 3,
    "inside": 3,
    "readonly": 1,
    "fused": 3,
    "prefix": 3,
}
"""Memory layouts that any numbers can have, with weights."""

_PRESENTED, _EVERYWHERE = 25, 40
"""Of a hundred draws, how many have another layout than the ordinary one; of these, how many for all inputs."""

_FEWEST, _MOST = 20, 60
"""Of a hundred inputs, how many have that layout elsewhere, at least and at most."""


def draw_memory_order(words: Words, inputs: Mapping[str, NDArray[Any]], limits: Limits) -> dict[str, str]:
    """Draw the memory layouts of a case: the ordinary one for the most part, else another for some or for all."""
    stream = words.of("presentation")
    if not stream.percent(_PRESENTED) or not limits.allow("presentation"):
        return {}
    layout, everywhere, share = stream.weighted(_LAYOUTS), stream.percent(_EVERYWHERE), stream.between(_FEWEST, _MOST)
    laid_out = {
        name: array
        for name, array in inputs.items()
        if (everywhere or words.of(f"presentation {name}").percent(share))
        and array.ndim
        and array.size
        and (array.ndim == 4 or layout not in ("heads_last", "heads_last_gapped"))
        and (array.ndim > 1 or layout != "prefix")
    }
    beside = Counter(map(_beside, laid_out.values()))
    return {name: layout for name, array in laid_out.items() if layout != "fused" or beside[_beside(array)] > 1}


def _beside(array: NDArray[Any]) -> tuple[Any, ...]:
    """Return what arrays have in common that can lie side by side along the last axis."""
    return array.dtype, *array.shape[:-1]
