"""A case's inputs as Transformers has them: the past from its cache, what is excluded by its ``masking_utils``."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.tensors.libraries import import_library

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    MaskFunction = Callable[[Any, Any, Any, Any], Any]

torch = import_library("torch", adapter="transformers")
transformers = import_library("transformers", adapter="transformers")
masking = import_library("transformers.masking_utils", adapter="transformers")
tensors = import_library("attnspec_adapters.torch_tensors", adapter="transformers")


@dataclass(frozen=True)
class Inputs:
    """Inputs as a model computes them before it attends; names and values are those of the contract."""

    query: NDArray[Any]
    key: NDArray[Any]
    value: NDArray[Any]
    past_key: NDArray[Any] | None
    past_value: NDArray[Any] | None
    mask: NDArray[Any] | None
    key_lengths: NDArray[Any] | None
    query_lengths: NDArray[Any] | None
    is_causal: bool
    causal_alignment: str
    window: Sequence[int | None] | None

    def tensors(self) -> tuple[Any, Any, Any]:
        """Return query, keys and values; keys and values come from a ``DynamicCache`` where there is a past."""
        query, key, value = (tensors.to_tensor(array) for array in (self.query, self.key, self.value))
        if self.past_key is None or self.past_value is None:
            return query, key, value
        cache = transformers.DynamicCache()
        cache.update(tensors.to_tensor(self.past_key), tensors.to_tensor(self.past_value), 0)
        return query, *cache.update(key, value, 0)

    def module(self, **parameters: Any) -> SimpleNamespace:
        """Return the attributes that attention functions read of their module.

        `ValueError` for fewer query heads than key heads, with which a model fails after its attention.
        """
        query_heads, key_heads = self.query.shape[1], self.key.shape[1]
        if 0 < query_heads < key_heads:
            raise ValueError(f"no model has {query_heads} query heads and {key_heads} key heads")
        return SimpleNamespace(
            num_key_value_groups=query_heads // key_heads, training=False, is_causal=self.is_causal, **parameters
        )

    def float_mask(self) -> Any:
        """Return the mask of numbers, with four axes; None where there is none."""
        return None if self.mask is None or self.mask.dtype == np.bool_ else _with_four_axes(self.mask)

    def attended(self, *, may_skip: bool = False) -> Any:
        """Return where positions, lengths and a Boolean mask let a query attend to a key.

        Broadcasts to (B, H, Sq, P + Sk). None where no mask is needed; with `may_skip` also where ``is_causal`` says
        the same.
        """
        by_position = self._by_position(may_skip=may_skip and self.mask is None)
        if self.mask is None or self.mask.dtype != np.bool_:
            return by_position
        given = _with_four_axes(self.mask)
        return given if by_position is None else given & by_position

    def _by_position(self, *, may_skip: bool) -> Any:
        functions = self._mask_functions()
        if not functions and self.key_lengths is None:
            return None
        lengths = self.key_lengths
        (batch, _, queries, _), keys = self.query.shape, self._past() + self.key.shape[2]
        offsets = self._offsets()
        # Transformers leaves causal masks out only where a cache grows: there the last query stands at the last key.
        grows = self.window is None and bool((offsets == keys - queries).all())
        return masking.sdpa_mask(
            batch_size=batch,
            q_length=queries,
            kv_length=keys,
            q_offset=int(offsets[0]) if batch else 0,
            mask_function=_moved(masking.and_masks(*functions), offsets),
            attention_mask=None if lengths is None else torch.arange(keys) < tensors.to_tensor(lengths)[:, None],
            allow_is_causal_skip=may_skip and grows,
        )

    def _mask_functions(self) -> list[MaskFunction]:
        functions: list[MaskFunction] = [masking.causal_mask_function] if self.is_causal else []
        left, right = (None, None) if self.window is None else self.window
        if left is not None:
            # Transformers counts the query's own position among those that the window holds.
            functions.append(masking.sliding_window_overlay(left + 1))
        if right is not None:
            functions.append(lambda _batch, _head, query, key: key <= query + right)
        return functions

    def _offsets(self) -> NDArray[np.int64]:
        """Return the position of the first query of each batch entry."""
        first: Any = self._past()
        if self.causal_alignment == "bottom_right":
            keys = first + self.key.shape[2] if self.key_lengths is None else self.key_lengths
            first = keys - (self.query.shape[2] if self.query_lengths is None else self.query_lengths)
        return np.broadcast_to(first, self.query.shape[:1]).astype(np.int64)

    def _past(self) -> int:
        return 0 if self.past_key is None else self.past_key.shape[2]


def _moved(function: MaskFunction, offsets: NDArray[np.int64]) -> MaskFunction:
    """Return a mask function for queries that stand elsewhere than those of the first batch entry."""
    further = torch.from_numpy(offsets - offsets[:1])

    def moved(batch: Any, head: Any, query: Any, key: Any) -> Any:
        return function(batch, head, query + further[batch], key)

    return moved


def _with_four_axes(mask: NDArray[Any]) -> Any:
    return tensors.to_tensor(mask)[(None,) * (4 - mask.ndim)]
