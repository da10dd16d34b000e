"""Shows every wrong file on one input, and tries every file at random."""
import collections
import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base  # noqa: E402

DT = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def named(out):
    return out if isinstance(out, dict) else {"output": out}


def same(op, got, want, args):
    got, want = named(got), named(want)
    if set(got) != set(want):
        return False
    for name in want:
        a, b = np.asarray(got[name]), np.asarray(want[name])
        if a.shape != b.shape or (op not in ("causal_mask",) and a.dtype != b.dtype) or (a.dtype == bool) != (b.dtype == bool):
            return False
        if op in ("split_heads", "combine_heads", "causal_mask"):
            if not np.array_equal(a.astype(np.float64), b.astype(np.float64), equal_nan=True):
                return False
            continue
        eps = max(float(ml_dtypes.finfo(b.dtype).eps), 0)
        x, y = a.astype(np.float64), b.astype(np.float64)
        bound = 4 * eps * np.abs(np.where(np.isfinite(y), y, 0)) + 1e-300
        if op == "apply_rotary":
            size = np.abs(np.where(np.isfinite(args["x"].astype(np.float64)), args["x"].astype(np.float64), 0)).max(axis=-1, keepdims=True, initial=0)
            bound = bound + 4 * (2.0**-23 if b.dtype != np.float64 else eps) * size * 2 + 1e-6 * (b.dtype == np.float16)
            r = 2 * args["cos"].shape[2]
            if not np.array_equal(x[..., r:], y[..., r:], equal_nan=True):
                return False
        if op == "rotary_tables":
            phase = np.abs(args["position_ids"].astype(np.float64)[..., None] * args["inverse_frequencies"].astype(np.float64))
            bound = bound + abs(args.get("attention_factor", 1)) * (2.0**-22 if b.dtype != np.float64 else 2 * eps) * (1 + phase)
            if b.dtype == np.float16:
                bound += 1e-7
        if op == "rotary_frequencies":
            bound = 1e-11 * np.abs(y) + 1e-300
        if op == "softmax":
            bound = bound + 40 * (2.0**-23 if b.dtype != np.float64 else eps) * np.abs(y) + 1e-7 * (b.dtype == np.float16) + 1e-38
        with np.errstate(all="ignore"):
            good = np.where(np.isfinite(y), np.abs(x - y) <= bound, (x == y) | (np.isnan(x) & np.isnan(y)))
        if not good.all():
            return False
    return True


def messy(rng, a):
    """The same values, lying differently in memory."""
    kind = rng.integers(5)
    if kind == 0:
        return a
    if kind == 1:
        return np.asfortranarray(a)
    if kind == 2:
        big = np.zeros(tuple(2 * n + 1 for n in a.shape), a.dtype)
        view = big[tuple(slice(1, None, 2) for _ in a.shape)]
        view[...] = a
        return view
    if kind == 3:
        return np.flip(np.ascontiguousarray(np.flip(a)))
    b = a.copy()
    b.setflags(write=False)
    return b


def draw_apply(rng, messy=messy):
    b, h, s = rng.integers(1, 4), rng.integers(1, 4), rng.choice([1, 2, 5, 7, 16, 40])
    pairs = rng.integers(0, 5)
    e = 2 * pairs + rng.choice([0, 0, 1, 2, 3, 4, 8, 6])
    dt = DT[rng.choice(list(DT))]
    x = rng.standard_normal((b, h, s, e)).astype(dt)
    if x.size and rng.random() < 0.15:
        x.reshape(-1)[rng.integers(x.size)] = rng.choice([np.nan, np.inf, -np.inf])
    phase = rng.uniform(0, 50, (b, s, pairs))
    td = dt if rng.random() < 0.6 or dt == np.float64 else np.float32
    out = {"x": messy(rng, x), "cos": messy(rng, np.cos(phase).astype(td)), "sin": messy(rng, np.sin(phase).astype(td))}
    if rng.random() < 0.7:
        out["pairing"] = rng.choice(["half", "interleaved"])
    return out


def draw_tables(rng):
    b, s, r = rng.integers(1, 4), rng.integers(0, 9), rng.integers(0, 6)
    p = rng.integers(0, rng.choice([10, 1000, 131072]), (b, s))
    if rng.random() < 0.4:
        p = np.arange(s) + rng.integers(0, 50, (b, 1))
    f = (10000.0 ** -np.linspace(0, 1, r)).astype(DT[rng.choice(list(DT))])
    out = {"position_ids": messy(rng, p), "inverse_frequencies": messy(rng, f)}
    if rng.random() < 0.5:
        out["attention_factor"] = float(rng.choice([1, 1.25, 0.5, 2]))
    return out


def draw_frequencies(rng):
    scaling = str(rng.choice(list(base.NEEDS)))
    width = int(2 * rng.integers(2, 40))
    out = {"width": width, "scaling": scaling, "theta": float(rng.choice([100, 10000, 500000]))}
    if scaling not in ("none",):
        out["factor"] = float(rng.choice([1, 2, 4, 8, 32.5]))
    if scaling in ("dynamic", "llama3", "longrope", "yarn") or rng.random() < 0.2:
        out["original_length"] = int(rng.choice([64, 2048, 8192]))
    if scaling in ("dynamic", "longrope") and rng.random() < 0.8:
        out["sequence_length"] = int(out["original_length"] * rng.choice([0.5, 1, 2, 7]))
    if scaling == "llama3":
        out |= {"low_frequency_factor": float(rng.choice([0, 1, 2])), "high_frequency_factor": float(rng.choice([4, 8]))}
    if scaling == "longrope":
        out |= {"short_factors": rng.uniform(1, 2, width // 2).tolist(), "long_factors": rng.uniform(1, 40, width // 2)}
    if scaling == "proportional":
        out["proportion"] = float(rng.choice([0, 0.25, 0.5, 1]))
        if rng.random() < 0.5:
            del out["factor"]
    if scaling == "yarn":
        if rng.random() < 0.4:
            out["truncate"] = False
        if rng.random() < 0.3:
            out |= {"beta_fast": 16, "beta_slow": float(rng.choice([2, 0.5]))}
        for name in ("magnitude_scaling", "magnitude_scaling_all_dimensions"):
            if rng.random() < 0.6:
                out[name] = float(rng.choice([0, 0.707, 1]))
    if rng.random() < 0.2:
        out["attention_factor"] = 1.5
    if scaling == "yarn":  # no case near a step, and none beyond the contract
        d = [width * np.log(out["original_length"] / (2 * np.pi * b)) / (2 * np.log(out["theta"])) for b in (out.get("beta_fast", 32), out.get("beta_slow", 1))]
        if d[0] > width - 1 or d[1] < 0 or any(abs(q - round(q)) < 1e-6 for q in d):
            return draw_frequencies(rng)
    return out


def draw_softmax(rng):
    shape = tuple(int(n) for n in rng.choice([1, 2, 3, 5, 20, 40], size=rng.integers(1, 4)))
    x = rng.standard_normal(shape) * rng.choice([0.1, 1, 30, 3000])
    if rng.random() < 0.2:
        y = np.where(rng.random(shape) < 0.3, -np.inf, x)
        x = y if np.isfinite(y).any(axis=-1).all() and all(np.isfinite(y).any(axis=k).all() for k in range(y.ndim)) else x
    out = {"x": messy(rng, x.astype(DT[rng.choice(list(DT))]))}
    if rng.random() < 0.7:
        out["axis"] = rng.choice([None, *range(-len(shape), len(shape))])
    return out


def draw_mask(rng):
    out = {"query_length": int(rng.integers(0, 40))}
    if rng.random() < 0.7:
        out["key_length"] = int(rng.integers(0, 40))
    if rng.random() < 0.7:
        out["offset"] = int(rng.integers(-45, 45))
    if rng.random() < 0.5:
        out["additive"] = bool(rng.integers(2))
    return out


def draw_split(rng):
    h = int(rng.integers(1, 6))
    x = rng.standard_normal((rng.integers(1, 4), rng.integers(0, 9), h * rng.integers(1, 6)))
    return {"x": messy(rng, x.astype(DT[rng.choice(list(DT))])), "num_heads": h}


def draw_combine(rng):
    x = rng.standard_normal(tuple(rng.integers(1, 7, size=4)))
    return {"x": messy(rng, x.astype(DT[rng.choice(list(DT))]))}


DRAW = {
    "apply_rotary": draw_apply, "rotary_tables": draw_tables, "rotary_frequencies": draw_frequencies, "softmax": draw_softmax,
    "causal_mask": draw_mask, "split_heads": draw_split, "combine_heads": draw_combine,
}
z = np.zeros
REFUSED = {
    "apply_rotary": [
        dict(x=z((1, 2, 4)), cos=z((1, 2, 2)), sin=z((1, 2, 2))), dict(x=z((1, 1, 2, 4)), cos=z((2, 2)), sin=z((2, 2))),
        dict(x=z((1, 1, 2, 4)), cos=z((1, 2, 2)), sin=z((1, 2, 1))), dict(x=z((1, 1, 2, 4)), cos=z((1, 1, 2)), sin=z((1, 1, 2))),
        dict(x=z((2, 1, 2, 4)), cos=z((1, 2, 2)), sin=z((1, 2, 2))), dict(x=z((1, 1, 2, 4)), cos=z((1, 2, 3)), sin=z((1, 2, 3))),
        dict(x=z((1, 1, 2, 1)), cos=z((1, 2, 1)), sin=z((1, 2, 1))), dict(x=z((1, 1, 2, 4)), cos=z((1, 2, 2)), sin=z((1, 2, 2)), pairing="full"),
    ],
    "rotary_tables": [dict(position_ids=z(3, int), inverse_frequencies=z(2)), dict(position_ids=z((1, 3), int), inverse_frequencies=z((1, 2)))],
    "rotary_frequencies": [
        dict(width=7), dict(width=0), dict(width=8, scaling="ntk"), dict(width=8, scaling="linear"), dict(width=8, scaling="yarn", factor=2),
        dict(width=8, scaling="dynamic", original_length=9), dict(width=8, scaling="llama3", factor=2, original_length=9, low_frequency_factor=1),
        dict(width=4, scaling="longrope", factor=2, original_length=9, short_factors=[1, 2]), dict(width=8, theta=0), dict(width=8, scaling="linear", factor=0),
        dict(width=4, scaling="longrope", factor=2, original_length=9, short_factors=[1, 2], long_factors=[1]),
        dict(width=4, scaling="longrope", factor=2, original_length=9, short_factors=[1, 2, 3], long_factors=[1, 2]),
        dict(width=8, scaling="yarn", factor=2, original_length=9, theta=1), dict(width=2, scaling="dynamic", factor=2, original_length=9),
        dict(width=8, scaling="llama3", factor=2, original_length=9, low_frequency_factor=4, high_frequency_factor=4), dict(width=8, scaling="proportional", proportion=1.5),
    ],
    "split_heads": [dict(x=z((1, 2, 7)), num_heads=3)],
    "combine_heads": [dict(x=z((2, 3, 4)))],
}


def refuses(f, args):
    try:
        f(**args)
    except (ValueError, TypeError, IndexError):
        return True
    return False


def glorot_good(f):
    for shape in ((64, 64), (40, 200), (300, 20)):
        for seed in (0, 1, 12345, 2**40):
            w = f(*shape, seed)
            n, sd = w.size, np.sqrt(2 / sum(shape))
            if w.shape != shape or abs(w.mean()) > 6 * sd / n**0.5 or abs(w.std() - sd) > 6 * sd / (2 * n) ** 0.5 or np.abs(w).max() <= 2.5 * sd:
                return False
            if not np.array_equal(w, f(*shape, seed)) or np.array_equal(w, f(*shape, seed + 1)):
                return False
            from math import erf
            cdf = np.array([0.5 * (1 + erf(v / sd / 2**0.5)) for v in np.sort(w.ravel())])
            if np.abs(cdf - (np.arange(n) + 0.5) / n).max() * n**0.5 > 3.2:
                return False
    return True


def at_random(f, op, times, seed=0):
    """How many of the inputs show something, and the kinds of exceptions."""
    if op == "glorot_normal":
        return int(not glorot_good(f)), {}
    rng = np.random.default_rng([seed, len(op)])
    bad, raised = 0, collections.Counter()
    for _ in range(times):
        args = DRAW[op](rng)
        before = {k: np.array(v) for k, v in args.items() if isinstance(v, np.ndarray)}
        want = getattr(base, op)(**args)
        try:
            got = f(**args)
            ok = same(op, got, want, {**args, **before})
            ok &= all(np.array_equal(before[k].astype(np.float64), args[k].astype(np.float64), equal_nan=True) for k in before)
        except Exception as error:
            raised[repr(error)[:90]] += 1
            ok = False
        bad += not ok
    return bad, raised


# ------------------------------------------------------------------ one input each: a list of calls, the last one is compared
R = np.random.default_rng(7)


def rot(b=1, h=2, s=4, e=8, pairs=4, dt=np.float64, **more):
    phase = R.uniform(0, 6, (b, s, pairs))
    return {"x": R.standard_normal((b, h, s, e)).astype(dt), "cos": np.cos(phase).astype(dt), "sin": np.sin(phase).astype(dt), **more}


def cases():
    yield 1, [rot()]
    a = rot(); a["x"][0, 0, 0, 0] = np.inf
    yield 2, [a]
    a = rot(pairing="half")
    yield 3, [a, {**a, "pairing": "interleaved"}]
    yield 4, [rot(s=33)]
    yield 5, [rot(e=13)]
    a = rot(); a["sin"] = a["cos"]
    yield 6, [a]
    a = rot(); a["cos"] = np.asfortranarray(a["cos"])
    yield 7, [a]
    f = 100.0 ** -np.linspace(0, 1, 4)
    yield 8, [dict(position_ids=np.array([[0, 1, 5]]), inverse_frequencies=f)]
    yield 9, [dict(position_ids=np.array([[65535, 65536]]), inverse_frequencies=f)]
    yield 10, [dict(position_ids=np.array([[1]]), inverse_frequencies=np.array([1, 1e-4], np.float32))]
    yield 11, [dict(position_ids=np.array([[0, 1, 2, 9], [0, 4, 2, 9]]), inverse_frequencies=f)]
    yield 12, [dict(width=64, scaling="llama3", theta=500000.0, factor=8, original_length=8192, low_frequency_factor=1, high_frequency_factor=4)]
    a = dict(width=16, scaling="dynamic", factor=2, original_length=64)
    yield 13, [{**a, "sequence_length": 500}, a]
    yield 14, [dict(width=16, scaling="yarn", factor=4, original_length=4096, magnitude_scaling=0.707, magnitude_scaling_all_dimensions=0)]
    yield 15, [dict(width=16, scaling="yarn", factor=4, original_length=4096, beta_fast=8, beta_slow=8, truncate=False)]
    yield 16, [dict(width=16, scaling="proportional", proportion=0.5)]
    yield 17, [dict(x=np.arange(6.0).reshape(2, 3), axis=0)]
    yield 18, [dict(x=np.r_[np.full(16, -np.inf), 1.0, 2.0])]
    yield 19, [dict(x=np.zeros(1000, ml_dtypes.bfloat16))]
    yield 20, [dict(query_length=3, key_length=0)]
    yield 21, [dict(query_length=20, offset=3)]
    x = R.standard_normal((2, 3, 12))
    yield 22, [dict(x=x, num_heads=2), dict(x=x, num_heads=3)]
    yield 23, [dict(x=x, num_heads=5)]
    yield 24, [dict(x=R.standard_normal((2, 3, 3, 2)))]
    yield 25, [dict(fan_in=40, fan_out=200, seed=3)]
    yield 26, [dict(fan_in=64, fan_out=64, seed=0)] * 2


def shown(number, op, f, calls):
    if op == "glorot_normal":
        outs = [f(**c) for c in calls]
        w, sd = outs[0], np.sqrt(2 / (calls[0]["fan_in"] + calls[0]["fan_out"]))
        return abs(w.std() - sd) > 6 * sd / (2 * w.size) ** 0.5 or not np.array_equal(outs[0], outs[-1])
    last = calls[-1]
    if refuses(getattr(base, op), last):
        return not refuses(f, last)
    before = {k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in last.items()}
    want = getattr(base, op)(**before)
    for call in calls:
        got = f(**call)
    changed = any(not np.array_equal(before[k].astype(float), last[k].astype(float), equal_nan=True) for k in before if isinstance(before[k], np.ndarray))
    return changed or not same(op, got, want, before)


if __name__ == "__main__":
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    batch = {int(b["file"][6:9]): b for b in json.loads((HERE / "batch.json").read_text())}
    fail = 0
    for number, calls in cases():
        b = batch[number]
        module = load(HERE / b["file"])
        f = getattr(module, b["operation"])
        ok = shown(number, b["operation"], f, calls)
        bad, raised = at_random(f, b["operation"], times)
        open_ = [i for i, a in enumerate(REFUSED.get(b["operation"], [])) if not refuses(f, a)]
        fail += not ok
        print(b["file"], "SHOWN" if ok else "NOT SHOWN", f"random {bad}/{times}", dict(raised), open_, flush=True)
    for path in [HERE / "base.py", *sorted((HERE / "right").glob("*.py"))]:
        module = load(path)
        for op in [*DRAW, "glorot_normal"]:
            if hasattr(module, op):
                f = getattr(module, op)
                bad, raised = at_random(f, op, 4 * times, seed=1)
                open_ = [i for i, a in enumerate(REFUSED.get(op, [])) if not refuses(f, a)]
                fail += bool(bad or open_)
                print(path.name, op, f"differs {bad}/{4 * times}", dict(raised), open_, flush=True)
    print("all as it should be" if not fail else f"{fail} FAILURES")
