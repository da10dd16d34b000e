"""A layer of latent attention, called with tensors of a case, or as multi-head attention, as probes call it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec_modules.attention.around import filled_norms
from attnspec_modules.attention.constructing import Sizes
from attnspec_modules.attention.latents.latent_weights import (
    Tensors,
    filled_latents,
    needed_for,
    of_multi_head,
    widened,
)
from attnspec_modules.attention.latents.latent_widths import Chosen, widths_for
from attnspec_modules.attention.layer import Call, LayerRunner, Made
from attnspec_modules.attention.layer_reading import LatentTies


class LatentRunner(LayerRunner):
    """Runs a layer of latent attention; weights are its tensors, or matrices of multi-head attention.

    A layer may have wider tokens than a case: they end with zeros, and so does the output, which is cut.
    """

    @property
    def ties(self) -> LatentTies:
        """Widths that follow from others."""
        assert self.reading.latents is not None
        return self.reading.latents

    def ready(self, call: Call, weights: Mapping[str, NDArray[Any]], heads: int) -> Made:
        """Return a layer for a call, filled with its weights."""
        tensors = self._tensors(weights, heads)
        sizes = self._sizes(call, heads, weights)
        made = self.made(sizes, call.query.dtype.name)
        shapes = {path: parameter.shape for path, parameter in made.parameters.items()}
        kept = {name for placement in self.reading.parameters.values() for name in placement.tensors}
        wide = widened(tensors, self._chosen(tensors), has_query_down="query_down" in kept)
        numbers = filled_latents(self.reading.parameters, shapes, wide)
        self.library.fill(made.layer, numbers | filled_norms(made.norms, self.normalizes, call.query.dtype))
        return made

    def _tensors(self, weights: Mapping[str, NDArray[Any]], heads: int) -> Tensors:
        return weights if "latent" in weights else of_multi_head(weights, heads, self.ties)

    def _chosen(self, tensors: Tensors) -> Chosen:
        return widths_for(self.ties, needed_for(tensors))

    def _sizes(self, call: Call, heads: int, weights: Mapping[str, NDArray[Any]]) -> Sizes:
        chosen = self._chosen(self._tensors(weights, heads))
        sizes = super()._sizes(call, heads, {})._replace(keys=None, values=None)
        return sizes._replace(width=chosen.tokens, latents=chosen.widths)

    def _arguments(
        self, call: Call, sizes: Sizes, raw: Mapping[str, Any] | None = None, past: int = 0
    ) -> dict[str, Any]:
        missing = sizes.width - call.query.shape[-1]
        if missing > 0:
            wide = [np.pad(tokens, ((0, 0), (0, 0), (0, missing))) for tokens in call[:3]]
            call = Call(wide[0], wide[1], wide[2], call.mask, call.is_causal)
        return super()._arguments(call, sizes, raw, past)

    def _read(self, returned: Any, call: Call, heads: int) -> tuple[NDArray[Any], NDArray[Any] | None]:
        output, weights = super()._read(returned, call, heads)
        return output[..., : call.query.shape[-1]], weights

    def _beside_output(self, made: Made, output: NDArray[Any], weights: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        del made, weights
        return output
