"""Lists of pages, each page a split of its own, states merged in a pairwise tree."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr_heads_first"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    args = dict(locals())
    size = key_pool.shape[2]

    def core(S, b):
        with np.errstate(all="ignore"):
            ok = base.allowed(S)
            logits = base.to_logits(S, base.raw_scores(S), ok)
            states = [base.state(S, logits, ok, lo, lo + size) for lo in range(0, S.T, size)] or [base.empty_state(S)]
            if S.sinks is not None:
                states.append(base.sink_state(S))
            while len(states) > 1:
                pairs = [base.join(*states[n:n + 2]) for n in range(0, len(states) - 1, 2)]
                states = pairs + states[2 * len(pairs):]
            output, logsumexp = base.read_state(states[0])
        return {"output": output.astype(S.out), "logsumexp": logsumexp}

    return base.paged_list(heads_first=True, core=core, work=np.float32, **args)
