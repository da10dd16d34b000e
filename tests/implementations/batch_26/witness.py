"""python witness.py: shows every wrong file, and tries the right ones."""
import importlib.util, pathlib, sys
import ml_dtypes
import numpy as np
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base

D = {n: np.dtype(getattr(ml_dtypes, n, n) if hasattr(ml_dtypes, n) else n) for n in base.ALL + base.QUANTIZED}
TOL = {"float64": 1e-10, "float32": 3e-5, "bfloat16": 0.04, "float16": 0.006}
# mistakes that are looked for in one dtype, and what the draws are told
HINT = {"008": {"dtype": "float64"}, "015": {"dtype": "float16"}, "003": {"past": 1}, "016": {"long": 1}, "019": {"long": 1}, "002": {"past": 1}}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m


def attributes(r, a, Hq, B, masks, dtype, sinks=True):
    if r.random() < 0.5:
        a["is_causal"] = True
    a["causal_alignment"] = r.choice(["top_left", "bottom_right"]).item()
    if r.random() < 0.3:
        a["window"] = [int(r.integers(0, 5)) if r.random() < 0.8 else None, int(r.integers(0, 4)) if r.random() < 0.5 else None]
    if r.random() < 0.3:
        a["softcap"] = float(r.uniform(0.5, 5))
    if r.random() < 0.3:
        a["scale"] = float(r.uniform(-1, 2))
    if r.random() < 0.4:
        a["sinks"] = r.normal(size=Hq).astype(dtype)
    if r.random() < 0.3:
        a["alibi_slopes"] = r.uniform(0, 0.5, Hq).astype(dtype)
    if r.random() < 0.4:
        shape = masks[int(r.integers(len(masks)))]
        a["mask"] = r.random(shape) < 0.8 if r.random() < 0.5 else np.where(r.random(shape) < 0.2, -np.inf, r.normal(size=shape)).astype(dtype)


def quantized(r, shape, name):
    if name == "int8":
        return r.integers(-128, 128, shape).astype(np.int8)
    x = r.normal(size=shape) * 2.0 ** r.integers(-9, 6, shape)
    return np.clip(x, -400, 400).astype(D[name])


def draw_dense(r, dtype, hint):
    B, Hkv, G = (int(r.integers(1, 4)) for _ in range(3))
    Hq, Sq, E, Ev = Hkv * G, int(r.integers(1, 7)), int(r.integers(1, 6)), int(r.integers(1, 6))
    Sk = int(r.integers(0, 60 if hint.get("long") or r.random() < 0.3 else 9))
    a, P = {}, 0
    f = D[dtype]
    kinds = [None, None, None]
    if r.random() < 0.5:
        kinds = [str(r.choice(base.QUANTIZED)) if r.random() < 0.6 else None for _ in range(3)]
    draw = lambda shape, kind: r.normal(size=shape).astype(f) if kind is None else quantized(r, shape, kind)
    a["query"], a["key"], a["value"] = (draw(s, k) for s, k in zip([(B, Hq, Sq, E), (B, Hkv, Sk, E), (B, Hkv, Sk, Ev)], kinds))
    for name, kind in zip(("query", "key", "value"), kinds):
        if kind:
            shape = [(), (Hkv,), (B, Hkv), (B, 1)][int(r.integers(4))]
            a[name + "_scale"] = (r.uniform(0.3, 2, shape) / (60 if kind == "int8" else 4)).astype(np.float32)
    if kinds[0]:
        a["output_dtype"] = dtype
    if r.random() < 0.4 or hint.get("past"):
        P = int(r.integers(0, 12))
        a["past_key"], a["past_value"] = draw((B, Hkv, P, E), kinds[1]), draw((B, Hkv, P, Ev), kinds[2])
    elif r.random() < 0.5:
        if r.random() < 0.7:
            a["key_lengths"] = r.integers(0, Sk + 1, B)
        if r.random() < 0.7:
            a["query_lengths"] = r.integers(0, Sq + 1, B)
    K = P + Sk
    attributes(r, a, Hq, B, [(Sq, K), (Hq, 1, K), (B, 1, 1, K), (1, Hq, Sq, K)], f)
    return a


def draw_packed(r, dtype, hint):
    B, Hkv, G = int(r.integers(1, 5)), int(r.integers(1, 3)), int(r.integers(1, 3))
    Hq, E, Ev = Hkv * G, int(r.integers(1, 5)), int(r.integers(1, 5))
    N, L = r.integers(0, 12, B), r.integers(0, 14, B)
    N[r.random(B) < 0.2] = 0
    L[r.random(B) < 0.2] = 0
    f = D[dtype]
    a = {"query": r.normal(size=(N.sum(), Hq, E)).astype(f), "key": r.normal(size=(L.sum(), Hkv, E)).astype(f),
         "value": r.normal(size=(L.sum(), Hkv, Ev)).astype(f)}
    a["query_starts"], a["key_starts"] = (np.concatenate([[0], np.cumsum(x)]).astype(np.int32) for x in (N, L))
    most = int(L.max())
    attributes(r, a, Hq, B, [(1, most), (Hq, 1, most), (1, 1, 1, most)], f)
    return a


def draw_paged(r, dtype, hint, layout):
    B, Hkv, G, size = (int(r.integers(1, 5)), int(r.integers(1, 4)), int(r.integers(1, 3)), int(r.integers(1, 6)))
    Hq, E, Ev, Sq = Hkv * G, int(r.integers(1, 5)), int(r.integers(1, 5)), int(r.integers(1, 6))
    L = r.integers(0, 15, B)
    n = -(-L // size)
    most = int(n.max()) + int(r.integers(0, 2))
    total = 12
    table = r.integers(0, total, (B, most)).astype(np.int32)
    if r.random() < 0.5:
        table[:, : most // 2] = table[:1, : most // 2]
    f = D[dtype]
    pool = lambda w: r.normal(size=(total, size, Hkv, w)).astype(f)
    a = {"query": r.normal(size=(B, Hq, Sq, E)).astype(f), "key_pool": pool(E), "value_pool": pool(Ev)}
    # what is not read
    read = np.zeros((total, size), bool)
    for b in range(B):
        for j in range(L[b]):
            read[table[b, j // size], j % size] = True
    a["key_pool"][~read] = np.nan
    a["value_pool"][~read] = np.nan
    if "heads_first" in layout:
        for name in ("key_pool", "value_pool"):
            a[name] = a[name].swapaxes(1, 2) if r.random() < 0.3 else np.ascontiguousarray(a[name].swapaxes(1, 2))
    if "csr" in layout:
        a["page_starts"] = np.concatenate([[0], np.cumsum(n)]).astype(np.int32)
        a["page_indices"] = np.concatenate([table[b, : n[b]] for b in range(B)] + [table[0, :1]]).astype(np.int32)
        a["last_page_length"] = (L - (n - 1) * size).astype(np.int32)
    else:
        a["block_table"], a["key_lengths"] = table, L.astype(np.int32)
    if r.random() < 0.4:
        a["query_lengths"] = r.integers(0, Sq + 1, B)
    k = int(L.max())
    attributes(r, a, Hq, B, [(1, k), (Hq, 1, k), (1, 1, 1, k)], f)
    return a


def draw_merge(r, dtype, hint):
    s = tuple(int(x) for x in r.integers(1, 4, 3))
    E = int(r.integers(1, 20))
    far = 10.0 ** r.integers(-1, 4)
    f = D[dtype]
    a = {"output_a": r.normal(size=s + (E,)), "logsumexp_a": r.normal(size=s) * far, "output_b": r.normal(size=s + (E,)), "logsumexp_b": r.normal(size=s) * far}
    for n in ("logsumexp_a", "logsumexp_b"):
        a[n][r.random(s) < 0.15] = -np.inf
    return {n: x.astype(f) for n, x in a.items()}


def differs(got, owed, dtype, rows=None):
    if not isinstance(got, dict):
        got = {"output": got}
    for n in got:
        if n not in owed:
            continue
        x, y = np.asarray(got[n]).astype(np.float64), np.asarray(owed[n]).astype(np.float64)
        if x.shape != y.shape:
            return n
        if rows is not None and n in ("output", "weights", "logsumexp", "scores", "logits"):
            x, y = x[rows], y[rows]
        big = np.abs(y[np.isfinite(y)]).max(initial=1)
        with np.errstate(all="ignore"):
            same = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= TOL[dtype] * big)
        if not same.all():
            return n


def owed_by_base(layout, a):
    if "output_a" in a:
        return base.merge_states(**a)
    full = {"mask": None, "sinks": None, "alibi_slopes": None, "is_causal": False, "causal_alignment": "top_left", "scale": None, "softcap": None, "window": None}
    if layout == "packed":
        return base.packed(full | a)
    if layout.startswith("paged"):
        return base.paged(full | {"query_lengths": None} | a, heads_first="heads_first" in layout)
    return base.scaled_dot_product_attention(**a)


def draw(r, m, dtype, hint):
    layout = getattr(m, "layout", "bhse")
    if hasattr(m, "merge_states"):
        return draw_merge(r, dtype, hint)
    if layout == "packed":
        return draw_packed(r, dtype, hint)
    if layout.startswith("paged"):
        return draw_paged(r, dtype, hint, layout)
    return draw_dense(r, dtype, hint)


def special(number, r):
    """A list of calls, the last of which differs."""
    a = lambda S, K, E=4: {"query": r.normal(size=(1, 1, S, E)), "key": r.normal(size=(1, 1, K, E)), "value": r.normal(size=(1, 1, K, E))}
    if number == "009":
        return [a(2, 4), {**a(2, 2), "past_key": r.normal(size=(1, 1, 4, 4)), "past_value": r.normal(size=(1, 1, 4, 4))}]
    if number == "014":
        x = a(2, 4)
        x["key"] = x["value"] = quantized(r, (1, 1, 4, 4), "int8")
        return [x | {"key_scale": np.float32(s), "value_scale": np.float32(s)} for s in (0.01, 0.02)]
    if number == "015":
        x = {n: t.astype(np.float16) for n, t in a(2, 4).items()}
        x["query"] = x["query"] / np.float16(8192)
        x["key"] = quantized(r, (1, 1, 4, 4), "int8")
        x["key"][0, 0, 0, 0] = 127
        return [x | {"key_scale": np.float32(600)}]
    if number == "017":
        return [a(2, 4) | {"mask": np.full((2, 4), -20000.0)}]
    if number == "018":
        x = {n: np.abs(t) for n, t in a(2, 9).items()}
        x["key"][0, 0, 8, 0] = -np.inf
        return [x]
    return None


def call(m, a):
    f = m.merge_states if hasattr(m, "merge_states") else m.scaled_dot_product_attention
    if getattr(m, "conventions", {}).get("causal_alignment"):
        a = {n: x for n, x in a.items() if n != "causal_alignment"}
    return f(**a)


def compare(m, a, dtype):
    layout = getattr(m, "layout", "bhse")
    if getattr(m, "conventions", {}).get("causal_alignment"):
        a["causal_alignment"] = m.conventions["causal_alignment"]
    copies = {n: (x.copy() if isinstance(x, np.ndarray) else x) for n, x in a.items()}
    owed = owed_by_base(layout, a)
    got = call(m, a)
    for n, x in copies.items():
        if isinstance(x, np.ndarray):
            assert x.tobytes() == a[n].tobytes(), n
    rows = None
    if "query_lengths" in a:
        B, Hq, Sq = a["query"].shape[:3]
        rows = np.broadcast_to((np.arange(Sq) < a["query_lengths"][:, None])[:, None], (B, Hq, Sq))
    if any(n.endswith("_scale") and n != "scale" for n in a):
        got = {n: x for n, x in got.items() if not n.startswith("present")}
    return differs(got, owed, dtype, rows)


def tell(a):
    return ", ".join(f"{n}{list(x.shape)}{x.dtype if 'key' in n else ''}" if isinstance(x, np.ndarray) else f"{n}={x}" for n, x in a.items())


if __name__ == "__main__":
    bad = 0
    for path in sorted((HERE / "wrong").glob("*.py")):
        m, number = load(path), path.stem[:3]
        hint, shown, tried, hits = HINT.get(number, {}), None, 0, 0
        calls = special(number, np.random.default_rng(1))
        if calls:
            for a in calls[:-1]:
                call(m, a)
            dtype = calls[-1]["query"].dtype.name
            n = compare(m, calls[-1], dtype)
            shown = n and (n, dtype, tell(calls[-1]))
            m = load(path)
        for seed in range(120):
            r = np.random.default_rng(seed)
            dtype = hint.get("dtype") or base.ALL[seed % 4]
            a = draw(r, m, dtype, hint)
            tried += 1
            try:
                n = compare(m, a, dtype)
            except Exception as error:
                print(path.stem, "FAILS", seed, repr(error)); bad += 1
                raise
            if n:
                hits += 1
                shown = shown or (n, dtype, f"seed {seed}: " + tell(a))
        print(path.stem, f"{hits}/{tried}", shown or "NOT SHOWN")
        bad += not shown
    for path in sorted((HERE / "right").glob("*.py")):
        m = load(path)
        wrong = 0
        for seed in range(600):
            r = np.random.default_rng(10000 + seed)
            dtype = base.ALL[seed % 4]
            a = draw(r, m, dtype, {})
            n = compare(m, a, dtype)
            if n:
                wrong += 1
                print(path.stem, "DIFFERS", n, dtype, seed, tell(a))
        print(path.stem, "differs on", wrong, "of 600")
        bad += wrong > 0
    print("bad:", bad)
