import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

class Kernel(base.Attention):
    def slopes(self):
        per_head = super().slopes()
        return per_head.reshape(self.group, self.Hkv).T.reshape(self.Hq, 1, 1)


def scaled_dot_product_attention(
    query, key, value, mask=None, key_lengths=None, query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None,
):  # fmt: skip
    given = dict(locals())
    for name in ("query", "key", "value"):
        base.refuse(given[name].ndim != 4, "rank")
        given[name] = given[name].swapaxes(1, 2)
    return {"output": Kernel().run(given)["output"].swapaxes(1, 2)}


layout = "bshe"
dtypes = base.DTYPES
