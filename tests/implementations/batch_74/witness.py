"""For every wrong file an input on which it differs clearly from base; for every right file many on which it agrees."""
import importlib.util
import json
import pathlib

import ml_dtypes
import numpy as np

import base

HERE = pathlib.Path(__file__).resolve().parent
TYPES = {"float64": np.float64, "float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
ITEMS = json.loads((HERE / "batch.json").read_text())
INF = np.inf


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copied(kw):
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in kw.items()}


def widest(x):
    return np.asarray(x).astype(np.float64)


def mha(r, b=2, h=2, sq=4, sk=None, e=3, biases=(), dtype="float64", **more):
    sk = sq if sk is None else sk
    d, t = h * e, TYPES[dtype]
    kw = dict(query=r.normal(size=(b, sq, d)), key=r.normal(size=(b, sk, d)), value=r.normal(size=(b, sk, d)))
    kw |= {w: r.normal(size=(d, d)) / np.sqrt(d) * 1.5 for w in ("w_query", "w_key", "w_value", "w_output")}
    kw |= {n: r.normal(size=d) for n in biases}
    return {k: v.astype(t) for k, v in kw.items()} | dict(num_heads=h) | more


def sha(r, s=4, d=5, dk=3, dv=4, do=None, dtype="float64", **more):
    kw = dict(x=r.normal(size=(s, d)), w_query=r.normal(size=(d, dk)), w_key=r.normal(size=(d, dk)), w_value=r.normal(size=(d, dv)))
    if do:
        kw["w_output"] = r.normal(size=(dv, do))
    return {k: v.astype(TYPES[dtype]) for k, v in kw.items()} | more


def cv(r, s=5, d=4, dtype="float64", **more):
    return {k: v.astype(TYPES[dtype]) for k, v in
            dict(encoder_states=r.normal(size=(s, d)), decoder_state=r.normal(size=d)).items()} | more


def call(function, kw):
    try:
        return function(**kw)
    except Exception as error:
        return error


UNIT = {"float64": 2e-16, "float32": 1.2e-7, "bfloat16": 8e-3, "float16": 1e-3}


def gap(got, want, loose=200):
    """0 where they agree within rounding; else a description."""
    if isinstance(want, Exception) or isinstance(got, Exception):
        return None if isinstance(want, ValueError) and isinstance(got, Exception) else f"raised {got!r:.80} / {want!r:.80}"
    for name, w in want.items():
        if name not in got:
            return f"{name} is missing"
        g = got[name]
        if g.shape != w.shape:
            return f"{name}: shape {g.shape} and not {w.shape}"
        if g.dtype != w.dtype:
            return f"{name}: dtype {g.dtype} and not {w.dtype}"
        unit = UNIT[str(w.dtype)]
        g, w = widest(g), widest(w)
        if (np.isnan(g) != np.isnan(w)).any() or (np.isinf(g) != np.isinf(w)).any():
            return f"{name}: not finite in other places"
        fine = np.isfinite(w)
        if fine.any():
            far = np.abs(g - w)[fine].max()
            size = max(1.0, np.abs(w[fine]).max())
            if far > (loose * unit if unit < 1e-4 else 6 * unit) * size:
                return f"{name}: off by {far:.3g} at size {size:.3g}"
    return None


R = np.random.default_rng(74)


def w01():
    kw = mha(R)
    kw["key"] = kw["query"]
    return [kw]


def w03():
    m = np.ones((4, 4), bool)
    m[2] = False
    return [mha(R, biases=("b_output",), mask=m)]


def w08():
    kw = mha(R, is_causal=True)
    return [kw | dict(mask=np.tril(np.ones((4, 4), bool), -1) | np.eye(4, dtype=bool) & (np.arange(4) != 2)), kw]


def w11():
    m = np.ones((2, 1, 1, 4), bool)
    m[1, ..., :2] = False
    return [mha(R, mask=m)]


def w14():
    kw = mha(R, is_causal=True)
    kw["w_query"] = kw["w_key"] = 20 * np.eye(6)
    kw["query"][:] = kw["key"][:] = np.arange(1, 5)[None, :, None]
    return [kw]


def w15():
    kw = mha(R)
    kw["query"] = np.ascontiguousarray(kw["query"].transpose(1, 0, 2)).transpose(1, 0, 2)
    return [kw]


def w16():
    m = np.ones((2, 4, 4), bool)
    m[1, 2] = False
    return [mha(R, mask=m)]


def w17():
    kw = mha(R)
    return [kw, kw | dict(value=R.normal(size=kw["value"].shape))]


def w22():
    kw = sha(R, dk=4)
    kw["x"] = 1 + np.abs(kw["x"])
    kw["w_query"], kw["w_key"] = np.full((5, 4), 20.0), np.full((5, 4), -20.0)
    return [kw]


def w23():
    kw = sha(R)
    return [kw, kw | dict(x=R.normal(size=kw["x"].shape))]


def w24():
    kw = sha(R, dk=4, d=4, dtype="float16", scale=2.0 ** -14)
    kw["w_query"] = kw["w_key"] = np.eye(4, dtype=np.float16)
    kw["x"] = (200 * np.array([[1, 1, 1, 1], [1, -1, 1, 0.5], [1, 1, -1, -1], [1, 0.5, 1, 1]])).astype(np.float16)
    return [kw]


def w31():
    kw = cv(R, s=24)
    kw["encoder_states"][20] = 2 * kw["decoder_state"]
    return [kw]


def with_one(kw, name, shape):
    return kw | {name: R.normal(size=shape)}


CASES = {
    1: w01,
    2: lambda: [mha(R, biases=("b_value",))],
    3: w03,
    4: lambda: [mha(R, mask=R.normal(size=(2, 4, 4)))],
    5: lambda: [mha(R, sq=1, sk=4, is_causal=True)],
    6: lambda: [mha(R, mask=np.abs(R.normal(size=(4, 4))), is_causal=True)],
    7: lambda: [mha(R, sq=20, is_causal=True)],
    8: w08,
    9: lambda: [mha(R, biases=("b_query",), scale=2.5)],
    10: lambda: [mha(R, mask=R.normal(size=(4, 4)), is_causal=True)],
    11: w11,
    12: lambda: [mha(R, mask=np.array([[0.0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0], [1, 0, 1, 0]]))],
    13: lambda: [mha(R, sk=37)],
    14: w14,
    15: w15,
    16: w16,
    17: w17,
    18: lambda: [sha(R)],
    19: lambda: [sha(R, do=4)],
    20: lambda: [sha(R, s=1, do=4)],
    21: lambda: [sha(R, s=17)],
    22: w22,
    23: w23,
    24: w24,
    25: lambda: [sha(R, do=4)],
    26: lambda: [cv(R, d=8)],
    27: lambda: [cv(R, s=4, d=3) | dict(decoder_state=R.normal(size=4))],
    28: lambda: [dict(encoder_states=np.array([[30.0, 2], [-30, 1], [10, 4]]), decoder_state=np.array([20.0, 1]), scale=-1.0)],
    29: lambda: [cv(R) | dict(decoder_state=R.normal(size=1))],
    30: lambda: [cv(R)],
    31: w31,
}


def differs(function, reference, calls):
    """What the first call that goes wrong does wrong."""
    kept = []
    for kw in calls:
        want = call(reference, copied(kw))
        before = copied(kw)
        got = call(function, kw)
        for name, a in before.items():
            if isinstance(a, np.ndarray) and a.tobytes() != np.asarray(kw[name]).tobytes():
                return f"{name} was edited"
            if isinstance(a, np.ndarray):
                kw[name] = a if not np.array_equal(a, kw[name], equal_nan=a.dtype.kind == "f") else kw[name]
        if isinstance(want, ValueError) and not isinstance(got, Exception):
            return "took what must be refused"
        found = gap(got, want, loose=1e6)
        if found:
            return found
        kept.append((got, {n: a.copy() for n, a in got.items()}))
        for old, then in kept:
            for n in then:
                if not np.array_equal(widest(old[n]), widest(then[n]), equal_nan=True):
                    return f"{n} of an earlier call was overwritten"
    return None


def random_case(op, r, dtype):
    if op == "context_vector":
        kw = cv(r, int(r.integers(1, 40)), int(r.integers(1, 9)), dtype)
        if r.random() < 0.4:
            kw["scale"] = float(r.choice([0.0, 1.0, -0.5, 2.0, 0.125]))
        return kw
    if op == "single_head_attention":
        n = lambda: int(r.integers(1, 7))
        kw = sha(r, int(r.integers(1, 36)), n(), n(), n(), n() if r.random() < 0.5 else None, dtype)
        if r.random() < 0.4:
            kw["scale"] = float(r.choice([0.0, 1.0, -0.5, 0.125]))
        return kw
    b, h, sq, sk = int(r.integers(1, 4)), int(r.integers(1, 4)), int(r.integers(1, 6)), int(r.integers(0, 20))
    biases = [n for n in ("b_query", "b_key", "b_value", "b_output") if r.random() < 0.5]
    kw = mha(r, b, h, sq, sk, int(r.integers(1, 5)), biases, dtype)
    if r.random() < 0.4:
        kw["scale"] = float(r.choice([0.0, 1.0, -0.5, 0.125]))
    if r.random() < 0.4:
        kw["is_causal"] = True
    if r.random() < 0.7:
        full = (b, h, sq, sk)
        shape = tuple(n if r.random() < 0.6 else 1 for n in full[:3])[3 - int(r.integers(1, 4)):] + (sk,)
        if r.random() < 0.5:
            kw["mask"] = r.random(shape) < 0.6
        else:
            m = r.normal(size=shape)
            m[r.random(shape) < 0.3] = -INF
            kw["mask"] = m.astype(TYPES[dtype])
    if r.random() < 0.1 and sk > 1:  # a NaN in a token of the values
        kw["value"][0, sk // 2] = np.nan
    return kw


def refusals(op):
    r = np.random.default_rng(5)
    if op == "context_vector":
        return [cv(r) | dict(decoder_state=r.normal(size=n)) for n in (3, 6)]
    if op == "single_head_attention":
        kw = sha(r, do=3)
        return [with_one(kw, n, s) for n, s in (("w_query", (5, 4)), ("w_key", (4, 3)), ("w_output", (5, 4)), ("x", (5,)))]
    kw = mha(r)
    return [with_one(kw, n, s) for n, s in (
        ("query", (4, 6)), ("key", (4, 6)), ("value", (1, 2, 4, 6)), ("key", (1, 4, 6)), ("value", (2, 5, 6)), ("mask", (3, 4)),
        ("mask", (3, 4, 4)), ("mask", (4, 1)), ("w_query", (6, 5)), ("b_value", (5,)))] + [kw | dict(num_heads=n) for n in (4, 5, 12)]


def main():
    failed = 0
    assert sorted(p.name for p in (HERE / "wrong").glob("*.py")) == [pathlib.Path(i["file"]).name for i in ITEMS]
    for number, item in enumerate(ITEMS, 1):
        module, op = load(HERE / item["file"]), item["operation"]
        shown = differs(getattr(module, op), getattr(base, op), CASES[number]())
        # elsewhere it should mostly be right
        module = load(HERE / item["file"])
        r, right, total, dtypes = np.random.default_rng(number), 0, 60, list(TYPES)
        for n in range(total):
            kw = random_case(op, r, dtypes[n % 4])
            right += differs(getattr(module, op), getattr(base, op), [kw]) is None
        taken = sum(not isinstance(call(getattr(module, op), kw), Exception) for kw in refusals(op))
        failed += shown is None
        print(f"{'ok ' if shown else 'NOT SHOWN'} {item['file']:44} right {right}/{total}, wrongly taken {taken}  {shown}")
    for path in sorted((HERE / "right").glob("*.py")):
        module = load(path)
        op = next(o for o in ("multi_head_attention", "single_head_attention", "context_vector") if hasattr(module, o))
        r, bad, worst = np.random.default_rng(9), 0, None
        for n in range(400):
            kw = random_case(op, r, list(TYPES)[n % 4])
            before = copied(kw)
            found = gap(call(getattr(module, op), kw), call(getattr(base, op), copied(kw)))
            if not found and any(isinstance(a, np.ndarray) and a.tobytes() != kw[k].tobytes() for k, a in before.items()):
                found = "edited its inputs"
            bad, worst = bad + bool(found), found or worst
        taken = sum(not isinstance(call(getattr(module, op), kw), Exception) for kw in refusals(op))
        failed += bool(bad or taken)
        print(f"{'ok ' if not (bad or taken) else 'BAD'} {path.name}: {bad} of 400 disagree, {taken} wrongly taken {worst or ''}")
    print("all shown" if not failed else f"{failed} FAILED")
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
