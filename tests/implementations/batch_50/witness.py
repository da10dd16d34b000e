"""Shows every wrong file to differ from base on an input within the contract, and every right one to agree."""
import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import base

NAME = "scaled_dot_product_attention"
TYPES = {"float64": np.float64, "float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
INF, NAN = np.inf, np.nan


def load(path):
    spec = importlib.util.spec_from_file_location("file_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, NAME)


def tensors(B=1, Hq=1, Hkv=1, Sq=4, Sk=4, E=4, Ev=3, dtype="float64", seed=0):
    r = np.random.default_rng(seed)
    shapes = (B, Hq, Sq, E), (B, Hkv, Sk, E), (B, Hkv, Sk, Ev)
    return dict(zip(("query", "key", "value"), (r.standard_normal(s).astype(TYPES[dtype]) for s in shapes)))


def call(function, a):
    """What comes back: results, or the error."""
    try:
        return function(**a)
    except Exception as error:
        return error


def same(x, y, tolerance):
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    x, y = x.astype(float), y.astype(float)
    with np.errstate(invalid="ignore"):
        near = (np.abs(x - y) <= tolerance * (1 + np.abs(y))) & np.isfinite(x) & np.isfinite(y)
    return bool((near | (x == y) | (np.isnan(x) & np.isnan(y))).all())


def differing(got, right, tolerance, skip=()):
    if isinstance(got, Exception) or isinstance(right, Exception):
        return [] if isinstance(got, Exception) and isinstance(right, Exception) else [f"error {got if isinstance(got, Exception) else right!r}"]
    return [n for n in right if n not in skip and not same(got[n], right[n], tolerance)]


def copies(a):
    return {n: np.array(x) if isinstance(x, np.ndarray) else list(x) if isinstance(x, list) else x for n, x in a.items()}


def bits(a):
    return {n: x.tobytes() for n, x in a.items() if isinstance(x, np.ndarray)}


# One input for each wrong file: (calls, one after the other; the last one counts)

def w001():
    a = tensors(Sq=1, Sk=65)
    a["value"][0, 0, 64] = 100
    return [a | dict(is_causal=True, causal_alignment="bottom_right")]

def w002():
    return [tensors(Sq=40, Sk=40) | dict(window=[3, 0])]

def w003():
    a = tensors(Sq=1, Sk=40, E=1)
    a["query"][:] = 1
    a["key"][0, 0, :, 0] = np.arange(40) * 0.1
    return [a]

def w004():
    a = tensors(Sq=1, Sk=40, E=1)
    a["query"][:] = 1
    a["key"][0, 0, :, 0] = np.where(np.arange(40) < 16, 10, 0)
    a["value"][:] = np.where(np.arange(40) < 16, 1, 1000)[:, None]
    return [a]

def w005():
    a = tensors(Sq=1, Sk=20, E=1)
    a["query"][:] = 1
    a["key"][:] = -1000
    return [a | dict(mask=np.arange(20)[None] >= 16)]

def w006():
    return [tensors(Hq=2, Sq=2, Sk=70, Hkv=2) | dict(sinks=np.array([2.0, 3.0]))]

def w007():
    a = tensors(Sq=2, Sk=5)
    return [a | dict(mask=np.full((2, 5), -1000.0), sinks=np.array([-1000.0]))]

def w008():
    a = tensors(Sq=1, Sk=3, E=1)
    a["query"][:] = 1
    a["key"][0, 0, :, 0] = [0, 1000, 5]
    return [a | dict(scale=-1.0)]

def w009():
    a = tensors(Hq=2, Sq=1, Sk=3, E=1)
    a["query"][0, :, 0, 0] = [1, -1]
    a["key"][0, 0, :, 0] = [1000, 1001, 1002]
    return [a]

def w010():
    a = tensors(Sq=1, Sk=300, dtype="bfloat16")
    a["key"][:] = 0
    a["value"][:] = 1
    return [a]

def w011():
    return [tensors(Sq=6, Sk=2) | dict(alibi_slopes=np.array([0.5]), sinks=np.array([0.0]))]

def w012():
    return [tensors(Sq=9, Sk=3) | dict(window=[3, None])]

def w013():
    return [tensors(B=2) | dict(is_causal=True, causal_alignment="bottom_right", key_lengths=np.array([4, 2]), query_lengths=np.array([2, 2]))]

def w014():
    return [tensors(B=2) | dict(is_causal=True, causal_alignment="bottom_right", key_lengths=np.array([3, 3]), query_lengths=np.array([3, 1]))]

def w015():
    return [tensors(Sq=1, Sk=8) | dict(window=[2, None], causal_alignment="bottom_right", key_lengths=np.array([4]))]

def w016():
    return [tensors(Hq=4, Hkv=2, Sq=1) | dict(sinks=np.array([0.0, 1.0, 2.0, 3.0]))]

def w017():
    return [tensors(B=2) | dict(mask=np.array([[0, 1, 1, 1], [1, 0, 1, 0]], bool)[:, None, None])]

def w018():
    a = tensors(Sq=1, Sk=3, E=1, dtype="float16")
    a["query"][:] = 1000
    a["key"][0, 0, :, 0] = [-100, -100, 0]
    return [a | dict(mask=np.array([[True, True, False]]))]

def w019():
    return [tensors() | dict(mask=np.full((4, 4), -2.0**30))]

def w020():
    a = tensors(Sq=2, Sk=3, seed=3)
    return [a, a | dict(mask=np.array([[True, True, False], [False, False, False]]))]

def w021():
    a = tensors(B=2) | dict(is_causal=True, causal_alignment="bottom_right")
    return [a | dict(key_lengths=np.array([4, 4])), a | dict(key_lengths=np.array([4, 3]))]

def w022():
    return [tensors(B=2) | dict(key_lengths=np.array([4, 0]), sinks=np.array([1.0]))]

def w023():
    return [tensors(B=2) | dict(key_lengths=np.array([4, 2]))]

def w024():
    a = tensors(B=2)
    a["key"] = np.broadcast_to(a["key"][:1], a["key"].shape)
    return [a]

def w025():
    a = tensors(B=2) | dict(key_lengths=np.array([4, 2]))
    a["value"][1, :, 3] = NAN
    return [a]

def w026():
    a = tensors(Sq=2, Sk=1)
    a["key"][:] = NAN
    return [a]

def w027():
    return [tensors(B=0) | dict(key_lengths=np.zeros(0, int))]

def w028():
    return [tensors(E=4, Ev=20)]

def w029():
    a = tensors(Sq=1, Sk=20, E=1)
    a["query"][:] = 1
    a["key"][0, 0, :16] = -INF
    return [a]

def w030():
    return [tensors(Sq=1, E=5, dtype="float16")]

def w031():
    return [tensors(Sq=5, Sk=3) | dict(query_lengths=np.array([4]))]


def random_input(r):
    def chance(p):
        return r.random() < p

    dtype = list(TYPES)[r.integers(4)]
    B, Hkv, G = (int(r.integers(1, 4)) for _ in range(3))
    Sq, Sk, E, Ev = (int(r.integers(1, 8)) for _ in range(4))
    Sk = [Sk, 0, int(r.integers(1, 60))][r.choice(3, p=[0.6, 0.05, 0.35])]
    a = tensors(B, Hkv * G, Hkv, Sq, Sk, E, Ev, dtype, int(r.integers(1 << 30)))
    t = TYPES[dtype]
    P = 0
    if chance(0.1):
        for name in ("key", "value"):
            q = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8][r.integers(3)]
            a[name] = (a[name].astype(float) * (20 if q == np.int8 else 1)).astype(q)
            shape = [(), (Hkv,), (B, Hkv), (B, 1), (1, 1)][r.integers(5)]
            a[name + "_scale"] = r.uniform(0.05, 0.1, shape).astype(np.float32)
        if chance(0.5):
            a["query"] = a["query"].astype(ml_dtypes.float8_e4m3fn)
            a["query_scale"] = r.uniform(0.5, 1, (Hkv,)).astype(np.float32)
            a["output_dtype"] = dtype
    elif chance(0.3):
        P = int(r.integers(0, 6))
        a["past_key"] = r.standard_normal((B, Hkv, P, E)).astype(t)
        a["past_value"] = r.standard_normal((B, Hkv, P, Ev)).astype(t)
    if not P and "past_key" not in a:
        if chance(0.3):
            a["key_lengths"] = r.integers(0, Sk + 1, B)
            if chance(0.5):
                for b, n in enumerate(a["key_lengths"]):
                    for name in ("key", "value"):
                        if a[name].dtype != np.int8:
                            a[name][b, :, n:] = NAN
        if chance(0.3):
            a["query_lengths"] = r.integers(0, Sq + 1, B)
    K = P + Sk
    if chance(0.5):
        full = (B, Hkv * G, Sq, K)
        shape = tuple(n if chance(0.7) else 1 for n in full[:-1])[r.integers(3):] + (K,)
        mask = r.random(shape) < 0.7
        a["mask"] = mask if chance(0.5) else np.where(mask, r.standard_normal(shape) * 3, -INF).astype(t)
    if chance(0.3):
        a["sinks"] = r.standard_normal(Hkv * G).astype(t)
    if chance(0.3):
        a["alibi_slopes"] = r.uniform(0, 1, Hkv * G).astype(t)
    if chance(0.3):
        a["softcap"] = float(r.choice([0, 1.5, 10]))
    if chance(0.3):
        a["scale"] = float(r.choice([0, -0.7, 1, 30]))
    if chance(0.4):
        a["window"] = [None if chance(0.3) else int(r.integers(0, 5)) for _ in range(2)]
    a["is_causal"] = chance(0.4)
    a["causal_alignment"] = ["top_left", "bottom_right"][r.integers(2)]
    return a, dtype


def plain(a):
    """The formula, in loops, beside base: outputs and logsumexp."""
    a = dict(a)
    q, k, v = (a[n].astype(float) for n in ("query", "key", "value"))
    if "past_key" in a:
        k = np.concatenate([a["past_key"].astype(float), k], 2)
        v = np.concatenate([a["past_value"].astype(float), v], 2)
    B, Hq, Sq, E = q.shape
    Hkv, K = k.shape[1:3]
    P = K - a["key"].shape[2]
    o, lse = np.zeros((B, Hq, Sq, v.shape[3])), np.full((B, Hq, Sq), -INF)
    full = None
    if "mask" in a:
        full = np.broadcast_to(a["mask"] if a["mask"].dtype == bool else a["mask"].astype(float), (B, Hq, Sq, K))
    for b, h, i in np.ndindex(B, Hq, Sq):
        g = h // (Hq // Hkv)
        s = [1.0, 1.0, 1.0]
        for n, name in enumerate(("query_scale", "key_scale", "value_scale")):
            if name in a:
                s[n] = float(np.broadcast_to(a[name], (B, Hkv))[b, g])
        L = int(a["key_lengths"][b]) if "key_lengths" in a else K
        N = int(a["query_lengths"][b]) if "query_lengths" in a else Sq
        p = i + P if a["causal_alignment"] == "top_left" else i + L - N
        left, right = a.get("window") or (None, None)
        e, at = [], []
        for j in range(L):
            if a["is_causal"] and j > p or left is not None and j < p - left or right is not None and j > p + right:
                continue
            add = 0.0
            if full is not None:
                if full.dtype == bool:
                    if not full[b, h, i, j]:
                        continue
                elif full[b, h, i, j] == -INF:
                    continue
                else:
                    add = full[b, h, i, j]
            x = a.get("scale", E**-0.5) * sum(q[b, h, i] * s[0] * k[b, g, j] * s[1])
            c = a.get("softcap")
            x = c * np.tanh(x / c) if c else x
            if "alibi_slopes" in a:
                x -= float(a["alibi_slopes"][h]) * abs(p - j)
            e.append(x + add)
            at.append(j)
        x = np.array(e + ([float(a["sinks"][h])] if "sinks" in a else []))
        if len(x):
            m = x.max()
            lse[b, h, i] = m + np.log(np.exp(x - m).sum())
            if at:
                o[b, h, i] = np.exp(np.array(e) - lse[b, h, i]) @ v[b, g, at] * s[2]
    return o, lse


def counted(a, x):
    """Results without the rows that do not count."""
    if isinstance(x, dict) and "query_lengths" in a:
        x = dict(x)
        for name in ("output", "weights", "logsumexp", "scores", "logits"):
            x[name] = np.array(x[name])
            for b, n in enumerate(a["query_lengths"]):
                x[name][b, :, n:] = 0
    return x


def refusals():
    a = tensors(B=2, Hq=4, Hkv=2, Sq=3, Sk=5)
    v = lambda *shape: np.zeros(shape)
    past = dict(past_key=v(2, 2, 3, 4), past_value=v(2, 2, 3, 3))
    yield a | dict(query=a["query"][0])
    yield a | dict(key=a["key"][..., :3])
    yield a | dict(key=a["key"][:1])
    yield a | dict(value=a["value"][:1])
    yield a | dict(query=a["query"][:, :3])
    yield a | dict(query=a["query"][:, :1])
    yield a | dict(value=a["value"][:, :1])
    yield a | dict(value=a["value"][:, :, :4])
    for name, shape in (("past_key", (1, 2, 3, 4)), ("past_value", (1, 2, 3, 3)), ("past_key", (2, 2, 2, 4)), ("past_key", (2, 2, 3, 5)), ("past_value", (2, 1, 3, 3))):
        yield a | past | {name: v(*shape)}
    for name, numbers in (("key_lengths", [6, 1]), ("key_lengths", [-1, 1]), ("key_lengths", [1]), ("query_lengths", [0, 6]), ("query_lengths", [-1, 1])):
        yield a | {name: np.array(numbers)}
    for shape in ((5,), (3, 1), (3, 4), (3, 6), (2, 5), (2, 3, 5), (3, 4, 3, 5), (1, 2, 4, 3, 5)):
        yield a | dict(mask=np.ones(shape, bool))
    for shape in ((4,), (4, 2), (2, 4), (1, 2, 2)):
        yield a | dict(key=a["key"].astype(np.int8), key_scale=np.ones(shape, np.float32))


LIMIT = {"float64": 1e-11, "float32": 2e-4, "bfloat16": 0.03, "float16": 5e-3}
bad = []

# base itself
r = np.random.default_rng(50)
for n in range(200):
    a, dtype = random_input(r)
    o, lse = plain(a)
    got = counted(a, call(base.scaled_dot_product_attention, a))
    want = counted(a, dict(output=o, logsumexp=lse, weights=o, scores=o, logits=o))
    for name in ("output", "logsumexp"):
        if isinstance(got, Exception) or not same(got[name].astype(float), want[name].astype(float), LIMIT[dtype]):
            bad.append(f"base {n} {dtype} {name} {got if isinstance(got, Exception) else ''}")
for n, a in enumerate(refusals()):
    if not isinstance(call(base.scaled_dot_product_attention, a), ValueError):
        bad.append(f"base takes refusal {n}")

entries = json.loads((here / "batch.json").read_text())
files = sorted(str(f.relative_to(here)) for f in (here / "wrong").glob("*.py"))
if [e["file"] for e in entries] != files:
    bad.append("batch.json does not name the files in order")
quiet = {}
for file in files:
    function = load(here / file)
    shown = []
    for a in globals()["w" + pathlib.Path(file).stem[:3]]():
        mine, others = a, {n: x.copy() if isinstance(x, np.ndarray) else x for n, x in a.items()}
        before = bits(mine)
        got, want = call(function, mine), call(base.scaled_dot_product_attention, others)
        assert not isinstance(want, Exception), (file, want)
        shown = differing(counted(a, got), counted(a, want), 0.02)
        if bits(mine) != before:
            shown.append("inputs edited")
    print(file, "->", ", ".join(shown) or "NOTHING")
    if not shown:
        bad.append(file + " is not shown")
    r, apart = np.random.default_rng(7), 0
    for n in range(150):
        a, dtype = random_input(r)
        before = bits(a)
        got = counted(a, call(function, copies(a)))
        want = counted(a, call(base.scaled_dot_product_attention, copies(a)))
        apart += bool(differing(got, want, LIMIT[dtype] * 3))
    quiet[file] = apart
    for n, a in enumerate(refusals()):
        if not isinstance(call(function, a), ValueError):
            print("   takes refusal", n)
print("random inputs of 150 that show it:", quiet)

for path in sorted((here / "right").glob("*.py")):
    function, worst = load(path), 0
    r = np.random.default_rng(11)
    for n in range(300):
        a, dtype = random_input(r)
        before = bits(a)
        got = counted(a, call(function, a))
        want = counted(a, call(base.scaled_dot_product_attention, a))
        names = differing(got, want, LIMIT[dtype])
        if names or isinstance(got, Exception) or bits(a) != before:
            bad.append(f"{path.name} {n} {dtype} {names} {got if isinstance(got, Exception) else ''}")
    for n, a in enumerate(refusals()):
        if not isinstance(call(function, a), ValueError):
            bad.append(f"{path.name} takes refusal {n}")
    for dtype in TYPES:  # large logits, NaN and infinity, empty extents
        for n, (B, Sq, Sk, Hq) in enumerate(((1, 3, 200, 2), (0, 2, 3, 2), (2, 0, 3, 2), (2, 2, 0, 2), (2, 2, 3, 0), (1, 3, 9, 2))):
            a = tensors(B, Hq, Hq, Sq, Sk, dtype=dtype, seed=n)
            if n == 0:
                a["query"] = (a["query"].astype(float) * 100).astype(TYPES[dtype])
            if n == 5:
                a["key"][0, 0, 2, 0], a["value"][0, 1, 3, 1], a["query"][0, 0, 1, 0] = INF, NAN, NAN
            got, want = call(function, a), call(base.scaled_dot_product_attention, a)
            names = differing(got, want, LIMIT[dtype] * (50 if n == 0 else 1))
            if names or isinstance(got, Exception):
                bad.append(f"{path.name} special {n} {dtype} {names} {got if isinstance(got, Exception) else ''}")
    print(path.name, "done")

print("\n".join(bad) or f"all shown: {len(files)} wrong, {len(list((here / 'right').glob('*.py')))} right")
sys.exit(bool(bad))
