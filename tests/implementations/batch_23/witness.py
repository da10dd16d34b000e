"""One input for each wrong file that shows it; many for each right file that do not."""
import importlib.util, pathlib, sys, warnings, copy
import ml_dtypes
import numpy as np
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base
warnings.simplefilter("ignore"); np.seterr(all="ignore")
BF = np.dtype(ml_dtypes.bfloat16)
TOL = {"float64": 1e-9, "float32": 2e-4, "float16": 2e-2, "bfloat16": 1e-1}
F8 = np.dtype(ml_dtypes.float8_e4m3fn)


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    m = importlib.util.module_from_spec(spec); spec.loader.exec_module(m)
    return m


def pick(o, name, default):
    return o[name] if name in o else default()


def draw(rng, backward=False, **o):
    c = lambda *a: a[int(rng.integers(len(a)))]
    yes = lambda p=0.4: rng.random() < p
    dt = np.dtype(pick(o, "dtype", lambda: c(np.float64, np.float32)))
    B, Hkv, G = pick(o, "B", lambda: c(1, 2, 3)), pick(o, "Hkv", lambda: c(1, 2)), pick(o, "G", lambda: c(1, 2, 3))
    Sq, Sk = pick(o, "Sq", lambda: c(1, 3, 5, 9)), pick(o, "Sk", lambda: c(0, 1, 4, 7, 13) if yes(.9) else 21)
    E, Ev = pick(o, "E", lambda: c(1, 4, 5, 8)), pick(o, "Ev", lambda: c(1, 3, 8))
    H = Hkv * G
    n = lambda *s: (rng.standard_normal(s) * o.get("size", 1.5)).astype(dt)
    a = dict(query=n(B, H, Sq, E), key=n(B, Hkv, Sk, E), value=n(B, Hkv, Sk, Ev))
    P = 0 if backward else pick(o, "P", lambda: c(0, 0, 3, 6))
    lengths = P == 0
    if P:
        a["past_key"], a["past_value"] = n(B, Hkv, P, E), n(B, Hkv, P, Ev)
    if lengths and pick(o, "kl", yes):
        a["key_lengths"] = rng.integers(0, Sk + 1, B)
    if lengths and pick(o, "ql", yes):
        a["query_lengths"] = rng.integers(0, Sq + 1, B)
    if pick(o, "sinks", yes): a["sinks"] = n(H)
    if pick(o, "alibi", yes): a["alibi_slopes"] = np.abs(n(H)) / 2
    kind = pick(o, "mask", lambda: c(None, None, "bool", "float"))
    if kind:
        full = [B, H, Sq, P + Sk]
        shape = tuple(pick(o, "mask_shape", lambda: [s if yes(.6) else 1 for s in full[:3]] + full[3:])[-c(2, 3, 4):]) if "mask_rank" not in o else tuple(full[-o["mask_rank"]:])
        if kind == "bool":
            a["mask"] = rng.random(shape) < .7
        else:
            m = rng.standard_normal(shape); m[rng.random(shape) < .2] = -np.inf
            a["mask"] = m.astype(dt)
    a["is_causal"] = bool(pick(o, "causal", yes))
    a["causal_alignment"] = pick(o, "align", lambda: c("top_left", "bottom_right"))
    if pick(o, "scaled", lambda: yes(.3)): a["scale"] = pick(o, "scale", lambda: c(-.7, 0., .3, 1.))
    if pick(o, "cap", lambda: yes(.3)): a["softcap"] = c(0., 1.5, 4.)if "cap" not in o else 2.
    w = pick(o, "window", lambda: c(None, None, [1, 0], [3, None], [None, 2], [0, 4]))
    if w: a["window"] = w
    if backward:
        a = dict(grad_output=n(B, H, Sq, Ev), **a)
        f = base.scaled_dot_product_attention(**{k: v for k, v in a.items() if k != "grad_output"})
        if pick(o, "stored", yes): a["output"], a["logsumexp"] = f["output"], f["logsumexp"].astype(dt)
        if pick(o, "glse", yes): a["grad_logsumexp"] = n(B, H, Sq)
    return a


def differs(got, want, a, dtype, exact=False):
    names = [k for k in got if got[k] is not None and k in want]
    N = a.get("query_lengths")
    for k in names:
        x, y = np.asarray(got[k]).astype(np.float64), np.asarray(want[k]).astype(np.float64)
        if x.shape != y.shape: return f"{k}: shape"
        if k in ("present_key", "present_value") : continue
        if N is not None and k in ("output", "weights", "logsumexp", "scores", "logits", "grad_query", "delta", "grad_scores"):
            keep = np.arange(x.shape[2])[None] < np.asarray(N)[:, None]
            keep = keep[:, None].reshape(keep.shape[0], 1, keep.shape[1], *([1] * (x.ndim - 3)))
            x, y = np.where(keep, x, 0), np.where(keep, y, 0)
        if k == "scores": continue
        bad = ~((x == y) | (np.isnan(x) & np.isnan(y)))
        fin = np.isfinite(y) & np.isfinite(x)
        size = np.abs(y[np.isfinite(y)]).max(initial=0)
        bad &= ~(fin & (np.abs(np.where(fin, x - y, 0)) <= (0 if exact else TOL[dtype]) * np.maximum(np.abs(np.where(fin, y, 0)), 0.05 * min(size, 1e3) + 1e-3 * size + 1e-3)))
        if bad.any():
            i = tuple(np.argwhere(bad)[0])
            return f"{k}{list(map(int, i))}: {x[i]:.6g} for {y[i]:.6g}"
    return None


def call(f, a, expected=None):
    return f(**{k: (np.array(v) if isinstance(v, np.ndarray) and v.flags.c_contiguous else v) for k, v in a.items()})


SD, BW = "scaled_dot_product_attention", "scaled_dot_product_attention_backward"


def ordinary(op, fwd=base.scaled_dot_product_attention):
    def two(m, a):
        try:
            got = call(getattr(m, op), a)
        except Exception as e:
            got = {"raised": e}; return f"raised {type(e).__name__}: {e}"
        want = call(getattr(base, op), a)
        if getattr(m, "conventions", {}).get("logsumexp_base") == "2":
            want = {**want, "logsumexp": want["logsumexp"] / np.log(2)}
        return differs(got, want, a, a["query"].dtype.name)
    return two


def seeds(make, op, n=60):
    def run(m):
        for s in range(n):
            r = ordinary(op)(m, make(np.random.default_rng(s)))
            if r: return f"seed {s}: {r}"
    return run


def fw(**o): return seeds(lambda rng: draw(rng, **o), SD)
def bw(**o): return seeds(lambda rng: draw(rng, backward=True, **o), BW)


def edit(f, op, **o):
    def make(rng):
        a = draw(rng, backward=op == BW, **o); f(a, rng); return a
    return seeds(make, op)


PLAIN = dict(kl=False, ql=False, mask=None, cap=False, alibi=False, window=None, sinks=False, scaled=False, causal=False)


def w6(a, rng): a["mask"] = np.full((a["query"].shape[2], a["key"].shape[2]), -2e4, a["query"].dtype)
def w18(a, rng): a["scale"] = -3.0; a["query"] = a["query"] * 30


def w20(a, rng):
    a["key"] = np.clip(a["key"] * 10, -127, 127).astype(np.int8); a["key_scale"] = np.array([.02, .5], np.float32)


def w26(a, rng):
    a["query_lengths"] = np.full(a["query"].shape[0], 2); a["grad_output"][:, :, 2] = np.nan


def w28(a, rng): a["query_lengths"] = np.full(a["query"].shape[0], 2)


def w31(a, rng):
    a["value"] = np.full_like(a["value"], 300) * np.sign(a["value"]); a["grad_output"] = np.full_like(a["grad_output"], 60); a["scale"] = 0.01


def w34(a, rng): a["grad_output"] = np.asarray(a["grad_output"].swapaxes(1, 2).copy()).swapaxes(1, 2)


def w15(m):
    for s in range(40):
        a = draw(np.random.default_rng(s), **{**PLAIN, "causal": True}, P=0, Sk=6, Sq=3, align="top_left")
        b = draw(np.random.default_rng(s), **{**PLAIN, "causal": True}, P=3, Sk=3, Sq=3, align="top_left")
        call(m.scaled_dot_product_attention, a)
        r = ordinary(SD)(m, b)
        if r: return r


def sm(x, **k):
    def run(m):
        return differs({"o": m.softmax(x.copy("K"), **k)}, {"o": base.softmax(x, **k)}, {}, {"float64": "float64", "float32": "float32"}.get(x.dtype.name, "half") if False else x.dtype.name)
    return run


def w9(m):
    x, y = np.arange(4.0), np.arange(4.0) * 2
    first = m.softmax(x); m.softmax(y)
    return differs({"o": first}, {"o": base.softmax(x)}, {}, "float64")


def w36(m):
    TOLD = TOL["bfloat16"]; TOL["bfloat16"] = 8e-3
    try:
        x = np.array([0, -9.5, -9.0, -8.5, -8.25]).astype(BF)
        return differs({"o": m.softmax(x)[1:].astype(float) * 1e4}, {"o": base.softmax(x)[1:].astype(float) * 1e4}, {}, "bfloat16")
    finally: TOL["bfloat16"] = TOLD


def mg(change, dtype=np.float64, exact=False):
    def run(m):
        for s in range(20):
            rng = np.random.default_rng(s)
            a, b = rng.standard_normal((2, 2, 3, 5, 4)).astype(dtype); la, lb = (rng.standard_normal((2, 2, 3, 5)) * 2).astype(dtype)
            change(a, la, b, lb)
            want = base.merge_states(a, la, b, lb)
            if getattr(m, "conventions", {}).get("logsumexp_base") == "2":
                got = m.merge_states(a, la / np.log(2), b, lb / np.log(2)); got["logsumexp"] = got["logsumexp"] * np.log(2)
            else: got = m.merge_states(a, la, b, lb)
            r = differs(got, want, {}, np.dtype(dtype).name, exact)
            if r: return r
    return run


def m10(a, la, b, lb): lb[0, 0, 0] = -np.inf
def m38(a, la, b, lb): la[:] = -np.inf; a[:] = 1e20
def m40(a, la, b, lb): la += 3e5; lb += 3e5


def paged(rng, size, csr=False):
    a = draw(rng, P=0, **({"mask": None}), kl=True)
    B, Hkv, Sk, E = a["key"].shape
    L = a["key_lengths"]
    most = -(-Sk // size) + 1
    count = B * most + 3
    ids = rng.permutation(count)[: B * most].reshape(B, most)
    kp = np.full((count, size, Hkv, E), np.nan, a["key"].dtype); vp = np.full((count, size, Hkv, a["value"].shape[3]), np.nan, a["key"].dtype)
    for b in range(B):
        for j in range(int(L[b])):
            kp[ids[b, j // size], j % size] = a["key"][b, :, j]; vp[ids[b, j // size], j % size] = a["value"][b, :, j]
    rest = {k: v for k, v in a.items() if k not in ("query", "key", "value", "key_lengths")}
    if csr:
        n = -(-L // size)
        s = dict(key_pool=kp.swapaxes(1, 2), value_pool=vp.swapaxes(1, 2), page_starts=np.concatenate([[0], np.cumsum(n)]),
                 page_indices=np.concatenate([ids[b, : n[b]] for b in range(B)] + [[0]]).astype(int), last_page_length=np.where(n > 0, L - (n - 1) * size, 7))
    else:
        s = dict(key_pool=kp, value_pool=vp, block_table=ids, key_lengths=L)
    return a, dict(query=a["query"], **s, **rest)


def paged_check(m, size, n, csr=False):
    for s in range(n):
        a, given = paged(np.random.default_rng(s), size, csr)
        try: got = m.scaled_dot_product_attention(**given)
        except Exception as e: return f"raised {e!r}"
        r = differs(got, base.scaled_dot_product_attention(**a), a, a["query"].dtype.name)
        if r: return r


def packed_check(m, n, sq=None, align=None, causal=None):
    for s in range(n):
        rng = np.random.default_rng(s)
        o = {"mask": None, "P": 0, "kl": True, "ql": True}
        if align: o.update(align=align, causal=True, window=None, Sq=sq)
        a = draw(rng, **o)
        B, L, N = a["query"].shape[0], a["key_lengths"], a["query_lengths"]
        if not align: N = a["query_lengths"] = np.minimum(N, L)
        cat = lambda x, n: np.concatenate([x[b, :, : int(n[b])].swapaxes(0, 1) for b in range(B)])
        st = lambda n: np.concatenate([[0], np.cumsum(n)])
        rest = {k: v for k, v in a.items() if k not in ("query", "key", "value", "key_lengths", "query_lengths")}
        got = m.scaled_dot_product_attention(cat(a["query"], N), cat(a["key"], L), cat(a["value"], L), st(N), st(L), **rest)
        w = base.scaled_dot_product_attention(**a)
        r = differs({"o": got["output"], "l": got["logsumexp"]}, {"o": cat(w["output"], N), "l": np.concatenate([w["logsumexp"][b, :, : int(N[b])].T for b in range(B)])}, {}, a["query"].dtype.name)
        if r: return r


FORT = np.asfortranarray(np.arange(12.0).reshape(3, 4))
tail = np.array([0.0] * 8 + [900.0])
W = {
 1: fw(**{**PLAIN, "sinks": True}, P=0, Sq=1, Sk=13), 2: fw(**PLAIN, P=0, Sk=13), 3: fw(**{**PLAIN, "window": [3, None]}, Sq=9, Sk=13, P=0),
 4: fw(**{**PLAIN, "alibi": True}, P=3, Sq=3, Sk=4), 5: fw(**PLAIN, Sq=1, Hkv=2, G=3, Sk=7), 6: edit(w6, SD, **PLAIN, P=0, Sk=13),
 7: sm(np.arange(6.0).reshape(2, 3), axis=0), 8: sm(tail), 9: w9, 10: mg(m10),
 11: fw(**{**PLAIN, "alibi": True, "ql": True}, align="bottom_right", P=0, Sq=5, Sk=7, B=2), 12: fw(**{**PLAIN, "mask": "float"}, mask_rank=3, B=2, Hkv=1, G=2, Sq=3, Sk=4, P=0),
 13: fw(**PLAIN, dtype=BF, Sk=900, Sq=2, size=.5, P=0), 14: fw(**{**PLAIN, "kl": True}, P=0, B=3, Sk=7), 15: w15,
 16: lambda m: paged_check(m, 3, 40), 17: lambda m: packed_check(m, 40, sq=9, align="bottom_right"), 18: edit(w18, SD, **PLAIN, P=0, Sk=7, dtype=np.float32),
 19: fw(**PLAIN, P=0, Sk=7, E=5), 20: edit(w20, SD, **PLAIN, P=0, B=2, Hkv=2, Sk=7),
 21: bw(**PLAIN, glse=True, Sk=7), 22: bw(**{**PLAIN, "cap": True, "alibi": True}, Sk=7), 23: bw(**{**PLAIN, "cap": True, "mask": "float"}, Sk=7),
 24: bw(**{**PLAIN, "mask": "float"}, mask_rank=3, B=2, Sk=7), 25: bw(**PLAIN, G=3, Sk=7), 26: edit(w26, BW, **PLAIN, Sk=7, Sq=5, stored=False, B=2),
 27: bw(**{**PLAIN, "sinks": True, "kl": True}, glse=True, B=3), 28: edit(w28, BW, **{**PLAIN, "causal": True}, align="bottom_right", Sq=9, Sk=13, stored=False, B=2),
 29: bw(**{**PLAIN, "window": [3, None]}, Sq=9, Sk=13), 30: bw(**{**PLAIN, "scaled": True}, scale=.3, Sk=7, E=4), 31: edit(w31, BW, **PLAIN, dtype=np.float16, Sk=7, Ev=8, E=4, stored=False),
 32: bw(**{**PLAIN, "sinks": True, "ql": True}, glse=True, B=3, Sq=5, Sk=7), 33: bw(**PLAIN, stored=True, Ev=8, E=4, Sk=7),
 34: edit(w34, BW, **PLAIN, Hkv=2, Sq=3, Sk=7),
 35: sm(FORT, axis=None), 36: w36, 37: sm(np.array([-np.inf] * 4 + [1.0, 2])), 38: mg(m38), 39: mg(lambda *a: None), 40: mg(m40, np.float32),
}

if __name__ == "__main__":
    import json
    entries = {e["file"]: e for e in json.loads((HERE / "batch.json").read_text())}
    shown = 0
    for path in sorted((HERE / "wrong").glob("*.py")):
        n = int(path.stem[:3]); m = load(path)
        try: r = W[n](m)
        except Exception as e: r = None; print("ERROR", path.stem, repr(e))
        shown += bool(r)
        op = entries[f"wrong/{path.name}"]["operation"]
        rate = ""
        if op in (SD, BW) and not hasattr(m, "layout"):
            hits, why = 0, []
            for s in range(60):
                a = draw(np.random.default_rng(1000 + s), backward=op == BW)
                q = ordinary(op)(m, a)
                hits += bool(q)
                if q and "raised" in q: why.append(q)
            rate = f" [random draws: {hits}/60] {why[:1]}"
        print("shown" if r else "NOT SHOWN", path.stem, r, rate)
    print(shown, "shown")
    for path in sorted((HERE / "right").glob("*.py")):
        m = load(path); bad = 0; first = None
        for s in range(300):
            if hasattr(m, "layout"): r = None
            else:
                op = BW if hasattr(m, BW) else SD
                dt = (np.float64, np.float32, np.float16, BF)[s % 4]
                a = draw(np.random.default_rng(5000 + s), backward=op == BW, dtype=dt, **({"stored": s % 4 == 0} if op == BW and s % 4 > 1 else {}))
                r = ordinary(op)(m, a)
            if r: bad += 1; first = first or (s, r)
        if hasattr(m, "layout"):
            first = paged_check(m, 3, 150, csr=True) or paged_check(m, 4, 150, csr=True); bad = bool(first)
        print("right", path.stem, bad, first)
    print("packed/paged with the mistakes' conditions absent:", packed_check(load(next((HERE / "wrong").glob("017*"))), 60), paged_check(load(next((HERE / "wrong").glob("016*"))), 4, 60))
