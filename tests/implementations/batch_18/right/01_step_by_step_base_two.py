import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"logsumexp_base": "2"}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """Every step is stored in the dtype of the inputs; logarithms are to the base 2."""
    a, x, b, y = (np.asarray(t) for t in (output_a, logsumexp_a, output_b, logsumexp_b))
    if a.ndim != 4 or b.shape != a.shape or x.ndim != 3 or x.shape != a.shape[:3] or y.shape != x.shape:
        raise ValueError("the parts do not fit")
    kind = a.dtype
    wide = np.float64 if kind == np.float64 else np.float32

    def store(t):
        return t.astype(kind).astype(wide)

    with np.errstate(all="ignore"):
        a, x, b, y = (t.astype(wide) for t in (a, x, b, y))
        none_a, none_b = x == -np.inf, y == -np.inf
        top = np.maximum(x, y)
        level = np.where(top == -np.inf, 0, top)
        wa, wb = store(np.exp2(store(x - level))), store(np.exp2(store(y - level)))
        total = store(wa + wb)
        inverse = np.where(total == 0, 1, total)
        pa, pb = store(wa / inverse)[..., None], store(wb / inverse)[..., None]
        a, b = np.where(none_a[..., None], 0, a), np.where(none_b[..., None], 0, b)
        out = store(store(pb * b) + store(pa * a))
        lse = np.where(top == -np.inf, -np.inf, store(store(np.log2(inverse)) + level))
    return {"output": out.astype(kind), "logsumexp": lse.astype(kind)}
