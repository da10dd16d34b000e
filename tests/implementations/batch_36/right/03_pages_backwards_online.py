import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr"


class Backwards(base.Attention):
    """One pass over tiles from the last to the first, with a running maximum and a sum that is corrected."""

    tile = 1

    def softmax(self, a):
        work = np.float64 if a.dtype == np.float64 else np.float32
        v = np.repeat(a.v, a.G, axis=1)
        shape = (a.B, a.Hq, a.Sq, 1)
        if a.sinks is None:
            top, total = np.full(shape, -np.inf, work), np.zeros(shape, work)
        else:  # the sink is where the pass starts
            top, total = np.broadcast_to(self.sink(a), shape).astype(work), np.ones(shape, work)
        sums = np.zeros((*shape[:3], a.Ev), work)
        for first in reversed(range(0, a.T, self.tile)):
            allowed = a.allowed[..., first : first + self.tile]
            if not allowed.any():
                continue
            logits = np.where(allowed, a.biased[..., first : first + self.tile], -np.inf).astype(work)
            new = np.maximum(top, logits.max(axis=-1, keepdims=True))
            shift = np.where(new == -np.inf, work(0), new)
            old = np.where(top == -np.inf, work(0), np.exp(top - shift))
            powers = np.where(allowed, np.exp(logits - shift), work(0))
            total = total * old + powers.sum(axis=-1, keepdims=True)
            sums = sums * old + base.average(powers.astype(np.float64), v[:, :, first : first + self.tile], allowed, 1).astype(work)
            top = new
        empty = ~a.allowed.any(axis=-1, keepdims=True)
        a.made = np.where(empty, 0, sums / np.where(total == 0, 1, total))
        a.lse = (np.log(total) + np.where(top == -np.inf, 0, top))[..., 0]

    def weigh(self, a):
        return a.made

    def finish(self, a):
        return {"output": a.output.astype(a.dtype), "logsumexp": a.lse.astype(base.wider(a.dtype))}


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                 scale=None, softcap=None, window=None):
    key_pool, value_pool = np.asarray(key_pool), np.asarray(value_pool)
    starts, indices, last = base.whole(page_starts), base.whole(page_indices), base.whole(last_page_length)

    class Paged(Backwards):
        tile = max(key_pool.shape[1], 1)

    return base.paged_run(query, key_pool, value_pool, lambda k, v: base.gather_list(k, v, starts, indices, last), query_lengths,
                          Paged, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
                          causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
