"""Shows every wrong file on an input of its own, and no right file on many. Says, too, how often a wrong file differs on random inputs."""
import importlib.util, json, pathlib, sys
import numpy as np, ml_dtypes
here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import base

F = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
TOL = {"float64": 1e-9, "float32": 2e-4, "float16": 2e-2, "bfloat16": 1.2e-1}

def load(path):
    spec = importlib.util.spec_from_file_location("m_" + path.stem, path)
    m = importlib.util.module_from_spec(spec); spec.loader.exec_module(m)
    return m

def swap(a):
    return None if a is None else np.swapaxes(a, 1, 2)

def expected(layout, a):
    if layout is None:
        return base.scaled_dot_product_attention(**a)
    if layout == "bshe":
        a = dict(a)
        for n in ("query", "key", "value", "past_key", "past_value"):
            if n in a: a[n] = swap(a[n])
        return {"output": swap(base.scaled_dot_product_attention(**a)["output"])}
    if layout == "packed":
        return base.packed(**a)
    a = dict(a)
    q, k, v = (a.pop(n) for n in ("query", "key_pool", "value_pool"))
    if layout == "paged":
        return base.paged(q, k, v, a.pop("block_table"), a.pop("key_lengths"), **a)
    s, i, last = (a.pop(n) for n in ("page_starts", "page_indices", "last_page_length"))
    return base.paged(q, k, v, [i[s[b]:s[b + 1]] for b in range(len(q))], base.csr_lengths(s, last, k.shape[1]), **a)

def copies(a):
    return {n: x.copy(order='K') if isinstance(x, np.ndarray) else list(x) if isinstance(x, list) else x for n, x in a.items()}

def differs(got, want, tol, a, skip=None):
    """The names of the outputs that differ, by how much."""
    out = {}
    for n, x in got.items():
        x, y = np.asarray(x), np.asarray(want[n])
        if x.shape != y.shape:
            out[n] = "shape"; continue
        if n == "output" and x.dtype != y.dtype or n.startswith("present") and x.dtype != y.dtype:
            out[n] = "dtype"; continue
        if n.startswith("present"):
            if x.tobytes() != y.tobytes(): out[n] = "bits"
            continue
        x, y = x.astype(np.float64), y.astype(np.float64)
        if "query_lengths" in a and n in ("output", "weights", "logsumexp", "scores", "logits") and x.ndim >= 3 and "query_starts" not in a:
            axis = 1 if a.get("_bshe") else 2
            i = np.arange(x.shape[axis])
            rows = i[None] < np.asarray(a["query_lengths"])[:, None]
            rows = np.expand_dims(rows, 2 if axis == 1 else 1)
            rows = rows.reshape(rows.shape + (1,) * (x.ndim - 3))
            x, y = np.where(rows, x, 0), np.where(rows, y, 0)
        if skip is not None and n == "output":
            x, y = np.where(skip[..., None], 0, x), np.where(skip[..., None], 0, y)
        with np.errstate(all="ignore"):
            bad = ~((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= tol * (1 + np.abs(y))))
            if bad.any():
                d = np.abs(x - y)[bad]
                out[n] = "nan/inf" if not np.isfinite(d).all() else f"{d.max():.3g}"
    return out

def draw(rng, layout=None, big=False):
    """A random padded case."""
    t = rng.choice(["float64", "float64", "float32", "float32", "float16", "bfloat16"])
    D = F[t]
    B, Hk, G = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 4)
    H = Hk * G
    Sq, Sk = (rng.integers(1, 28), rng.integers(1, 40)) if big else (rng.integers(1, 7), rng.integers(0, 9))
    E, Ev = rng.integers(1, 9), rng.integers(1, 9)
    yes = lambda p=0.3: rng.random() < p
    P = 0
    n = lambda *s: rng.standard_normal(s).astype(D)
    a = dict(query=n(B, H, Sq, E), key=n(B, Hk, Sk, E), value=n(B, Hk, Sk, Ev))
    if yes(0.25):
        P = int(rng.integers(0, 7)); a.update(past_key=n(B, Hk, P, E), past_value=n(B, Hk, P, Ev))
    else:
        if yes(): a["key_lengths"] = rng.integers(0, Sk + 1, B)
        if yes(): a["query_lengths"] = rng.integers(0, Sq + 1, B)
    T = P + Sk
    if yes(0.4):
        shape = [int(rng.choice([1, B])), int(rng.choice([1, H])), int(rng.choice([1, Sq])), T][int(rng.choice([0, 1, 2])):]
        if yes(0.5): a["mask"] = rng.random(shape) < 0.6
        else:
            a["mask"] = (2 * rng.standard_normal(shape)).astype(D); a["mask"][rng.random(shape) < 0.25] = -np.inf
    if yes(): a["sinks"] = n(H)
    if yes(): a["alibi_slopes"] = np.abs(n(H)).astype(D) * D(0.5)
    if yes(0.4): a["is_causal"] = True
    if yes(0.5): a["causal_alignment"] = "bottom_right"
    if yes(0.3): a["scale"] = float(rng.choice([0.0, -0.7, 1.0, 0.3, 2.0]))
    if yes(0.3): a["softcap"] = float(rng.choice([0.0, 1.0, 5.0, 30.0]))
    if yes(0.3): a["window"] = [None if yes() else int(rng.integers(0, 6)), None if yes() else int(rng.integers(0, 6))]
    if yes(0.2):  # quantized
        for q, names in (("key_scale", ("key", "past_key")), ("value_scale", ("value", "past_value")), ("query_scale", ("query",))):
            if yes(0.6):
                kind = rng.choice(["int8", "float8_e4m3fn", "float8_e5m2"])
                for m in names:
                    if m in a:
                        x = rng.standard_normal(a[m].shape)
                        a[m] = rng.integers(-128, 128, x.shape).astype(np.int8) if kind == "int8" else (x * 10).astype(getattr(ml_dtypes, kind))
                size = 0.01 if kind == "int8" else 0.1
                a[q] = (size * rng.random([(), (Hk,), (B, Hk), (1, Hk), (B, 1)][rng.integers(5)]) + size / 4).astype(np.float32)
        if "query_scale" in a: a["output_dtype"] = t
    elif yes(0.15) and T:
        w = rng.choice(["key", "value"])
        if a[w].size: a[w][tuple(rng.integers(0, s) for s in a[w].shape)] = np.nan
    if layout == "bshe":
        for m in ("query", "key", "value", "past_key", "past_value"):
            if m in a: a[m] = swap(a[m])
    return t, a

def draw_serving(rng, layout):
    t = rng.choice(list(F)); D = F[t]
    B, Hk, G = rng.integers(1, 5), rng.integers(1, 3), rng.integers(1, 3); H = Hk * G
    E, Ev = rng.integers(1, 5), rng.integers(1, 5)
    yes = lambda p=0.3: rng.random() < p
    n = lambda *s: rng.standard_normal(s).astype(D)
    L = rng.integers(0, 9, B)
    a = {}
    if layout == "packed":
        N = rng.integers(0, 5, B)
        a.update(query=n(N.sum(), H, E), key=n(L.sum(), Hk, E), value=n(L.sum(), Hk, Ev),
                 query_starts=np.r_[0, N.cumsum()].astype(np.int32), key_starts=np.r_[0, L.cumsum()].astype(np.int32))
    else:
        size, pages, Sq = int(rng.integers(1, 5)), 40, rng.integers(1, 5)
        counts = -(-L // size)
        a.update(query=n(B, H, Sq, E), key_pool=n(pages, size, Hk, E), value_pool=n(pages, size, Hk, Ev))
        ids = rng.permutation(pages)
        if layout == "paged":
            most = counts.max() + rng.integers(0, 2)
            table = ids[: B * most].reshape(B, most) if most else np.zeros((B, 0), int)
            a.update(block_table=table.astype(np.int32), key_lengths=L.astype(np.int32))
        else:
            a.update(page_starts=np.r_[0, counts.cumsum()].astype(np.int32), page_indices=ids[: counts.sum() + 1].astype(np.int32),
                     last_page_length=np.where(counts, L - (counts - 1) * size, 1).astype(np.int32))
        if yes(): a["query_lengths"] = rng.integers(0, Sq + 1, B)
    if yes():
        shape = [(1, L.max()), (1, 1, L.max()), (H, 1, L.max()), (1, H, 1, L.max())][rng.integers(4)]
        a["mask"] = rng.random(shape) < 0.6 if yes(0.5) else n(*shape)
    if yes(): a["sinks"] = n(H)
    if yes(): a["alibi_slopes"] = np.abs(n(H))
    if yes(0.4): a["is_causal"] = True
    if yes(0.5): a["causal_alignment"] = "bottom_right"
    if yes(0.3): a["window"] = [None if yes() else int(rng.integers(0, 6)), None if yes() else int(rng.integers(0, 6))]
    return t, a

def any_case(rng, layout, k):
    if layout in (None, "bshe"): return draw(rng, layout, big=k % 4 == 0)
    return draw_serving(rng, layout)

# ---- witnesses: number -> case (or a function of the module that says what differs) ----
r = np.random.default_rng(7)
def n(*s, t="float64", by=1.0): return (by * r.standard_normal(s)).astype(F[t])
def qkv(B=1, H=2, Hk=2, Sq=4, Sk=6, E=4, Ev=4, t="float64", by=1.0):
    return dict(query=n(B, H, Sq, E, t=t, by=by), key=n(B, Hk, Sk, E, t=t, by=by), value=n(B, Hk, Sk, Ev, t=t))
def zeros(Sq, Sk, B=1, H=1, t="float64"):
    return dict(query=np.zeros((B, H, Sq, 1), F[t]), key=np.zeros((B, H, Sk, 1), F[t]), value=n(B, H, Sk, 2, t=t))
def past(a, P):
    B, Hk, _, E = a["key"].shape
    return dict(a, past_key=n(B, Hk, P, E), past_value=n(B, Hk, P, a["value"].shape[3]))
def int8(*s, low=-128): return r.integers(low, 128, s).astype(np.int8)

def refuses(a):
    def f(m):
        try: base.scaled_dot_product_attention(**a)
        except ValueError: pass
        else: return {}
        try: m.scaled_dot_product_attention(**a)
        except Exception: return {}
        return {"refusal": "none"}
    return f
def mutates(a):
    def f(m):
        b = copies(a); m.scaled_dot_product_attention(**b)
        return {x: "changed" for x in b if isinstance(b[x], np.ndarray) and b[x].tobytes() != a[x].tobytes()}
    return f
def second(first, then):
    def f(m):
        m.scaled_dot_product_attention(**first)
        return differs(m.scaled_dot_product_attention(**then), base.scaled_dot_product_attention(**then), 1e-9, then)
    return f
def same_memory(a):
    def f(m):
        a1 = copies(a); m.scaled_dot_product_attention(**a1); a1["key"] *= -1
        return differs(m.scaled_dot_product_attention(**a1), base.scaled_dot_product_attention(**a1), 1e-9, a1)
    return f

def edit(a, **changes):
    for name, (index, x) in changes.items(): a[name][index] = x
    return a
def rank3(B):
    a = qkv(B, B, B); a["mask"] = r.random((B, 4, 6)) < 0.5; a["mask"][..., 0] = True; return a
big = qkv(by=20.0, Sq=6); big["query"][..., 0] = 40; big["key"][..., 0] = 40
low = qkv(); low["mask"] = np.full((1, 6), -12000.0); low["mask"][0, 1] = -np.inf
apart = qkv(Ev=4); apart["value"] = np.ascontiguousarray(apart["value"].swapaxes(1, 2)).swapaxes(1, 2)
over = dict(query=np.ones((1, 1, 1, 4), np.float16) * np.float16(200), key=(np.array([100, 99.9]).reshape(1, 1, 2, 1) * np.ones(4)).astype(np.float16), value=n(1, 1, 2, 2, t="float16"), scale=0.001)
below = zeros(1, 40); below["query"][:] = 1; below["key"][0, 0, 16:] = -7.5; below["value"][0, 0, 16:] += 10
infs = zeros(1, 8); infs["query"][:] = 1; infs["key"][0, 0, :4] = -np.inf
excl = zeros(1, 4); excl["query"][:] = 1; excl["key"][0, 0, 3] = 2000; excl["mask"] = np.array([[True, True, True, False]])
many = zeros(1, 500, t="bfloat16"); many["value"] += F["bfloat16"](10)
corner = zeros(1, 3); corner["mask"] = np.array([[False, True, False]])
later = qkv(Sq=12); later["mask"] = np.array([[True, False, True, True, True, False]])
quant = dict(query=n(2, 2, 3, 4), key=int8(2, 2, 5, 4, low=-127), value=int8(2, 2, 5, 4, low=-127), key_scale=np.float32([0.01, 0.03]), value_scale=np.float32([0.02, 0.1]))
negative = copies(quant); negative["value"][:, :, 0] = -128
pastq = copies(quant) | dict(past_key=int8(2, 2, 3, 4, low=-127), past_value=int8(2, 2, 3, 4, low=-127))
CASES = {
 1: qkv(Ev=9), 2: qkv(H=4), 3: qkv() | dict(scale=0), 4: qkv() | dict(softcap=1.0, mask=n(4, 6, by=3)), 5: big,
 6: past(qkv(), 3) | dict(is_causal=True), 7: over, 8: low, 9: qkv() | dict(is_causal=True), 10: qkv(Sk=4), 11: qkv(), 
 12: qkv(B=2) | dict(key_lengths=np.array([6, 2])), 13: qkv() | dict(softcap=0), 14: refuses(qkv() | dict(mask=np.ones((4, 9), bool))),
 15: qkv(Sq=6) | dict(window=[1, 0]), 16: qkv() | dict(sinks=n(2) + 2), 17: qkv() | dict(softcap=1.0), 18: qkv() | dict(sinks=n(2)),
 19: qkv(Sk=0) | dict(sinks=n(2)), 20: edit(qkv(), key=((0, 0, 1, 1), np.nan)), 21: qkv(Sq=6, Sk=3) | dict(is_causal=True, causal_alignment="bottom_right"),
 22: qkv(B=2) | dict(key_lengths=np.array([6, 0])), 23: pastq, 24: mutates(qkv(B=2) | dict(key_lengths=np.array([6, 2]))), 25: rank3(2),
 26: edit(qkv(), value=((0, 0, 5, 1), np.nan)) | dict(key_lengths=np.array([4])), 27: qkv(Sk=80), 28: qkv(Sq=20, Sk=40) | dict(window=[2, None], causal_alignment="bottom_right"),
 29: qkv(Sq=1, Sk=40) | dict(sinks=n(2) + 2), 30: apart, 31: zeros(4, 300, t="bfloat16") | dict(alibi_slopes=np.array([1.0], F["bfloat16"]), causal_alignment="bottom_right"),
 32: qkv() | dict(window=[1, 1], causal_alignment="bottom_right", key_lengths=np.array([3])), 33: past(qkv(), 3) | dict(is_causal=True, causal_alignment="bottom_right"),
 34: past(qkv(Sq=1, Sk=4), 3) | dict(is_causal=True), 35: dict(qkv(t="float32", by=30.0), softcap=1.0), 36: qkv(by=4.0), 37: many,
 38: edit(qkv(), value=((0, 0, 3, 1), np.nan)) | dict(is_causal=True), 39: infs, 40: qkv() | dict(mask=np.full((4, 6), -20000.0)),
 41: edit(qkv(), key=((0, 0, 2), np.nan)) | dict(mask=np.where(np.arange(6) == 2, -np.inf, 0.0)[None]), 42: quant, 43: negative,
 44: dict(query=n(6, 2, 4), key=n(9, 2, 4), value=n(9, 2, 4), query_starts=np.array([0, 2, 2, 6]), key_starts=np.array([0, 3, 5, 9])),
 45: dict(query=n(2, 2, 2, 4), key_pool=n(6, 4, 2, 4), value_pool=n(6, 4, 2, 4), page_starts=np.array([0, 2, 3]), page_indices=np.array([3, 1, 5]), last_page_length=np.array([4, 2])),
 46: dict(query=n(2, 2, 2, 4), key_pool=n(6, 4, 2, 4), value_pool=n(6, 4, 2, 4), block_table=np.array([[2, 3], [2, 5]]), key_lengths=np.array([7, 2])),
 47: excl, 48: qkv(H=4) | dict(alibi_slopes=np.abs(n(4))), 49: qkv(B=3) | dict(key_lengths=np.array([2, 6, 4])), 50: below,
 51: qkv(B=2, H=2) | dict(mask=np.concatenate([np.ones((1, 1, 4, 6), bool), np.broadcast_to(np.arange(6) < 2, (1, 1, 4, 6))])),
 52: qkv(Sq=6, Sk=3) | dict(is_causal=True, causal_alignment="bottom_right"), 53: later,
 54: second(qkv(), qkv() | dict(mask=np.arange(4)[:, None] * np.ones(6) > 1)), 55: same_memory(qkv()), 56: corner,
}

def main():
    rng_seed = 1
    failures = 0
    for entry in json.load(open(here / "batch.json")):
        path = here / entry["file"]; number = int(path.stem[:3])
        m = load(path); layout = getattr(m, "layout", None)
        case = CASES[number]
        if callable(case): shown = case(m)
        else:
            a = copies(case)
            if layout == "bshe":
                for x in ("query", "key", "value"): a[x] = swap(a[x])
            t = a["query"].dtype.name
            want = expected(layout, copies(a))
            try: shown = differs(m.scaled_dot_product_attention(**copies(a)), want, TOL[t], a | {"_bshe": layout == "bshe"})
            except Exception as e: shown = {"raised": repr(e)}
        rng = np.random.default_rng(rng_seed); wrong = raised = 0; total = 120; why = set()
        for k in range(total):
            t, a = any_case(rng, layout, k)
            want = expected(layout, copies(a))
            try: d = differs(m.scaled_dot_product_attention(**copies(a)), want, TOL[t], a | {"_bshe": layout == "bshe"})
            except Exception as e: d = {}; raised += 1; why.add(repr(e))
            wrong += bool(d)
        failures += not shown or raised > 0
        print(f"{path.stem:42} {'SHOWN' if shown else 'NOT SHOWN !!'} {shown} | random: {wrong}/{total}" + (f" RAISED {raised} {why}" if raised else ""), flush=True)
    for path in sorted((here / "right").glob("*.py")):
        m = load(path); layout = getattr(m, "layout", None); conv = getattr(m, "conventions", {})
        rng = np.random.default_rng(99); bad = []
        for k in range(600):
            t, a = any_case(rng, layout, k)
            want = expected(layout, copies(a))
            got = m.scaled_dot_product_attention(**copies(a))
            if conv.get("logsumexp_base") == "2": got["logsumexp"] = got["logsumexp"] * np.log(2)
            skip = None
            if conv.get("fully_masked_row") == "nan": skip = ~base.prepare(**a).ok.any(axis=-1)
            d = differs(got, want, TOL[t] if t != "float64" else 1e-11, a | {"_bshe": layout == "bshe"}, skip)
            if d: bad.append((k, t, d))
        print(path.stem, "600 random cases, differs on", len(bad), bad[:3]); failures += bool(bad)
    print("all shown, none raised, right ones right" if not failures else f"{failures} to look at")
    return failures

if __name__ == "__main__":
    sys.exit(bool(main()))
