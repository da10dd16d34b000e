"""The built-in adapters `transformers`, as its models run where nobody chooses, and `transformers-eager`.

``attn_implementation="sdpa"``:

================================ ====================================================================
Operation                        Mapped to
================================ ====================================================================
`scaled_dot_product_attention`   ``ALL_ATTENTION_FUNCTIONS["sdpa"]``, with the mask that a model makes
... `past_key`, `past_value`     ``DynamicCache``
... `is_causal`, `window`,       ``masking_utils.sdpa_mask`` in the positions that alignment, past and
`key_lengths`                    lengths give: ``causal_mask_function``, ``sliding_window_overlay``, a
                                 function of this adapter for the right side of a window, and lengths
                                 as a padding mask; ``is_causal`` where Transformers leaves the mask
                                 out
... `mask`                       joined with it; one of numbers gets -inf where a key is excluded
================================ ====================================================================

================================ ====================================================================
Operation                        Cannot be expressed
================================ ====================================================================
`scaled_dot_product_attention`   `softcap` and `sinks`, for which models fall back to the eager form;
                                 `alibi_slopes`, for which they have attentions of their own; outputs
                                 without elements; every output but `output`
others                           Transformers has no operator for them
================================ ====================================================================

``attn_implementation="eager"``, attention as it is written out in the models: the softmax is taken in float32 whatever
comes in, and every step is stored in the dtype.

================================ ====================================================================
Operation                        Mapped to
================================ ====================================================================
`scaled_dot_product_attention`   ``eager_attention_forward`` of Llama
... `softcap`                    that of Gemma 2
... `sinks`                      that of GPT-OSS
... past and exclusions          as by the adapter `transformers`; then the lowest number of the dtype
                                 is added where a key is excluded, as ``masking_utils.eager_mask``
                                 does it, and a mask of numbers as it is
================================ ====================================================================

================================ ====================================================================
Operation                        Cannot be expressed
================================ ====================================================================
`scaled_dot_product_attention`   `softcap` beside `sinks`; `alibi_slopes`; `scores`, `logits`,
                                 `logsumexp`
others                           Transformers has no operator for them
================================ ====================================================================

Both have the rotary positions of ``attnspec_adapters.transformers_rotary`` and the masks of
``attnspec_adapters.transformers_masks`` but for the eager one. The kernels are
PyTorch's: see the adapter `torch`. The conventions were found by running Transformers 5.23 with PyTorch 2.13 on a CPU,
and the tests run it again.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.tensors.libraries import import_library
from attnspec_adapters import transformers_rotary as rotary
from attnspec_adapters.composing import composed, taking
from attnspec_adapters.transformers_masks import attention_mask

MaskFunction = Callable[[Any, Any, Any, Any], Any]

transformers = import_library("transformers", adapter="transformers")
torch = import_library("torch", adapter="transformers")
masking = import_library("transformers.masking_utils", adapter="transformers")
modeling = import_library("transformers.modeling_utils", adapter="transformers")
tensors = import_library("attnspec.tensors.of_torch", adapter="transformers")


@dataclass(frozen=True)
class _Inputs:
    """The contract's arguments as Transformers has them: a past in its cache, exclusions by its ``masking_utils``."""

    given: SimpleNamespace

    def tensors(self) -> tuple[Any, Any, Any]:
        """Return query, keys and values; keys and values come from a ``DynamicCache`` where there is a past."""
        query, key, value = (tensors.to_tensor(array) for array in (self.given.query, self.given.key, self.given.value))
        if self.given.past_key is None or self.given.past_value is None:
            return query, key, value
        cache = transformers.DynamicCache()
        cache.update(tensors.to_tensor(self.given.past_key), tensors.to_tensor(self.given.past_value), 0)
        return query, *cache.update(key, value, 0)

    def module(self, **parameters: Any) -> SimpleNamespace:
        """Return the attributes that attention functions read of their module.

        `ValueError` for fewer query heads than key heads, with which a model fails after its attention.
        """
        query_heads, key_heads = self.given.query.shape[1], self.given.key.shape[1]
        if 0 < query_heads < key_heads:
            raise ValueError(f"no model has {query_heads} query heads and {key_heads} key heads")
        return SimpleNamespace(
            num_key_value_groups=query_heads // key_heads, training=False, is_causal=self.given.is_causal, **parameters
        )

    def float_mask(self) -> Any:
        """Return the mask of numbers, with four axes; None where there is none."""
        return (
            None if self.given.mask is None or self.given.mask.dtype == np.bool_ else _with_four_axes(self.given.mask)
        )

    def attended(self, *, may_skip: bool = False) -> Any:
        """Return where positions, lengths and a Boolean mask let a query attend to a key.

        Broadcasts to (B, H, Sq, P + Sk). None where no mask is needed; with `may_skip` also where ``is_causal`` says
        the same.
        """
        by_position = self._by_position(may_skip=may_skip and self.given.mask is None)
        if self.given.mask is None or self.given.mask.dtype != np.bool_:
            return by_position
        given = _with_four_axes(self.given.mask)
        return given if by_position is None else given & by_position

    def _by_position(self, *, may_skip: bool) -> Any:
        functions = self._mask_functions()
        if not functions and self.given.key_lengths is None:
            return None
        lengths = self.given.key_lengths
        (batch, _, queries, _), keys = self.given.query.shape, self._past() + self.given.key.shape[2]
        offsets = self._offsets()
        # Transformers leaves causal masks out only where a cache grows: there the last query stands at the last key.
        grows = self.given.window is None and bool((offsets == keys - queries).all())
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
        functions: list[MaskFunction] = [masking.causal_mask_function] if self.given.is_causal else []
        left, right = (None, None) if self.given.window is None else self.given.window
        if left is not None:
            # Transformers counts the query's own position among those that the window holds.
            functions.append(masking.sliding_window_overlay(left + 1))
        if right is not None:
            functions.append(lambda _batch, _head, query, key: key <= query + right)
        return functions

    def _offsets(self) -> NDArray[np.int64]:
        """Return the position of the first query of each batch entry."""
        first: Any = self._past()
        if self.given.causal_alignment == "bottom_right":
            keys = first + self.given.key.shape[2] if self.given.key_lengths is None else self.given.key_lengths
            first = keys - (self.given.query.shape[2] if self.given.query_lengths is None else self.given.query_lengths)
        return np.broadcast_to(first, self.given.query.shape[:1]).astype(np.int64)

    def _past(self) -> int:
        return 0 if self.given.past_key is None else self.given.past_key.shape[2]


def _moved(function: MaskFunction, offsets: NDArray[np.int64]) -> MaskFunction:
    """Return a mask function for queries that stand elsewhere than those of the first batch entry."""
    further = torch.from_numpy(offsets - offsets[:1])

    def moved(batch: Any, head: Any, query: Any, key: Any) -> Any:
        return function(batch, head, query + further[batch], key)

    return moved


def _with_four_axes(mask: NDArray[Any]) -> Any:
    return tensors.to_tensor(mask)[(None,) * (4 - mask.ndim)]


@taking("mask past_key past_value key_lengths query_lengths is_causal causal_alignment scale window")
def scaled_dot_product_attention(given: SimpleNamespace) -> dict[str, NDArray[Any]]:
    """Run ``ALL_ATTENTION_FUNCTIONS["sdpa"]`` on (B, H, S, E); return `output` and, with a past, what is present.

    `Unsupported` for outputs without elements, which do not say how many heads they have.
    """
    if given.query.ndim == 4 and 0 in (*given.query.shape[:3], given.value.shape[-1]):
        raise Unsupported("Transformers' sdpa gives no output without elements")
    inputs = _Inputs(given)
    with torch.inference_mode():
        queries, keys, values = inputs.tensors()
        attended, added = inputs.attended(may_skip=True), inputs.float_mask()
        if attended is not None and added is not None:
            attended = torch.where(attended, added, -math.inf)
        attention_mask = added if attended is None else attended
        attend = modeling.ALL_ATTENTION_FUNCTIONS["sdpa"]
        output, _ = attend(inputs.module(), queries, keys, values, attention_mask, scaling=given.scale)
        return _returned(given, keys, values, output=output.transpose(1, 2))


def _returned(given: SimpleNamespace, keys: Any, values: Any, **outputs: Any) -> dict[str, NDArray[Any]]:
    """Return outputs and, with a past, what is present, as arrays."""
    present = {} if given.past_key is None else {"present_key": keys, "present_value": values}
    return {name: tensors.to_array(tensor) for name, tensor in {**outputs, **present}.items()}


adapter = composed(
    "transformers",
    str(transformers.__version__),
    scaled_dot_product_attention,
    rotary.rotary_frequencies,
    rotary.rotary_tables,
    rotary.apply_rotary,
    attention_mask,
    dtypes=FLOAT_DTYPES,
    conventions={
        "attention_mask.input_checks": "lenient",
        "scaled_dot_product_attention.half_precision_grade": "fused",
        "scaled_dot_product_attention.input_checks": "lenient",
        "scaled_dot_product_attention.masked_nonfinite": "propagates",
        **rotary.CONVENTIONS,
    },
)


@taking(
    "mask past_key past_value key_lengths query_lengths sinks is_causal causal_alignment scale softcap window",
    operation="scaled_dot_product_attention",
)
def _eager(given: SimpleNamespace) -> dict[str, NDArray[Any]]:
    """Run it on (B, H, S, E); return `output`, `weights` and, with a past, what is present.

    `Unsupported` for `softcap` beside `sinks`, which no model has.
    """
    if given.softcap and given.sinks is not None:
        raise Unsupported("none of these models has sinks and a softcap")
    inputs = _Inputs(given)
    with torch.inference_mode():
        queries, keys, values = inputs.tensors()
        model, module, options = "llama", inputs.module(), {}
        if given.softcap:
            model, options = "gemma2", {"softcap": given.softcap}
        elif given.sinks is not None:
            model, module = "gpt_oss", inputs.module(sinks=tensors.to_tensor(given.sinks))
        scaling = 1 / math.sqrt(given.query.shape[-1]) if given.scale is None else given.scale
        output, weights = rotary.modeling_of(model).eager_attention_forward(
            module, queries, keys, values, _added(inputs, queries.dtype), scaling=scaling, **options
        )
        return _returned(given, keys, values, output=output.transpose(1, 2), weights=weights)


def _added(inputs: _Inputs, dtype: Any) -> Any:
    """Return what is added to the scores: as ``eager_mask`` makes it, and the case's numbers as they are."""
    attended, added = inputs.attended(), inputs.float_mask()
    if attended is None:
        return added
    lowest = torch.finfo(dtype).min
    if added is None:
        return torch.where(attended, torch.zeros((), dtype=dtype), lowest)
    return torch.where(attended | added.isneginf(), added, lowest)


eager = composed(
    "transformers, eager",
    str(transformers.__version__),
    _eager,
    dtypes=FLOAT_DTYPES,
    conventions={
        "scaled_dot_product_attention.accumulation": "float32",
        "scaled_dot_product_attention.fully_masked_row": "filled",
        # The lowest number of float64 is minus infinity in float32, in which the softmax is taken.
        "scaled_dot_product_attention.fully_masked_row@float64": "nan",
        "scaled_dot_product_attention.half_precision_overflow": "open",
        "scaled_dot_product_attention.input_checks": "lenient",
        "scaled_dot_product_attention.masked_nonfinite": "propagates",
    },
)
