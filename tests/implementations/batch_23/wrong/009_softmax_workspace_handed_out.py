import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



class Softmax:
    def __init__(self):
        self.buffers = {}

    def buffer(self, shape, dtype):
        key = shape, dtype.name
        if key not in self.buffers:
            self.buffers[key] = np.empty(shape, dtype)
        return self.buffers[key]

    def __call__(self, x, axis=-1):
        wide = x.astype(base.acc_of(x.dtype))
        out = self.buffer(x.shape, x.dtype)
        if wide.size:
            with np.errstate(all="ignore"):
                wide -= wide.max(axis=axis, keepdims=True)
                np.exp(wide, out=wide)
                wide /= wide.sum(axis=axis, keepdims=True)
        out[...] = wide
        return out


_instance = Softmax()


def softmax(x, axis=-1):
    return _instance(x, axis)
