"""Conventions that a layer follows, and what it does not offer, each from a call that shows it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.contract.dtypes import numpy_dtype
from attnspec_modules.attention.layer import Call, LayerRunner

_WIDTH, _KEYS, _ROW = 8, 4, 2

_ALIKE = 0.03
"""Distance of a mean that is rounded to half precision."""


def conventions_of(runner: LayerRunner) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the conventions that calls show, and the capabilities that are lacking, because such calls raise."""
    found = {"input_checks": "lenient"}
    found |= _of_masked_rows(runner)
    if _spreads(runner):
        found["masked_nonfinite"] = "propagates"
    without = ["cross_attention"] if runner.reading.forward.is_self else []
    empties = {"empty_batch": (0, 2, 2), "empty_keys": (1, 2, 0), "empty_queries": (1, 0, 2)}
    for capability, shape in empties.items():
        is_one_sequence = runner.reading.forward.is_self and 0 in shape[1:]
        answer = _answer(runner, _call((shape[0], 0, 0) if is_one_sequence else shape))
        if answer is None:
            without.append(capability)
        elif capability == "empty_keys" and answer.size and np.isnan(answer).all():
            found["no_keys"] = "nan"
    return found, tuple(without)


def _call(shape: tuple[int, int, int], mask: NDArray[Any] | None = None) -> Call:
    rng = np.random.default_rng(1)
    batch, queries, keys = shape
    query = rng.normal(size=(batch, queries, _WIDTH))
    key = query if queries == keys else rng.normal(size=(batch, keys, _WIDTH))
    return Call(query, key, key, mask)


def _answer(runner: LayerRunner, call: Call, dtype: str | None = None) -> NDArray[Any] | None:
    causal = runner.reading.causality == "built in"
    dtype = dtype or runner.reading.dtypes[0]
    tokens = [array.astype(numpy_dtype(dtype)) for array in call[:3]]
    tokens = [tokens[0]] * 3 if call.query is call.key else tokens
    mask = call.mask if call.mask is None or call.mask.dtype == np.bool_ else call.mask.astype(numpy_dtype(dtype))
    weights = {name: np.eye(_WIDTH).astype(numpy_dtype(dtype)) for name in ("w_query", "w_key", "w_value", "w_output")}
    try:
        output, _ = runner.run(Call(tokens[0], tokens[1], tokens[2], mask, causal), weights, 1)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return None if not isinstance(error, Unsupported) else np.zeros(0)
    output = np.asarray(output, np.float64)
    return output if output.shape == call.query.shape else None


def _of_masked_rows(runner: LayerRunner) -> dict[str, str]:
    """Return what becomes of a row without keys, under a mask of truth values and one of numbers."""
    # All rows at once: another axis of the softmax, a mistake, would have other keys fill a single one.
    allowed = np.zeros((1, 1, _KEYS, _KEYS), np.bool_)

    def chosen(mask: NDArray[Any], dtype: str) -> str | None:
        call = _call((1, _KEYS, _KEYS), mask)
        output = _answer(runner, call, dtype)
        return None if output is None or not output.size else _choice(output[0, _ROW], call.value[0])

    first, *others = runner.reading.dtypes
    boolean, numbers = chosen(allowed, first), chosen(np.where(allowed, 0.0, -np.inf), first)
    found = {} if boolean is None else {"fully_masked_row": boolean}
    for dtype in others:
        # A large number that fills excluded scores is infinite in float16.
        choice = chosen(allowed, dtype)
        if choice is not None and choice != boolean:
            found[f"fully_masked_row@{dtype}"] = choice
    if numbers is not None and numbers != (boolean or "zero"):
        found["fully_masked_row@float_mask"] = numbers
    return found


def _choice(row: NDArray[Any], values: NDArray[Any]) -> str | None:
    if np.isnan(row).all():
        return "nan"
    if not row.any():
        return "zero"
    if np.allclose(row, values.mean(axis=0), atol=_ALIKE):
        return "uniform"
    return "weighted" if np.isfinite(row).all() else None


def _spreads(runner: LayerRunner) -> bool:
    """Return whether NaN in the last token, which the others must not attend to, is seen in them."""
    allowed = np.ones((1, 1, _KEYS, _KEYS), np.bool_)
    allowed[..., -1] = False
    is_causal = runner.reading.causality == "built in"
    call = _call((1, _KEYS, _KEYS), None if is_causal else allowed)
    call.query[0, -1] = np.nan
    output = _answer(runner, call)
    return output is not None and output.size > 0 and bool(np.isnan(output[0, :-1]).any())
