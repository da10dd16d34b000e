import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

layout = "paged_csr_heads_first"



class Engine(base.PagedCsrHeadsFirst):
    def run(self, **a):
        starts, pages = np.asarray(a["page_starts"]), np.asarray(a["page_indices"])
        lists = [pages[s:t] for s, t in zip(starts[:-1], starts[1:])]
        size = self.page_size(a["key_pool"])
        self.shared = 0
        if len(lists) > 1:
            shortest = min(len(x) for x in lists) - 1         # pages that all have, each of them full
            while self.shared < shortest and len({int(x[self.shared]) for x in lists}) == 1:
                self.shared += 1
        self.shared *= size
        return super().run(**a)

    def sequence(self, q, k, v, mask, a):
        """What all requests share lies before all queries: every query attends to it, and it is merged with the rest."""
        c = self.shared
        if not c or a["alibi_slopes"] is not None or mask is not None or not k.shape[1]:
            return super().sequence(q, k, v, mask, a)
        n, length = q.shape[1], k.shape[1]
        shift = length - n if a["causal_alignment"] == "bottom_right" else 0
        core = base.Attention()
        prefix = core.run(q[None], k[None, :, :c], v[None, :, :c], sinks=a["sinks"], scale=a["scale"], softcap=a["softcap"])
        s = core.cap(core.score(q[None], core.share(k[None, :, c:], q.shape[0]),
                                core.factor(a["scale"], q.shape[2], base.wide(q.dtype))), a["softcap"])
        p = np.arange(n)[None] + shift - c
        ok = core.allowed(s.shape, p, np.array([length - c]), a["is_causal"], a["window"], None)
        with np.errstate(all="ignore"):
            w, l = core.softmax(np.where(ok, s, -np.inf).astype(s.dtype), ok, None, s.dtype)
            o = core.weigh(w, core.share(v[None, :, c:], q.shape[0]), ok)
        r = base.merge_states(prefix["output"], prefix["logsumexp"], o, l)
        return r["output"][0], r["logsumexp"][0]


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    return Engine().run(**locals())
