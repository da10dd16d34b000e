"""Split-K in float32: parts of seven keys are normalized each by itself and merged as a tree by their logarithms."""

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def join(left, right):
    """Two states (output, logsumexp) become one."""
    largest = np.maximum(left[1], right[1])
    shift = np.where(largest == -np.inf, 0, largest)
    a, b = np.exp(left[1] - shift), np.exp(right[1] - shift)
    total = a + b
    safe = np.where(total == 0, 1, total)[..., None]
    # a part without weight has no say
    shares = [
        np.where((state[1] == -np.inf)[..., None], 0, state[0] * (x[..., None] / safe))
        for x, state in ((a, left), (b, right))
    ]
    return shares[0] + shares[1], np.where(total == 0, -np.inf, shift + np.log(safe[..., 0]))


def tree(states):
    if len(states) == 1:
        return states[0]
    half = len(states) // 2
    return join(tree(states[:half]), tree(states[half:]))


class Mine(base.Split):
    part = 7

    def merge(self, s, parts):
        states = []
        for m, l, acc in parts:
            safe = np.where(l == 0, 1, l)
            shift = np.where(m == -np.inf, 0, m)
            states.append((acc / safe[..., None], np.where(l == 0, -np.inf, shift + np.log(safe))))
        shape = (s.B, s.Hq, s.Sq)
        if s.sink is not None:
            sink = np.broadcast_to(s.sink[:, None], shape)
            states.append((np.zeros((*shape, s.Ev), s.work), sink))
        if not states:
            states.append((np.zeros((*shape, s.Ev), s.work), np.full(shape, -np.inf, s.work)))
        s.output, s.logsumexp = tree(states)
        dead = ~s.allowed.any(axis=-1)
        s.output = np.where(dead[..., None], 0, s.output)
        s.logsumexp = np.where(dead, -np.inf if s.sink is None else s.sink[:, None], s.logsumexp)


scaled_dot_product_attention = base.operation(Mine)
