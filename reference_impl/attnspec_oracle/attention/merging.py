"""Merging two parts of attention: a softmax over two columns, the logarithms of their denominators."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.attention.logits import Scale, exact_logits
from attnspec_oracle.attention.scaled_dot_product_attention import means
from attnspec_oracle.attention.softmax import Softmax
from attnspec_oracle.exact import exact_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_oracle.certification import Elements, Outputs


def merge_states(
    *, output_a: NDArray[Any], logsumexp_a: NDArray[Any], output_b: NDArray[Any], logsumexp_b: NDArray[Any]
) -> Outputs:
    """Evaluate ``merge_states`` (clauses ``merge.*``).

    Parameters
    ----------
    output_a, output_b
        (B, H, S, Ev).
    logsumexp_a, logsumexp_b
        (B, H, S); -inf for a part without keys.

    Returns
    -------
    dict[str, Callable]
        ``output`` (B, H, S, Ev); ``logsumexp`` (B, H, S).

    Raises
    ------
    ValueError
        When shapes contradict each other.
    """
    if output_a.shape != output_b.shape or not output_a.shape[:-1] == logsumexp_a.shape == logsumexp_b.shape:
        raise ValueError(
            f"The parts have outputs of shape {output_a.shape} and {output_b.shape}, logarithms of shape "
            f"{logsumexp_a.shape} and {logsumexp_b.shape}; they do not fit."
        )
    rows, width = logsumexp_a.size, output_a.shape[-1]
    # Each row is a query of its own, and its two parts are its keys: (rows, 1, 2) and (rows, 2, width).
    logits = np.stack([logsumexp_a, logsumexp_b], axis=-1).reshape(rows, 1, 2)
    values = np.stack([output_a, output_b], axis=-2).reshape(rows, 2, width)
    softmax = Softmax(exact_logits(exact_array(logits), Scale(Fraction(1))), logits != -np.inf)

    def output(elements: Elements) -> NDArray[np.float64]:
        return means("output", softmax, exact_array(values), elements).reshape(output_a.shape)

    def logsumexp(elements: Elements) -> NDArray[np.float64]:
        return softmax.logsumexp("logsumexp", elements).reshape(logsumexp_a.shape)

    return {"output": output, "logsumexp": logsumexp}
