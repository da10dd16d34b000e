import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL


class Splitter:
    def __init__(self):
        self.order = {}

    def __call__(self, x, heads):
        batch, tokens, features = x.shape
        width = features // heads
        if (tokens, features) not in self.order:
            h, s, e = np.ogrid[:heads, :tokens, :width]
            self.order[tokens, features] = (s * features + h * width + e).reshape(-1)
        flat = np.ascontiguousarray(x).reshape(batch, tokens * features)
        return flat[:, self.order[tokens, features]].reshape(batch, heads, tokens, width)


splitter = Splitter()


def split_heads(x, num_heads):
    x = np.asarray(x)
    base.check_split(x, num_heads)
    return splitter(x, int(num_heads))
