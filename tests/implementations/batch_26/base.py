"""Right implementations: checks, widening, positions; `core` computes one head of one batch entry."""
from types import SimpleNamespace as NS
import ml_dtypes
import numpy as np

ALL = ("float64", "float32", "bfloat16", "float16")
QUANTIZED = ("float8_e4m3fn", "float8_e5m2", "int8")


def refuse(bad, why):
    if bad:
        raise ValueError(why)


def acc(dtype):
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def named(name):
    return np.dtype(getattr(ml_dtypes, str(name))) if hasattr(ml_dtypes, str(name)) else np.dtype(name)


def ints(x):
    return None if x is None else np.asarray(x).astype(np.int64)


def wide(x, dtype):
    return np.array(np.asarray(x).astype(dtype), order="C")


def heads_fit(Hq, Hkv):
    refuse(Hq % Hkv != 0 if Hkv else Hq != 0, "heads")


def check_dense(a):
    q, k, v = a["query"], a["key"], a["value"]
    refuse(q.ndim != 4 or k.ndim != 4 or v.ndim != 4, "rank")
    B, Hq, Sq, E = q.shape
    refuse(k.shape[3] != E, "width")
    refuse(k.shape[0] != B or v.shape[0] != B, "batch")
    refuse(k.shape[1] != v.shape[1], "heads of key and value")
    heads_fit(Hq, k.shape[1])
    refuse(k.shape[2] != v.shape[2], "tokens of key and value")
    pk, pv = a.get("past_key"), a.get("past_value")
    refuse((pk is None) != (pv is None), "past alone")
    P = 0
    if pk is not None:
        refuse(pk.ndim != 4 or pv.ndim != 4, "rank of the past")
        refuse(pk.shape[3] != E or pv.shape[3] != v.shape[3], "width of the past")
        refuse(pk.shape[0] != B or pv.shape[0] != B, "batch of the past")
        refuse(pk.shape[1] != k.shape[1] or pv.shape[1] != v.shape[1], "heads of the past")
        refuse(pk.shape[2] != pv.shape[2], "tokens of the past")
        P = pk.shape[2]
    K = P + k.shape[2]
    for name, most in (("key_lengths", k.shape[2]), ("query_lengths", Sq)):
        n = a.get(name)
        if n is not None:
            n = ints(n)
            refuse(n.shape != (B,), name)
            refuse((n < 0).any() or (n > most).any(), name)
    m = a.get("mask")
    if m is not None:
        refuse(not 2 <= m.ndim <= 4 or m.shape[-1] != K, "mask")
        full = (1,) * (4 - m.ndim) + m.shape
        refuse(any(s not in (1, t) for s, t in zip(full, (B, Hq, Sq, K))), "mask")
    for name in ("query_scale", "key_scale", "value_scale"):
        s = a.get(name)
        if s is not None:
            s = np.asarray(s)
            refuse(s.ndim > 2, name)
            full = (1,) * (2 - s.ndim) + s.shape
            refuse(any(x not in (1, t) for x, t in zip(full, (B, k.shape[1]))), name)
    for name in ("sinks", "alibi_slopes"):
        if a.get(name) is not None:
            refuse(np.shape(a[name]) != (Hq,), name)
    return B, Hq, k.shape[1], Sq, E, P, K, v.shape[3]


def result_dtype(a):
    q = a["query"]
    if q.dtype.name in QUANTIZED:
        return named(a.get("output_dtype") or "float32")
    return q.dtype


def scale_array(s, B, H, dtype):
    s = np.asarray(s).astype(dtype)
    return np.broadcast_to(s.reshape((1,) * (2 - s.ndim) + s.shape), (B, H))


def allowed(p, L, K, is_causal, window):
    """(Sq, K), for positions p (Sq)."""
    j = np.arange(K)
    ok = np.broadcast_to(j < L, (len(p), K)).copy()
    if is_causal:
        ok &= j <= p[:, None]
    if window is not None:
        left, right = window
        if left is not None:
            ok &= j >= p[:, None] - int(left)
        if right is not None:
            ok &= j <= p[:, None] + int(right)
    return ok


def numbers(x, dtype):
    return wide(x, dtype)


def prepare(a, numbers=numbers):
    """Everything that is common to all heads."""
    B, Hq, Hkv, Sq, E, P, K, Ev = check_dense(a)
    out = result_dtype(a)
    c = acc(out)
    q, k, v = a["query"], a["key"], a["value"]
    if a.get("past_key") is not None:
        present_k = np.concatenate([a["past_key"], k], axis=2)
        present_v = np.concatenate([a["past_value"], v], axis=2)
    else:
        present_k, present_v = k.copy(), v.copy()
    G = Hq // Hkv if Hkv else 1
    with np.errstate(all="ignore"):
        Q, Kk, V = numbers(q, c), numbers(present_k, c), numbers(present_v, c)
        if a.get("query_scale") is not None:
            Q = Q * np.repeat(scale_array(a["query_scale"], B, Hkv, c), G, axis=1)[:, :, None, None]
        if a.get("key_scale") is not None:
            Kk = Kk * scale_array(a["key_scale"], B, Hkv, c)[:, :, None, None]
        if a.get("value_scale") is not None:
            V = V * scale_array(a["value_scale"], B, Hkv, c)[:, :, None, None]
    L = ints(a.get("key_lengths"))
    L = np.full(B, K) if L is None else L
    N = ints(a.get("query_lengths"))
    N = np.full(B, Sq) if N is None else N
    first = L - N if a.get("causal_alignment", "top_left") == "bottom_right" else np.full(B, P)
    p = first[:, None] + np.arange(Sq)
    ok = np.zeros((B, Hq, Sq, K), bool)
    for b in range(B):
        ok[b] = allowed(p[b], L[b], K, a.get("is_causal", False), a.get("window"))
    bias = None
    m = a.get("mask")
    if m is not None:
        if m.dtype == bool:
            ok &= m
        else:
            with np.errstate(all="ignore"):
                bias = np.broadcast_to(wide(m, c), (B, Hq, Sq, K))
            ok &= bias != -np.inf
    softcap = a.get("softcap")
    return NS(
        B=B, Hq=Hq, Hkv=Hkv, G=G, Sq=Sq, E=E, P=P, K=K, Ev=Ev, dtype=c, out=out, q=Q, k=Kk, v=V, present_k=present_k,
        present_v=present_v, L=L, N=N, p=p, ok=ok, bias=bias,
        sinks=None if a.get("sinks") is None else wide(a["sinks"], c),
        slopes=None if a.get("alibi_slopes") is None else wide(a["alibi_slopes"], c),
        scale=1.0 / E**0.5 if a.get("scale") is None else float(a["scale"]),
        softcap=float(softcap) if softcap else None,
    )


def head(z, b, h):
    g = h // z.G
    return NS(
        q=z.q[b, h], k=z.k[b, g], v=z.v[b, g], p=z.p[b], ok=z.ok[b, h], bias=None if z.bias is None else z.bias[b, h],
        slope=None if z.slopes is None else z.slopes[h], sink=None if z.sinks is None else z.sinks[h], scale=z.scale,
        softcap=z.softcap, L=int(z.L[b]), N=int(z.N[b]), dtype=z.dtype, b=b, h=h,
    )


def block(t, r=slice(None), c=slice(None)):
    """Scores and logits of some rows and columns of a head."""
    s = (t.q[r] @ t.k[c].T) * t.dtype.type(t.scale)
    x = s
    if t.softcap:
        x = np.tanh(x / t.dtype.type(t.softcap)) * t.dtype.type(t.softcap)
    if t.slope is not None:
        j = np.arange(len(t.k))[c]
        x = x - t.slope * np.abs(t.p[r][:, None] - j).astype(t.dtype)
    if t.bias is not None:
        x = x + t.bias[r, c]
    return s, np.where(t.ok[r, c], x, t.dtype.type(-np.inf))


def weigh(w, ok, v):
    if np.isfinite(v).all():
        return w @ v
    return np.array([w[i, ok[i]] @ v[ok[i]] for i in range(len(w))], dtype=v.dtype).reshape(len(w), v.shape[1])


def plain(t):
    s, x = block(t)
    m = x.max(axis=1, initial=-np.inf)
    if t.sink is not None:
        m = np.maximum(m, t.sink)
    safe = np.where(m == -np.inf, 0, m).astype(t.dtype)
    e = np.exp(x - safe[:, None])
    total = e.sum(axis=1)
    if t.sink is not None:
        total = total + np.exp(t.sink - safe)
    some = t.ok.any(axis=1) & (total != 0)
    w = np.where(t.ok, e / np.where(total == 0, 1, total)[:, None], 0).astype(t.dtype)
    lse = np.where(total == 0, -np.inf, np.log(np.where(total == 0, 1, total)) + safe)
    return {"output": weigh(w, t.ok, t.v), "logsumexp": lse, "weights": w, "scores": s, "logits": x}


def collect(z, core):
    made = {}
    shapes = {"output": (z.Ev,), "logsumexp": (), "weights": (z.K,), "scores": (z.K,), "logits": (z.K,)}
    with np.errstate(all="ignore"):
        for b in range(z.B):
            for h in range(z.Hq):
                for name, x in core(head(z, b, h)).items():
                    if name not in made:
                        made[name] = np.zeros((z.B, z.Hq, z.Sq) + shapes[name], z.dtype)
                    made[name][b, h] = x
        if not made:
            made = {"output": np.zeros((z.B, z.Hq, z.Sq, z.Ev), z.dtype), "logsumexp": np.zeros((z.B, z.Hq, z.Sq), z.dtype)}
        made["output"] = made["output"].astype(z.out)
    return made


def dense(a, core=plain, presents=True, numbers=numbers):
    z = prepare(a, numbers)
    made = collect(z, core)
    if presents and not any(a.get(n) is not None for n in ("query_scale", "key_scale", "value_scale")):
        made |= {"present_key": z.present_k, "present_value": z.present_v}
    return made


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    return dense(dict(locals()))


# ---- the layouts of serving -------------------------------------------------------------------------------------------

COMMON = ("sinks", "alibi_slopes", "is_causal", "causal_alignment", "scale", "softcap", "window")


def check_serving_mask(mask, Hq, most):
    if mask is None:
        return
    refuse(not 2 <= mask.ndim <= 4 or mask.shape[-2] != 1 or mask.shape[-1] < most, "mask")
    if mask.ndim > 2:
        refuse(mask.shape[-3] not in (1, Hq), "mask")
    if mask.ndim > 3:
        refuse(mask.shape[0] != 1, "mask")


def one_sequence(a, q, k, v, N, core, columns=None):
    """q (Hq, Sq, E), k and v (Hkv, L, .): output and logsumexp of one sequence."""
    c = {n: a[n] for n in COMMON} | {"query": q[None], "key": k[None], "value": v[None], "query_lengths": None if N is None else np.array([N])}
    if a["mask"] is not None:
        c["mask"] = a["mask"][..., : k.shape[1]] if columns is None else columns(a["mask"], k.shape[1])
    made = dense(c, core, presents=False)
    return made["output"][0], made["logsumexp"][0]


def check_packed(a):
    q, k, v = a["query"], a["key"], a["value"]
    refuse(q.ndim != 3 or k.ndim != 3 or v.ndim != 3, "rank")
    refuse(q.shape[2] != k.shape[2], "width")
    refuse(k.shape[1] != v.shape[1], "heads")
    heads_fit(q.shape[1], k.shape[1])
    refuse(k.shape[0] != v.shape[0], "tokens")
    qs, ks = ints(a["query_starts"]), ints(a["key_starts"])
    refuse(qs.ndim != 1 or qs.shape != ks.shape or len(qs) < 1, "starts")
    for s, n in ((qs, len(q)), (ks, len(k))):
        refuse(s[0] != 0 or s[-1] != n or (np.diff(s) < 0).any(), "starts")
    check_serving_mask(a["mask"], q.shape[1], np.diff(ks).max(initial=0))
    return qs, ks


def packed(a, core=plain, columns=None):
    qs, ks = check_packed(a)
    q, k, v = a["query"], a["key"], a["value"]
    output = np.zeros((len(q), q.shape[1], v.shape[2]), q.dtype)
    lse = np.zeros((len(q), q.shape[1]), acc(q.dtype))
    for b in range(len(qs) - 1):
        r, c = slice(qs[b], qs[b + 1]), slice(ks[b], ks[b + 1])
        o, l = one_sequence(a, q[r].swapaxes(0, 1), k[c].swapaxes(0, 1), v[c].swapaxes(0, 1), None, core, columns)
        output[r], lse[r] = o.swapaxes(0, 1), l.swapaxes(0, 1)
    return {"output": output, "logsumexp": lse}


def check_paged(a, heads_first=False):
    q, k, v = a["query"], a["key_pool"], a["value_pool"]
    refuse(q.ndim != 4 or k.ndim != 4 or v.ndim != 4, "rank")
    refuse(k.shape[:3] != v.shape[:3], "pools")
    refuse(q.shape[3] != k.shape[3], "width")
    heads_fit(q.shape[1], k.shape[1 if heads_first else 2])
    B, size = len(q), k.shape[2 if heads_first else 1]
    if a.get("query_lengths") is not None:
        N = ints(a["query_lengths"])
        refuse(N.shape != (B,) or (N < 0).any() or (N > q.shape[2]).any(), "query_lengths")
    if "block_table" in a:
        t = ints(a["block_table"])
        L = ints(a["key_lengths"])
        refuse(t.ndim != 2 or len(t) != B or L.shape != (B,), "table")
        refuse((L < 0).any() or (L > t.shape[1] * size).any(), "key_lengths")
        pages = [t[b, : -(-int(L[b]) // size)] for b in range(B)]
    else:
        s, x, last = ints(a["page_starts"]), ints(a["page_indices"]), ints(a["last_page_length"])
        refuse(s.shape != (B + 1,) or last.shape != (B,) or x.ndim != 1 or (np.diff(s) < 0).any() or s[-1] > len(x), "list")
        pages = [x[s[b] : s[b + 1]] for b in range(B)]
        L = np.array([(len(g) - 1) * size + last[b] if len(g) else 0 for b, g in enumerate(pages)], np.int64).reshape(B)
        refuse(any(len(g) and not 1 <= last[b] <= size for b, g in enumerate(pages)), "last_page_length")
    check_serving_mask(a["mask"], q.shape[1], L.max(initial=0))
    return pages, L, size


def paged(a, core=plain, heads_first=False, fetch=None, columns=None):
    pages, L, size = check_paged(a, heads_first)
    q, k, v = a["query"], a["key_pool"], a["value_pool"]
    if heads_first:
        k, v = k.swapaxes(1, 2), v.swapaxes(1, 2)

    def take(pool, b):
        return pool[pages[b]].reshape((len(pages[b]) * size,) + pool.shape[2:])[: L[b]].swapaxes(0, 1)

    fetch = fetch or take
    output = np.zeros(q.shape[:3] + v.shape[3:], q.dtype)
    lse = np.zeros(q.shape[:3], acc(q.dtype))
    for b in range(len(q)):
        N = None if a["query_lengths"] is None else int(ints(a["query_lengths"])[b])
        output[b], lse[b] = one_sequence(a, q[b], fetch(k, b), fetch(v, b), N, core, columns)
    return {"output": output, "logsumexp": lse}


# ---- merging ----------------------------------------------------------------------------------------------------------

def check_merge(a, la, b, lb):
    refuse(a.ndim != 4 or b.ndim != 4 or la.ndim != 3 or lb.ndim != 3, "rank")
    refuse(a.shape != b.shape, "outputs")
    refuse(la.shape != a.shape[:3] or lb.shape != a.shape[:3], "logsumexp")
    return np.result_type(acc(a.dtype), acc(la.dtype), acc(lb.dtype))


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    c = check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with np.errstate(all="ignore"):
        a, la, b, lb = (wide(x, c) for x in (output_a, logsumexp_a, output_b, logsumexp_b))
        m = np.maximum(la, lb)
        safe = np.where(m == -np.inf, 0, m)
        wa, wb = np.exp(la - safe), np.exp(lb - safe)
        total = wa + wb
        one = np.where(total == 0, 1, total)
        out = np.where((la == -np.inf)[..., None], 0, a * (wa / one)[..., None])
        out = out + np.where((lb == -np.inf)[..., None], 0, b * (wb / one)[..., None])
        lse = np.where(total == 0, -np.inf, np.log(one) + safe)
        return {"output": out.astype(output_a.dtype), "logsumexp": lse.astype(c)}
