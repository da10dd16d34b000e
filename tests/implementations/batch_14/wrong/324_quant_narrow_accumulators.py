import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import ml_dtypes
import base


class Kernel(base.Attention):
    """Products of float8 are added up in accumulators of the product unit, in steps of 32 features."""

    def run(self, query, key, value, **rest):
        self.unit = base.is_quantized(query) and base.is_quantized(key) and query.dtype != np.int8 and key.dtype != np.int8
        self.parts = None
        return super().run(query, key, value, **rest)

    def dequantize_query(self, q, scale, hkv, work):
        if not self.unit:
            return super().dequantize_query(q, scale, hkv, work)
        s = np.ones((1, 1, 1, 1), work) if scale is None else self.full_scale(scale, q.shape[0], hkv, work)
        self.parts = [np.repeat(s, q.shape[1] // hkv, axis=1) if scale is not None else s]
        return self.numbers(q, work)

    def dequantize_key(self, k, scale, work):
        if not self.unit or len(self.parts) > 1:
            return super().dequantize_key(k, scale, work)
        self.parts.append(None if scale is None else self.full_scale(scale, k.shape[0], k.shape[1], work))
        return self.numbers(k, work)

    def score(self, q, k, factor):
        if not self.unit:
            return super().score(q, k, factor)
        total = np.zeros(q.shape[:3] + k.shape[2:3], q.dtype)
        for f in range(0, q.shape[3], 32):
            total = total + q[..., f:f + 32] @ np.swapaxes(k[..., f:f + 32], -1, -2)
            mantissa, exponent = np.frexp(total)
            total = np.where(np.isfinite(total), np.ldexp(np.trunc(mantissa * 2 ** 14) / 2 ** 14, exponent), total)
        ks = 1 if self.parts[1] is None else np.repeat(self.parts[1], q.shape[1] // self.parts[1].shape[1], axis=1)
        return (total * self.parts[0] * ks * factor).astype(q.dtype)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    r = Kernel().run(**locals())
    return {n: r[n] for n in ("output", "logsumexp")}
