import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np
from types import SimpleNamespace

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr_heads_first"


class PageByPage(base.Steps):
    def softmax(self, logits, allowed, v, sinks, c):
        """Each page is a split of its own, last one first; their outputs are held in float32 but for float64."""
        work = np.float64 if c.dtype == np.float64 else np.float32
        rows, parts = [], []
        for first in reversed(range(0, c.T, c.page_size)):
            at = slice(first, first + c.page_size)
            if not allowed[..., at].any():
                continue
            part = super().softmax(logits[..., at], allowed[..., at], v[:, :, at], None, c)
            rows.append(part["logsumexp"])
            parts.append(part["output"].astype(work))
        if sinks is not None:
            rows.append(np.broadcast_to(sinks, logits.shape[:3]))
            parts.append(np.zeros(logits.shape[:3] + v.shape[-1:], work))
        if not rows:
            return super().softmax(logits, allowed, v, sinks, c)
        rows, parts = np.stack(rows), np.stack(parts)
        top = rows.max(axis=0)
        top = np.where(top == -np.inf, work(0), top)
        shares = np.exp(rows - top)
        total = shares.sum(axis=0)
        held = np.where((rows == -np.inf)[..., None], work(0), shares[..., None] * parts).sum(axis=0)
        output = np.where((total == 0)[..., None], held, held / total[..., None])
        return {"output": output, "logsumexp": np.log(total) + top}


def scaled_dot_product_attention(
    query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    """Every page is weighed by itself, and the pages are merged by their logarithms."""
    return PageByPage().paged(dict(locals()), heads_first=True)
