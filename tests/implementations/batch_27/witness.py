import importlib.util, pathlib, sys
import ml_dtypes, numpy as np
here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import base
BF = np.dtype(ml_dtypes.bfloat16)
D = "scaled_dot_product_attention_backward"
NAMES = "grad_query grad_key grad_value grad_mask grad_sinks delta grad_scores".split()
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m


def named(r, op):
    if isinstance(r, dict):
        return {n: np.asarray(x).astype(np.float64) for n, x in r.items() if x is not None}
    if op == "merge_states":
        r = dict(zip(("output", "logsumexp"), r))
    elif op == "softmax":
        r = {"output": r}
    else:
        r = dict(zip(NAMES, r))
    return {n: np.asarray(x).astype(np.float64) for n, x in r.items() if x is not None}


def gap(want, got, skip=None, only=None):
    """Largest difference, relative to the largest number of the tensor; inf where NaN or shapes differ."""
    worst = 0.0
    for n, x in got.items():
        if only and n not in only:
            continue
        y = want[n]
        if x.shape != y.shape:
            return np.inf
        if skip is not None and n in ("grad_query", "delta", "grad_scores"):
            x, y = x.copy(), y.copy()
            for b, k in enumerate(skip):
                x[b, :, k:], y[b, :, k:] = 0, 0
        if not x.size:
            continue
        with np.errstate(all="ignore"):
            same = (x == y) | (np.isnan(x) & np.isnan(y))
            d = np.where(same, 0, np.abs(x - y))
            d = np.where(np.isnan(d) | (np.isinf(x) != np.isinf(y)) & ~same, np.inf, d)
            top = np.abs(y[np.isfinite(y)]).max(initial=0)
            worst = max(worst, float(d.max() / max(top, 0.05)))
    return worst


def draw(rng, B=1, Hq=2, Hkv=None, Sq=4, Sk=5, E=4, Ev=3, dtype="float64", size=1.0, **more):
    Hkv = Hkv or Hq
    dt = BF if dtype == "bfloat16" else np.dtype(dtype)
    r = lambda *s: (rng.standard_normal(s) * size).astype(dt)
    return dict(grad_output=r(B, Hq, Sq, Ev), query=r(B, Hq, Sq, E), key=r(B, Hkv, Sk, E), value=r(B, Hkv, Sk, Ev), **more)


def stored(a, dt):
    f = {n: x for n, x in a.items() if n not in ("grad_output", "grad_logsumexp", "output", "logsumexp")}
    out, lse = base.forward(**f)
    return out.astype(dt), lse.astype(dt)


R = np.random.default_rng(44)
f32, f64 = np.float32, np.float64
C = {}
C["001"] = draw(R, scale=0)
C["002"] = draw(R, Hq=4, Hkv=2)
C["003"] = draw(R, B=2, sinks=np.array([0.5, 1.0]))
C["004"] = draw(R, softcap=1.0, mask=R.standard_normal((4, 5)))
C["005"] = draw(R, sinks=np.array([0.5, 1.0])); C["005"]["logsumexp"] = stored(C["005"], f64)[1]
C["006"] = draw(R, sinks=np.array([0.5, 1.0]))
C["007"] = draw(R, B=2, sinks=np.array([0.5, 1.0]), key_lengths=np.array([0, 3]), grad_logsumexp=R.standard_normal((2, 2, 4)))
C["008"] = draw(R, B=2, mask=R.random((2, 4, 5)) > 0.4)
C["009"] = draw(R, dtype="float32", size=8.0, E=8, scale=-1.0)
C["010"] = draw(R, Sq=24, Sk=33, is_causal=True, causal_alignment="bottom_right")
C["012"] = draw(R, query_lengths=np.array([2]), grad_logsumexp=R.standard_normal((1, 2, 4)))
C["013"] = draw(R); C["013"]["grad_output"] = np.ascontiguousarray(C["013"]["grad_output"].transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
C["014"] = draw(R, Hq=1, Sq=2500, Sk=2, dtype="bfloat16"); C["014"]["grad_output"] = np.abs(C["014"]["grad_output"])
C["015"] = draw(R, is_causal=True); C["015"]["grad_output"][0, 0, 1, 0] = np.nan
C["016"] = draw(R, B=2, alibi_slopes=np.array([0.5, 0.25]), causal_alignment="bottom_right", key_lengths=np.array([5, 3]))
C["017"] = draw(R, Hq=4, Hkv=2, Sq=1, alibi_slopes=np.array([0.5, 0.25, 0.125, 1.0]))
C["018"] = draw(R, grad_logsumexp=R.standard_normal((1, 2, 4)))
C["019"] = draw(R, Sq=8, Sk=5, is_causal=True, causal_alignment="bottom_right")
C["020"] = draw(R, mask=np.full((4, 5), -20000.0))
m = lambda *s: R.standard_normal(s)
C["021"] = dict(output_a=m(1, 1, 2, 3), logsumexp_a=np.array([[[0.0, 1]]]), output_b=m(1, 1, 2, 3) * 1e3, logsumexp_b=np.array([[[-20.5, 1]]]))
C["022"] = dict(output_a=m(1, 1, 2, 3), logsumexp_a=np.array([[[np.nan, 1]]]), output_b=m(1, 1, 2, 3), logsumexp_b=np.array([[[0.5, 1]]]))
C["023"] = dict(output_a=m(1, 1, 2, 3).astype(f32), logsumexp_a=np.array([[[0, 1]]], f32), output_b=m(1, 1, 2, 3).astype(f32), logsumexp_b=np.array([[[100, 1]]], f32))
C["024"] = dict(x=m(3, 4), axis=0)
C["025"] = dict(x=m(700))
C["026"] = dict(x=m(2, 3) + np.array([[0.0], [-2000.0]]))


def op_of(num):
    return D if int(num) <= 20 else "merge_states" if int(num) <= 23 else "softmax"


def show_wrong():
    missing = []
    for path in sorted((here / "wrong").glob("*.py")):
        num = path.stem[:3]
        op = op_of(num)
        f = getattr(load(path), op)
        if num == "011":
            one, two = draw(R, Sq=16, Sk=16), draw(R, Sq=8, Sk=16, is_causal=True)
            f(**one)
            g = gap(named(base.scaled_dot_product_attention_backward(**two), op), named(f(**two), op))
            fine = gap(named(base.scaled_dot_product_attention_backward(**one), op), named(f(**one), op)) < 1e-12
        elif num == "012":
            a = C[num]; before = a["grad_logsumexp"].copy(); f(**a)
            g, fine = float((before != a["grad_logsumexp"]).any()), True
        else:
            a = C[num]
            g = gap(named(getattr(base, op)(**a), op), named(f(**a), op), skip=a.get("query_lengths"))
            fine = True
        limit = {"009": 1e-3, "014": 0.05, "023": 1e-3}.get(num, 1e-9)
        print(path.stem, "SHOWN" if g > limit and fine else "NOT SHOWN", f"{g:.3g}")
        if not (g > limit and fine):
            missing.append(path.stem)
    return missing


def random_case(rng, dtype):
    Hkv = int(rng.integers(1, 4)); rep = int(rng.integers(1, 4)); Hq = Hkv * rep
    B, Sq, Sk = (int(rng.integers(1, n)) for n in (4, 9, 9))
    if rng.random() < 0.05: Sk = 0
    if rng.random() < 0.2: Sq = Sk + int(rng.integers(0, 5))
    if rng.random() < 0.15: Sq, Sk = int(rng.integers(9, 40)), int(rng.integers(9, 40))
    E, Ev = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    a = draw(rng, B, Hq, Hkv, Sq, Sk, E, Ev, dtype)
    if rng.random() < 0.2: a["query"] = (a["query"] * 8).astype(a["query"].dtype)
    dt = a["query"].dtype
    t = lambda x: np.asarray(x).astype(dt)
    on = lambda p=0.35: rng.random() < p
    if on(): a["is_causal"] = True
    if on(0.5): a["causal_alignment"] = "bottom_right"
    if on(): a["window"] = [None if on() else int(rng.integers(0, 5)), None if on() else int(rng.integers(0, 5))]
    if on(): a["scale"] = float(rng.choice([0, -0.5, 0.3, 1]))
    if on(): a["softcap"] = float(rng.choice([0, 0.7, 3.0]))
    if on(): a["sinks"] = t(rng.standard_normal(Hq))
    if on(): a["alibi_slopes"] = t(rng.random(Hq))
    if on(): a["grad_logsumexp"] = t(rng.standard_normal((B, Hq, Sq)))
    if on(): a["key_lengths"] = rng.integers(0, Sk + 1, B)
    if on(): a["query_lengths"] = rng.integers(0, Sq + 1, B)
    if on(0.5):
        shape = [B, Hq, Sq, Sk][int(rng.integers(0, 3)):]
        shape = [1 if on(0.3) and i < len(shape) - 1 else n for i, n in enumerate(shape)]
        if on(0.5):
            a["mask"] = rng.random(shape) > 0.4
        else:
            x = rng.standard_normal(shape); x[rng.random(shape) < 0.3] = -np.inf
            a["mask"] = t(x)
    if dtype in ("float64", "float32") and on(0.5):
        out, lse = stored(a, dt)
        if on(0.7): a["output"] = out
        if on(0.7): a["logsumexp"] = lse
    if on(0.15):  # NaN in what some or no query sees
        n = str(rng.choice(["key", "value", "grad_output"]))
        if a[n].size and "output" not in a and "logsumexp" not in a:
            a[n][tuple(int(rng.integers(0, s)) for s in a[n].shape)] = np.nan
    if "query_lengths" in a:
        for b, k in enumerate(a["query_lengths"]):
            for n in ("query", "grad_output", "grad_logsumexp", "output", "logsumexp"):
                if n in a: a[n] = a[n].copy(); a[n][b, :, k:] = np.nan
    return a


def convert(a, m):
    if getattr(m, "conventions", {}).get("logsumexp_base") == "2":
        a = dict(a)
        for n in a:
            if n.startswith("logsumexp"): a[n] = (a[n].astype(f64) / np.log(2)).astype(a[n].dtype)
        if "grad_logsumexp" in a: a["grad_logsumexp"] = (a["grad_logsumexp"].astype(f64) * np.log(2)).astype(a["grad_logsumexp"].dtype)
    return a


def freeze(a):
    for x in a.values():
        if isinstance(x, np.ndarray): x.flags.writeable = False
    return a


def compare_many(path, n, seed=1, exclude=None):
    m = load(path)
    rng = np.random.default_rng(seed)
    bad, worst = 0, {}
    if hasattr(m, D):
        for k in range(n):
            dtype = ("float64", "float32", "float16", "bfloat16")[k % 4]
            a = freeze(random_case(rng, dtype))
            if exclude and exclude(a): continue
            want = named(base.scaled_dot_product_attention_backward(**a), D)
            try:
                got = named(m.scaled_dot_product_attention_backward(**convert(a, m)), D)
                missing = [x for x in ("grad_query", "grad_key", "grad_value", "grad_mask", "grad_sinks") if x in want and x not in got]
                g = np.inf if missing else gap(want, got, skip=a.get("query_lengths")) / EPS[dtype]
            except Exception as e:
                g = np.inf; print(path.stem, repr(e)[:200])
            worst[dtype] = max(worst.get(dtype, 0), g if np.isfinite(g) else 0)
            if g > 3e4 if dtype in ("float64", "float32") else g > 60:
                bad += 1
                if bad < 4: print("  ", path.stem, k, dtype, g, {x: (y.shape if isinstance(y, np.ndarray) else y) for x, y in a.items()})
    if hasattr(m, "merge_states"):
        for k in range(n):
            dtype = ("float64", "float32", "float16", "bfloat16")[k % 4]; dt = BF if dtype == "bfloat16" else np.dtype(dtype)
            s = tuple(int(rng.integers(1, 5)) for _ in range(4))
            a = {}
            for c in "ab":
                o = rng.standard_normal(s); l = rng.standard_normal(s[:3]) * float(rng.choice([1, 10, 300]))
                e = rng.random(s[:3]) < 0.2; l[e] = -np.inf; o[e] = np.nan if rng.random() < 0.5 else 1e4
                if rng.random() < 0.05: l[0, 0, 0] = np.nan
                a["output_" + c], a["logsumexp_" + c] = o.astype(dt), l.astype(dt)
            if exclude and exclude(a): continue
            want = named(base.merge_states(**a), "merge_states")
            x = convert(freeze(a), m); got = named(m.merge_states(**x), "merge_states")
            if x is not a:
                if dtype in ("float16", "bfloat16"): continue
                got["logsumexp"] = got["logsumexp"] * np.log(2)
            g = gap(want, got) / EPS[dtype]
            worst["m" + dtype] = max(worst.get("m" + dtype, 0), g if np.isfinite(g) else 0)
            if g > 2000 if dtype in ("float64", "float32") else g > 4: bad += 1; print("  merge", path.stem, k, dtype, g)
    if hasattr(m, "softmax"):
        for k in range(n):
            dtype = ("float64", "float32", "float16", "bfloat16")[k % 4]; dt = BF if dtype == "bfloat16" else np.dtype(dtype)
            s = tuple(int(rng.integers(1, 6)) for _ in range(int(rng.integers(0, 4))))
            if rng.random() < 0.2: s = (int(rng.integers(300, 1500)),)
            x = (rng.standard_normal(s) * float(rng.choice([1, 30, 1000]))).astype(dt)
            x = np.asarray(x)
            axis = None if rng.random() < 0.3 or not s else int(rng.integers(-len(s), len(s)))
            a = dict(x=x, axis=axis)
            if exclude and exclude(a): continue
            g = gap(named(base.softmax(x, axis), "softmax"), named(m.softmax(x, axis), "softmax")) / EPS[dtype]
            worst["s" + dtype] = max(worst.get("s" + dtype, 0), g)
            if g > 5000 if dtype in ("float64", "float32") else g > 4: bad += 1; print("  softmax", path.stem, k, dtype, g, s, axis)
    print(path.stem, "bad", bad, {d: round(w, 1) for d, w in worst.items()})
    return bad


if __name__ == "__main__":
    miss = show_wrong()
    bad = sum(compare_many(p, 400) for p in sorted((here / "right").glob("*.py")))
    print("not shown:", miss, "right ones off:", bad)
