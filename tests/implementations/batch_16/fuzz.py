import sys, importlib.util, pathlib, inspect
import numpy as np, ml_dtypes, base
sys.path.insert(0, ".")
def load(f):
    s = importlib.util.spec_from_file_location("m_" + pathlib.Path(f).stem, f); m = importlib.util.module_from_spec(s); s.loader.exec_module(m); return m
ORDER_S, ORDER_M = ["output", "weights", "logsumexp"], ["output", "logsumexp"]
def named(r, merge):
    return r if isinstance(r, dict) else dict(zip(ORDER_M if merge else ORDER_S, r)) if merge or len(r) == 3 else dict(zip(["output", "weights"], r))
def attn_opts(rng, Hq, dt, S, L):
    o = {}
    if rng.random() < .3: o["sinks"] = rng.normal(size=Hq).astype(dt)
    if rng.random() < .3: o["alibi_slopes"] = rng.random(Hq).astype(dt)
    if rng.random() < .4: o["is_causal"] = True
    if rng.random() < .5: o["causal_alignment"] = "bottom_right"
    if rng.random() < .3: o["scale"] = float(rng.choice([0, -.5, .7]))
    if rng.random() < .3: o["softcap"] = float(rng.choice([0, 1.5]))
    if rng.random() < .35: o["window"] = [rng.choice([None, 0, 1, 3]), rng.choice([None, 0, 2])]
    return o
def mask(rng, shape, dt):
    if rng.random() < .5: return rng.random(shape) < .7
    m = rng.normal(size=shape).astype(dt); m[rng.random(shape) < .2] = -np.inf; return m
def dims(rng):
    Hkv = int(rng.choice([1, 2, 3])); return int(rng.integers(1, 4)), Hkv * int(rng.choice([1, 2, 3])), Hkv, int(rng.integers(1, 5)), int(rng.integers(1, 5))
def gen(rng, kind, dt):
    B, Hq, Hkv, E, Ev = dims(rng)
    if kind == "merge":
        S = int(rng.choice([1, 3, 5, 40])); sh = (B, Hq, S)
        la, lb = rng.normal(size=sh) * rng.choice([1, 5, 400, 3e4]), rng.normal(size=sh) * rng.choice([1, 5, 400])
        la, lb = la.astype(dt), lb.astype(dt)
        oa, ob = rng.normal(size=sh + (Ev,)).astype(dt), rng.normal(size=sh + (Ev,)).astype(dt)
        for l, o in ((la, oa), (lb, ob)):
            e = rng.random(sh) < .15; l[e] = -np.inf; o[e] = rng.choice([0, np.nan, np.inf, 1e30])
        if rng.random() < .2: la[rng.random(sh) < .1] = np.nan
        if rng.random() < .2: ob[rng.random(ob.shape) < .1] = rng.choice([np.nan, np.inf])
        return dict(output_a=oa, logsumexp_a=la, output_b=ob, logsumexp_b=lb)
    if kind == "quant":
        S, K = int(rng.integers(1, 6)), int(rng.integers(0, 12))
        o = attn_opts(rng, Hq, dt, S, K)
        def t(sh, qz):
            if qz is None: return rng.normal(size=sh).astype(dt)
            return rng.integers(-128, 128, sh).astype(np.int8) if qz == "i" else (rng.normal(size=sh) * rng.choice([.01, 1, 20])).astype(ml_dtypes.float8_e4m3fn if qz == "4" else ml_dtypes.float8_e5m2)
        def s():
            return np.array(rng.random([(), (Hkv,), (1,), (B, Hkv), (B, 1), (1, Hkv)][rng.integers(6)]) * .05 + .005, np.float32)
        ks = [None, "i", "4", "5"]; P = 0
        f = [ks[rng.integers(4)] if rng.random() < .8 else None for _ in range(3)]
        o["query"], o["key"], o["value"] = t((B, Hq, S, E), f[0]), t((B, Hkv, K, E), f[1]), t((B, Hkv, K, Ev), f[2])
        for n, x in zip(("query", "key", "value"), f):
            if x: o[n + "_scale"] = s()
        if f[0]: o["output_dtype"] = np.dtype(dt).name
        r = rng.random()
        if r < .3:
            P = int(rng.integers(0, 4)); o["past_key"], o["past_value"] = t((B, Hkv, P, E), f[1]), t((B, Hkv, P, Ev), f[2])
        elif r < .6:
            o["key_lengths"] = rng.integers(0, K + 1, B)
            if rng.random() < .5: o["query_lengths"] = rng.integers(0, S + 1, B)
        if rng.random() < .4:
            sh = (B, Hq, S, K + P); nd = rng.integers(2, 5); sh = sh[4 - nd:]
            sh = tuple(1 if rng.random() < .3 else x for x in sh[:-1]) + sh[-1:]
            o["mask"] = mask(rng, sh, dt)
        if rng.random() < .2 and f[2] is None and K: o["value"][:, :, -1] = np.nan
        return o
    Ls, Ns = rng.integers(0, 20, B), rng.integers(0, 6, B)
    if kind == "packed":
        if rng.random() < .3: Ls[rng.integers(B)] = 0
        o = attn_opts(rng, Hq, dt, 1, 1)
        o.update(query=rng.normal(size=(Ns.sum(), Hq, E)).astype(dt), key=rng.normal(size=(Ls.sum(), Hkv, E)).astype(dt), value=rng.normal(size=(Ls.sum(), Hkv, Ev)).astype(dt),
                 query_starts=np.concatenate([[0], Ns.cumsum()]), key_starts=np.concatenate([[0], Ls.cumsum()]))
        most = max(int(Ls.max()), 1)
    else:
        S, ps = int(rng.integers(1, 5)), int(rng.choice([1, 2, 3, 4, 5, 8, 12, 16, 20]))
        o = attn_opts(rng, Hq, dt, S, 1)
        n = -(-Ls // ps); tot = int(n.sum()) + 2; perm = rng.permutation(tot)
        kp, vp = np.full((tot, ps, Hkv, E), np.nan, dt), np.full((tot, ps, Hkv, Ev), np.nan, dt)
        c = 0; most = max(int(Ls.max()), 1); wide = int(n.max()) + int(rng.integers(0, 3)); table = np.full((B, max(wide, 1)), perm[-1]); idx = []
        for b in range(B):
            pg = perm[c:c + n[b]]; c += n[b]; table[b, :n[b]] = pg; idx += list(pg)
            for j in range(Ls[b]): kp[pg[j // ps], j % ps], vp[pg[j // ps], j % ps] = rng.normal(size=(Hkv, E)), rng.normal(size=(Hkv, Ev))
        if kind.endswith("heads_first"): kp, vp = kp.swapaxes(1, 2).copy(), vp.swapaxes(1, 2).copy()
        o.update(query=rng.normal(size=(B, Hq, S, E)).astype(dt), key_pool=kp, value_pool=vp)
        if "csr" in kind:
            o.update(page_starts=np.concatenate([[0], n.cumsum()]), page_indices=np.array(idx + [perm[-1]] * int(rng.integers(0, 3)), np.int64),
                     last_page_length=np.where(n > 0, Ls - (n - 1) * ps, rng.integers(0, 3 * ps, B)))
        else: o.update(block_table=table, key_lengths=Ls)
        if rng.random() < .4: o["query_lengths"] = rng.integers(0, S + 1, B)
    if rng.random() < .4:
        nd = rng.integers(2, 5); sh = {2: (1, most), 3: (rng.choice([1, Hq]), 1, most), 4: (1, rng.choice([1, Hq]), 1, most)}[int(nd)]
        o["mask"] = mask(rng, sh, dt)
    return o
def ref(kind): return {"merge": base.merge_states, "quant": base.scaled_dot_product_attention}.get(kind) or getattr(base, kind)
def kind_of(f, m): return "merge" if hasattr(m, "merge_states") else getattr(m, "layout", "quant")
def copyd(c): return {k: v.copy() if isinstance(v, np.ndarray) else list(v) if isinstance(v, list) else v for k, v in c.items()}
def compare(m, kind, case):
    """Greatest difference to base relative to the size of the results; inf where NaN, dtype or shape differ."""
    conv = getattr(m, "conventions", {}); fn = getattr(m, "merge_states" if kind == "merge" else "scaled_dot_product_attention")
    want = ref(kind)(**copyd(case)); given = copyd(case)
    two = conv.get("logsumexp_base") == "2"; plus = conv.get("empty_logsumexp") == "plus_infinity"
    if kind == "merge":
        for n in ("logsumexp_a", "logsumexp_b"):
            if two: given[n] = (given[n].astype(np.longdouble) / np.log(np.longdouble(2))).astype(given[n].dtype)
            if plus: given[n] = np.where(given[n] == -np.inf, np.inf, given[n]).astype(given[n].dtype)
        if case["output_a"] is case["output_b"]: given["output_b"] = given["output_a"]
    before = copyd(given)
    got = fn(**given)
    got = got if isinstance(got, dict) else dict(zip(["output", "logsumexp"] if kind != "quant" or len(got) == 2 else ORDER_S, got))
    d = 0.0
    for k, v in before.items():
        if isinstance(v, np.ndarray) and v.tobytes() != given[k].tobytes(): return np.inf
    N = case.get("query_lengths")
    for n in got:
        a, b = np.asarray(want[n]), np.asarray(got[n])
        if a.shape != b.shape or n == "output" and a.dtype != b.dtype or n!="output" and np.finfo(b.dtype).eps > max(np.finfo(a.dtype).eps, 0): return np.inf
        a, b = a.astype(np.longdouble), b.astype(np.longdouble)
        if n == "logsumexp":
            if plus: b = np.where(b == np.inf, -np.inf, b)
            if two: b = b * np.log(np.longdouble(2))
        if N is not None:
            for e, c in enumerate(N): a[e, :, c:], b[e, :, c:] = 0, 0
        with np.errstate(all="ignore"):
            same = (a == b) | np.isnan(a) & np.isnan(b) | (n == 'output') & np.isinf(a) & np.isnan(b)
            bad = ~same & ~(np.isfinite(a) & np.isfinite(b))
            if bad.any(): return np.inf
            fin = np.abs(a[np.isfinite(a) & (np.abs(a) < 1e20)]); size = max(1e-3 if kind != "merge" else 1e-3, fin.max(initial=0))
            d = max(d, float(np.where(same, 0, np.abs(a - b) / np.maximum(size if kind != "merge" else np.maximum(1,np.abs(a)), 1e-30)).max(initial=0)))
    return d
if __name__ == "__main__":
    n = int(sys.argv[1]); dts = ["float64", "float32"]
    for f in sys.argv[2:]:
        m = load(f); kind = kind_of(f, m); rng = np.random.default_rng(7); worst = {"float64": 0, "float32": 0}; differs = 0; err = None
        for i in range(n):
            dt = dts[i % 2]; case = gen(rng, kind, np.dtype(dt))
            try: d = compare(m, kind, case)
            except Exception as e: d = np.inf; err = repr(e)[:90]
            worst[dt] = max(worst[dt], d); differs += d > (1e-10 if dt == "float64" else 3e-4)
        print(f"{f:60s} {kind:22s} {worst['float64']:.1e} {worst['float32']:.1e} differs {differs}/{n} {err or ''}", flush=True)
