"""One input for each wrong file on which it is not what base is; many for each right one on which it is."""
import importlib.util, json, pathlib, sys
import numpy as np
here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import base
import ml_dtypes

bf16 = np.dtype(ml_dtypes.bfloat16)


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m


def wrong(n):
    return load(next((here / "wrong").glob(f"{n:03d}_*.py")))


def far(a, b, dtype):
    """By how many tolerances two dicts differ, over what the first has."""
    tol = {"float64": 1e-9, "float32": 2e-4, "float16": 1e-2, "bfloat16": 5e-2}[np.dtype(dtype).name]
    worst = 0
    for name in a:
        x, y = np.asarray(a[name]).astype(float), np.asarray(b[name]).astype(float)
        if x.shape != y.shape:
            return np.inf
        if np.asarray(a[name]).dtype != np.asarray(b[name]).dtype and name in ("output", "context"):
            return np.inf
        bad = (np.isnan(x) != np.isnan(y)) | (np.isinf(x) != np.isinf(y))
        bad |= np.isinf(x) & np.isinf(y) & (x != y)
        if bad.any():
            return np.inf
        f = np.isfinite(x)
        if f.any():
            worst = max(worst, (np.abs(x - y)[f] / (tol * (1 + np.abs(y[f])))).max())
    return worst


def sdpa(r, B=2, Hq=4, Hkv=2, Sq=5, Sk=7, E=4, Ev=3, P=0, dtype=np.float32, **kw):
    n = lambda *s: r.standard_normal(s).astype(dtype)
    a = dict(query=n(B, Hq, Sq, E), key=n(B, Hkv, Sk, E), value=n(B, Hkv, Sk, Ev))
    if P:
        a |= dict(past_key=n(B, Hkv, P, E), past_value=n(B, Hkv, P, Ev))
    return a | kw


def mha(r, B=2, Sq=5, Sk=7, D=6, H=2, dtype=np.float32, biases="qkvo", **kw):
    n = lambda *s: r.standard_normal(s).astype(dtype)
    a = dict(query=n(B, Sq, D), key=n(B, Sk, D), value=n(B, Sk, D), num_heads=H)
    a |= {f"w_{x}": n(D, D) for x in ("query", "key", "value", "output")}
    a |= {f"b_{x}": n(D) for x in ("query", "key", "value", "output") if x[0] in biases}
    return a | kw


def sha(r, S=5, D=4, dk=3, dv=3, Do=None, dtype=np.float32, **kw):
    n = lambda *s: r.standard_normal(s).astype(dtype)
    a = dict(x=n(S, D), w_query=n(D, dk), w_key=n(D, dk), w_value=n(D, dv))
    return a | ({"w_output": n(dv, Do)} if Do else {}) | kw


def cv(r, S=5, D=4, dtype=np.float32, **kw):
    return dict(encoder_states=r.standard_normal((S, D)).astype(dtype), decoder_state=r.standard_normal(D).astype(dtype)) | kw


def copied(a):
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in a.items()}


def bshe(f):
    def g(query, key, value, **kw):
        r = f(query.swapaxes(1, 2), key.swapaxes(1, 2), value.swapaxes(1, 2), **kw)
        return {"output": r["output"].swapaxes(1, 2)}
    return g


def reference(op, layout):
    f = getattr(base, op)
    return base.packed if layout == "packed" else bshe(f) if layout == "bshe" else f


def packed_args(r, qn, kn, Hq=4, Hkv=2, E=4, Ev=3, dtype=np.float32, **kw):
    n = lambda *s: r.standard_normal(s).astype(dtype)
    s = lambda x: np.concatenate([[0], np.cumsum(x)]).astype(np.int64)
    return dict(query=n(sum(qn), Hq, E), key=n(sum(kn), Hkv, E), value=n(sum(kn), Hkv, Ev), query_starts=s(qn), key_starts=s(kn)) | kw


r = np.random.default_rng(7)
f32 = lambda *s: r.standard_normal(s).astype(np.float32)
i8 = lambda *s: r.integers(-128, 128, s).astype(np.int8)
gone = np.ones((5, 7), bool); gone[2] = False
long = sdpa(r, B=1, Hq=2, Hkv=1, Sq=2, Sk=600, dtype=bf16)
long["query"] = (long["query"].astype(np.float32) * .1).astype(bf16)
long["value"] = (1 + .1 * long["value"].astype(np.float32)).astype(bf16)
late = np.ones((5, 20), bool); late[:, :8] = False
nan = sdpa(r); nan["query"][0, 0, 0, 0] = np.nan
stride = sdpa(r); stride = {k: np.ascontiguousarray(v.swapaxes(1, 2)) for k, v in stride.items()}
stride["value"] = np.ascontiguousarray(f32(2, 2, 7, 4)).swapaxes(1, 2)
deep = sdpa(r, Sq=5, Sk=20, mask=late)
deep["mask"] = np.where(late, np.float32(-500), -np.inf).astype(np.float32)
W = {
    1: mha(r), 2: mha(r, Sq=5, Sk=5), 3: mha(r, biases="vo"), 4: mha(r, mask=r.random((2, 5, 7)) < .6),
    5: mha(r, mask=gone), 6: mha(r), 7: mha(r, Sk=1, mask=np.array([[1], [0], [1], [1], [0]], bool)),
    9: sha(r, S=4, D=4), 10: sha(r, dv=4, Do=2), 11: cv(r, scale=1), 12: cv(r, S=4, D=4),
    14: sdpa(r, mask=r.random((5, 7)) < .8, is_causal=True), 15: nan,
    16: sdpa(r, is_causal=True, alibi_slopes=f32(4) ** 2, sinks=f32(4)), 17: sdpa(r, softcap=2.0, mask=f32(5, 7)),
    18: sdpa(r, Sq=17, Sk=17, is_causal=True), 19: sdpa(r, Sk=40, sinks=f32(4)),
    20: sdpa(r, mask=f32(5, 7), key_lengths=np.array([5, 4])),
    21: dict(query=f32(2, 4, 3, 4), key=i8(2, 2, 5, 4), value=i8(2, 2, 5, 3), key_scale=np.array([[.01], [.02]], np.float32),
             value_scale=np.array([[.1], [.3]], np.float32)),
    22: packed_args(r, [3, 2, 4], [4, 0, 5]), 23: sdpa(r, mask=np.full((5, 7), -500, np.float32)), 24: deep, 25: stride,
    26: long,
}
bad = 0
for entry in json.loads((here / "batch.json").read_text()):
    n = int(entry["file"][6:9])
    m = wrong(n)
    op = entry["operation"]
    f = getattr(m, op)
    ref = reference(op, getattr(m, "layout", "bhse"))
    with np.errstate(all="ignore"):
        if n == 8:
            a = mha(r); b = a | dict(key=f32(2, 7, 6), value=f32(2, 7, 6))
            f(**a)
            d = far(f(**b), ref(**b), "float32")
        elif n == 13:
            a = sdpa(r); before = a["query"].copy(); f(**a)
            d = np.abs(a["query"] - before).max() / 1e-4
        else:
            a = W[n]
            got = f(**a) if n == 25 else f(**copied(a))  # a copy would lie in memory otherwise
            d = far(got, ref(**a), "bfloat16" if n == 26 else "float32")
    print(f"{entry['file']:45s} {d:12.3g}", "" if d > 5 else "NOT SHOWN")
    bad += not d > 5


def options(r, dtype, limited=()):
    """Random arguments of scaled dot-product attention."""
    B, Hkv, G = r.integers(1, 4), r.integers(1, 3), r.integers(1, 4)
    Sq, Sk, E, Ev = r.integers(1, 12), r.integers(0, 24), r.integers(1, 7), r.integers(1, 7)
    P = int(r.integers(0, 6)) if r.random() < .3 else 0
    a = sdpa(r, B, Hkv * G, Hkv, Sq, Sk, E, Ev, P, dtype)
    n = P + Sk
    kind = r.random()
    if kind < .6:
        shape = [[B, 1], [Hkv * G, 1], [Sq, 1], [n]]
        shape = [x[r.integers(len(x))] for x in shape][r.integers(0, 3):]
        a["mask"] = r.random(shape) < .6
        if kind < .3:
            a["mask"] = np.where(a["mask"], r.standard_normal(shape), -np.inf).astype(dtype)
    if not P and r.random() < .4:
        a["key_lengths"] = r.integers(0, Sk + 1, B)
    if not P and r.random() < .2:
        a["query_lengths"] = r.integers(0, Sq + 1, B)
    if r.random() < .3:
        a["sinks"] = r.standard_normal(Hkv * G).astype(dtype)
    if r.random() < .3:
        a["alibi_slopes"] = r.random(Hkv * G).astype(dtype)
    if r.random() < .4:
        a["is_causal"] = True
    if r.random() < .5:
        a["causal_alignment"] = "bottom_right"
    if r.random() < .3:
        a["scale"] = float(r.choice([0, 1, -.7, .3]))
    if r.random() < .3:
        a["softcap"] = float(r.choice([0, 2, 5]))
    if r.random() < .4:
        a["window"] = [None if r.random() < .3 else int(r.integers(0, 5)) for _ in "lr"]
    if r.random() < .2 and Sk:
        a["value"][0, 0, r.integers(Sk), 0] = [np.nan, np.inf][r.integers(2)]
    if r.random() < .1 and Sk:
        a["key"][0, 0, r.integers(Sk), 0] = np.nan
    return a


def rows(result, a, Sq):
    """Nothing is asked of rows that do not count."""
    if "query_lengths" in a:
        out = {}
        for k, v in result.items():
            if k in ("present_key", "present_value"):
                continue
            v = v.copy()
            for b, n in enumerate(a["query_lengths"]):
                v[b, :, n:] = 0
            out[k] = v
        return out
    return result


def random_mha(r, dtype):
    H = int(r.integers(1, 4)); D = H * int(r.integers(1, 4)); B, Sq, Sk = (int(x) for x in r.integers(1, 8, 3))
    a = mha(r, B, Sq, Sk, D, H, dtype, biases="".join(x for x in "qkvo" if r.random() < .5))
    kind = r.random()
    if kind < .7:
        shape = [[B, 1], [H, 1], [Sq, 1], [Sk]]
        shape = [x[r.integers(len(x))] for x in shape][r.integers(0, 3):]
        a["mask"] = r.random(shape) < .6
        if kind < .35:
            a["mask"] = np.where(a["mask"], r.standard_normal(shape), -np.inf).astype(dtype)
    if r.random() < .4: a["is_causal"] = True
    if r.random() < .4: a["scale"] = float(r.choice([0, 1, -.5]))
    return a


TYPES = (np.dtype("float64"), np.dtype("float32"), np.dtype("float16"), bf16)
r1, r2 = (load(p) for p in sorted((here / "right").glob("*.py")))
worst = {}
with np.errstate(all="ignore"):
    for t in range(400):
        dt = TYPES[t % 4]
        a = options(r, dt)
        x = r1.scaled_dot_product_attention(**copied(a))
        x["logsumexp"] = x["logsumexp"] * np.log(2)
        d = far(rows(x, a, None), rows(base.scaled_dot_product_attention(**a), a, None), dt)
        worst["01", dt.name] = max(worst.get(("01", dt.name), 0), d)
        a = random_mha(r, dt)
        d = far(r2.multi_head_attention(**copied(a)), base.multi_head_attention(**a), dt)
        worst["02", dt.name] = max(worst.get(("02", dt.name), 0), d)
print("right:", worst)
bad += any(not d < 1 for d in worst.values())

# how often random draws show the wrong ones, and in what they fail otherwise (by eye)
if "--rate" in sys.argv:
    for entry in json.loads((here / "batch.json").read_text()):
        n, op = int(entry["file"][6:9]), entry["operation"]
        m = wrong(n)
        if op != "scaled_dot_product_attention" and op != "multi_head_attention":
            make = (lambda r, dt: sha(r, *(int(x) for x in r.integers(1, 6, 4)), Do=int(r.integers(1, 6)) if r.random() < .5 else None, dtype=dt, **({"scale": 1.} if r.random() < .3 else {}))) \
                if op == "single_head_attention" else (lambda r, dt: cv(r, *(int(x) for x in r.integers(1, 6, 2)), dtype=dt, **({"scale": 1.} if r.random() < .3 else {})))
        else:
            make = random_mha if op == "multi_head_attention" else options
        layout = getattr(m, "layout", "bhse")
        names = getattr(m, op).__code__.co_varnames[:getattr(m, op).__code__.co_argcount]
        shown = total = 0
        first = None
        with np.errstate(all="ignore"):
            for t in range(200):
                dt = TYPES[t % 4]
                if layout == "packed":
                    B = int(r.integers(1, 4))
                    a = packed_args(r, r.integers(0, 5, B), r.integers(0, 5, B), dtype=dt, is_causal=bool(r.random() < .5),
                                    causal_alignment=["top_left", "bottom_right"][r.integers(2)], sinks=r.standard_normal(4).astype(dt), window=[2, None])
                else:
                    a = make(r, dt)
                    if any(k not in names for k in a):
                        continue
                if layout == "bshe":
                    for k in ("query", "key", "value"):
                        a[k] = np.ascontiguousarray(a[k].swapaxes(1, 2))
                total += 1
                ref = reference(op, layout)(**a)
                given = a if layout == "bshe" else copied(a)
                d = far(rows(getattr(m, op)(**given), a, None), rows(ref, a, None), dt) if layout == "bhse" else far(getattr(m, op)(**given), ref, dt)
                if not d < 1:
                    shown += 1
                    first = first or (dt.name, float(d), {k: (v.shape if isinstance(v, np.ndarray) else v) for k, v in a.items() if k not in ("query", "key", "value")})
        print(entry["file"], f"{shown}/{total}", first)
sys.exit(bad)
