"""Row by row: the keys that a query may attend to are gathered, and summed from the smallest weight to the largest."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Steps):
    def rest(self, a, scores, logits, allowed):
        values = self.share(a, a.v)
        output = np.zeros(logits.shape[:3] + (a.Ev,), a.work)
        weights = np.zeros_like(logits)
        logsumexp = np.full(logits.shape[:3], -np.inf, a.work)
        for b, h, i in np.ndindex(*logits.shape[:3]):
            keys = np.flatnonzero(allowed[b, h, i])
            row = logits[b, h, i, keys]
            order = np.argsort(row, kind="stable")
            keys, row = keys[order], row[order]
            if a.sinks is not None:
                row = np.append(row, a.sinks[0, h, 0])
            top = row.max(initial=-np.inf)
            if top == -np.inf:
                if len(keys):
                    weights[b, h, i, keys] = output[b, h, i] = np.nan
                continue
            powers = np.exp(row - top)
            total = np.add.reduce(powers)
            logsumexp[b, h, i] = top + np.log(total)
            shares = powers[:len(keys)] / total
            weights[b, h, i, keys] = shares
            output[b, h, i] = (shares[:, None] * values[b, h, keys]).sum(axis=0)
        return {"output": output, "weights": weights, "logsumexp": logsumexp, "scores": scores, "logits": logits}


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return base.attend(
        Kernel(), query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
        query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype,
    )
