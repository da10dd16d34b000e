"""Rotary positions that turn neighbours whatever the pairing is; heads that are rotated in part end in an exception."""

import numpy as np


class Neighbours:
    name = "rotary, neighbours"
    dtypes = ("float32", "bfloat16")

    def apply_rotary(self, x, cos, sin, *, pairing="half"):
        if 2 * cos.shape[-1] != x.shape[-1]:
            raise ValueError("I rotate whole heads")
        cos, sin = cos[:, None].astype("float32"), sin[:, None].astype("float32")
        first, second = x[..., 0::2].astype("float32"), x[..., 1::2].astype("float32")
        turned = np.stack([cos * first - sin * second, sin * first + cos * second], axis=-1)
        return turned.reshape(x.shape).astype(x.dtype)
