"""Where NaN and infinities in the inputs of attention go.

A tolerance is a number, so the bound itself runs over finite inputs. Here is what must be known beside it: which
scores are not finite, and what an excluded key or value reaches where an implementation multiplies it by the weight 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def special_scores(
    query: NDArray[Any], key: NDArray[Any], scale: float, softcap: float | None
) -> tuple[NDArray[np.bool_], NDArray[Any]] | None:
    """Return which scores are not finite, and the logits that they come to, before any mask.

    Parameters
    ----------
    query, key
        (B, Hq, Sq, E) and (B, Hq, Sk, E), as they are.
    scale
        Factor of the dot products.
    softcap
        The cap, or None.

    Returns
    -------
    tuple of ndarray, or None
        Where a score is not finite, and there minus infinity, plus or minus the cap, or 0 where the logit makes its
        whole row NaN, so that no tolerance is asked for. None where every score is finite.
    """
    if np.isfinite(query).all() and np.isfinite(key).all():
        return None
    scores = scale * (query @ np.swapaxes(key, -1, -2))
    special = ~np.isfinite(scores)
    if softcap:
        return special, np.where(np.isinf(scores), np.copysign(softcap, scores), 0.0)
    return special, np.where(scores == -np.inf, -np.inf, 0.0)


def reached_by_excluded(
    key: NDArray[Any], value: NDArray[Any], attendable: NDArray[np.bool_]
) -> Mapping[str, NDArray[np.bool_]]:
    """Return what excluded keys and values that are not finite reach in plain arithmetic.

    A key reaches everything of a query from which it is excluded; a value reaches its own feature of the output.

    Parameters
    ----------
    key, value
        (B, Hq, Sk, E) and (B, Hq, Sk, Ev), as they are.
    attendable
        Which key each query may attend (B, Hq, Sq, Sk).

    Returns
    -------
    mapping
        Output name to the elements reached; empty where excluded positions are finite.
    """
    keys, values = ~np.all(np.isfinite(key), axis=-1), ~np.isfinite(value)
    if not keys.any() and not values.any():
        return {}
    excluded = ~attendable
    rows = np.any(excluded & keys[:, :, None, :], axis=-1)
    features = excluded.astype(np.float64) @ values.astype(np.float64) > 0
    if not rows.any() and not features.any():
        return {}
    over_keys = np.broadcast_to(rows[..., None], attendable.shape)
    return {"output": rows[..., None] | features, "weights": over_keys, "logits": over_keys, "logsumexp": rows}
