"""In which memory layouts the inputs of a drawn case are handed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.lattice import Limits, Words

_LAYOUTS = {"fortran": 3, "heads_last": 4, "reversed": 3, "gapped": 3, "inside": 3, "readonly": 1}
"""Memory layouts that any numbers can have, with weights."""


def draw_presentation(words: Words, inputs: Mapping[str, NDArray[Any]], limits: Limits) -> dict[str, str]:
    """Draw the memory layouts of a case: the ordinary one for most, else another one for some inputs or for all."""
    stream = words.of("presentation")
    if not stream.percent(25) or not limits.allow("presentation"):
        return {}
    layout, everywhere, share = stream.weighted(_LAYOUTS), stream.percent(40), stream.between(20, 60)
    return {
        name: layout
        for name, array in inputs.items()
        if (everywhere or stream.percent(share)) and array.size and (array.ndim == 4 or layout != "heads_last")
    }
