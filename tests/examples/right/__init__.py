"""Right implementations that compute in many ways: the suite may fail none of them."""

from kernels import Contexts, Dense, Modules, Packed, Paged, Shapes, SingleHead, Softmax, SplitKeys, Tiled

from right.forms import FORMS
from right.loops import LOOPS
from right.through_logsumexp import THROUGH_LOGSUMEXP

RIGHT = (
    Contexts,
    Dense,
    Modules,
    Packed,
    Paged,
    Shapes,
    SingleHead,
    Softmax,
    SplitKeys,
    Tiled,
    *LOOPS,
    *FORMS,
    *THROUGH_LOGSUMEXP,
)
"""Every right implementation."""

__all__ = ["LOOPS", "RIGHT", "THROUGH_LOGSUMEXP"]
