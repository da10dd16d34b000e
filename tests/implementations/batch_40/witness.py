"""Shows that every wrong file differs clearly from base within the contract, and that every right file agrees."""

import importlib.util
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import ml_dtypes
import numpy as np

import base

BF16 = np.dtype(ml_dtypes.bfloat16)
SMALL = {np.dtype(np.float64): 1e-11, np.dtype(np.float32): 2e-4, np.dtype(np.float16): 6e-3, BF16: 4e-2}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.scaled_dot_product_attention


def qkv(seed, B=1, H=1, Sq=4, Sk=4, E=4, Ev=4, Hkv=None, dtype=np.float32, size=1.0):
    r = np.random.default_rng(seed)
    Hkv = H if Hkv is None else Hkv
    shapes = {"query": (B, H, Sq, E), "key": (B, Hkv, Sk, E), "value": (B, Hkv, Sk, Ev)}
    return {n: (size * r.standard_normal(x) if n != "value" else r.standard_normal(x)).astype(dtype) for n, x in shapes.items()}


def past(seed, P, B=1, Hkv=1, E=4, Ev=4, dtype=np.float32):
    r = np.random.default_rng(seed)
    return {n: r.standard_normal((B, Hkv, P, x)).astype(dtype) for n, x in (("past_key", E), ("past_value", Ev))}


def worst(expected, found, valid=None):
    """Largest difference over outputs both give; 9 for shape, dtype or NaN that differ. Also its output."""
    result = (0.0, None)
    for name, have in found.items():
        want = expected[name]
        if have.shape != want.shape:
            return 9.0, name
        if name in ("output", "present_key", "present_value") and have.dtype != want.dtype:
            return 9.0, name
        a, b = want.astype(np.float64), have.astype(np.float64)
        if valid is not None and name not in ("present_key", "present_value"):
            a, b = a[valid], b[valid]
        with np.errstate(all="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            off = np.where(same, 0, np.abs(a - b) / (1 + np.minimum(np.abs(a), 1e300)))
        off = np.where(np.isnan(off) | np.isinf(off), 9, off)
        if off.size and off.max() > result[0]:
            result = float(min(off.max(), 9)), name
    return result


def compare(call, args):
    return worst(base.scaled_dot_product_attention(**args), call(**args), valid_rows(args))


def valid_rows(args):
    """A selection of the rows that count, of (B, Hq, Sq, ...)."""
    if args.get("query_lengths") is None:
        return None
    B, H, S = args["query"].shape[:3]
    return np.broadcast_to((np.arange(S) < np.asarray(args["query_lengths"])[:, None])[:, None], (B, H, S))


def ints(*x):
    return np.array(x, np.int64)


# ---- one input for each wrong file


def equal_scores(Sq, Sk, B=1, H=1, dtype=np.float32, Ev=1):
    args = qkv(3, B=B, H=H, Sq=Sq, Sk=Sk, Ev=Ev, dtype=dtype)
    args["query"] = np.zeros_like(args["query"])
    return args


def w003():
    args = qkv(1, Sq=3, Sk=5, dtype=BF16)
    args["query"][:] = BF16.type(8)
    args["key"][:] = (np.arange(5)[:, None] / 16 + 12.375).astype(BF16)
    return args


def w006():
    args = qkv(2, Sq=2, Sk=32, dtype=np.float32)
    args["query"][:], args["key"][:] = 10, -10
    args["key"] += np.random.default_rng(0).standard_normal(args["key"].shape).astype(np.float32) / 10
    mask = np.ones((2, 32), bool)
    mask[:, :16] = False
    return args | {"mask": mask}


def w008():
    mask = np.ones((2, 4, 6), bool)
    mask[0] = False
    return qkv(8, H=2, Sq=4, Sk=6) | {"mask": mask}


def w009():
    args = qkv(9, Sq=3, Sk=4)
    args["query"][0, 0, 0], args["query"][0, 0, 2] = 40, -40
    args["key"][:] = 5 + np.arange(4)[:, None] / 8
    return args


def w010():
    args = qkv(10, Sq=3, Sk=5, size=10)
    return args | {"scale": -2.0}


def w011():
    return qkv(11, B=2, H=2) | {"mask": np.zeros((2, 2, 4, 4), np.float32), "is_causal": True}


def w017():
    mask = np.tril(np.ones((3, 5), bool), 1)
    return qkv(17, H=4, Hkv=2, Sq=3, Sk=5) | {"mask": mask}


def w024():
    return qkv(24) | {"mask": np.ones((4, 4), bool), "is_causal": True}


def w029():
    table = ints(*range(8)).reshape(4, 2).copy()
    table[:] = [[2, 5], [6, 1], [3, 2], [4, 4]]
    return qkv(29, B=4, Sq=2, Sk=6) | {"key_lengths": table[:, 0]}


SHOWN = {
    1: lambda: qkv(1, Sq=4, Sk=4) | past(1, 14) | {"is_causal": True},
    2: lambda: qkv(2, Sq=20, Sk=20) | {"is_causal": True, "window": [1, 0]},
    3: w003,
    4: lambda: qkv(4, Sq=20, Sk=20) | {"is_causal": True},
    5: lambda: qkv(5, Sq=2, Sk=20) | {"sinks": np.array([3.0], np.float32)},
    6: w006,
    7: lambda: qkv(7, Sq=2, Sk=20) | {"mask": np.broadcast_to(np.arange(20) >= 16, (2, 20)).copy() | np.eye(2, 20, dtype=bool)[:1] * ints(0, 1)[:, None].astype(bool)},
    8: w008,
    9: w009,
    10: w010,
    11: w011,
    12: lambda: equal_scores(2, 4) | {"sinks": np.array([100.0], np.float32)},
    13: lambda: equal_scores(1, 600, dtype=BF16) | {"value": np.ones((1, 1, 600, 1), BF16)},
    14: lambda: equal_scores(3, 400, dtype=BF16) | {"alibi_slopes": np.array([0.5], BF16), "causal_alignment": "bottom_right"},
    15: lambda: equal_scores(1, 5, Ev=3) | {"alibi_slopes": np.array([0.5], np.float32)},
    16: lambda: qkv(16, H=4, Hkv=2, Sq=1, Sk=5) | {"sinks": np.array([-1, 0, 1, 2], np.float32)},
    17: w017,
    18: lambda: qkv(18, Sq=2, Sk=4) | past(18, 3) | {"is_causal": True},
    19: lambda: qkv(19, B=2, Sq=2, Sk=6) | {"key_lengths": ints(6, 3), "causal_alignment": "bottom_right", "window": [1, 1]},
    20: lambda: qkv(20, B=2, Sq=4, Sk=6) | {"key_lengths": ints(6, 2), "causal_alignment": "bottom_right", "is_causal": True},
    21: lambda: qkv(21, Sq=6, Sk=3) | {"window": [2, None]},
    22: lambda: qkv(22) | {"is_causal": True, "window": [1, None]},
    23: lambda: qkv(23) | {"is_causal": True, "alibi_slopes": np.array([0.5], np.float32), "sinks": np.array([0.5], np.float32)},
    24: w024,
    25: lambda: qkv(25) | {"alibi_slopes": np.array([0.5], np.float32)},
    26: lambda: qkv(26, B=2) | {"key_lengths": ints(4, 2)},
    27: lambda: qkv(27) | {"window": [1, 2**31 - 1]},
    29: w029,
    30: lambda: qkv(30, Ev=40),
}


def shown(number, call):
    """How the file differs from base, or None."""
    if number == 28:
        first = qkv(28, Sq=2, Sk=6) | {"is_causal": True}
        second = qkv(29, Sq=2, Sk=2) | past(29, 4) | {"is_causal": True}
        assert compare(call, first)[0] < 1e-4
        off = compare(call, second)
        return f"second call, {off[1]} differs by {off[0]:.3g}" if off[0] > 0.05 else None
    if number == 31:
        args = qkv(31, H=4, Hkv=2) | {"mask": np.ones((1, 2, 4, 4), bool)}
        try:
            base.scaled_dot_product_attention(**args)
            return None
        except ValueError:
            call(**args)
            return "is not refused"
    args = SHOWN[number]()
    if number == 11:
        before = args["mask"].copy()
        base.scaled_dot_product_attention(**args)
        assert (args["mask"] == before).all()
        call(**args)
        return "the mask is edited" if not np.array_equal(args["mask"], before) else None
    off = compare(call, args)
    return f"{off[1]} differs by {off[0]:.3g}" if off[0] > 0.05 else None


# ---- random inputs


def draw(seed):
    r = np.random.default_rng(seed)
    pick = lambda *x: x[r.integers(len(x))]
    maybe = lambda p: r.random() < p
    dtype = np.dtype(pick(np.float64, np.float32, np.float32, np.float16, BF16))
    B, Hkv, group = pick(0, 1, 1, 2, 3, 2), pick(1, 2, 2, 3), pick(1, 1, 2, 3)
    if maybe(0.02):
        Hkv = 0
    Sq, Sk = pick(0, 1, 1, 2, 3, 5, 7, 18, 33), pick(0, 1, 2, 3, 5, 8, 17, 20, 34)
    if maybe(0.3):
        Sk = Sq
    E, Ev = pick(1, 2, 3, 4, 8), pick(1, 2, 4, 5, 40, 64)
    H = Hkv * group
    args = qkv(seed, B=B, H=H, Hkv=Hkv, Sq=Sq, Sk=Sk, E=E, Ev=Ev, dtype=dtype)
    P = 0
    if maybe(0.3):
        P = pick(0, 1, 3, 14, 17)
        args |= past(seed, P, B=B, Hkv=Hkv, E=E, Ev=Ev, dtype=dtype)
    elif maybe(0.4):
        if maybe(0.7):
            args["key_lengths"] = r.integers(0, Sk + 1, B)
        if maybe(0.5):
            args["query_lengths"] = r.integers(0, Sq + 1, B)
    total = P + Sk
    if maybe(0.4):
        shape = (B, H, Sq, total)[r.integers(3) :]
        shape = tuple(1 if i < len(shape) - 1 and maybe(0.3) else x for i, x in enumerate(shape))
        mask = r.random(shape) < 0.7
        if maybe(0.1):
            mask[:] = True
        if maybe(0.5):
            mask = np.where(mask, r.standard_normal(shape), pick(-np.inf, -3.0)).astype(dtype)
        args["mask"] = mask
    if maybe(0.3):
        args["sinks"] = r.standard_normal(H).astype(dtype)
    if maybe(0.3):
        args["alibi_slopes"] = r.random(H).astype(dtype)
    if maybe(0.5):
        args["is_causal"] = True
    args["causal_alignment"] = pick("top_left", "bottom_right")
    if maybe(0.3):
        args["scale"] = pick(0, 1, -0.5, 0.25)
    if maybe(0.3):
        args["softcap"] = pick(0, 0.5, 2.0)
    if maybe(0.4):
        args["window"] = pick([1, 0], [None, 0], [2, None], [3, 1], [0, 0], [17, 2], [20, None], [None, 3])
    if maybe(0.15):  # NaN behind the lengths, where nothing is attended
        if "key_lengths" in args:
            for b, n in enumerate(args["key_lengths"]):
                args["key"][b, :, n:], args["value"][b, :, n:] = np.nan, np.inf
    return args


def quantized(seed):
    r = np.random.default_rng(seed)
    args = qkv(seed, B=2, H=4, Hkv=2, Sq=3, Sk=20, size=2)
    kind = np.dtype((np.int8, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)[seed % 3])
    for name in ("query", "key", "value")[seed % 2 :]:
        args[name] = (args[name] * 3).astype(kind)
        args[name + "_scale"] = r.random([(), (2,), (2, 2), (2, 1)][seed % 4]).astype(np.float32)
    if not seed % 2:
        args["output_dtype"] = ("float32", "bfloat16", "float64", "float16")[seed // 2 % 4]
    return args


def roundoff(args):
    dtype = args["query"].dtype
    return SMALL.get(dtype, SMALL[np.dtype(base.FLOATS[args["output_dtype"]]) if "output_dtype" in args else BF16])


REFUSED = {
    "rank": lambda a: a | {"query": a["query"][0]},
    "width": lambda a: a | {"query": a["query"][..., :3]},
    "past width": lambda a: a | past(1, 2, B=2, Hkv=2, E=3),
    "past value width": lambda a: a | past(1, 2, B=2, Hkv=2, Ev=3),
    "batch": lambda a: a | {"key": a["key"][:1], "value": a["value"][:1]},
    "past batch": lambda a: a | past(1, 2, B=1, Hkv=2),
    "lengths batch": lambda a: a | {"key_lengths": ints(1)},
    "query lengths batch": lambda a: a | {"query_lengths": ints(1, 1, 1)},
    "grouped": lambda a: a | {"query": a["query"][:, :3]},
    "value heads": lambda a: a | {"value": a["value"][:, :1]},
    "past heads": lambda a: a | past(1, 2, B=2, Hkv=1),
    "length": lambda a: a | {"value": a["value"][:, :, :3]},
    "past length": lambda a: a | {"past_key": past(1, 2, B=2, Hkv=2)["past_key"], "past_value": past(1, 3, B=2, Hkv=2)["past_value"]},
    "negative": lambda a: a | {"key_lengths": ints(1, -1)},
    "above": lambda a: a | {"key_lengths": ints(1, 6)},
    "queries above": lambda a: a | {"query_lengths": ints(1, 5)},
    "mask": lambda a: a | {"mask": np.ones((3, 4, 5), bool)},
    "mask rows": lambda a: a | {"mask": np.ones((3, 5), bool)},
    "mask last": lambda a: a | {"mask": np.ones((4, 1), bool)},
    "mask last float": lambda a: a | {"mask": np.zeros((1, 1, 4, 4), np.float32)},
    "mask past": lambda a: a | past(1, 2, B=2, Hkv=2) | {"mask": np.ones((4, 5), bool)},
    "mask heads": lambda a: a | {"mask": np.ones((2, 2, 4, 5), bool)},
    "scale shape": lambda a: a | {"key": a["key"].astype(np.int8), "key_scale": np.ones(4, np.float32)},
}


def main():
    listed = json.loads((HERE / "batch.json").read_text()) if (HERE / "batch.json").exists() else []
    wrong = sorted((HERE / "wrong").glob("*.py"))
    right = sorted((HERE / "right").glob("*.py"))
    assert [x["file"] for x in listed] == [f"wrong/{x.name}" for x in wrong], "batch.json and files differ"
    failed = 0
    for path in wrong:
        how = shown(int(path.stem[:3]), load(path))
        failed += how is None
        print("ok  " if how else "FAIL", path.name, how)
    valid = qkv(0, B=2, H=4, Hkv=2, Sq=4, Sk=5)
    for path in [HERE / "base.py", *right, *wrong]:
        call = load(path)
        call(**valid)
        for name, change in REFUSED.items():
            try:
                call(**change(valid))
                print("     takes", name, "in", path.name)
                failed += not (path.name.startswith("031") and name == "mask heads")
            except ValueError:
                pass
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for path in right:
        call, off, n = load(path), 0, 0
        for seed in range(count):
            for args in (draw(seed), quantized(seed)) if seed % 5 == 0 else (draw(seed),):
                difference, name = compare(call, args)
                n += 1
                if difference > roundoff(args):
                    off += 1
                    print("     differs:", path.name, seed, name, difference, args["query"].dtype)
        failed += off
        print("FAIL" if off else "ok  ", path.name, f"agrees on {n} random inputs" if not off else f"differs on {off}")
    print(f"{len(wrong)} wrong, {len(right)} right;", "ALL SHOWN" if not failed else f"{failed} FAILED")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main()))
