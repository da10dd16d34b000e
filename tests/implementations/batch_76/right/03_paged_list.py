"""Pages in a list, heads before tokens: every slot is looked up by itself, and a running softmax takes in key by key."""

import math

import numpy as np

layout = "paged_csr_heads_first"
dtypes = ("float64", "float32", "float16", "bfloat16")


class State:
    """A softmax that takes in one logit after the other."""

    def __init__(self, width):
        self.most, self.total, self.sum = -math.inf, 0.0, np.zeros(width)

    def take(self, logit, value=None):
        if self.total == 0 and self.most == -math.inf and logit == -math.inf:
            if value is not None:
                self.sum = self.sum + 0.0 * value
            return
        if math.isnan(logit) or logit > self.most:
            keep = 0.0 if self.most == -math.inf else float(np.exp(np.float64(self.most) - logit))
            self.total, self.sum, self.most = self.total * keep, self.sum * keep, logit
        share = float(np.exp(np.float64(logit) - self.most))
        self.total += share
        if value is not None:
            self.sum = self.sum + share * value

    def result(self):
        if self.total == 0:
            return self.sum, -math.inf
        return self.sum / self.total, self.most + float(np.log(np.float64(self.total)))


def scaled_dot_product_attention(
    query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    B, H, S, E = query.shape
    size, G = key_pool.shape[2], key_pool.shape[1]
    factor = 1 / math.sqrt(E) if scale is None else scale
    left, right = window or (None, None)
    output = np.zeros((B, H, S, value_pool.shape[3]))
    log = np.full((B, H, S), -math.inf)
    with np.errstate(all="ignore"):
        for b in range(B):
            pages = [int(page_indices[n]) for n in range(int(page_starts[b]), int(page_starts[b + 1]))]
            L = (len(pages) - 1) * size + int(last_page_length[b]) if pages else 0
            N = S if query_lengths is None else int(query_lengths[b])
            for h in range(H):
                g = h // (H // G)
                keys = [key_pool[pages[j // size], g, j % size].astype(np.float64) for j in range(L)]
                values = [value_pool[pages[j // size], g, j % size].astype(np.float64) for j in range(L)]
                for i in range(N):
                    p = i if causal_alignment == "top_left" else i + L - N
                    q = query[b, h, i].astype(np.float64)
                    state = State(value_pool.shape[3])
                    if sinks is not None:
                        state.take(float(sinks[h]))
                    for j in range(L):
                        if is_causal and j > p or left is not None and j < p - left:
                            continue
                        if right is not None and j > p + right:
                            continue
                        add = 0.0
                        if mask is not None:
                            m = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
                            m = m[0, h if m.shape[1] > 1 else 0, 0, j]
                            if m.dtype == bool:
                                if not m:
                                    continue
                            elif float(m) == -math.inf:
                                continue
                            else:
                                add = float(m)
                        s = float(q @ keys[j]) * factor
                        if softcap:
                            s = softcap * math.tanh(s / softcap)
                        if alibi_slopes is not None:
                            s -= float(alibi_slopes[h]) * abs(p - j)
                        state.take(s + add, values[j])
                    output[b, h, i], log[b, h, i] = state.result()
    return output.astype(query.dtype), log
