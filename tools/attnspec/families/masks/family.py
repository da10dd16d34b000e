"""Masks as the harness judges them: exact values, blocks behind the count left open, and the features of cases."""

from __future__ import annotations

import tomllib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.bounds.tolerance import Estimate, Tolerance
from attnspec.families.masks.formulas import formula
from attnspec.families.record import Expected, Family

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec.bounds.tolerance import Precision
    from attnspec.cases import Case
    from attnspec.families.record import Arrays

_LISTS = {"block_indices": "block_counts", "full_indices": "full_counts"}
"""Lists of blocks, each with the output that says how many of them count."""
_CONVENTION = "listed_blocks"


def tolerance(
    operation: str, inputs: Arrays, attributes: Mapping[str, Any], precision: Precision, conventions: Mapping[str, str]
) -> Tolerance:
    """Return values without tolerance, as `ToleranceModel` has it; what stands behind a count is expected of nobody."""
    del operation, precision, conventions
    # Only the reference says which keys are attended; there is no error to bound beside it.
    from attnspec_reference import attention_mask

    outputs = attention_mask(**inputs, **attributes)._asdict()
    exact = {name: partial(_exactly, array) for name, array in outputs.items()}
    return Tolerance(
        exact, unspecified={name: _behind(outputs[name], outputs[count]) for name, count in _LISTS.items()}
    )


def _exactly(array: NDArray[Any]) -> Estimate:
    return Estimate(array.astype(np.float64), np.zeros(array.shape), is_exact=True)


def _behind(indices: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which entries of a list stand behind the last block that counts."""
    position: NDArray[np.int64] = np.arange(int(indices.shape[-1]))
    return position >= counts[..., np.newaxis]


def expected(outputs: Arrays, conventions: Mapping[str, str], bound: Tolerance, run: int) -> Expected:
    """Return the expected outputs under declared conventions, as :class:`attnspec.families.record.Family` has it."""
    del bound, run
    if conventions[_CONVENTION] != "partial" or not outputs.keys() >= {*_LISTS, *_LISTS.values()}:
        return Expected(outputs, {}, ())
    blocks, full = (_named_in(outputs[name], outputs[count]) for name, count in _LISTS.items())
    partial_alone = blocks & ~full
    counts, indices = partial_alone.sum(axis=-1), np.argsort(~partial_alone, axis=-1, kind="stable")
    changed = {**outputs, "block_counts": counts, "block_indices": indices}
    return Expected(changed, {"block_indices": _behind(indices, counts)}, (f"{_CONVENTION}=partial",))


def _named_in(indices: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which blocks a list names."""
    named = np.zeros(indices.shape, dtype=np.bool_)
    np.put_along_axis(named, indices.astype(np.int64), ~_behind(indices, counts), axis=-1)
    return named


def features(case: Case) -> list[tuple[str, bool]]:
    """Return what a case has, each as the rest of a sentence that begins with "The case has", and whether it does."""
    inputs, attributes = case.inputs, case.attributes
    rows, columns = attributes["query_length"], attributes.get("key_length")
    left, right = attributes.get("window") or (None, None)
    entries = max((len(array) for name, array in inputs.items() if array.ndim and name in _BY_ENTRY), default=1)
    rules = ("window", "chunk", "prefix_lengths", "key_documents", "key_starts", "parents", "attended_blocks")
    given = [name for name in rules if name in inputs or attributes.get(name) is not None]
    return [
        ("causality", bool(attributes.get("is_causal"))),
        ("queries aligned bottom-right", attributes.get("causal_alignment") == "bottom_right"),
        ("an offset", attributes.get("offset", 0) > 0),
        ("a negative offset", attributes.get("offset", 0) < 0),
        ("fewer queries than keys", columns is not None and rows < columns),
        ("more queries than keys", columns is not None and rows > columns),
        ("more than one batch entry", entries > 1),
        ("a window to the left", left is not None),
        ("a window to the right", right is not None),
        *((sentence, name in given) for name, sentence in _RULES.items()),
        ("more than one rule", len(given) + bool(attributes.get("is_causal")) > 1),
        ("key lengths", "key_lengths" in inputs),
        ("query lengths", "query_lengths" in inputs),
        ("left padding", "left_padding" in inputs),
        ("a stated block size", "block_size" in attributes),
        ("blocks of more than one head", case.shapes.get("attended_blocks", ())[-3:-2] > (1,)),
        ("an input in another memory layout", bool(case.memory_order)),
    ]


_BY_ENTRY = ("key_lengths", "query_lengths", "left_padding", "prefix_lengths", "key_documents", "parents")
_RULES = {
    "chunk": "chunks",
    "prefix_lengths": "a prefix",
    "key_documents": "numbers of documents",
    "key_starts": "starts of documents",
    "parents": "a draft tree",
    "attended_blocks": "a table of blocks",
}


def needs(case: Case) -> frozenset[str]:
    """Return the capabilities that a case needs beside its arguments."""
    attributes = case.attributes
    rows, columns = attributes["query_length"], attributes.get("key_length")
    found = {
        "open_window": None in (attributes.get("window") or ()),
        "unequal_lengths": columns is not None and columns != rows,
        "empty_queries": rows == 0,
        "empty_keys": (rows if columns is None else columns) == 0,
        "strided_inputs": bool(case.memory_order),
    }
    return frozenset(name for name, needed in found.items() if needed)


def _usual_names() -> Mapping[str, Sequence[str]]:
    return tomllib.loads(Path(__file__).with_name("usual_names.toml").read_text("utf-8"))


FAMILY = Family(
    "masks",
    tolerance=tolerance,
    features=features,
    formula=formula,
    expected=expected,
    needs=needs,
    usual_names=_usual_names,
)
