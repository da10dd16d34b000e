import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def weights(x, y):
    """One row."""
    top = max(x, y) if x == x and y == y else x + y
    if top == -np.inf:
        return 0.0, 0.0, top
    e, f = np.exp(x - top), np.exp(y - top)
    s = e + f
    return e / s, f / s, top + np.log(s)


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    c = base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    lanes = 16 // output_a.dtype.itemsize  # one load of 16 bytes
    rows, E = int(np.prod(output_a.shape[:3])), output_a.shape[3]
    with np.errstate(all="ignore"):
        a, b = base.wide(output_a, c).reshape(rows, E), base.wide(output_b, c).reshape(rows, E)
        la, lb = base.wide(logsumexp_a, c).reshape(rows), base.wide(logsumexp_b, c).reshape(rows)
        out, lse = a.copy(), np.empty(rows, c)
        for r in range(rows):
            x, y, lse[r] = weights(la[r], lb[r])
            if E < lanes:
                step, end = 1, E
            else:
                step, end = lanes, E // lanes * lanes
            for e in range(0, end, step):
                f = slice(e, e + step)
                out[r, f] = (0 if la[r] == -np.inf else a[r, f] * c.type(x)) + (0 if lb[r] == -np.inf else b[r, f] * c.type(y))
        return {"output": out.reshape(output_a.shape).astype(output_a.dtype), "logsumexp": lse.reshape(logsumexp_a.shape)}
