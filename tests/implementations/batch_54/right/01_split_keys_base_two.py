"""Multi-head attention over blocks of three keys, each with a state of its own, merged in a tree, in powers of two."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
BLOCK = 3
LOG2E = 1.4426950408889634


def _merge(left, right):
    m1, l1, o1 = left
    m2, l2, o2 = right
    m = np.maximum(m1, m2)
    safe = np.where(np.isneginf(m), 0, m)
    f1, f2 = np.exp2(m1 - safe), np.exp2(m2 - safe)
    # a part that saw nothing gives nothing
    return m, l1 * f1 + l2 * f2, np.where(f1 == 0, 0, o1 * f1) + np.where(f2 == 0, 0, o2 * f2)


def _tree(states):
    while len(states) > 1:
        states = [_merge(*states[i:i + 2]) if i + 1 < len(states) else states[i] for i in range(0, len(states), 2)]
    return states[0]


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    a = base.check_multi_head(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                              b_query, b_key, b_value, b_output, mask, is_causal, scale)
    with np.errstate(all="ignore"):
        allowed, bias = base.permitted(mask, is_causal, a.B, a.H, a.Sq, a.Sk, a.work)
        if bias is not None:
            bias = np.broadcast_to(bias, allowed.shape) * a.work.type(LOG2E)
        output = np.zeros((a.B, a.Sq, a.D), a.work)
        weights = np.zeros((a.B, a.H, a.Sq, a.Sk), a.work)
        w_o = base.widen(w_output, a.work)
        for h in range(a.H):
            part = slice(h * a.E, (h + 1) * a.E)
            q, k, v = (base.project(x, w[:, part], None if b is None else b[part], a.work)
                       for x, w, b in ((query, w_query, b_query), (key, w_key, b_key), (value, w_value, b_value)))
            q = q * (a.scale * a.work.type(LOG2E))
            states, logits = [], []
            for j in range(0, a.Sk, BLOCK):
                js = slice(j, j + BLOCK)
                s = np.einsum("bie,bje->bij", q, k[:, js])
                if bias is not None:
                    s = s + bias[:, h, :, js]
                s = np.where(allowed[:, h, :, js], s, a.work.type(-np.inf))
                m = s.max(axis=-1, keepdims=True)
                p = np.exp2(s - np.where(np.isneginf(m), 0, m))
                states.append((m, p.sum(axis=-1, keepdims=True), base.weigh(p, v[:, js], allowed[:, h, :, js])))
                logits.append(s)
            if not states:
                continue
            m, total, mixed = _tree(states)
            live = allowed[:, h].any(axis=-1, keepdims=True)
            heads = np.where(live, mixed / total, 0)
            share = np.exp2(np.concatenate(logits, axis=-1) - m) / total
            weights[:, h] = np.where(allowed[:, h], share, 0)
            output += heads.astype(a.work) @ w_o[part]  # head by head: no combining
        if b_output is not None:
            output += base.widen(b_output, a.work)
        return {"output": output.astype(a.dtype), "weights": weights.astype(a.dtype)}
