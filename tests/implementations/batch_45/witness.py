"""For each wrong file an input on which it differs clearly from base; for each right file many on which it agrees."""
import copy
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

BF = ml_dtypes.bfloat16
DT = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": BF}
#         agreement (relative to 1 + |x|), clear difference
LIMITS = {"float64": (1e-12, 1e-10), "float32": (3e-5, 1e-3), "float16": (4e-3, 3e-2), "bfloat16": (3e-2, 2e-1)}


def load(file):
    spec = importlib.util.spec_from_file_location("m_" + pathlib.Path(file).stem, HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(function, arguments):
    """(outputs or None, refusal or None, whether inputs changed)"""
    given = {n: v if isinstance(v, np.ndarray) else copy.deepcopy(v) for n, v in arguments.items()}
    before = {n: copy.deepcopy(v) for n, v in given.items()}
    try:
        result, error = function(**given), None
    except base.Refused as refusal:
        result, error = None, refusal
    changed = any(
        not (np.array_equal(np.asarray(v).view(np.uint8) if isinstance(v, np.ndarray) and v.flags.c_contiguous and v.ndim else v,
                            np.asarray(before[n]).view(np.uint8) if isinstance(v, np.ndarray) and v.flags.c_contiguous and v.ndim else before[n]))
        if isinstance(v, np.ndarray) else v != before[n] for n, v in given.items())
    return result, error, changed


def worst(one, other, arguments, base2=False):
    """Greatest difference over the outputs that both have, relative to 1 + |right|; rows that do not count are left out."""
    most, where = 0.0, None
    for name in one:
        if name not in other:
            continue
        if one[name].shape != other[name].shape:
            return np.inf, name + " (shape)"
        if name in ("output", "present_key", "present_value") and one[name].dtype != other[name].dtype:
            return np.inf, name + " (dtype)"
        a, b = one[name].astype(np.float64), other[name].astype(np.float64)
        if base2 and name == "logsumexp":
            b = b * np.log(2)
        if arguments.get("query_lengths") is not None and not name.startswith("present"):
            a, b = a.copy(), b.copy()
            for n, length in enumerate(arguments["query_lengths"]):
                a[n, :, int(length):] = 0
                b[n, :, int(length):] = 0
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(all="ignore"):
            d = np.where(same, 0, np.abs(a - b) / (1 + np.abs(a)))
        d = np.where(np.isnan(d), np.inf, d)
        if d.size and d.max() > most:
            most, where = d.max(), name
    return most, where


def tensors(rng, B=1, Hq=2, Hkv=2, Sq=4, Sk=4, E=4, Ev=3, P=0, dtype="float64", size=1.0):
    t = DT[dtype]
    made = lambda *s: (np.round(rng.normal(size=s) * size * 64) / 64).astype(t)
    d = dict(query=made(B, Hq, Sq, E), key=made(B, Hkv, Sk, E), value=made(B, Hkv, Sk, Ev))
    if P:
        d |= dict(past_key=made(B, Hkv, P, E), past_value=made(B, Hkv, P, Ev))
    return d


def witnesses():
    r = np.random.default_rng(45)
    T = lambda **k: tensors(r, **k)
    W = {}
    W[1] = T(Sq=1, Sk=3) | dict(is_causal=True)
    W[2] = T(Sq=5, Sk=2) | dict(window=[2, None])
    W[3] = T(Sq=40, Sk=40) | dict(window=[4, 0])
    W[4] = T(Sq=30, Sk=40) | dict(is_causal=True, causal_alignment="bottom_right")
    W[5] = T(Sk=40) | dict(sinks=np.array([1.0, 2.0]))
    W[6] = T(Sq=2, Sk=40) | dict(is_causal=True)
    W[7] = T(Hq=4, Sq=1, Sk=6) | dict(window=[1, 0], causal_alignment="bottom_right")
    W[8] = T(B=2, Sq=4, Sk=5) | dict(alibi_slopes=np.array([0.5, 0.25]), query_lengths=np.array([4, 2]), causal_alignment="bottom_right")
    W[9] = T(B=2, Sk=5) | dict(key_lengths=np.array([3, 2]), mask=np.array([[True, False, True, True, False]]))
    W[10] = T(B=2) | dict(mask=r.random((2, 4, 4)) < 0.6)
    W[11] = T() | dict(is_causal=True, window=[1, 1])
    W[12] = T(E=1, Sk=2) | dict(scale=-1.0, query=np.full((1, 2, 4, 1), 40.0), key=np.array([-20.0, 20.0]).reshape(1, 1, 2, 1).repeat(2, 1))
    W[13] = T() | dict(is_causal=True)
    W[14] = T(Sk=600, dtype="bfloat16", size=0.1) | dict(value=np.ones((1, 2, 600, 3), BF))
    W[15] = T(E=2, Sk=2, Sq=1, Hq=1, Hkv=1, dtype="float16") | dict(scale=2.0**-15, query=np.full((1, 1, 1, 2), 256, np.float16), key=np.array([[128, 192], [256, 256]], np.float16).reshape(1, 1, 2, 2))
    W[16] = T(Sq=300, Sk=300, Hq=1, Hkv=1, E=2, Ev=2, dtype="bfloat16", size=2.0) | dict(is_causal=True)
    W[17] = T(B=2) | dict(is_causal=True, causal_alignment="bottom_right", key_lengths=np.array([4, 2]), query_lengths=np.array([2, 1]))
    W[18] = T(Hq=4) | dict(mask=np.round(r.normal(size=(4, 4, 4)), 2))
    W[19] = T(E=80)
    x = T(Sk=8)
    W[20] = x | dict(key=x["key"][:, :, ::2], value=x["value"][:, :, ::2])
    first = T() | dict(alibi_slopes=np.array([0.5, 0.25]))
    W[21] = [first, first | dict(alibi_slopes=np.array([1.0, 2.0]))]
    x = T()
    x["query"][0, 0, 1, 0] = np.nan
    W[22] = x
    x = T(Sk=40, Sq=1, E=1)
    x["query"][:] = 1
    x["key"][:, :, :32] = 30
    x["key"][:, :, 32:] = 8.5
    x["value"][:, :, 32:] = 64
    W[23] = x | dict(scale=1.0)
    W[24] = T(Sk=0) | dict(sinks=np.array([0.5, -1.0]))
    W[25] = T(Sq=5, Sk=2) | dict(is_causal=True, causal_alignment="bottom_right")
    W[26] = T(Sq=35, Sk=40) | dict(is_causal=True, causal_alignment="bottom_right")
    W[27] = T(Sq=5, Sk=3) | dict(is_causal=True)
    W[28] = T(Hq=3, Hkv=1) | dict(is_causal=True)
    W[29] = T(Sq=2) | dict(mask=np.array([[-20000.0] * 4, [0.0, 1.0, 0.0, 0.0]]))
    W[30] = T() | dict(is_causal=True, mask=np.array([[False, True, True, True]]))
    W[31] = T(size=2.0)
    return W


def random_case(rng):
    """A case with any features, small, within the pages."""
    dtype = rng.choice(list(DT))
    t = DT[dtype]
    Hkv = int(rng.integers(1, 4))
    B, Hq = int(rng.integers(1, 4)), Hkv * int(rng.integers(1, 4))
    big = rng.random() < 0.3
    Sq = int(rng.choice([1, 1, 2, 3, 5, 8])) if not big else int(rng.integers(1, 45))
    Sk = int(rng.choice([0, 1, 2, 3, 5, 8])) if not big else int(rng.integers(1, 75))
    if rng.random() < 0.3:
        Sk = Sq
    E, Ev = int(rng.choice([1, 3, 4, 8, 80])), int(rng.choice([1, 2, 5]))
    P = int(rng.choice([0, 0, 1, 3, 37]))
    d = tensors(rng, B, Hq, Hkv, Sq, Sk, E, Ev, P, dtype, size=float(rng.choice([0.5, 1.0])))
    K = P + Sk
    if not P and rng.random() < 0.4:
        d["key_lengths"] = rng.integers(0, Sk + 1, B)
    if not P and rng.random() < 0.4:
        d["query_lengths"] = rng.integers(0, Sq + 1, B)
    if rng.random() < 0.5:
        shape = [B if rng.random() < 0.5 else 1, Hq if rng.random() < 0.5 else 1, Sq if rng.random() < 0.6 else 1, K]
        shape = shape[4 - int(rng.integers(2, 5)):]
        if rng.random() < 0.5:
            d["mask"] = rng.random(shape) < 0.7
        else:
            m = np.round(rng.normal(size=shape) * 16) / 16
            d["mask"] = np.where(rng.random(shape) < 0.2, -np.inf, m).astype(t)
    if rng.random() < 0.3:
        d["sinks"] = (np.round(rng.normal(size=Hq) * 16) / 16).astype(t)
    if rng.random() < 0.3:
        d["alibi_slopes"] = (2.0 ** -rng.integers(1, 5, Hq)).astype(t)
    if rng.random() < 0.3:
        d["softcap"] = float(rng.choice([0.0, 2.0, 30.0]))
    if rng.random() < 0.4:
        d["scale"] = float(rng.choice([0.0, -0.5, 0.25, 1.0]))
    if rng.random() < 0.4:
        d["window"] = [None if rng.random() < 0.3 else int(rng.integers(0, 6)), None if rng.random() < 0.3 else int(rng.integers(0, 6))]
    d["is_causal"] = bool(rng.random() < 0.5)
    d["causal_alignment"] = str(rng.choice(["top_left", "bottom_right"]))
    return d, dtype


def strange_case(rng):
    """NaN and infinity, and quantized tensors, and views, and empty extents."""
    d, dtype = random_case(rng)
    kind = rng.integers(0, 4)
    if kind == 0:
        for name in ("query", "key", "value"):
            if rng.random() < 0.5 and d[name].size:
                d[name].reshape(-1)[rng.integers(d[name].size)] = np.nan
    elif kind == 1:
        d["value"] = np.ascontiguousarray(d["value"].swapaxes(1, 2)).swapaxes(1, 2)
        d["key"] = d["key"][..., ::-1]
    elif kind == 2 and "past_key" not in d:
        B, Hkv = d["key"].shape[:2]
        d["key"] = np.clip(d["key"].astype(np.float64) * 16, -127, 127).astype(np.int8)
        d["value"] = d["value"].astype(ml_dtypes.float8_e4m3fn)
        d["key_scale"] = rng.choice([0.25, 0.5, 0.125], (B, Hkv)).astype(np.float32)
        d["value_scale"] = rng.choice([0.25, 0.5, 2.0], (Hkv,)).astype(np.float32)
    elif kind == 3:
        cut = {n: v for n, v in d.items() if n not in ("key_lengths", "query_lengths", "mask")}
        for n in ("query", "key", "value", "past_key", "past_value"):
            if n in cut:
                cut[n] = cut[n][:0]
        d = cut
    return d, dtype


def refusals():
    r = np.random.default_rng(1)
    T = lambda **k: tensors(r, **k)
    x = T()
    yield x | dict(query=x["query"][0])
    yield x | dict(key=x["key"][..., :3])
    yield x | dict(key=np.repeat(x["key"], 2, 0))
    yield T(Hq=3, Hkv=2)
    yield T(Hq=2, Hkv=4)
    yield x | dict(value=x["value"][:, :1])
    yield x | dict(value=x["value"][:, :, :3])
    yield x | dict(key_lengths=np.array([5]))
    yield x | dict(query_lengths=np.array([-1]))
    yield x | dict(query_lengths=np.array([5]))
    yield x | dict(key_lengths=np.array([1, 1]))
    yield x | dict(mask=np.ones((4, 1), bool))
    yield x | dict(mask=np.ones((4, 3), bool))
    yield x | dict(mask=np.ones((3, 4, 4), bool))
    yield x | dict(mask=np.ones((1, 1, 2, 4, 4), bool))
    y = T(P=2)
    yield y | dict(past_key=y["past_key"][..., :3])
    yield y | dict(past_value=y["past_value"][:, :, :1])
    yield y | dict(past_value=y["past_value"][:, :1])
    yield y | dict(past_key=np.repeat(y["past_key"], 2, 0))
    yield x | dict(key=np.ones((1, 2, 4, 4), np.int8), key_scale=np.ones(3, np.float32))


def main():
    batch = json.loads((HERE / "batch.json").read_text())
    shown, bad = 0, []
    cases = witnesses()
    for number, entry in enumerate(batch, 1):
        module = load(entry["file"])
        dtype = None
        calls = cases[number] if isinstance(cases[number], list) else [cases[number]]
        for arguments in calls:
            wrong = call(module.scaled_dot_product_attention, arguments)
        right = call(base.scaled_dot_product_attention, calls[-1])
        dtype = next(n for n, t in DT.items() if calls[-1]["query"].dtype == t)
        assert right[1] is None and not right[2], entry["file"]
        size, where = worst(right[0], wrong[0], calls[-1]) if wrong[1] is None else (np.inf, "refused")
        if wrong[2]:
            size, where = np.inf, "an input was changed"
        ok = size > LIMITS[dtype][1]
        shown += ok
        print(f"{'shown' if ok else 'NOT SHOWN'}  {entry['file']}  {dtype}  {where}  {size:.3g}")
        if not ok:
            bad.append(entry["file"])
    agreed = 0
    files = sorted(p.relative_to(HERE).as_posix() for p in (HERE / "right").glob("*.py"))
    for file in files:
        module = load(file)
        base2 = getattr(module, "conventions", {}).get("logsumexp_base") == "2"
        rng, top = np.random.default_rng(7), 0.0
        trouble = None
        for n in range(400):
            arguments, dtype = random_case(rng) if n % 2 else strange_case(rng)
            right = call(base.scaled_dot_product_attention, arguments)
            other = call(module.scaled_dot_product_attention, arguments)
            assert right[1] is None and not right[2], right[1]
            if other[1] is not None or other[2]:
                trouble = f"case {n}: {other[1]}"
                break
            size, where = worst(right[0], other[0], arguments, base2)
            if size > LIMITS[dtype][0]:
                trouble = f"case {n}: {dtype} {where} {size}"
                break
            top = max(top, size / LIMITS[dtype][0])
        agreed += trouble is None
        print(f"{'agrees' if trouble is None else 'DISAGREES ' + trouble}  {file}  {top:.2g} of the limit")
    print(f"{shown} of {len(batch)} wrong files shown, {agreed} of {len(files)} right files agree")
    for file in [None] + [e["file"] for e in batch] + files:
        function = (base if file is None else load(file)).scaled_dot_product_attention
        for n, arguments in enumerate(refusals()):
            if call(function, arguments)[1] is None:
                print("NOT REFUSED", file, n)
                bad.append(file)
    return bool(bad) or agreed < len(files)


def rates():
    """How often each wrong file differs in random cases, for the author."""
    for entry in json.loads((HERE / "batch.json").read_text()):
        module = load(entry["file"])
        rng, hits, names = np.random.default_rng(11), 0, {}
        for n in range(200):
            arguments, dtype = random_case(rng) if n % 2 else strange_case(rng)
            right = call(base.scaled_dot_product_attention, arguments)
            wrong = call(module.scaled_dot_product_attention, arguments)
            size, where = worst(right[0], wrong[0], arguments) if wrong[1] is None else (np.inf, "refused")
            if wrong[2]:
                size, where = np.inf, "changed"
            if size > LIMITS[dtype][0]:
                hits += 1
                names[where] = names.get(where, 0) + 1
        print(f"{hits:4d} of 200  {entry['file']}  {names}")


if __name__ == "__main__":
    sys.exit(rates() if "--rates" in sys.argv else main())
