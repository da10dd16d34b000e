"""Document 002: the numbers and masks that its cases share.

Sizes and seed are those of the document's tests, as its comments and checks mean them: batch 2, sequence 4,
heads of width 8, a module of width 64, seed 42.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOCUMENT = "002_c44bbdfd43669549.txt"

BATCH = 2
SEQUENCE = 4
HEAD_WIDTH = 8
MODEL_WIDTH = 64
SEED = 42
HIDDEN = -np.inf


def normals(
    random: np.random.RandomState, *shape: int, spread: float = 1.0, steps: float = 32.0
) -> NDArray[np.float64]:
    """Draw normals of standard deviation `spread` and round them to multiples of 1/32, or of 1/`steps`.

    Below 8 in magnitude such multiples have at most eight significant bits, so they are exact in every dtype
    of the suite; and so coarse a grid hides the last bit of the C library's logarithm, through which legacy
    normals go.
    """
    rounded = np.round(random.normal(size=shape) * spread * steps) / steps
    assert np.all(np.abs(rounded) < 8.0), "a drawn number left the range in which multiples of 1/32 are exact"
    return rounded + 0.0  # no negative zeros, which read like an oversight in the files


def projections(seed: int = SEED) -> dict[str, NDArray[Any]]:
    """Draw query, key and value (2,1,4,8) in the document's order."""
    random = np.random.RandomState(seed)
    return {name: normals(random, BATCH, 1, SEQUENCE, HEAD_WIDTH) for name in ("query", "key", "value")}


def module_inputs(
    seed: int,
    *,
    width: int = MODEL_WIDTH,
    batch: int = BATCH,
    sequence: int = SEQUENCE,
    itself: bool = False,
    steps: float = 4.0,
) -> dict[str, NDArray[Any]]:
    """Draw the inputs (B,S,D) and the four weight matrices (D,D) of one module.

    Parameters
    ----------
    seed
        Seed of the draw.
    width, batch, sequence
        D, B and S.
    itself
        Whether query, key and value are one array: self-attention.
    steps
        The weights are multiples of 1/`steps`: a coarse grid halves the size of the files.
    """
    random = np.random.RandomState(seed)
    tokens = [normals(random, batch, sequence, width) for _ in range(1 if itself else 3)]
    query, key, value = tokens * 3 if itself else tokens
    spread = float(np.sqrt(1.0 / width))
    weights = {
        name: normals(random, width, width, spread=spread, steps=steps)
        for name in ("w_query", "w_key", "w_value", "w_output")
    }
    return {"query": query, "key": key, "value": value, **weights}


def causal_mask(length: int = SEQUENCE) -> NDArray[np.float64]:
    """Put zeros on and below the diagonal and minus infinity above it, as the document's docstring says."""
    return np.where(np.tri(length, dtype=bool), 0.0, HIDDEN)


def per_batch_masks() -> NDArray[np.float64]:
    """Make an additive mask for each batch entry (2,1,4,4).

    Causal for the first entry; for the second, key 1 is hidden from everyone and key 3 from query 2.
    """
    hidden_key = np.zeros((SEQUENCE, SEQUENCE))
    hidden_key[:, 1] = HIDDEN
    hidden_key[2, 3] = HIDDEN
    return np.stack([causal_mask(), hidden_key])[:, None]


def demonstration_inputs(seed: int = SEED) -> dict[str, NDArray[Any]]:
    """Draw the demonstration's inputs (1,3,8): small numbers, the first and the last key alike."""
    inputs = module_inputs(seed, width=8, batch=1, sequence=3, steps=8.0)
    for name in ("query", "key", "value"):
        inputs[name] = inputs[name] / 2.0
    inputs["key"][0, 0] = inputs["key"][0, -1]
    return inputs
