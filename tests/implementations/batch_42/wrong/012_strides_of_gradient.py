import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def in_memory(array, like):
    """The elements of a contiguous array at the offsets that another one has."""
    offsets = np.zeros((1,) * array.ndim, np.int64)
    for axis, extent in enumerate(array.shape):
        step = like.strides[axis] // like.itemsize if extent > 1 else 0
        offsets = offsets + (np.arange(extent) * step).reshape([-1 if a == axis else 1 for a in range(array.ndim)])
    return np.ascontiguousarray(array).ravel().take(offsets, mode="clip")


class Call(base.Backward):
    def find_delta(self):
        if self.output is None or self.output.shape != self.grad_output.shape or self.output.size == 0:
            return super().find_delta()
        # one set of strides for both
        stored = in_memory(self.output, self.grad_output).astype(self.kind)
        self.delta = self.from_output((self.go * stored).sum(axis=-1))


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Call(**locals()).run()
