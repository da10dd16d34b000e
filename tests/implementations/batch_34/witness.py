"""For each wrong file an input within the pages on which it differs from base; for each right file many on which it agrees."""
import os
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import importlib.util, json, pathlib, sys, warnings
sys.dont_write_bytecode = True
here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import numpy as np, ml_dtypes
import base

warnings.simplefilter("error")
TYPES = {"float64": np.float64, "float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
LOOSE = {"float64": 1e-11, "float32": 1e-4, "bfloat16": 6e-2, "float16": 1e-2}
R = np.random.default_rng


def load(path):
    spec = importlib.util.spec_from_file_location("file_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(f, kw):
    try:
        got = f(**kw)
        return got if isinstance(got, dict) else {"output": got}
    except Exception as error:
        return error


def gap(a, b):
    """How far two answers are apart: a number, or a word."""
    if isinstance(a, Exception) or isinstance(b, Exception):
        if isinstance(a, ValueError) and isinstance(b, Exception):
            return 0.0
        return "refuses" if isinstance(b, Exception) else "accepts"
    worst = 0.0
    for name in a:
        x, y = a[name], b[name]
        if x.shape != y.shape:
            return f"{name}: shape {y.shape}, not {x.shape}"
        if x.dtype != y.dtype:
            return f"{name}: dtype"
        x, y = x.astype(np.float64), y.astype(np.float64)
        if (np.isnan(x) != np.isnan(y)).any() or (np.isinf(x) != np.isinf(y)).any():
            return f"{name}: NaN or infinity"
        ok = np.isfinite(x)
        if ok.any():
            worst = max(worst, float(np.abs(x[ok] - y[ok]).max() / max(1.0, np.abs(x[ok]).max())))
    return worst


def mha(r, B=2, Sq=3, Sk=4, H=2, E=2, t=np.float32, biases="", **more):
    D = H * E
    n = lambda *s: r.standard_normal(s).astype(t)
    kw = dict(query=n(B, Sq, D), key=n(B, Sk, D), value=n(B, Sk, D), num_heads=H)
    for w in ("w_query", "w_key", "w_value", "w_output"):
        kw[w] = (r.standard_normal((D, D)) / np.sqrt(max(D, 1))).astype(t)
    for b in biases.split():
        kw["b_" + b] = n(D)
    kw.update(more)
    return kw


def single(r, S=4, D=3, dk=2, dv=3, Dn=None, t=np.float32, **more):
    n = lambda *s: r.standard_normal(s).astype(t)
    kw = dict(x=n(S, D), w_query=n(D, dk), w_key=n(D, dk), w_value=n(D, dv))
    if Dn is not None:
        kw["w_output"] = n(dv, Dn)
    kw.update(more)
    return kw


def context(r, S=4, D=3, t=np.float32, **more):
    kw = dict(encoder_states=r.standard_normal((S, D)).astype(t), decoder_state=r.standard_normal(D).astype(t))
    kw.update(more)
    return kw


def random_inputs(op, r, t):
    pick = lambda *a: a[r.integers(len(a))]
    if op == "multi_head_attention":
        B, Sq, Sk, H, E = pick(1, 2, 3), pick(0, 1, 2, 3, 5, 7), pick(1, 2, 4, 6, 11, 19), pick(1, 2, 3, 4, 6), pick(1, 2, 3, 4)
        kw = mha(r, B, Sq, Sk, H, E, t, biases=" ".join(b for b in ("query", "key", "value", "output") if r.random() < .5))
        shape = pick(None, (Sq, Sk), (H, Sq, Sk), (B, 1, Sq, Sk), (B, H, Sq, Sk), (1, Sk), (B, 1, 1, Sk), (1, 1, Sq, Sk))
        if shape is not None:
            kept = r.random(shape) < .6
            kw["mask"] = kept if r.random() < .5 else np.where(kept, r.standard_normal(shape), -np.inf).astype(t)
        if r.random() < .4:
            kw["is_causal"] = True
        if r.random() < .4:
            kw["scale"] = pick(0.0, -0.5, 0.3, 1, 2.0)
        if r.random() < .2:
            kw["value"] = kw["key"]
        return kw
    if op == "single_head_attention":
        kw = single(r, pick(0, 1, 2, 5, 9), pick(1, 3, 4), pick(1, 2, 3), pick(1, 2, 4), pick(None, 1, 3, 4), t)
    else:
        kw = context(r, pick(1, 2, 5, 9, 17), pick(1, 2, 3, 4, 7), t)
    if r.random() < .4:
        kw["scale"] = pick(0.0, -0.5, 0.3, 1, 2.0)
    return kw


REFUSED = {
    "multi_head_attention": [
        mha(R(0), query=np.ones((3, 4), np.float32)), mha(R(0), key=np.ones((4, 4), np.float32)),
        mha(R(0), value=np.ones((1, 2, 4, 4), np.float32)), mha(R(0), num_heads=3), mha(R(0), num_heads=8),
        mha(R(0), mask=np.ones((3, 3), bool)), mha(R(0), mask=np.ones((3, 1), bool))],
    "single_head_attention": [single(R(0), w_query=np.ones((4, 2), np.float32)), single(R(0), w_output=np.ones((4, 2), np.float32))],
    "context_vector": [context(R(0), decoder_state=np.ones(4, np.float32))],
}


# ------------------------------------------------------------------------------------ witnesses of what is wrong
def plain(kw, least=1e-3):
    def run(m, op):
        before = {k: v.tobytes() for k, v in kw.items() if isinstance(v, np.ndarray)}
        g = gap(call(getattr(base, op), kw), call(getattr(m, op), kw))
        assert all(kw[k].tobytes() == b for k, b in before.items())
        return g, (isinstance(g, str) or g > least)
    return run


def w001(r):
    kw = mha(r, Sq=4, Sk=4); kw["key"] = kw["query"]; return plain(kw)
def w003(r):
    m = np.ones((3, 4), bool); m[1] = False; return plain(mha(r, biases="value", mask=m))
def w004(r):
    m = np.ones((2, 3, 4), bool); m[1, 1] = False; return plain(mha(r, mask=m))
def w006(r):
    m = np.ones((2, 1, 1, 4), bool); m[1, ..., 3] = False; return plain(mha(r, mask=m, is_causal=True))
def w009(r):
    kw = mha(r, B=1, Sq=2, Sk=2, H=1, E=1, is_causal=True)
    for w in ("w_query", "w_key", "w_value", "w_output"): kw[w] = np.ones((1, 1), np.float32)
    kw["query"] = np.full((1, 2, 1), 16, np.float32); kw["key"] = np.array([[[1], [16]]], np.float32)
    return plain(kw)
def w010(r):
    def run(m, op):
        a, b = mha(r, H=2, E=4, scale=None), mha(r, H=4, E=2, scale=None)
        first = gap(call(getattr(base, op), a), call(getattr(m, op), a))
        g = gap(call(getattr(base, op), b), call(getattr(m, op), b))
        return g, first < 1e-4 and g > 1e-3
    return run
def w012(r):
    m = r.standard_normal((3, 4)).astype(np.float32); m[2] = -1e4; return plain(mha(r, mask=m))
def w016(r):
    kw = mha(r, Sq=3, Sk=3, is_causal=True); kw["value"][:, 2] = np.nan; return plain(kw)
def w017(r):
    return plain(mha(r, b_output=r.standard_normal(8).astype(np.float32)[::2]))
def w019(r):
    kw = single(r); kw["w_key"] = kw["w_query"]; return plain(kw)
def w020(r):
    kw = single(r, S=3, scale=-1.0); kw["x"] = kw["x"] * np.float32(20); return plain(kw)
def w022(r):
    def run(m, op):
        kw = single(r, Dn=2)
        first = gap(call(getattr(base, op), kw), call(getattr(m, op), kw))
        kw["w_output"] -= np.float32(0.5)
        g = gap(call(getattr(base, op), kw), call(getattr(m, op), kw))
        return g, first < 1e-4 and g > 1e-3
    return run
def w025(r):
    h = np.float16
    return plain(dict(x=np.full((2, 2), 2.0 ** -8, h) * np.array([[1], [2]], h), w_query=np.ones((2, 2), h), w_key=np.ones((2, 2), h),
                      w_value=np.full((2, 2), 256, h), w_output=np.full((2, 2), 256, h)))
def w028(r):
    return plain(dict(encoder_states=np.array([[20, 1], [21, 3], [20, 2]], np.float32), decoder_state=np.array([-20, 0], np.float32), scale=1))
def w029(r):
    def run(m, op):
        a, b = context(r), context(r)
        want = call(getattr(base, op), a)
        got = call(getattr(m, op), a)
        first = gap(want, got)
        call(getattr(m, op), b)
        g = gap(want, got)
        return g, first < 1e-4 and g > 1e-3
    return run


W = {
    1: w001, 2: lambda r: plain(mha(r, biases="value")), 3: w003, 4: w004,
    5: lambda r: plain(mha(r, B=2, Sq=2, mask=np.array([[1, 1, 0, 0], [0, 1, 1, 1]], bool))),
    6: w006, 7: lambda r: plain(mha(r, Sq=1, is_causal=True)),
    8: lambda r: plain(mha(r, H=6, mask=r.standard_normal((6, 3, 4)).astype(np.float32))), 9: w009, 10: w010,
    11: lambda r: plain(mha(r, t=np.float64, mask=np.array([[.1, .7, .3, .9]] * 3)), 1e-9), 12: w012,
    13: lambda r: plain(mha(r, Sk=20, mask=r.random((3, 20)) < .6)), 14: lambda r: plain(mha(r, Sq=2, H=2)),
    15: lambda r: plain(mha(r, B=0)), 16: w016, 17: w017,
    18: lambda r: plain(single(r, S=1, Dn=3)), 19: w019, 20: w020, 21: lambda r: plain(single(r, Dn=3)), 22: w022,
    23: lambda r: plain(single(r, w_key=np.asfortranarray(r.standard_normal((3, 2)).astype(np.float32)))),
    24: lambda r: plain(single(r, w_output=np.zeros((3, 3), np.float32))), 25: w025,
    26: lambda r: plain(context(r, decoder_state=np.ones(1, np.float32))), 27: lambda r: plain(context(r, S=1)),
    28: w028, 29: w029, 30: lambda r: plain(context(r, t=np.float64, scale=0.3), 1e-9),
    31: lambda r: plain(context(r, scale=0.0)),
}

bad = 0
for n, entry in enumerate(json.loads((here / "batch.json").read_text()), 1):
    m, op = load(here / entry["file"]), entry["operation"]
    assert entry["file"].startswith(f"wrong/{n:03d}_") and m.dtypes == base.DTYPES
    g, shown = W[n](R(n))(m, op)
    m = load(here / entry["file"])
    # apart from the mistake: how often it agrees on random inputs, and whether it refuses
    r, agree, total = R(1000 + n), 0, 0
    for t in TYPES:
        for _ in range(40):
            kw = random_inputs(op, r, TYPES[t])
            d = gap(call(getattr(base, op), kw), call(getattr(m, op), kw))
            agree += not isinstance(d, str) and d < LOOSE[t]; total += 1
    refused = all(isinstance(call(getattr(m, op), kw), ValueError) for kw in REFUSED[op])
    bad += not shown or not refused
    print("shown " if shown else "NOT SHOWN", entry["file"], g, f"| agrees on {agree} of {total} random inputs", "" if refused else "| DOES NOT REFUSE")

for path in sorted((here / "right").glob("*.py")):
    m = load(path)
    op = next(o for o in REFUSED if hasattr(m, o))
    r, worst, count = R(77), {}, 0
    for t in TYPES:
        for _ in range(150):
            kw = random_inputs(op, r, TYPES[t])
            d = gap(call(getattr(base, op), kw), call(getattr(m, op), kw))
            if isinstance(d, str) or d > LOOSE[t]:
                bad += 1; print("DIFFERS", path.name, t, d, {k: getattr(v, "shape", v) for k, v in kw.items()})
            else:
                worst[t] = max(worst.get(t, 0), d)
            count += 1
    refused = all(isinstance(call(getattr(m, op), kw), ValueError) for kw in REFUSED[op])
    bad += not refused
    print("right ", path.name, f"agrees on {count}", worst, "" if refused else "DOES NOT REFUSE")
print("ALL SHOWN" if not bad else f"{bad} BAD")
