"""The certified oracle: what each operation gives in exact real arithmetic, rounded once.

Every golden number is the float64 nearest to the exact result (ties to even) for the exact inputs given.
Such a number is unique by definition, hence the same on every machine. Everything linear is done in
integers; the exponentials are enclosed in balls of ever higher precision until each ball rounds to a single
float64.

This package imports python-flint, and only when :func:`evaluate` is called.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from attnspec_oracle.interface import OracleError, RowByRow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["OracleError", "RowByRow", "evaluate", "row_by_row"]


def evaluate(
    operation: str,
    inputs: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
    *,
    outputs: Collection[str] | None = None,
    positions: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, NDArray[Any]]:
    """Give the outputs of an operation, each number correctly rounded to float64.

    Parameters
    ----------
    operation
        Name of the operation, such as ``"softmax"``.
    inputs
        Input name to array: real arrays that float64 holds exactly, bool arrays for Boolean masks, integers for
        lengths.
    attributes
        Attribute name to value; what is left out takes the default that the specification names.
    outputs
        Names of the outputs to compute, or None for all.
    positions
        Output name to the flat indices of its elements that are wanted, where not all are. Rows without a wanted
        element cost nothing.

    Returns
    -------
    dict[str, NDArray]
        Output name to array of the full shape: float64, or bool for a Boolean ``causal_mask``. A zero is always
        +0. Elements that are not wanted are NaN.

    Raises
    ------
    ImportError
        When python-flint is not installed.
    ValueError
        When the operation is unknown or random (``glorot_normal``), when inputs or attributes contradict each
        other, and when an output or an element does not exist.
    OracleError
        When a number cannot be certified, because the exact result lies on (or next to) the middle between
        two float64 numbers and is not seen to be rational.

    Notes
    -----
    A NaN or an infinity in the inputs takes its course by the rules of IEEE 754: the rows that it reaches are
    NaN or infinite (clause ``sdpa.nonfinite_input``), and every other row is certified as usual. Padded queries,
    which are not graded, get output 0, weights 0 and logsumexp minus infinity.
    """
    _need_flint()
    from attnspec_oracle.evaluation import evaluate_operation

    return evaluate_operation(operation, inputs, attributes, outputs, positions or {})


def row_by_row(operation: str, inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any]) -> RowByRow:
    """Prepare an operation whose rows are evaluated one by one, because all of them would take too long.

    What it gives is what :func:`evaluate` gives, to the last bit: terms of equal score are counted instead of repeated.

    Parameters
    ----------
    operation, inputs, attributes
        As :func:`evaluate` takes them; all numbers finite and on a coarse grid.

    Raises
    ------
    ImportError
        When python-flint is not installed.
    ValueError
        When the operation is not evaluated so, or the inputs do not allow it.
    """
    _need_flint()
    from attnspec_oracle.evaluation import BY_ROWS

    if operation not in BY_ROWS:
        raise ValueError(f"{operation} is not evaluated row by row; what is, is {', '.join(BY_ROWS)}.")
    return BY_ROWS[operation](inputs, attributes)


def _need_flint() -> None:
    if find_spec("flint") is None:
        raise ImportError(
            "Certified golden values need python-flint, which is not installed; "
            'install it with: pip install "attnspec[regenerate]"'
        )
