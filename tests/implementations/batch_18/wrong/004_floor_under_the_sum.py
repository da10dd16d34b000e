import numpy as np


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """Vectorised merge of two partial attentions."""
    oa, ob = np.asarray(output_a), np.asarray(output_b)
    la, lb = np.asarray(logsumexp_a), np.asarray(logsumexp_b)
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("wrong rank")
    if oa.shape != ob.shape:
        raise ValueError("outputs of different shapes")
    if la.shape != oa.shape[:-1] or lb.shape != oa.shape[:-1]:
        raise ValueError("logsumexp of another shape")
    dtype = oa.dtype
    acc = np.float64 if dtype == np.float64 else np.float32
    oa, ob, la, lb = oa.astype(acc), ob.astype(acc), la.astype(acc), lb.astype(acc)
    with np.errstate(all="ignore"):
        peak = np.maximum(la, lb)
        shift = np.where(np.isneginf(peak), acc(0), peak)
        wa = np.exp(la - shift)
        wb = np.exp(lb - shift)
        total = wa + wb
        ca = wa / np.where(total == 0, acc(1), total)
        cb = wb / np.where(total == 0, acc(1), total)
        oa = np.where(np.isneginf(la)[..., None], acc(0), oa)
        ob = np.where(np.isneginf(lb)[..., None], acc(0), ob)
        out = ca[..., None] * oa + cb[..., None] * ob
        lse = np.log(np.maximum(total, acc(1e-30))) + shift
    return {"output": out.astype(dtype), "logsumexp": lse}
