"""Pages with heads before tokens, one page at a time, all heads and queries at once, a running maximum."""
import numpy as np

layout = "paged_heads_first"
dtypes = ("float64", "float32", "float16", "bfloat16")


class Running:
    def __init__(self, H, N, Ev, sinks):
        self.top = np.full((H, N), -np.inf)
        self.total = np.zeros((H, N))
        self.sum = np.zeros((H, N, Ev))
        if sinks is not None:
            self.top[:] = sinks.astype(np.float64)[:, None]
            self.total[:] = 1

    def add(self, logits, ok, values):
        """(H, N, n), (H, N, n), (H, n, Ev)"""
        logits = np.where(ok, logits, -np.inf)
        top = np.maximum(self.top, logits.max(-1))
        at = np.where(top == -np.inf, 0, top)
        shrink = np.exp(self.top - at)
        e = np.where(ok, np.exp(logits - at[..., None]), 0)
        self.total = self.total * shrink + e.sum(-1)
        self.sum = self.sum * shrink[..., None] + np.where(ok[..., None], e[..., None] * values[:, None], 0).sum(2)
        self.top = top

    def result(self):
        empty = self.total == 0
        out = self.sum / np.where(empty, 1, self.total)[..., None]
        return out, np.where(empty, -np.inf, np.log(np.where(empty, 1, self.total)) + self.top)


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
                                 sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    B, H, S, E = query.shape
    Hkv, size = key_pool.shape[1:3]
    if key_pool.shape[3] != E or value_pool.shape[:3] != key_pool.shape[:3] or (H and (not Hkv or H % Hkv)):
        raise ValueError("these do not fit together")
    scale = E ** -0.5 if scale is None else scale
    out = np.zeros((B, H, S, value_pool.shape[3]))
    lse = np.zeros((B, H, S))
    left, right = (None, None) if window is None else window
    with np.errstate(all="ignore"):
        for b in range(B):
            L = int(key_lengths[b])
            N = S if query_lengths is None else int(query_lengths[b])
            if N == 0:
                continue
            p = np.arange(N) + (L - N if causal_alignment == "bottom_right" else 0)
            q = query[b, :, :N].astype(np.float64) * scale
            state = Running(H, N, value_pool.shape[3], sinks)
            for t in range(0, L, size):
                page = int(block_table[b, t // size])
                n = min(size, L - t)
                j = np.arange(t, t + n)
                k, v = (np.repeat(x[page, :, :n].astype(np.float64), H // max(Hkv, 1), 0) for x in (key_pool, value_pool))
                s = (q[:, :, None] * k[:, None]).sum(-1)
                s = softcap * np.tanh(s / softcap) if softcap else s
                far = j - p[:, None]
                ok = np.ones(far.shape, bool)
                ok &= far <= 0 if is_causal else True
                ok &= far >= -left if left is not None else True
                ok &= far <= right if right is not None else True
                ok = np.broadcast_to(ok, s.shape)
                if alibi_slopes is not None:
                    s = s - alibi_slopes.astype(np.float64)[:, None, None] * np.abs(far)
                if mask is not None:
                    m = mask[..., t:t + n]
                    m = m[0] if m.ndim == 4 else m
                    if m.dtype == bool:
                        ok = ok & m
                    else:
                        m = m.astype(np.float64)
                        ok, s = ok & (m > -np.inf) | ok & np.isnan(m), s + m
                state.add(s, ok, v)
            out[b, :, :N], lse[b, :, :N] = state.result()
        return {"output": out.astype(query.dtype), "logsumexp": lse.astype(np.float64 if query.dtype == np.float64 else np.float32)}
