"""Shows that every wrong file differs from base within the contract, and that every right file agrees with it."""

import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base  # noqa: E402

SDPA = "scaled_dot_product_attention"
DTYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}


def load(file):
    spec = importlib.util.spec_from_file_location("m_" + pathlib.Path(file).stem, HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tensors(B=1, Hq=2, Hkv=None, Sq=3, Sk=4, E=4, Ev=3, seed=0, dtype=np.float64):
    r = np.random.default_rng(seed)
    Hkv = Hq if Hkv is None else Hkv
    make = lambda *shape: r.standard_normal(shape).astype(dtype)
    return dict(query=make(B, Hq, Sq, E), key=make(B, Hkv, Sk, E), value=make(B, Hkv, Sk, Ev))


def call(function, arguments):
    try:
        return function(**arguments)
    except Exception as error:
        return error


def difference(got, want, tolerance, rows=None):
    """None where all outputs agree, else what differs. Rows that do not count, and what stands in scores of excluded keys
    that hold NaN, are left out."""
    if isinstance(want, Exception):
        return None if isinstance(got, Exception) else "takes what must be refused"
    if isinstance(got, Exception):
        return f"raises {got!r}"
    for name in got:
        x, y = np.asarray(got[name]), want[name]
        if x.shape != y.shape:
            return f"{name} has the shape {x.shape}, not {y.shape}"
        if name in ("output", "present_key", "present_value") and x.dtype != y.dtype:
            return f"{name} has the dtype {x.dtype}"
        x, y = x.astype(np.float64), y.astype(np.float64)
        if rows is not None and not name.startswith("present"):
            counts = np.arange(y.shape[2]) < np.asarray(rows)[:, None]
            x, y = (np.moveaxis(z, 2, 1)[counts] for z in (x, y))
        with np.errstate(invalid="ignore"):
            near = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= tolerance * (1 + np.abs(y)))
        if not near.all():
            at = tuple(np.argwhere(~near)[0])
            return f"{name}{[int(i) for i in at]} is {x[at]:.6g}, not {y[at]:.6g}"
    return None


def copied(arguments):
    memo = {}
    return {k: memo.setdefault(id(v), v.copy(order="K")) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}


def swapped(x):
    return np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)


def witnesses():
    W = {}
    W[1] = [dict(tensors(B=2, Sq=2, Sk=40), key_lengths=np.array([10, 40]))]
    W[2] = [dict(tensors(Sq=32, Sk=32), is_causal=True, window=[20, None])]
    W[3] = [dict(tensors(Sq=21, Sk=21), is_causal=True)]
    t = tensors(Sq=2, Sk=20)
    t["key"][:, :, 16:] = 0
    t["key"][:, :, :16] = t["query"][:, :, :1] * 40 / (t["query"][:, :, :1] ** 2).sum(-1, keepdims=True)
    W[4] = [dict(t, scale=0.5)]
    W[5] = [tensors(Sk=40)]
    W[6] = [dict(tensors(Sk=40), sinks=np.array([1.0, 2.0]))]
    W[7] = [dict(tensors(), sinks=np.array([800.0, 0.0]))]
    W[8] = [dict(tensors(), softcap=1000.0)]
    t = tensors()
    t["key"][0, 0, 1, 0] = np.nan
    W[9] = [dict(t, softcap=2.0)]
    t = tensors()
    t["key"] *= 1000
    W[10] = [dict(t, scale=-1.0)]
    t = tensors(Sq=1, Sk=2)
    t["key"] = -t["query"] * np.array([1, 1.001])[:, None]
    t["query"], t["key"] = t["query"] * 40, t["key"] * 40
    W[11] = [dict(t, scale=1.0)]
    t = tensors(B=2)
    t["key"][1, :, 3] = np.nan
    W[12] = [dict(t, key_lengths=np.array([4, 2]))]
    W[13] = [dict(tensors(B=3, Sq=3), mask=np.array([[1, 0, 0, 1], [0, 1, 1, 1], [1, 1, 0, 0]], bool))]
    s = dict(tensors(Sq=2, Sk=5), alibi_slopes=np.array([0.5, 0.25]))
    W[14] = [s, dict(s, causal_alignment="bottom_right")]
    r = np.random.default_rng(5)
    W[15] = [dict(tensors(B=2, Hq=4, Hkv=2), mask=r.random((2, 1, 3, 4)) < 0.6)]
    W[16] = [dict(tensors(Sq=1), mask=np.ones((3, 4), bool))]
    t = tensors()
    W[17] = [dict(query=t["query"], key=t["key"][:, :, :3], value=t["value"], past_key=t["key"][:, :, :2],
                  past_value=t["value"][:, :, :1])]
    past = tensors(Sk=3, seed=1)
    W[18] = [dict(tensors(Sq=2, Sk=4), past_key=past["key"], past_value=past["value"], is_causal=True)]
    W[19] = [dict(tensors(Hq=4, Hkv=2, Sq=1), is_causal=True, causal_alignment="bottom_right")]
    W[20] = [dict(tensors(Sq=6, Sk=3), is_causal=True, causal_alignment="bottom_right")]
    W[21] = [dict(tensors(B=2), alibi_slopes=np.array([0.5, 0.25]), query_lengths=np.array([2, 3]),
                  causal_alignment="bottom_right")]
    t = tensors(Sk=3)
    W[22] = [dict(t, key=t["query"])]
    W[23] = [dict(tensors(B=2), query_lengths=np.array([2, 1]))]
    W[24] = [dict(tensors(), is_causal=True)]
    W[25] = [dict(tensors(), mask=r.standard_normal((1, 2, 3, 4)), alibi_slopes=np.array([0.5, 0.25]))]
    W[26] = [dict(tensors(B=2), key_lengths=np.array([0, 4]), sinks=np.array([1.0, 2.0]))]
    W[27] = [tensors(E=128)]
    t = tensors(Sq=4)
    t["value"][0, 0, 3, 0] = np.nan
    W[28] = [dict(t, is_causal=True)]
    t = tensors(Ev=4)
    W[29] = [dict(t, value=swapped(t["value"]))]
    t = tensors(dtype=np.float16)
    W[30] = [dict(t, query=t["query"] * np.float16(300), key=t["key"] * np.float16(1e-3), scale=500.0)]
    t = tensors(Sq=1, Sk=20)
    mask = np.ones((1, 20), bool)
    mask[:, :16] = False
    t["query"][:], t["key"][:] = 30, -30
    t["key"][:, :, 18] = -30.01
    W[31] = [dict(t, mask=mask)]
    return W


def wrong(entry, calls):
    function = getattr(load(entry["file"]), SDPA)
    found = None
    for arguments in calls:
        given = copied(arguments)
        want = call(base.scaled_dot_product_attention, copied(arguments))
        got = call(function, given)
        tolerance = 1e-2 if arguments["query"].dtype == np.float16 else 1e-10
        found = difference(got, want, tolerance, arguments.get("query_lengths"))
        for name, x in given.items():
            if isinstance(x, np.ndarray) and not np.array_equal(x, arguments[name], equal_nan=x.dtype != bool):
                found = f"{name} is changed"
    return found


def drawn(r, dtype):
    pick = lambda *choices: choices[r.integers(len(choices))]
    B, Hkv, G = int(pick(1, 1, 2, 3)), int(pick(1, 2, 3)), int(pick(1, 1, 2, 3))
    Hq, Sq, Sk, E, Ev = Hkv * G, int(pick(0, 1, 1, 2, 3, 5, 9)), int(pick(0, 1, 2, 4, 7, 18, 33)), int(pick(1, 3, 4, 8)), int(pick(1, 2, 5))
    make = lambda *shape: r.standard_normal(shape).astype(dtype)
    a = dict(query=make(B, Hq, Sq, E) * dtype(pick(1, 1, 4)), key=make(B, Hkv, Sk, E), value=make(B, Hkv, Sk, Ev))
    P = 0
    if r.random() < 0.3:
        P = int(pick(0, 1, 3, 6))
        a |= dict(past_key=make(B, Hkv, P, E), past_value=make(B, Hkv, P, Ev))
    else:
        if r.random() < 0.4:
            a["key_lengths"] = r.integers(0, Sk + 1, B)
        if r.random() < 0.4:
            a["query_lengths"] = r.integers(0, Sq + 1, B)
    T = P + Sk
    if r.random() < 0.5:
        shape = [n if r.random() < 0.6 else 1 for n in (B, Hq, Sq)][int(r.integers(0, 3)):] + [T]
        mask = r.random(shape) < 0.7
        a["mask"] = mask if r.random() < 0.5 else np.where(mask, r.standard_normal(shape), -np.inf).astype(dtype)
    if r.random() < 0.4:
        a["sinks"] = make(Hq)
    if r.random() < 0.4:
        a["alibi_slopes"] = np.abs(make(Hq))
    a |= dict(is_causal=bool(r.random() < 0.5), causal_alignment=str(pick("top_left", "bottom_right")))
    if r.random() < 0.4:
        a["scale"] = float(pick(0.0, -1.0, 0.5, 2.0))
    if r.random() < 0.3:
        a["softcap"] = float(pick(0.0, 0.5, 3.0, 50.0))
    if r.random() < 0.3:
        a["window"] = [pick(None, 0, 1, 4), pick(None, 0, 2, 9)]
    if r.random() < 0.15 and "key_lengths" in a and Sk:
        for b, n in enumerate(a["key_lengths"]):
            a["key"][b, :, n:] = np.nan
            a["value"][b, :, n:] = np.nan
    return a


def plain(n):
    r = np.random.default_rng(77)
    return [drawn(r, np.float64) for _ in range(n)]


def main():
    failed = 0
    batch = json.loads((HERE / "batch.json").read_text())
    calls = witnesses()
    usual = plain(60)
    wants = [call(base.scaled_dot_product_attention, copied(a)) for a in usual]
    assert not any(isinstance(w, Exception) for w in wants)
    assert [e["file"] for e in batch] == sorted(str(f.relative_to(HERE)) for f in (HERE / "wrong").glob("*.py"))
    for n, entry in enumerate(batch, 1):
        found = wrong(entry, calls[n])
        function = getattr(load(entry["file"]), SDPA)
        differ = [difference(call(function, copied(a)), w, 1e-10, a.get("query_lengths")) for a, w in zip(usual, wants)]
        share = sum(d is not None for d in differ) / len(usual)
        print(f"{'shown' if found else 'NOT SHOWN'}  {entry['file']}: {found}  (differs on {share:.0%} of usual inputs)")
        failed += not found
    for file in sorted((HERE / "right").glob("*.py")):
        function = getattr(load(file.relative_to(HERE)), SDPA)
        bad, count = [], 0
        for name, dtype in DTYPES.items():
            r = np.random.default_rng(3)
            for _ in range(150):
                a = drawn(r, dtype)
                given = copied(a)
                want, got = call(base.scaled_dot_product_attention, copied(a)), call(function, given)
                assert not isinstance(want, Exception), want
                found = difference(got, want, TOLERANCE[name], a.get("query_lengths"))
                for key, x in given.items():
                    if isinstance(x, np.ndarray) and x.tobytes() != a[key].tobytes():
                        found = f"{key} is changed"
                count += 1
                if found:
                    bad.append((name, found, {k: getattr(v, "shape", v) for k, v in a.items()}))
        print(f"{'agrees' if not bad else 'DISAGREES'}  right/{file.name} on {count} inputs", *bad[:2])
        failed += bool(bad)
    print("all shown" if not failed else f"{failed} FAILED")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main()))
