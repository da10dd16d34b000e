"""Shows each mistake on one input within the contract, and that all else agrees with base."""

import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import base

BF16 = ml_dtypes.bfloat16
DT = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": BF16}
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
TIMES = {"float64": 256, "float32": 256, "float16": 4, "bfloat16": 4}
OPS = ("multi_head_attention", "single_head_attention", "context_vector")
rng = np.random.default_rng(49)


def load(name):
    spec = importlib.util.spec_from_file_location("m_" + pathlib.Path(name).stem, HERE / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def op_of(module):
    return next(getattr(module, name) for name in OPS if hasattr(module, name))


def n(*shape, dtype="float64", by=1.0):
    return (rng.standard_normal(shape) * by).astype(DT[dtype])


def multi(B=2, Sq=3, Sk=4, D=6, H=2, dtype="float64", biases="qkvo", by=1.0, **more):
    args = {name: n(B, s, D, dtype=dtype, by=by) for name, s in (("query", Sq), ("key", Sk), ("value", Sk))}
    for name in ("w_query", "w_key", "w_value", "w_output"):
        args[name] = n(D, D, dtype=dtype, by=D**-0.5)
        if name[2] in biases:
            args["b" + name[1:]] = n(D, dtype=dtype)
    return args | {"num_heads": H} | more


def single(S=4, D=5, dk=3, dv=4, out=None, dtype="float64", **more):
    args = {"x": n(S, D, dtype=dtype), "w_query": n(D, dk, dtype=dtype, by=D**-0.5),
            "w_key": n(D, dk, dtype=dtype, by=D**-0.5), "w_value": n(D, dv, dtype=dtype, by=D**-0.5)}
    if out is not None:
        args["w_output"] = n(dv, out, dtype=dtype, by=dv**-0.5)
    return args | more


def context(S=4, D=5, dtype="float64", **more):
    return {"encoder_states": n(S, D, dtype=dtype), "decoder_state": n(D, dtype=dtype)} | more


def call(f, args):
    try:
        return f(**args)
    except Exception as error:  # a refusal, or a mistake
        return error


def differs(got, want, dtype, size=None):
    """Names of outputs that differ by far more than rounding."""
    if isinstance(got, Exception) or isinstance(want, Exception):
        both = isinstance(got, ValueError) and isinstance(want, ValueError)
        return [] if both else [f"{type(got).__name__} for {type(want).__name__}"]
    found = []
    if list(got) != list(want):
        found.append("names")
    for name in want:
        a, b = got[name], want[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            found.append(name + " (shape or dtype)")
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        if not a.size:
            continue
        finite = np.abs(b[np.isfinite(b)])
        scale = max(1.0, finite.max(initial=0))
        with np.errstate(all="ignore"):
            same = (np.abs(a - b) <= TIMES[dtype] * EPS[dtype] * scale) | (a == b) | (np.isnan(a) & np.isnan(b))
        if not same.all():
            found.append(name)
    return found


def copies(args):
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}


# ---- one witness for each wrong file: a function that returns what differs ----


def plain(args, dtype="float64"):
    def run(f, right):
        return differs(call(f, copies_like(args)), call(right, args), dtype)
    return run


def copies_like(args):
    return dict(args)  # the same arrays, with their strides


def w009():
    mask = np.zeros((3, 4))
    mask[1] = [-20000, -20001, -20002, -20001]
    return multi(mask=mask)


def w011():
    args = multi(B=1, Sq=2, Sk=3, D=4, H=2, dtype="float32", biases="")
    for name in ("w_query", "w_key", "w_value", "w_output"):
        args[name] = np.eye(4, dtype=np.float32)
    args["query"] = np.array([[[20, 0, 20, 0], [-20, 0, -20, 0]]], np.float32)
    args["key"] = np.array([[[10, 1, 10, 1], [11, 2, 11, 2], [12, 0, 12, 0]]], np.float32)
    return args


def w021():
    args = single(S=2, D=4, dk=2, dtype="float32")
    args["x"] = np.array([[20, 0, 0, 20], [20, 0, 0, 21]], np.float32)
    args["w_query"] = np.array([[1, 0], [0, 0], [0, 0], [0, 0]], np.float32)
    args["w_key"] = np.array([[0, 0], [0, 0], [0, 0], [0, 1]], np.float32)
    return args


def w025():
    args = single()
    packed = n(5, 10)
    return args | {"w_query": packed[:, :3], "w_key": packed[:, 3:6], "w_value": packed[:, 6:]}


def w014(f, right):
    one = multi()
    two = one | {"b_value": n(6)}
    f(**one)
    return differs(call(f, two), call(right, two), "float64")


def w015(f, right):
    mask = np.ones((2, 2, 4, 4), bool)
    args = multi(Sq=4, mask=mask, is_causal=True)
    same = differs(call(f, args), call(right, args | {"mask": np.ones((2, 2, 4, 4), bool)}), "float64")
    return (["the caller's mask"] if not mask.all() else []) + same


def w019(f, right):
    one, two = single(), single()
    first = f(**one)
    second = f(**two)
    assert not differs(second, right(**two), "float64")
    return differs(first, right(**one), "float64")


def w005():
    mask = np.ones((2, 3, 4), bool)
    mask[1, 2] = False
    return multi(mask=mask)


def w004():
    mask = np.ones((3, 4), bool)
    mask[1] = False
    return multi(mask=mask)


def half_mask():
    return n(3, 4, dtype="bfloat16")


WITNESSES = {
    1: plain(multi(Sq=4, mask=n(4, 4), is_causal=True)),
    2: plain(multi(Sq=1, is_causal=True)),
    3: plain(multi(biases="kv")),
    4: plain(w004()),
    5: plain(w005()),
    6: plain(multi(mask=n(2, 3, 4))),
    7: plain(multi(Sq=2, Sk=4, mask=np.array([[True, True, False, True], [True, False, True, True]]))),
    8: plain(multi(dtype="bfloat16", mask=half_mask()), "bfloat16"),
    9: plain(w009()),
    10: plain(multi(biases="q")),
    11: plain(w011(), "float32"),
    12: plain(multi(Sq=12, Sk=12, is_causal=True)),
    13: plain(multi(Sq=18, Sk=4, mask=np.array([[True, True, False, True], [False, True, True, True]])[:, None, None])),
    14: w014,
    15: w015,
    16: plain(multi(H=1)),
    17: plain(multi() | {"key": n(4, 6), "value": n(4, 6)}),
    18: plain(multi(Sk=1, mask=np.array([[True], [False], [True]]))),
    19: w019,
    20: plain(single(dk=3)),
    21: plain(w021(), "float32"),
    22: plain(single(out=4)),
    23: plain(single(S=1, out=4)),
    24: plain(single(S=20)),
    25: plain(w025()),
    26: plain({"encoder_states": np.array([[800.0, 1], [0, 2], [-800, 0]]), "decoder_state": np.array([1.0, 1]), "scale": -1.0}),
    27: plain(context()),
    28: plain(context() | {"decoder_state": n(1)}),
    29: plain({"encoder_states": np.array([[1e5, 1], [2, 3]]).astype(BF16), "decoder_state": np.array([1e-5, 1]).astype(BF16)}, "bfloat16"),
    30: plain(context() | {"encoder_states": n(5, 4).T}),
    31: plain(context(S=1)),
}


# ---- random inputs ----


def random_args(op, dtype):
    r = rng.integers
    if op == "context_vector":
        args = context(int(r(1, 12)), int(r(1, 9)), dtype)
    elif op == "single_head_attention":
        dv = int(r(1, 6))
        args = single(int(r(1, 24)), int(r(1, 6)), int(r(1, 6)), dv, [None, int(r(1, 6)), dv][r(3)], dtype)
    else:
        H, E, B, Sq, Sk = (int(r(1, m)) for m in (4, 4, 4, 21, 21))
        args = multi(B, Sq, Sk, H * E, H, dtype, "".join(c for c in "qkvo" if r(2)))
        shape = [[Sq, Sk], [H, Sq, Sk], [B, 1, Sq, Sk], [B, H, Sq, Sk], [B, 1, 1, Sk], [1, Sk]][r(6)]
        kind = r(4)
        if kind == 1:
            args["mask"] = rng.random(shape) < 0.7
        if kind >= 2:
            mask = rng.standard_normal(shape)
            mask[rng.random(shape) < 0.3] = -np.inf
            args["mask"] = mask.astype(DT[dtype])
        if r(2):
            args["is_causal"] = True
    if r(3) == 0:
        args["scale"] = float([0.5, 1, 0, -0.75, 2][r(5)])
    for name, array in args.items():
        if isinstance(array, np.ndarray) and r(3) == 0:
            args[name] = (np.asfortranarray(array), np.repeat(array, 2, axis=-1)[..., ::2], array[::-1].copy()[::-1])[r(3)]
    return args


def nonfinite_args(op, dtype):
    args = random_args(op, dtype)
    name = {"context_vector": "encoder_states", "single_head_attention": "x"}.get(op) or ["key", "value", "query"][rng.integers(3)]
    array = args[name].copy()
    array[..., rng.integers(array.shape[-2]), rng.integers(array.shape[-1])] = np.nan
    return args | {name: array}


def refused(op):
    m, c, s = multi(), context(), single()
    if op == "context_vector":
        return [c | {"decoder_state": n(4)}, c | {"decoder_state": n(1)}, context(D=1) | {"decoder_state": n(3)}]
    if op == "single_head_attention":
        return [s | {"w_query": n(4, 3)}, s | {"w_query": n(5, 4)}, single(out=2) | {"w_output": n(3, 2)}]
    more = [m | {"num_heads": k} for k in (4, 5, 12)]
    more += [m | {name: a} for name in ("query", "key", "value") for a in (m[name][0], m[name][None])]
    more += [m | {"key": n(4, 6), "value": n(4, 6)}, m | {"key": n(2, 5, 6)}, m | {"key": n(1, 4, 6)}, m | {"w_key": n(6, 5)},
             m | {"b_value": n(5)}, m | {"mask": np.ones((3, 5), bool)}, m | {"mask": np.ones((3, 3, 4), bool)},
             m | {"mask": np.ones(4, bool)}]
    return more


def main():
    bad = []
    batch = json.loads((HERE / "batch.json").read_text())
    files = sorted(p.relative_to(HERE).as_posix() for p in (HERE / "wrong").glob("*.py"))
    if [entry["file"] for entry in batch] != files or len(files) != 31:
        bad.append("batch.json and files")
    for number, name in enumerate(files, 1):
        module = load(name)
        f = op_of(module)
        right = getattr(base, f.__name__)
        found = WITNESSES[number](f, right)
        if not found:
            bad.append(name)
        # how common the mistake is, and whether anything else is wrong
        f = op_of(load(name))
        tries = off = nan_off = unlike = 0
        for _ in range(12):
            for dtype in module.dtypes:
                args = random_args(f.__name__, dtype)
                before = copies(args)
                got = call(f, args)
                off += bool(differs(got, right(**before), dtype))
                tries += 1
                changed = [k for k in args if isinstance(args[k], np.ndarray) and args[k].tobytes() != before[k].tobytes()]
                if changed and number != 15:
                    bad.append(f"{name} changes {changed}")
        for _ in range(6):
            for dtype in module.dtypes:
                args = nonfinite_args(f.__name__, dtype)
                nan_off += bool(differs(call(f, args), call(right, copies(args)), dtype))
        for args in refused(f.__name__):
            assert isinstance(call(right, args), ValueError)
            unlike += not isinstance(call(f, args), ValueError)
        if unlike and number not in (17, 28):
            bad.append(f"{name} does not refuse")
        print(f"{name:36} differs in {found}; off in {off} of {tries} random, {nan_off} of 24 with NaN, refuses not {unlike}")
    for path in sorted((HERE / "right").glob("*.py")):
        name = path.relative_to(HERE).as_posix()
        module = load(name)
        f = op_of(module)
        right = getattr(base, f.__name__)
        tries = 0
        for round_ in range(60):
            for dtype in module.dtypes:
                args = (nonfinite_args if round_ % 4 == 3 else random_args)(f.__name__, dtype)
                before = copies(args)
                got, want = call(f, args), right(**before)
                if f.__name__ == "multi_head_attention" and "gathered" in name:
                    # excluded keys have the weight 0, or NaN where all else of the row is: both are right
                    shape = want["weights"].shape
                    seen, _ = base.allowed_and_bias(before.get("mask"), before.get("is_causal"), shape, DT[dtype])
                    nan = np.isnan(want["weights"].astype(np.float64))
                    want["weights"][~seen & nan] = 0
                found = differs(got, want, dtype)
                tries += 1
                if found or any(isinstance(args[k], np.ndarray) and args[k].tobytes() != before[k].tobytes() for k in args):
                    bad.append(f"{name} {dtype} {found}")
        for args in refused(f.__name__):
            if not isinstance(call(f, args), ValueError):
                bad.append(f"{name} does not refuse")
        print(f"{name:36} agrees on {tries}")
    print("bad:", bad if bad else "nothing; the witness passed for all")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
