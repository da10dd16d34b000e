import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 16


class Mine(base.Backward):
    def soften(self):
        super().soften()
        if self.window is None or self.window[1] is None or self.is_causal:
            return
        visited = np.zeros(self.full, dtype=bool)
        for b in range(self.B):
            for first in range(0, self.Sq, TILE):
                past = min(first + TILE, self.Sq)
                end = max(0, int(self.position[b, past - 1]) + int(self.window[1]))
                end = (end + TILE - 1) // TILE * TILE
                visited[b, :, first:past, :end] = True
        self.attend = self.attend & visited
        self.weights = np.where(visited, self.weights, 0)


scaled_dot_product_attention_backward = base.bind(Mine)
