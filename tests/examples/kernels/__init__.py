"""Attention written as kernels and modules are written, without a line of the reference.

Each class is right as it stands. Each step is a method, so that a wrong implementation shows its one bug and nothing
else.
"""

from kernels.dense import Dense
from kernels.modules import Contexts, Modules, Shapes, SingleHead, Softmax
from kernels.packed import Packed
from kernels.paged import Paged
from kernels.split import SplitKeys
from kernels.tiled import Tiled

__all__ = ["Contexts", "Dense", "Modules", "Packed", "Paged", "Shapes", "SingleHead", "Softmax", "SplitKeys", "Tiled"]
