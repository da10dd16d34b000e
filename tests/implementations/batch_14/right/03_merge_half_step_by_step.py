"""Every step is an operation that stores its result in the dtype of the run; float32 lies inside of each."""
import numpy as np
import ml_dtypes

dtypes = ("float64", "float32", "float16", "bfloat16")
HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    dtype = output_a.dtype
    if output_a.ndim != 4 or output_b.shape != output_a.shape:
        raise ValueError("outputs")
    for log in (logsumexp_a, logsumexp_b):
        if log.shape != output_a.shape[:3]:
            raise ValueError("logarithms")
    inside = np.dtype(np.float32) if dtype in HALF else dtype

    def step(f, *x):
        return f(*(y.astype(inside) for y in x)).astype(dtype)

    with np.errstate(all="ignore"):
        top = step(np.maximum, logsumexp_a, logsumexp_b)
        shift = np.where(top == -np.inf, np.zeros_like(top), top)
        wa = step(np.exp, step(np.subtract, logsumexp_a, shift))
        wb = step(np.exp, step(np.subtract, logsumexp_b, shift))
        total = step(np.add, wa, wb)
        over = np.where(total == 0, np.ones_like(total), total)
        share_a, share_b = (step(np.divide, w, over)[..., None] for w in (wa, wb))
        nothing = np.zeros_like(output_a)
        a = np.where((logsumexp_a == -np.inf)[..., None], nothing, step(np.multiply, share_a, output_a))
        b = np.where((logsumexp_b == -np.inf)[..., None], nothing, step(np.multiply, share_b, output_b))
        output = step(np.add, a, b)
        lse = step(np.add, shift, step(np.log, total))
    return {"logsumexp": lse, "output": output}
