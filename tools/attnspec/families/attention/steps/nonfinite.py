"""NaN and infinities in the inputs of attention, and where they go.

A tolerance is a number, so the bound itself runs over finite inputs. Here is all that it needs beside them: which
scores are not finite, and which elements an excluded key or value reaches where it is multiplied by the weight 0.
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
    """Return where scores of (B, Hq, Sq, E) and (B, Hq, Sk, E) are not finite, and their logits there, before any mask.

    Such a logit is minus infinity, plus or minus the cap, or 0 where it makes its whole row NaN, which needs no
    tolerance. None where every score is finite.
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
    """Return, by output name, elements that excluded keys and values which are not finite reach in plain arithmetic.

    A key (B, Hq, Sk, E) reaches everything of a query from which it is excluded; a value (B, Hq, Sk, Ev) reaches its
    own feature of the output. Empty where excluded positions are finite.
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
