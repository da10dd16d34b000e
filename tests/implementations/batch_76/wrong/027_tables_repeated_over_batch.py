"""Tables are broadcast as they are where that fits, so that with as many heads as batch entries the tables of an entry are taken for those of a head."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import base
import numpy as np

dtypes = base.DTYPES


class Wrong(base.Rotary):
    def table(self, x, table):
        table = table.astype(np.float64)
        return table if table.shape[0] in (1, x.shape[1]) else table[:, None]


apply_rotary = base.rotary_function(Wrong)
