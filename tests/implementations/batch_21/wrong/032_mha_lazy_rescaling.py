import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR
TILE, ENOUGH = 32, 4.0


def stream(q, k, v, ok, bias, scale):
    """Online softmax over tiles of 32 keys. Sums are scaled anew only where the largest has grown by more than 4."""
    n, ev = q.shape[0], v.shape[1]
    m, l, acc = np.full(n, -np.inf), np.zeros(n), np.zeros((n, ev))
    for t in range(0, len(k), TILE):
        cut = slice(t, t + TILE)
        s = np.where(ok[:, cut], q @ k[cut].T * scale + bias[:, cut], -np.inf)
        new = np.maximum(m, s.max(-1))
        at = np.where(new == -np.inf, 0, new)
        old = np.where(at - m > ENOUGH, np.exp(m - at), 1.0)
        x = np.where(ok[:, cut], np.exp(s - at[:, None]), 0)
        l = l * old + x.sum(-1)
        acc = acc * old[:, None] + base.weigh(x, v[cut], ok[:, cut])
        m = new
    return np.where((l == 0)[:, None], 0, acc / np.where(l == 0, 1, l)[:, None])


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    b, sq, sk, d, e = base.check_multi(query, key, value, (w_query, w_key, w_value, w_output),
                                       (b_query, b_key, b_value, b_output), mask, num_heads)
    full = None if mask is None else np.broadcast_to(mask, (b, num_heads, sq, sk))
    out = np.zeros((b, sq, d))
    with base.quiet():
        for n in range(b):
            q, k, v = (base.project(*t) for t in ((query[n], w_query, b_query), (key[n], w_key, b_key), (value[n], w_value, b_value)))
            for h in range(num_heads):
                f = slice(h * e, (h + 1) * e)
                ok, bias = base.keep(np.arange(sq), np.arange(sk), 1, None if full is None else full[n, h][None], is_causal)
                out[n, :, f] = stream(q[:, f], k[:, f], v[:, f], ok[0], bias[0], e**-0.5 if scale is None else scale)
    return base.down(base.project(out, w_output, b_output), query.dtype)
