"""Norms whose squares are summed one after the other: all are right, and some ask the batch from which end.

The direction, by name, from the numbers of batch entries and tokens. `of_largest`: features are divided by the largest
one of the batch before they are squared.
"""

from types import SimpleNamespace

import numpy as np

from attnspec.process.opening import behind_layers
from attnspec.targets.in_process import InProcessImplementation
from attnspec.targets.target import Target
from attnspec_mistakes.patches import patch
from attnspec_reference.norms.qk_norm import normalize, qk_norm
from attnspec_reference.norms.rms_norm import rms_norm

DIRECTIONS = {
    "fixed": lambda entries, tokens: 1,
    "by_batch_size": lambda entries, tokens: 1 if entries > 1 else -1,
    "by_one_token": lambda entries, tokens: 1 if tokens > 1 else -1,
}


def implementation(direction="fixed", *, of_largest=False, dtypes=("float64", "float32"), **conventions):
    """Return both norms, as they are called by a run."""

    def mean_square_of(x):
        largest = np.max(np.abs(x)) if of_largest else x.dtype.type(1)
        squares, total = (x / largest) ** 2, np.zeros_like(x[..., :1])
        for index in range(x.shape[-1])[:: DIRECTIONS[direction](x.shape[0], x.shape[-2])]:
            total = total + squares[..., index : index + 1]
        return total / x.dtype.type(x.shape[-1]) * largest * largest

    adapted = SimpleNamespace(
        rms_norm=patch(rms_norm, mean_square_of=mean_square_of),
        qk_norm=patch(qk_norm, normalize=patch(normalize, mean_square_of=mean_square_of)),
        name="norms that sum in turn",
        dtypes=dtypes,
        conventions=conventions,
    )
    return behind_layers(InProcessImplementation(adapted, "batched_norms"), Target())
