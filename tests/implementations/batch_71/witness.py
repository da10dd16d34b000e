import importlib.util, json, pathlib, sys
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE)); sys.dont_write_bytecode = True
import base
import ml_dtypes
import numpy as np
BF, E4, E5 = np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)


def load(file):
    spec = importlib.util.spec_from_file_location("m_" + pathlib.Path(file).stem, HERE / file)
    module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)
    return module


def rnd(r, *shape, dt=np.float64):
    return np.asarray(r.standard_normal(shape)).astype(dt)


def qkv(r, B=1, Hq=2, Hkv=2, Sq=2, Sk=3, E=4, Ev=4, dt=np.float64):
    return {"query": rnd(r, B, Hq, Sq, E, dt=dt), "key": rnd(r, B, Hkv, Sk, E, dt=dt), "value": rnd(r, B, Hkv, Sk, Ev, dt=dt)}


def past(r, P, B=1, Hkv=2, E=4, Ev=4, dt=np.float64):
    return {"past_key": rnd(r, B, Hkv, P, E, dt=dt), "past_value": rnd(r, B, Hkv, P, Ev, dt=dt)}


def table(r, lengths, size=2, Hq=2, Hkv=2, Sq=2, E=4, Ev=4, dt=np.float64, most=None, pages=None):
    most = most or max(-(-int(n) // size) for n in lengths) + 1
    B = len(lengths); pool = B * most + 2
    order = r.permutation(pool)[: B * most].reshape(B, most) if pages is None else np.array(pages)
    return {"query": rnd(r, B, Hq, Sq, E, dt=dt), "key_pool": rnd(r, pool, size, Hkv, E, dt=dt),
            "value_pool": rnd(r, pool, size, Hkv, Ev, dt=dt), "block_table": order, "key_lengths": np.array(lengths)}


def as_list(args, heads_first):
    size = args["key_pool"].shape[1]
    need = [-(-int(n) // size) for n in args["key_lengths"]]
    a = {k: v for k, v in args.items() if k not in ("block_table", "key_lengths")}
    a["page_starts"] = np.cumsum([0] + need)
    a["page_indices"] = np.concatenate([row[:n] for row, n in zip(args["block_table"], need)] + [np.array([0, 1])]).astype(np.int64)
    a["last_page_length"] = np.array([(int(n) - 1) % size + 1 if n else size for n in args["key_lengths"]])
    if heads_first:
        a["key_pool"], a["value_pool"] = a["key_pool"].swapaxes(1, 2), a["value_pool"].swapaxes(1, 2)
    return a


def right_of(layout, args):
    if layout == "packed": return base.packed(**args)
    if layout == "paged_heads_first": return base.paged_table(heads_first=True, **args)
    if layout == "paged": return base.paged_table(**args)
    if layout == "paged_csr": return base.paged_list(**args)
    if layout == "paged_csr_heads_first": return base.paged_list(heads_first=True, **args)
    return base.run(**args)


def tokens_first(args):
    names = ("query", "key", "value", "past_key", "past_value")
    return {n: v.swapaxes(1, 2) if n in names else v for n, v in args.items()}


def far(got, want, tol, names=("output",)):
    for n in names:
        if n in got and n in want:
            a, b = np.asarray(got[n]).astype(float), np.asarray(want[n]).astype(float)
            if a.shape != b.shape: return True
            both = np.isfinite(a) & np.isfinite(b)
            if (np.isnan(a) != np.isnan(b)).any() or (a[~both & ~np.isnan(a)] != b[~both & ~np.isnan(a)]).any(): return True
            if (np.abs(a[both] - b[both]) > tol * (1 + np.abs(b[both]))).any(): return True
    return False


ALL = ("output", "weights", "logsumexp", "scores", "logits", "present_key", "present_value")
R = np.random.default_rng(7)
CASES = {}
def case(n, args, tol=1e-3, names=ALL): CASES[n] = (args, tol, names)
C, BR = {"is_causal": True}, {"causal_alignment": "bottom_right"}
case(1, qkv(R, Sq=1, Sk=3) | past(R, 2) | C)
case(3, qkv(R, Sq=4, Sk=5) | BR | {"query_lengths": np.array([2]), "window": [1, 0]})
case(4, qkv(R, Sq=17, Sk=17) | C)
case(5, qkv(R, Sq=1, Sk=1) | past(R, 6) | C | {"window": [1, 0]})
case(6, qkv(R, B=3, Sk=5) | {"key_lengths": np.array([3, 2, 5])})
qs = np.array([0, 2, 4, 6]); ks = np.array([0, 3, 3, 7])
pk = {"query": rnd(R, 6, 2, 4), "key": rnd(R, 7, 2, 4), "value": rnd(R, 7, 2, 4), "query_starts": qs, "key_starts": ks}
case(7, pk)
case(8, pk | {"key_starts": np.array([0, 3, 5, 7]), "alibi_slopes": np.array([0.5, 0.25])})
t = table(R, [3, 2]); t["value_pool"][t["block_table"][0, 1], 1] = np.nan
case(9, t)
case(10, qkv(R, Sq=1, Sk=40) | {"sinks": np.array([1.0, 2.0])})
case(11, qkv(R, Sq=1, Sk=40), 1e-9, ("output", "logsumexp"))
case(12, qkv(R, Hq=4, Sq=1, Sk=3))
case(13, table(R, [6, 5], Sq=3) | BR | {"alibi_slopes": np.array([0.5, 0.25]), "query_lengths": np.array([1, 2])})
i8 = lambda *s: R.integers(-128, 128, s).astype(np.int8)
case(14, {"query": np.full((1, 1, 1, 4), 120, np.int8), "key": np.stack([np.full(4, 120), np.full(4, -3)]).astype(np.int8)[None, None],
          "value": rnd(R, 1, 1, 2, 4, dt=np.float32), "query_scale": np.float32(0.01), "key_scale": np.float32(0.01), "output_dtype": "float32"})
case(15, {"query": rnd(R, 2, 2, 2, 4, dt=np.float32), "key": rnd(R, 2, 2, 3, 4, dt=np.float32), "value": i8(2, 2, 3, 4),
          "value_scale": np.float32([[0.5], [0.1]])})
case(16, {"query": i8(2, 4, 2, 4), "key": rnd(R, 2, 2, 3, 4, dt=np.float32), "value": rnd(R, 2, 2, 3, 4, dt=np.float32),
          "query_scale": np.float32([[0.01, 0.03], [0.002, 0.05]]), "output_dtype": "float32"})
case(17, {"query": rnd(R, 1, 2, 2, 4), "key": i8(1, 2, 3, 4), "value": rnd(R, 1, 2, 3, 4), "key_scale": np.float32([0.013, 0.017])}, 1e-10)
case(18, qkv(R) | {"value": rnd(R, 1, 3, 2, 4).swapaxes(1, 2)})
case(19, qkv(R) | {"key": np.broadcast_to(rnd(R, 1, 1, 3, 4), (1, 2, 3, 4))})
lx = as_list(table(R, [8, 5], Sq=3, pages=[[5, 1, 3, 0], [4, 2, 6, 7]]), False) | C
case(23, lx)
case(24, table(R, [4, 5], Sq=4, pages=[[3, 1, 0], [3, 2, 4]]) | C)
hf = table(R, [8, 8], Sq=6)
hf |= {n: hf[n].swapaxes(1, 2) for n in ("key_pool", "value_pool")}
case(25, hf | BR | C | {"window": [1, 0]})
case(26, {"query": np.zeros((1, 1, 1, 4), BF), "key": np.zeros((1, 1, 600, 4), BF), "value": np.ones((1, 1, 600, 4), BF)}, 0.3)
case(27, {"query": np.zeros((1, 1, 301, 4), BF), "key": np.zeros((1, 1, 301, 4), BF), "value": rnd(R, 1, 1, 301, 4, dt=BF) ,
          "alibi_slopes": np.array([1.0]).astype(BF), "is_causal": True}, 0.1)
case(28, qkv(R, Sq=40, Sk=40) | C | BR)
case(29, qkv(R, Sq=4, Sk=4) | {"query_lengths": np.array([2])})
k = rnd(R, 1, 1, 32, 2); k[:, :, 16:, 0] = -np.inf
case(31, {"query": np.abs(rnd(R, 1, 1, 2, 2)) + 0.1, "key": k, "value": rnd(R, 1, 1, 32, 4)})


def shown(n, f, layout):
    if n in CASES:
        args, tol, names = CASES[n]
        want = right_of(layout, args)
        if layout == "bshe":
            got = {"output": f(**tokens_first(args))["output"].swapaxes(1, 2)}
        else:
            got = f(**args)
        if n == 29: want, got = ({"output": x["output"][:, :, :2]} for x in (want, got))
        if n in (3, 13):
            live = np.arange(args["query"].shape[2]) < args["query_lengths"][:, None]
            want, got = ({m: np.where(live[:, None, :].reshape(live.shape[0], 1, -1, *[1] * (x[m].ndim - 3)), x[m], 0) for m in ("output", "logsumexp")} for x in (want, got))
        return far(got, want, tol, names)
    if n == 2:
        a = f(**(qkv(R) | past(R, 2))); before = a["present_value"].copy(); f(**(qkv(R) | past(R, 2)))
        return not np.array_equal(before, a["present_value"])
    if n == 20:
        x = qkv(R, Sq=2, Sk=4) | C; f(**x); y = x | BR
        return far(f(**y), base.run(**y), 1e-3)
    if n == 21:
        x = table(R, [3, 2]); f(**x); x["key_pool"][...] *= -2; x["value_pool"][...] += 1
        return far(f(**x), base.paged_table(**x), 1e-3)
    if n == 22:
        x = qkv(R); f(**x); x["mask"] = np.array([[True] * 3, [False] * 3])
        return far(f(**x), base.run(**x), 1e-3)
    if n == 30:
        x = qkv(R) | {"key_lengths": np.array([2])}; v = x["value"].copy(); f(**x)
        return not np.array_equal(v, x["value"])


def options(r, Hq, B, Sq, total, dt, rows=True):
    o = {}
    if r.random() < .4: o["sinks"] = rnd(r, Hq, dt=dt)
    if r.random() < .4: o["alibi_slopes"] = np.abs(rnd(r, Hq, dt=dt))
    if r.random() < .5: o["is_causal"] = True
    if r.random() < .5: o["causal_alignment"] = "bottom_right"
    if r.random() < .3: o["scale"] = float(r.choice([0.0, -0.5, 0.7]))
    if r.random() < .3: o["softcap"] = float(r.choice([0.0, 1.5]))
    if r.random() < .4: o["window"] = [[1, 0], [None, 1], [2, None], [0, 2], [9, 0]][r.integers(5)]
    if r.random() < .5:
        shape = [(Sq, total), (Hq, 1, total), (B, 1, Sq, total)][r.integers(3)] if rows else [(1, total), (Hq, 1, total)][r.integers(2)]
        o["mask"] = r.random(shape) < .7 if r.random() < .5 else np.where(r.random(shape) < .8, rnd(r, *shape), -np.inf).astype(dt)
    return o


def random_args(r, layout, quantized=True):
    dt = np.dtype([np.float64, np.float32, BF, np.float16][r.integers(4)])
    Hkv = int(r.integers(1, 3)); Hq = Hkv * int(r.integers(1, 4)); B = int(r.integers(1, 4)); Sq = int(r.integers(1, 6))
    if layout == "packed":
        n, m = r.integers(0, 5, B), r.integers(0, 6, B)
        a = {"query": rnd(r, n.sum(), Hq, 4, dt=dt), "key": rnd(r, m.sum(), Hkv, 4, dt=dt), "value": rnd(r, m.sum(), Hkv, 3, dt=dt),
             "query_starts": np.append(0, np.cumsum(n)), "key_starts": np.append(0, np.cumsum(m))}
        return a | options(r, Hq, B, 1, int(m.max()), dt, False), dt, None
    if layout.startswith("paged"):
        L = r.integers(0, 9, B)
        a = table(r, L, int(r.integers(1, 5)), Hq, Hkv, Sq, 4, 3, dt)
        N = None
        if r.random() < .3: N = a["query_lengths"] = r.integers(0, Sq + 1, B)
        a |= options(r, Hq, B, Sq, int(L.max()), dt, False)
        if "csr" in layout: return as_list(a, layout.endswith("heads_first")), dt, N
        if layout.endswith("heads_first"): a |= {n: a[n].swapaxes(1, 2) for n in ("key_pool", "value_pool")}
        return a, dt, N
    Sk = int(r.integers(0, 20))
    a = qkv(r, B, Hq, Hkv, Sq, Sk, 4, 3, dt); N = None; total = Sk
    if r.random() < .4:
        P = int(r.integers(0, 7)); a |= past(r, P, B, Hkv, 4, 3, dt); total += P
    else:
        if r.random() < .5: a["key_lengths"] = r.integers(0, Sk + 1, B)
        if r.random() < .4: N = a["query_lengths"] = r.integers(0, Sq + 1, B)
    if quantized and r.random() < .3:
        kind = [E4, E5, np.dtype(np.int8)][r.integers(3)]
        cast = lambda x: (np.clip(x.astype(float) * 30, -127, 127)).astype(kind)
        some = lambda: (np.abs(r.standard_normal([(), (Hkv,), (B, Hkv), (B, 1)][r.integers(4)])) * .1).astype(np.float32)
        if r.random() < .6:
            a["key"] = cast(a["key"]); a["key_scale"] = some()
            if "past_key" in a: a["past_key"] = cast(a["past_key"])
        if r.random() < .6:
            a["value"] = cast(a["value"]); a["value_scale"] = some()
            if "past_value" in a: a["past_value"] = cast(a["past_value"])
        if r.random() < .4:
            a["query"] = cast(a["query"]); a["query_scale"] = some(); a["output_dtype"] = dt.name
    return a | options(r, Hq, B, Sq, total, dt), dt, N


def agreement(file, runs):
    """how many of the random inputs differ from base"""
    module = load(file); layout = getattr(module, "layout", "bhse"); f = module.scaled_dot_product_attention
    r = np.random.default_rng(3); bad = 0
    for _ in range(runs):
        a, dt, N = random_args(r, "bhse" if layout == "bshe" else layout, layout == "bhse")
        inner = "bhse" if layout == "bshe" else layout
        want = right_of(inner, a)
        given = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in a.items()}
        if layout == "bshe":
            given = tokens_first(given)
        got = dict(f(**given))
        if layout == "bshe": got["output"] = got["output"].swapaxes(1, 2)
        assert got["output"].dtype == want["output"].dtype
        if N is not None:
            live = np.arange(a["query"].shape[2]) < N[:, None]
            for x in (want, got):
                for n in ("output", "weights", "logsumexp", "scores", "logits"):
                    if n in x: x[n] = np.where(live.reshape(live.shape[0], 1, -1, *[1] * (x[n].ndim - 3)), x[n].astype(float), 0)
        tol = {"float64": 1e-11, "float32": 3e-5, "bfloat16": 2e-2, "float16": 2e-3}[dt.name]
        bad += far(got, want, tol, ALL)
    return bad


fine = True
for n, entry in enumerate(json.loads((HERE / "batch.json").read_text()), 1):
    module = load(entry["file"])
    ok = bool(shown(n, module.scaled_dot_product_attention, getattr(module, "layout", "bhse")))
    fine &= ok
    print(n, "shown" if ok else "NOT SHOWN", "| random inputs that differ:", agreement(entry["file"], 60), "of 60")
for file in sorted((HERE / "right").glob("*.py")):
    bad = agreement(file.relative_to(HERE), 400)
    fine &= bad == 0
    print(file.name, "differs on", bad, "of 400")
print("all passed" if fine else "FAILED")
