"""Right: all batch entries and heads at once, the keys halved again and again, and the halves merged by their logsumexps."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention:
    def __init__(self, p):
        self.p = p
        B, Hq, Sq, T = p.B, p.Hq, p.Sq, p.T
        k = np.repeat(p.k, p.G, axis=1)[:, :Hq]
        self.v = np.repeat(p.v, p.G, axis=1)[:, :Hq]
        place = (np.arange(Sq)[None, :] + p.offset[:, None])[:, None, :, None]
        j = np.arange(T)[None, None, None, :]
        gone = np.broadcast_to(j >= p.L[:, None, None, None], (B, Hq, Sq, T)).copy()
        if p.causal:
            gone |= j > place
        if p.left is not None:
            gone |= j < place - p.left
        if p.right is not None:
            gone |= place + p.right < j
        with np.errstate(all="ignore"):
            self.scores = np.einsum("bhie,bhje->bhij", p.q, k) * p.scale
            x = self.scores
            if p.cap:
                x = np.tanh(x / p.cap) * p.cap
            if p.slopes is not None:
                x = x - p.slopes[None, :, None, None] * np.abs(place - j)
            if p.boolean:
                gone |= ~p.mask4
            elif p.mask4 is not None:
                m = p.mask4.astype(np.float64)
                gone |= np.isneginf(m)
                x = x + m
        x = np.where(gone, -np.inf, x)
        self.logits, self.gone = x, gone

    def part(self, a, z):
        """Mean of the values a to z, and their logsumexp."""
        if z - a > 1:
            return self.merge(self.part(a, (a + z) // 2), self.part((a + z) // 2, z))
        p = self.p
        if z == a:
            return np.zeros((p.B, p.Hq, p.Sq, p.Ev)), np.full((p.B, p.Hq, p.Sq), -np.inf)
        one = np.where(self.gone[..., a, None], 0.0, self.v[:, :, None, a, :])
        logit = self.logits[..., a]
        return np.where((np.isnan(logit) | (logit == np.inf))[..., None], np.nan, one), logit

    @staticmethod
    def merge(one, other):
        with np.errstate(all="ignore"):
            lse = np.logaddexp(one[1], other[1])
            safe = np.where(np.isneginf(lse), 0, lse)
            f, g = np.exp(one[1] - safe)[..., None], np.exp(other[1] - safe)[..., None]
            return one[0] * f + other[0] * g, lse


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    p = base.prepare(locals())
    it = Attention(p)
    out, lse = it.part(0, p.T)
    if p.sinks is not None:
        sink = np.broadcast_to(p.sinks[None, :, None], lse.shape)
        out, lse = it.merge((out, lse), (np.zeros_like(out), sink))
    with np.errstate(all="ignore"):
        lse = lse + 0 * np.where(lse == np.inf, lse, 0)  # infinity less itself
        weights = np.where(it.gone, 0, np.exp(it.logits - np.where(np.isneginf(lse), 0, lse)[..., None]))
    dead = np.isneginf(lse)[..., None]
    out = np.where(dead, 0, out)
    return base.finish(p, out, weights=weights, logsumexp=lse, scores=it.scores, logits=it.logits)
