import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

layout = "paged_csr"
dtypes = base.FOUR


class Wrapper:
    """plan() once for a shape of the batch, run() for each layer."""

    def __init__(self):
        self.plans = {}

    def plan(self, starts, indices, last, size):
        name = (size, starts.tobytes(), last.tobytes())
        if name not in self.plans:
            lengths = base.csr_lengths(starts, last, size)
            slots = [indices[starts[b] + np.arange(L) // size] * size + np.arange(L) % size for b, L in enumerate(lengths)]
            self.plans[name] = lengths, slots
        return self.plans[name]


WRAPPER = Wrapper()


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    starts, indices, last = (np.array(a).astype(np.int64) for a in (page_starts, page_indices, last_page_length))
    lengths, slots = WRAPPER.plan(starts, indices, last, key_pool.shape[1])
    kp, vp, lengths, counts, m3 = base.check_paged(query, key_pool, value_pool, lengths, query_lengths, mask, False, None,
                                                   causal_alignment)
    flat_k, flat_v = (p.reshape(-1, *p.shape[2:]) for p in (kp, vp))
    nb, hq, sq, _ = query.shape
    out, lse = np.zeros((nb, hq, sq, vp.shape[3])), np.zeros((nb, hq, sq))
    for b in range(nb):
        n = counts[b]
        rows = np.minimum(slots[b], len(flat_k) - 1)
        k, v = (base.up(flat[rows]).swapaxes(0, 1) for flat in (flat_k, flat_v))
        got = base.attend(base.up(query[b, :, :n]), k, v, np.arange(n) + base.start_of(causal_alignment, lengths[b], n),
                          None if m3 is None else m3[..., :lengths[b]], alibi_slopes, sinks, scale, softcap, is_causal, window)
        out[b, :, :n], lse[b, :, :n] = got["output"], got["logsumexp"]
    return {"output": base.down(out, query.dtype), "logsumexp": base.down(lse, base.wide_of(query))}
