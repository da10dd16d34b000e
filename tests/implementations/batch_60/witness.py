"""Shows every wrong file wrong on an input within the contract, and every right file right on many random ones."""
import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import base

OP = "scaled_dot_product_attention"
ref = base.scaled_dot_product_attention


def load(file):
    spec = importlib.util.spec_from_file_location("m_" + pathlib.Path(file).stem, here / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, OP)


def qkv(seed, B=1, Hq=1, Hkv=None, Sq=4, Sk=None, E=4, Ev=None, dtype=np.float64, **more):
    r = np.random.default_rng(seed)
    Hkv, Sk, Ev = Hkv or Hq, Sq if Sk is None else Sk, Ev or E
    d = dict(query=r.normal(size=(B, Hq, Sq, E)), key=r.normal(size=(B, Hkv, Sk, E)), value=r.normal(size=(B, Hkv, Sk, Ev)))
    return {n: x.astype(dtype) for n, x in d.items()} | more


def gap(a, b):
    """Largest difference relative to the larger of 1 and the size; infinite where finiteness or shapes differ."""
    worst = 0.0
    for n in a:
        if n not in b:
            continue
        x, y = np.asarray(a[n]).astype(float), np.asarray(b[n]).astype(float)
        if x.shape != y.shape or a[n].dtype != b[n].dtype:
            return np.inf
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if (~same & ~(np.isfinite(x) & np.isfinite(y))).any():
            return np.inf
        with np.errstate(all="ignore"):
            d = np.where(same, 0, np.abs(x - y) / np.maximum(1, np.maximum(np.abs(x), np.abs(y))))
        worst = max(worst, float(d.max(initial=0)))
    return worst


def scored(rows, **more):
    """One feature: scores as given, by a query of 1 and a scale of 1."""
    n = len(rows)
    return dict(query=np.ones((1, 1, 1, 1)), key=np.array(rows, float).reshape(1, 1, n, 1),
                value=np.arange(1.0, n + 1).reshape(1, 1, n, 1), scale=1.0) | more


A = np.array
holes = np.ones((4, 4), bool); holes[1, 2] = holes[2, 1] = False
nanv = qkv(16, Sq=4, is_causal=True); nanv["value"][0, 0, 2, 1] = np.nan
nank = qkv(24, Sq=2, Sk=1); nank["key"][0, 0, 0, 0] = np.nan
turned = qkv(19, Hq=2, Sq=3, Ev=5); turned["value"] = np.ascontiguousarray(turned["value"].swapaxes(2, 3)).swapaxes(2, 3)
past = qkv(26, Sq=2, Sk=0); past |= dict(past_key=qkv(1, Sk=3)["key"], past_value=qkv(2, Sk=3)["value"])
cross = np.tril(np.ones((3, 3), bool)); cross = ~cross; cross[2] = True
WITNESS = {
    1: qkv(1, Hq=4, Hkv=2, Sq=1, Sk=5, alibi_slopes=A([.5, .25, .125, 1])),
    2: qkv(2, B=2, Sq=4, query_lengths=A([4, 2])),
    3: qkv(3, Sq=1, Sk=5, window=[1, None], causal_alignment="bottom_right"),
    4: qkv(4, Sq=20, window=[3, None]),
    5: qkv(5, Sq=16, Sk=16, query_lengths=A([9]), is_causal=True, causal_alignment="bottom_right"),
    6: qkv(6, Sq=3, mask=cross, is_causal=True),
    7: scored([0, 1], sinks=A([800.])),
    8: qkv(8, Sq=2, Sk=17, sinks=A([1.])),
    9: scored([800, 1], softcap=2.0),
    10: qkv(10, B=2, Sq=2, Sk=4, key_lengths=A([2, 3])),
    11: scored(list(range(12))),
    12: scored([-800, -801, -802]),
    13: qkv(13, Sq=4, Sk=2, causal_alignment="bottom_right", alibi_slopes=A([.5])),
    14: qkv(14, Sq=4, Sk=2, causal_alignment="bottom_right", window=[None, 0]),
    15: qkv(15, Sq=4, Sk=2, causal_alignment="bottom_right", is_causal=True),
    16: nanv,
    17: qkv(17, B=2, Sq=2, Sk=4, is_causal=True, causal_alignment="bottom_right", key_lengths=A([4, 3])),
    18: qkv(18, Hq=2, Sq=3, alibi_slopes=A([.5, .25]), mask=np.zeros((1, 2, 3, 3))),
    19: turned,
    20: qkv(20, B=2, Sq=4, key_lengths=A([4, 2]), query_lengths=A([4, 4]), is_causal=True, causal_alignment="bottom_right"),
    21: qkv(21, B=2, Sq=2, Sk=4, key_lengths=A([4, 2]), causal_alignment="bottom_right", alibi_slopes=A([.5])),
    22: qkv(22, Sq=4, window=[2, 1]),
    23: qkv(23, Sq=2, Ev=11),
    24: nank,
    25: scored([0, 800], scale=-1.0),
    26: past,
    28: qkv(28, Sq=6, alibi_slopes=A([.1])),
    29: qkv(29, Sq=4, mask=holes),
    30: qkv(30, Sq=1, Sk=4, softcap=1.0, alibi_slopes=A([.5])),
    31: qkv(31, Sq=2, Sk=3, scale=0.0, mask=A([[0., 1, 2]])),
}


def random_case(r):
    B, Hkv, group = r.integers(1, 4), r.integers(1, 4), r.integers(1, 4)
    Sq, Sk = r.choice([0, 1, 2, 3, 5, 8, 13, 17, 20], 2)
    d = qkv(int(r.integers(1 << 30)), B=B, Hq=Hkv * group, Hkv=Hkv, Sq=int(Sq), Sk=int(Sk), E=int(r.integers(1, 10)),
            Ev=int(r.integers(1, 12)))
    if r.random() < .2:
        d["key"] *= 30
    P = 0
    if r.random() < .3:
        P = int(r.choice([0, 1, 4, 9]))
        d["past_key"] = r.normal(size=(B, Hkv, P, d["key"].shape[3]))
        d["past_value"] = r.normal(size=(B, Hkv, P, d["value"].shape[3]))
    else:
        if r.random() < .4:
            d["key_lengths"] = r.integers(0, Sk + 1, B)
        if r.random() < .4:
            d["query_lengths"] = r.integers(0, Sq + 1, B)
    T = P + Sk
    if r.random() < .5:
        shape = [x if r.random() < .6 else 1 for x in (B, Hkv * group, Sq)] + [T]
        shape = shape[int(r.integers(0, 3)):]
        m = r.random(shape) < .7
        d["mask"] = m if r.random() < .5 else np.where(m, r.normal(size=shape) * 2, -np.inf)
    if r.random() < .4:
        d["sinks"] = r.normal(size=Hkv * group)
    if r.random() < .4:
        d["alibi_slopes"] = r.random(Hkv * group)
    if r.random() < .4:
        d["softcap"] = float(r.choice([0, 1.5, 20]))
    if r.random() < .4:
        d["window"] = [[None, int(r.integers(0, 6))][r.integers(2)] for _ in range(2)]
    if r.random() < .4:
        d["scale"] = float(r.choice([0, -.5, .7, 1]))
    d["is_causal"] = bool(r.random() < .5)
    d["causal_alignment"] = str(r.choice(["top_left", "bottom_right"]))
    if r.random() < .15 and d["value"].size:
        d["value"][tuple(r.integers(0, n) for n in d["value"].shape)] = r.choice([np.nan, np.inf, -np.inf])
    if r.random() < .15 and d["key"].size:
        d["key"][tuple(r.integers(0, n) for n in d["key"].shape)] = r.choice([np.nan, np.nan])
    return d


def cast(d, dtype):
    return {n: x.astype(dtype) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x for n, x in d.items()}


def counted(out, d):
    if "query_lengths" not in d:
        return out
    out = dict(out)
    for n in ("output", "weights", "logsumexp", "scores", "logits"):
        x = out[n].copy()
        for b, N in enumerate(d["query_lengths"]):
            x[b, :, N:] = 0
        out[n] = x
    return out


r = np.random.default_rng(60)
cases = [random_case(r) for _ in range(150)]
DT = (np.float64, np.float32, ml_dtypes.bfloat16, np.float16)
TOL = {np.float64: 1e-12, np.float32: 2e-5, ml_dtypes.bfloat16: 1e-2, np.float16: 2e-3}
answers = {(n, t): ref(**cast(d, t)) for n, d in enumerate(cases) for t in DT}
copy = lambda d: {n: x.copy(order="K") if isinstance(x, np.ndarray) and n != "value" else x for n, x in d.items()}

bad = 0
for file in sorted((here / "right").glob("*.py")):
    f = load("right/" + file.name)
    worst = {}
    for (n, t), a in answers.items():
        d = cast(cases[n], t)
        g = gap(counted(a, d), counted(f(**d), d))
        worst[t] = max(worst.get(t, (0,)), (g, n))
    fine = all(g <= TOL[t] for t, (g, _) in worst.items())
    bad += not fine
    print("right" if fine else "NOT RIGHT", file.name, {np.dtype(t).name: (float("%.1e" % g), n) for t, (g, n) in worst.items()})

refused = []
base_case = qkv(0, B=2, Hq=4, Hkv=2, Sq=3, Sk=5)
for change in (dict(query=np.ones((3, 4))), dict(key=np.ones((2, 2, 5, 3))), dict(value=np.ones((1, 2, 5, 4))),
               dict(value=np.ones((2, 1, 5, 4))), dict(value=np.ones((2, 2, 4, 4))), dict(query=np.ones((2, 3, 3, 4))),
               dict(key_lengths=A([1])), dict(key_lengths=A([1, 6])), dict(key_lengths=A([-1, 5])),
               dict(query_lengths=A([4, 1])), dict(mask=np.ones((3, 1), bool)), dict(mask=np.ones((2, 5), bool)),
               dict(mask=np.ones((2, 3, 5), bool)), dict(past_key=np.ones((2, 2, 3, 4)), past_value=np.ones((2, 2, 2, 4))),
               dict(past_key=np.ones((1, 2, 3, 4)), past_value=np.ones((1, 2, 3, 4))),
               dict(past_key=np.ones((2, 2, 3, 5)), past_value=np.ones((2, 2, 3, 4))),
               dict(past_key=np.ones((2, 1, 3, 4)), past_value=np.ones((2, 1, 3, 4))),
               dict(past_key=np.ones((2, 2, 3, 4)), past_value=np.ones((2, 2, 3, 4)), mask=np.ones((3, 5), bool))):
    refused.append(base_case | change)


def refuses(f, d):
    try:
        f(**d)
    except ValueError:
        return True
    return False


assert all(refuses(ref, d) for d in refused)
for n, entry in enumerate(json.loads((here / "batch.json").read_text()), 1):
    f = load(entry["file"])
    if n == 27:
        d = qkv(27, Sq=2, Sk=3) | dict(past_key=np.ones((1, 1, 2, 4)), past_value=np.ones((1, 1, 3, 4)))
        d["value"] = d["value"][:, :, :2]
        shown, how = refuses(ref, d) and not refuses(f, d), "takes what is to be refused"
    elif n == 18:
        d = copy(WITNESS[n])
        f(**d)
        how = gap({"mask": WITNESS[n]["mask"]}, {"mask": d["mask"]})
        shown = how > .1
    else:
        d = WITNESS[n]
        if n == 17:
            f(**d | dict(key_lengths=A([4, 2])))
        got = f(**copy(d))
        how = gap(counted(ref(**d), d), counted(got, d))
        shown = how > (1e-10 if n == 28 else 1e-3)
    agree = 0
    for m, d in enumerate(cases):  # how often it agrees, and that it lets its inputs be
        given = copy(d)
        agree += gap(counted(answers[m, np.float64], d), counted(load(entry["file"])(**given) if n == 17 else f(**given), d)) < 1e-12
        if n != 18:
            assert gap({k: x for k, x in d.items() if isinstance(x, np.ndarray)}, given) == 0, (n, m)
    if n != 27:
        assert all(refuses(f, d) for d in refused), n
    for t in DT:
        assert f(**cast(qkv(5, Sq=2), t))["output"].dtype == np.dtype(t)
    bad += not shown
    print("shown" if shown else "NOT SHOWN", entry["file"], how, f"agrees with base on {agree} of {len(cases)} random inputs")
print("all passed" if not bad else f"{bad} did not pass")
