"""A plain attention made into the whole operation: everything that one mask can say is folded into one mask.

>>> from attnspec.families.attention.folding import plain_attention
>>> def attend(query, key, value, mask, scale): ...
>>> scaled_dot_product_attention = plain_attention(attend)

The guide ``spec/guides/adapters.md`` says it with examples. `attend` is called with arrays of one float dtype: query
(B, H, Sq, E), key (B, H, K, E) and value (B, H, K, Ev), by position. The other arguments it gets by name, those that
its signature has. One without a default is always given. One with a default is given where the case states it, so
that the function's own default is put to the test.

=============== ==========================================================================================
Argument        What it gets
=============== ==========================================================================================
`mask`          None, or one mask of rank 4, each axis that of (B, H, Sq, K) or 1: Boolean, True may be
                attended, or float, to be added to the scores, minus infinity where a key is excluded
`scale`         factor of the dot products. Without this argument the function multiplies by 1/sqrt(E) by
                itself, and another scale goes into the query where that rounds nothing
`is_causal`     True where causality is all that excludes, and is aligned as the function aligns it
`softcap`       the cap of the scores
`sinks`         logits (H,) that join the softmax
=============== ==========================================================================================

Folded are `past_key` and `past_value`, which are put before the keys; `is_causal` in both alignments, `window`,
`key_lengths`, `alibi_slopes` and `mask`; key and value heads that are shared, which are repeated. Rows beyond
`query_lengths` are cleared. ``unsupported`` is all that cannot be folded: a softcap or sinks for those who have none,
biases for those who take no float mask, a scale that would round the query.

What is folded is checked as the operation's page asks; all else about query, key and value is for the function to
refuse. So is what comes of a row without keys: the adapter declares it.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import TargetError, Unsupported
from attnspec.families.attention.steps.attendance import Attendance, attendance
from attnspec.tensors import tensors_called
from attnspec_reference.attention.attention_inputs import (
    check_alignment,
    check_lengths,
    check_mask,
    check_one_for_each_head,
    check_past,
    check_window,
)

__all__ = ["plain_attention"]

Masks = Literal["both", "boolean", "float"]
"""Which masks a function takes; with both, numbers are used only where something must be added."""

_RANK = 4

_ROUNDED = 1e-15
"""Twice what a product and a square root may be off by in float64, relative to their value."""

_BY_NAME = ("mask", "scale", "is_causal", "softcap", "sinks")
_QUERY_KEY_VALUE = ("query", "key", "value")
_BY_POSITION = len(_QUERY_KEY_VALUE)


def plain_attention(
    attend: Callable[..., Any],
    *,
    masks: Masks = "both",
    grouped_heads: bool = False,
    causal_alignment: Literal["top_left", "bottom_right"] = "top_left",
    widened: Sequence[str] = (),
    tensors: str = "numpy",
) -> Callable[..., Any]:
    """Make `scaled_dot_product_attention` of a plain attention.

    Parameters
    ----------
    attend
        The plain attention. It returns the output (B, H, Sq, Ev), or a mapping of outputs by name.
    masks
        Which masks it takes. With ``"both"``, exclusions alone come as a Boolean mask, and biases as a float mask.
    grouped_heads
        Whether it takes fewer key and value heads than query heads; else they are repeated.
    causal_alignment
        Where its own `is_causal` puts the queries.
    widened
        Dtypes that it does not have: it gets float32 instead, and what it returns is rounded once.
    tensors
        Whose tensors it takes and returns: ``"numpy"``, ``"torch"`` or ``"jax"``.

    Returns
    -------
    scaled_dot_product_attention
        A function with the arguments of the operation, which takes NumPy arrays.

    Raises
    ------
    TargetError
        If `attend` demands an argument that it cannot be given.
    """
    plain = _Plain(attend, causal_alignment, tensors)

    def scaled_dot_product_attention(
        query: NDArray[Any],
        key: NDArray[Any],
        value: NDArray[Any],
        *,
        mask: NDArray[Any] | None = None,
        past_key: NDArray[Any] | None = None,
        past_value: NDArray[Any] | None = None,
        key_lengths: NDArray[Any] | None = None,
        query_lengths: NDArray[Any] | None = None,
        sinks: NDArray[Any] | None = None,
        alibi_slopes: NDArray[Any] | None = None,
        is_causal: bool = False,
        causal_alignment: str = "top_left",
        scale: float | None = None,
        softcap: float | None = None,
        window: Sequence[int | None] | None = None,
    ) -> Any:
        """Fold what one mask can say, and call the plain attention."""
        dtype = query.dtype
        check_past(past_key, past_value, key.shape, value.shape)
        past = 0
        if past_key is not None and past_value is not None:
            past = past_key.shape[2]
            key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
        is_widened = dtype.name in widened
        if is_widened:
            query, key, value = (array.astype(np.float32) for array in (query, key, value))
            sinks = None if sinks is None else sinks.astype(np.float32)
        stated = {"scale": scale, "softcap": softcap or None, "sinks": sinks}
        lengths = {
            name: given
            for name, given in (("key_lengths", key_lengths), ("query_lengths", query_lengths))
            if given is not None
        }
        folds = is_causal or lengths or any(given is not None for given in (mask, alibi_slopes, window))
        if not folds and not query.ndim == key.ndim == value.ndim == _RANK:
            return _clear_and_round(plain.call(query, key, value, stated), None, dtype if is_widened else None)
        if not query.ndim == key.ndim == value.ndim == _RANK:
            shapes = f"query has shape {query.shape}, key {key.shape}, value {value.shape}"
            raise ValueError(f"{shapes}: all three need rank {_RANK}.")
        if not grouped_heads:
            key, value = _repeated_heads(query, key, value)
        batch, heads, rows, columns = *query.shape[:3], key.shape[2]
        check_lengths("query_lengths", query_lengths, rows, batch, past=past_key is not None)
        check_lengths("key_lengths", key_lengths, columns, batch, past=past_key is not None)
        check_mask(mask, (batch, heads, rows, columns))
        check_one_for_each_head("alibi_slopes", alibi_slopes, heads)
        check_alignment(causal_alignment)
        check_window(window)
        allowed = attendance(
            (batch if lengths else 1, 1, rows, columns),
            past,
            lengths,
            is_causal=is_causal,
            causal_alignment=causal_alignment,
            window=window,
        )
        is_all = mask is None and alibi_slopes is None and window is None and not lengths
        if is_causal and is_all and plain.has_causality(allowed.offset, rows, columns):
            stated["is_causal"] = True
        else:
            stated["mask"] = _folded_mask(allowed, mask, alibi_slopes, query.dtype, masks)
        return _clear_and_round(plain.call(query, key, value, stated), allowed.padding, dtype if is_widened else None)

    return scaled_dot_product_attention


def _clear_and_round(returned: Any, padding: NDArray[np.bool_] | None, dtype: np.dtype[Any] | None) -> Any:
    """Return an output, or a mapping of them, with `padding` (B, 1, Sq) cleared, rounded to `dtype` unless None."""
    if padding is None and dtype is None:
        return returned
    outputs = dict(cast("Mapping[str, Any]", returned)) if isinstance(returned, Mapping) else {"output": returned}
    output = np.asarray(outputs["output"])
    if padding is not None:
        output = np.where(padding[..., np.newaxis], output.dtype.type(0), output)
    outputs["output"] = output if dtype is None else output.astype(dtype)
    return outputs


class _Plain:
    """The plain function and what its signature takes; `TargetError` if it demands an argument that nothing gives."""

    def __init__(self, attend: Callable[..., Any], alignment: str, tensors: str) -> None:
        self._attend, self._alignment = attend, alignment
        self._tensors = tensors_called(tensors, None, said_by="plain_attention")
        parameters = list(inspect.signature(attend).parameters.values())
        demanded = {
            parameter.name for parameter in parameters[_BY_POSITION:] if parameter.default is inspect.Parameter.empty
        }
        self._takes = {parameter.name for parameter in parameters} & set(_BY_NAME)
        self._demands = demanded & self._takes
        if len(parameters) < _BY_POSITION or demanded - self._takes:
            names = ", ".join(parameter.name for parameter in parameters)
            raise TargetError(
                f"plain_attention cannot call {getattr(attend, '__name__', attend)}({names}): it gives query, key and "
                f"value by position, and by name those of {', '.join(_BY_NAME)} that the signature has."
            )

    def has_causality(self, offset: Any, rows: int, columns: int) -> bool:
        """Return whether the function's own causality puts the first query at position `offset`."""
        own = 0 if self._alignment == "top_left" else columns - rows
        return "is_causal" in self._takes and offset == own

    def call(self, query: NDArray[Any], key: NDArray[Any], value: NDArray[Any], stated: Mapping[str, Any]) -> Any:
        """Call the function with what is stated, or say what it has no argument for."""
        given = {name: argument for name, argument in stated.items() if argument is not None}
        if "scale" in given and "scale" not in self._takes:
            query = _rescaled_query(query, given.pop("scale"))
        for name in given:
            if name not in self._takes:
                raise Unsupported(f"the function has no argument {name!r}, and nothing else can say it")
        unstated = {"scale": 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0, "is_causal": False}
        given = {name: unstated.get(name) for name in self._demands} | given
        arrays: dict[str, Any] = {name: each for name, each in given.items() if isinstance(each, np.ndarray)}
        others = {name: argument for name, argument in given.items() if name not in arrays}
        with self._tensors.calling():
            tensors = {name: self._tensors.given(array) for name, array in arrays.items()}
            tensors |= zip(_QUERY_KEY_VALUE, map(self._tensors.given, (query, key, value)), strict=True)
            returned = self._tensors.call(
                lambda named: self._attend(
                    *(named[name] for name in _QUERY_KEY_VALUE),
                    **others,
                    **{name: named[name] for name in arrays},
                ),
                tensors,
                self._attend,
                (*given, others.get("is_causal")),
            )
        if isinstance(returned, Mapping):
            outputs = cast("Mapping[str, Any]", returned)
            return {name: self._tensors.returned(output) for name, output in outputs.items()}
        return self._tensors.returned(returned)


def _folded_mask(
    allowed: Attendance,
    mask: NDArray[Any] | None,
    alibi_slopes: NDArray[Any] | None,
    dtype: np.dtype[Any],
    masks: Masks = "both",
) -> NDArray[Any] | None:
    """Fold exclusions, a mask (rank 2 to 4) and ALiBi slopes (H,) into one mask of rank 4, axes (B, H, Sq, K) or 1.

    None where every key may be attended and nothing is added. Biases are summed in float64 and rounded to `dtype` once.
    Raises `Unsupported` if numbers must be added but no float mask is taken, or if they exceed the dtype's largest.
    """
    attendable: NDArray[np.bool_] = allowed.attendable
    bias: NDArray[Any] | None = None
    if mask is not None:
        mask = mask.reshape((1,) * (_RANK - mask.ndim) + mask.shape)
        if mask.dtype == np.bool_:
            attendable = attendable & mask
        else:
            bias = mask.astype(np.float64)
    if alibi_slopes is not None:
        lowered = alibi_slopes.astype(np.float64).reshape(-1, 1, 1) * allowed.distance
        bias = -lowered if bias is None else bias - lowered
    if bias is not None and masks == "boolean" and np.all((bias == 0) | np.isneginf(bias)):
        attendable, bias = attendable & (bias == 0), None
    if allowed.padding is not None:
        # These rows are not graded; attending to everything, they divide by no sum of nothing.
        beyond = allowed.padding[..., np.newaxis]
        attendable, bias = attendable | beyond, None if bias is None else np.where(beyond, 0.0, bias)
    if bias is None:
        if mask is None and attendable.all():
            return None
        return np.where(attendable, 0.0, -np.inf).astype(dtype) if masks == "float" else attendable
    if masks == "boolean":
        raise Unsupported("the function takes no float mask, which a bias needs")
    with np.errstate(over="ignore"):
        rounded = np.where(attendable, bias, -np.inf).astype(dtype)
    if np.any(attendable & np.isfinite(bias) & np.isinf(rounded)):
        raise Unsupported(f"the biases come to more than {dtype.name} holds, so that one mask cannot say them")
    return rounded


def _repeated_heads(query: NDArray[Any], key: NDArray[Any], value: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return key and value with a head for each query head: query head h reads head h // (Hq / Hkv).

    Raises `ValueError` if the query heads are no multiple of the key and value heads.
    """
    heads, shared = query.shape[1], key.shape[1]
    if shared == heads == value.shape[1]:
        return key, value
    if shared != value.shape[1] or not shared or heads % shared:
        raise ValueError(
            f"query has {heads} heads, key {shared} and value {value.shape[1]}: key and value need the same number of "
            "heads, and query a multiple of it."
        )
    return np.repeat(key, heads // shared, axis=1), np.repeat(value, heads // shared, axis=1)


def _rescaled_query(query: NDArray[Any], scale: float) -> NDArray[Any]:
    """Return a query (..., E) that the factor 1/sqrt(E) scales as `scale` would.

    Raises `Unsupported` if that would round it: the missing factor is neither 0 nor a power of two, or leaves the
    range.
    """
    missing = scale * math.sqrt(query.shape[-1])
    power = math.copysign(2.0 ** round(math.log2(abs(missing))), missing) if missing else 0.0
    if math.isclose(missing, power, rel_tol=_ROUNDED):
        if power == 1:
            return query
        with np.errstate(all="ignore"):
            factor = query.dtype.type(power)
            rescaled = query * factor
            if not power or np.array_equal(rescaled / factor, query, equal_nan=True):
                return rescaled
    raise Unsupported(f"the function has no scale, and a scale of {scale:g} would round the query")
