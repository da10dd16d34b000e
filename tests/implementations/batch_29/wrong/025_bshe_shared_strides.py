import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

layout = "bshe"


def read(array, strides):
    """What stands in the memory of an array at the strides of a kernel; never outside its own memory."""
    size = array.dtype.itemsize
    if not array.size or any(s % size for s in (*strides, *array.strides)):
        return array
    at = sum((np.arange(n) * (s // size)).reshape((-1,) + (1,) * (array.ndim - 1 - axis))
             for axis, (n, s) in enumerate(zip(array.shape, strides)))
    # first and last element that the array has, in elements from its element 0
    ends = [(n - 1) * (s // size) for n, s in zip(array.shape, array.strides)]
    low, high = sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)
    start = array[tuple(slice(n - 1, None) if s < 0 else slice(0, None) for n, s in zip(array.shape, array.strides))]
    flat = np.lib.stride_tricks.as_strided(start, (high - low + 1,), (size,), writeable=False)
    return flat[np.clip(at - low, 0, high - low)]


def scaled_dot_product_attention(query, key, value, mask=None, key_lengths=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    base.refuse(any(x.ndim != 4 for x in (query, key, value)), "rank")
    base.check(query.swapaxes(1, 2), key.swapaxes(1, 2), value.swapaxes(1, 2), mask, None, None, key_lengths)
    if key.shape == value.shape:
        value = read(value, key.strides)  # the kernel takes one stride for both halves of a cache
    query, key, value = (x.swapaxes(1, 2) for x in (query, key, value))
    a = base.prepare(query, key, value, mask, None, None, key_lengths, None, alibi_slopes, is_causal, causal_alignment,
                     window, scale)
    out, *_ = base.core(a.q, a.k, a.v, a.ok, a.bias, a.scale, softcap, sinks)
    return {"output": out.swapaxes(1, 2).astype(query.dtype)}
