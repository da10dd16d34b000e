"""``torch.nn.attention.flex_attention``, not compiled: positions, masks and biases as functions of indices."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from attnspec.base.errors import Unsupported
from attnspec.tensors.libraries import import_library
from attnspec.tensors.of_torch import to_array, to_tensor, torch
from attnspec_adapters.composing import taking
from attnspec_adapters.torch.flex_masks import FlexMasks
from attnspec_adapters.torch.kernels import CONVENTIONS, heads_differ

if TYPE_CHECKING:
    from numpy.typing import NDArray

flex = import_library("torch.nn.attention.flex_attention", adapter="torch-flex")


class TorchFlex(FlexMasks):
    """FlexAttention and its masks."""

    name: ClassVar[str] = "torch, FlexAttention"
    conventions: ClassVar[Mapping[str, str]] = {**CONVENTIONS, "no_keys": "refuse", "listed_blocks": "partial"}

    @taking(
        "mask past_key past_value key_lengths query_lengths sinks alibi_slopes "
        "is_causal causal_alignment scale softcap window"
    )
    def scaled_dot_product_attention(self, given: SimpleNamespace) -> dict[str, NDArray[Any]]:
        """Run FlexAttention on (B, H, S, E); return `output`, `logsumexp` and, with a past, what is present.

        `Unsupported` for sinks without keys.
        """
        with torch.inference_mode(), _run_without_compiling():
            queries, keys, values = map(self._tensor, (given.query, given.key, given.value))
            mask, slopes, lengths = map(self._tensor, (given.mask, given.alibi_slopes, given.key_lengths))
            present: dict[str, Any] = {}
            if given.past_key is not None and given.past_value is not None:
                keys = torch.cat([self._tensor(given.past_key), keys], dim=2)
                values = torch.cat([self._tensor(given.past_value), values], dim=2)
                present = {"present_key": keys, "present_value": values}
            if given.sinks is not None and 0 in (queries.numel(), keys.shape[-2]):
                raise Unsupported("FlexAttention gives no logsumexp of nothing, and sinks come after it")
            tables = (mask, slopes, lengths, given.query_lengths, given.window)
            if queries.numel() == 0 and any(table is not None for table in tables):
                raise Unsupported("FlexAttention asks what a mask or a bias says of the first query, and there is none")
            shape = (*queries.shape[:3], keys.shape[-2]) if given.query.ndim == given.key.ndim == 4 else ()
            window = (None, None) if given.window is None else (given.window[0], given.window[1])
            positions = _Positions(self._offsets(given, keys), lengths, window, given.is_causal)
            attended = None if mask is None else torch.broadcast_to(mask, shape)
            added = attended is not None and attended.dtype != torch.bool
            output, further = flex.flex_attention(
                queries,
                keys,
                values,
                score_mod=_score_mod(given.softcap, slopes, positions, attended if added else None),
                block_mask=_block_mask(positions, None if added else attended, shape, self._device),
                scale=given.scale,
                enable_gqa=heads_differ(given.query, given.key),
                return_aux=flex.AuxRequest(lse=True),
            )
            logsumexp = further.lse
            if given.sinks is not None:
                output, logsumexp = _with_sinks(output, logsumexp, self._tensor(given.sinks))
            returned = {"output": output, "logsumexp": logsumexp, **present}
            # Of empty tensors there is no logsumexp.
            return {name: to_array(tensor) for name, tensor in returned.items() if tensor is not None}

    def _tensor(self, array: NDArray[Any] | None) -> Any:
        return None if array is None else to_tensor(array, self._device)

    def _offsets(self, given: SimpleNamespace, keys: Any) -> Any:
        """Return how far the first query stands behind the first key: a number, or (B,) where lengths are given."""
        if given.causal_alignment == "top_left":
            return 0 if given.past_key is None else given.past_key.shape[2]
        last_key: Any = keys.shape[-2] if given.key_lengths is None else given.key_lengths
        offsets: Any = last_key - (given.query.shape[-2] if given.query_lengths is None else given.query_lengths)
        return offsets if isinstance(offsets, int) else self._tensor(offsets)


@dataclass(frozen=True)
class _Positions:
    """Where the queries stand among the keys, and what follows from that alone."""

    offsets: Any
    key_lengths: Any
    window: tuple[int | None, int | None]
    is_causal: bool

    @property
    def exclude(self) -> bool:
        """Whether any key is excluded."""
        return self.is_causal or self.window != (None, None) or self.key_lengths is not None

    def position(self, batch: Any, query: Any) -> Any:
        """Return where a query stands."""
        return query + (self.offsets if isinstance(self.offsets, int) else self.offsets[batch])

    def allow(self, batch: Any, query: Any, key: Any) -> Any:
        """Return whether a key may be attended."""
        left, right = self.window
        allowed = key >= 0
        if self.is_causal or self.window != (None, None):
            position = self.position(batch, query)
            allowed = allowed & (key <= position) if self.is_causal else allowed
            allowed = allowed if left is None else allowed & (key >= position - left)
            allowed = allowed if right is None else allowed & (key <= position + right)
        return allowed if self.key_lengths is None else allowed & (key < self.key_lengths[batch])


def _block_mask(positions: _Positions, attended: Any, shape: tuple[int, ...], device: Any) -> Any:
    """Return the ``BlockMask`` of every exclusion, or None where there is none."""
    if not positions.exclude and attended is None:
        return None

    def mask_mod(batch: Any, head: Any, query: Any, key: Any) -> Any:
        allowed = positions.allow(batch, query, key)
        return allowed if attended is None else allowed & attended[batch, head, query, key]

    return flex.create_block_mask(mask_mod, *shape, device=device)


def _score_mod(softcap: float | None, slopes: Any, positions: _Positions, bias: Any) -> Callable[..., Any] | None:
    """Return what turns a score into a logit, or None where they are the same."""
    if not softcap and slopes is None and bias is None:
        return None

    def score_mod(score: Any, batch: Any, head: Any, query: Any, key: Any) -> Any:
        if softcap:
            score = softcap * torch.tanh(score / softcap)
        if slopes is not None:
            # In the dtype of the scores, because a product rounded to half precision would be another bias.
            score = score - slopes[head].to(score.dtype) * (positions.position(batch, query) - key).abs()
        if bias is not None:
            score = score + bias[batch, head, query, key].to(score.dtype)
        return score

    return score_mod


def _with_sinks(output: Any, logsumexp: Any, sinks: Any) -> tuple[Any, Any]:
    """Let sinks (Hq,) join the denominator after the fact."""
    sinks = sinks.to(logsumexp.dtype)[:, None]
    kept = torch.sigmoid(logsumexp - sinks)
    return (output * kept[..., None]).to(output.dtype), torch.logaddexp(logsumexp, sinks)


@contextmanager
def _run_without_compiling() -> Generator[None]:
    """Have FlexAttention run its functions as they are.

    Left to itself it compiles even then, with a back end that changes no numbers, for half a second a call.
    """
    previous = flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG
    flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    try:
        yield
    finally:
        flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = previous
