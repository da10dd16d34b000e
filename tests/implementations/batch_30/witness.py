"""For each wrong file one input on which it differs from base; for each right file many on which it agrees.

    /tmp/w/blind/env/bin/python witness.py [--bland]
"""

import copy
import importlib.util
import pathlib
import sys

import numpy as np

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import base

BF, F16, F32, F64 = base.NAMES["bfloat16"], base.NAMES["float16"], base.NAMES["float32"], base.NAMES["float64"]
OP = "scaled_dot_product_attention"


def load(path):
    spec = importlib.util.spec_from_file_location("w_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, OP)


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def qkv(B=1, Hq=1, Hkv=None, Sq=3, Sk=5, E=4, Ev=None, dtype=F64, seed=0):
    Hkv = Hkv or Hq
    return dict(
        query=normal(seed, B, Hq, Sq, E).astype(dtype),
        key=normal(seed + 1, B, Hkv, Sk, E).astype(dtype),
        value=normal(seed + 2, B, Hkv, Sk, Ev or E).astype(dtype),
    )


def call(function, given):
    given = copy.deepcopy({k: v for k, v in given.items() if k != "key_view"})
    if "key" in given and not given["key"].flags.c_contiguous:
        given["key"] = np.array(given["key"], order="K", copy=True)
    try:
        result = function(**given)
    except ValueError as error:
        return {"refused": str(error)}, given
    except Exception as error:  # noqa: BLE001
        return {"raised": repr(error)}, given
    return result if isinstance(result, dict) else {"output": result}, given


def difference(right, wrong, rows=None):
    """The largest relative deviation of an output that both give; inf where one has NaN or infinity, or one refuses."""
    if set(right) & {"refused", "raised"} or set(wrong) & {"refused", "raised"}:
        return 0.0 if set(right) & set(wrong) & {"refused", "raised"} else np.inf, "refusal"
    worst, name = 0.0, "none"
    for key in right:
        if key not in wrong:
            continue
        a, b = np.asarray(right[key]), np.asarray(wrong[key])
        if a.shape != b.shape or (key in ("output", "present_key", "present_value") and a.dtype != b.dtype):
            return np.inf, key + " shape or dtype"
        a, b = a.astype(np.float64), b.astype(np.float64)
        if rows is not None and key not in ("present_key", "present_value"):
            a, b = a[rows], b[rows]
        if a.size == 0:
            continue
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(all="ignore"):
            gap = np.where(same, 0, np.abs(a - b) / (1 + np.abs(a)))
        gap = np.where(np.isnan(gap), np.inf, gap).max()
        if gap > worst:
            worst, name = gap, key
    return worst, name


W = {}


def first(name):
    def keep(make):
        W[name] = make
        return make
    return keep


@first("001")
def _():
    a = qkv(Sq=2, Sk=4)
    p = qkv(Sk=3, seed=9)
    return a | dict(past_key=p["key"], past_value=p["value"], is_causal=True)


@first("002")
def _():
    return qkv(Sq=6, Sk=3) | dict(window=[3, None])


@first("003")
def _():
    a = qkv(Sq=2, Sk=3)
    a["query"][:], a["key"][:] = 30, np.array([-30, 0, 30.0])[None, None, :, None]
    return a | dict(scale=-1.0)


@first("004")
def _():
    return qkv() | dict(scale=0.0, is_causal=True)


@first("005")
def _():
    a = qkv(Sq=1, Sk=20)
    a["key"][:, :, 16:] = -900 * a["query"] / (a["query"] ** 2).sum()
    return a | dict(window=[2, 0], causal_alignment="bottom_right", scale=1.0)


@first("006")
def _():
    return qkv(Hq=2, Sq=1, Sk=20) | dict(sinks=np.array([1.0, 2.0]))


@first("007")
def _():
    a = qkv(Sq=1, Sk=20)
    a["key"][:, :, :16] *= 0.1
    a["key"][:, :, 16:] = a["query"]
    return a


@first("008")
def _():
    a = qkv(Sq=1, Sk=600, dtype=BF)
    a["query"] = np.zeros_like(a["query"])
    a["value"] = np.ones_like(a["value"])
    return a


@first("009")
def _():
    a = qkv(Sq=2, Sk=301, dtype=BF)
    return a | dict(alibi_slopes=np.array([0.5]).astype(BF), is_causal=True, causal_alignment="bottom_right")


@first("010")
def _():
    return qkv(Sq=5) | dict(alibi_slopes=np.array([0.5]), sinks=np.array([0.3]), is_causal=True)


@first("011")
def _():
    return qkv() | dict(sinks=np.array([2.0]), mask=np.array([[True] * 5, [False] * 5, [True] * 5]))


@first("012")
def _():
    return qkv(E=9)


@first("013")
def _():
    m = np.random.default_rng(3).random((2, 3, 5)) < 0.6
    return qkv(B=2, Hq=2) | dict(mask=m)


@first("014")
def _():
    m = np.random.default_rng(3).random((3, 5)) < 0.6
    return qkv(B=3, Sq=3) | dict(mask=m)


@first("015")
def _():
    return qkv(B=2, Sq=1, Sk=6) | dict(
        window=[1, 0], key_lengths=np.array([6, 4]), causal_alignment="bottom_right", is_causal=True
    )


@first("016")
def _():
    m = np.array([True, False, True, True, False, True, False, True, True, True]).reshape(1, 2, 1, 5)
    return qkv(Hq=2, Hkv=1, Sq=1) | dict(mask=m)


@first("017")
def _():
    return qkv(Sq=17, Sk=17) | dict(is_causal=True)


@first("018")
def _():
    a, p = qkv(Sq=2, Sk=2), qkv(Sk=3, seed=9)
    return a | dict(past_key=p["key"], past_value=p["value"], mask=np.tril(np.ones((2, 2), bool)))


@first("019")
def _():
    a = qkv(Sq=2)
    a["key"][..., 0] = 100
    a["query"][:, :, 0, 0], a["query"][:, :, 1, 0] = 20, -20
    return a


@first("020")
def _():
    return qkv(dtype=F32) | dict(softcap=1e6)


@first("021")
def _():
    return qkv(Sq=5) | dict(is_causal=True, mask=~np.eye(1, 5, dtype=bool))


@first("022")
def _():
    m = np.ones((2, 3, 5), bool)
    m[1, 1] = False
    return qkv(Hq=2) | dict(mask=m)


@first("023")
def _():
    return qkv() | dict(mask=np.full((3, 5), -3e4))


@first("024")
def _():
    return qkv() | dict(mask=normal(5, 1, 1, 3, 5), alibi_slopes=np.array([0.5]))


@first("025")
def _():
    return [qkv(), qkv(seed=7) | dict(mask=np.array([[True] * 5, [False] * 5, [True] * 5]))]


@first("026")
def _():
    a = qkv(Sq=5)
    a["value"][0, 0, 4, 0] = np.nan
    return a | dict(is_causal=True)


@first("027")
def _():
    a = qkv(Sq=3) | dict(causal_alignment="bottom_right", is_causal=True)
    return [a | dict(query_lengths=np.array([3])), a | dict(query_lengths=np.array([1]))]


@first("028")
def _():
    a = qkv(B=2, Hq=2)
    a["key"] = np.ascontiguousarray(a["key"].transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    return a


@first("029")
def _():
    return qkv(Sk=19) | dict(mask=normal(5, 3, 19))


@first("030")
def _():
    a = qkv(Sq=1, Sk=20, Ev=1)
    a["key"][:, :, :16] = 11 * a["query"] / (a["query"] ** 2).sum()
    a["key"][:, :, 16:] = 0
    a["value"][:, :, :16], a["value"][:, :, 16:] = 0, 1000.0
    return a | dict(scale=1.0)


@first("031")
def _():
    return qkv(E=2, Ev=3)


def draw(seed, extremes=True):
    r = np.random.default_rng(seed)
    dtype = [F64, F32, BF, F16][seed % 4]
    B, Hkv, group = r.integers(1, 4), r.integers(1, 4), r.integers(1, 4)
    Hq, Sq, Sk, E, Ev = Hkv * group, r.integers(1, 8), r.integers(1, 9), r.integers(1, 8), r.integers(1, 8)
    if extremes and r.random() < 0.2:
        Sq, Sk = r.integers(0, 40), r.integers(0, 40)
    size = r.choice([1.0, 1.0, 1.0, 30.0]) if extremes else 1.0
    a = dict(
        query=(size * r.normal(size=(B, Hq, Sq, E))).astype(dtype),
        key=r.normal(size=(B, Hkv, Sk, E)).astype(dtype),
        value=r.normal(size=(B, Hkv, Sk, Ev)).astype(dtype),
    )
    P = 0
    if r.random() < 0.25:
        P = r.integers(0, 5)
        a["past_key"] = r.normal(size=(B, Hkv, P, E)).astype(dtype)
        a["past_value"] = r.normal(size=(B, Hkv, P, Ev)).astype(dtype)
    elif r.random() < 0.5:
        a["key_lengths"] = r.integers(0, Sk + 1, B)
        if r.random() < 0.5:
            a["query_lengths"] = r.integers(0, Sq + 1, B)
    chance = 0.3
    if r.random() < 2 * chance:
        shape = [s if r.random() < 0.6 else 1 for s in (B, Hq, Sq)] + [P + Sk]
        shape = shape[r.integers(0, 3):]
        if r.random() < 0.5:
            a["mask"] = r.random(shape) < 0.7
        else:
            a["mask"] = np.where(r.random(shape) < 0.8, r.normal(size=shape), -np.inf).astype(dtype)
    if r.random() < chance:
        a["sinks"] = r.normal(size=Hq).astype(dtype)
    if r.random() < chance:
        a["alibi_slopes"] = r.random(Hq).astype(dtype)
    if r.random() < 0.5:
        a["is_causal"] = True
    if r.random() < 0.5:
        a["causal_alignment"] = "bottom_right"
    if r.random() < chance:
        a["scale"] = float(r.choice([0.0, -0.5, 0.3, 1.0]))
    if r.random() < chance:
        a["softcap"] = float(r.choice([0.0, 1.0, 5.0, 50.0]))
    if r.random() < chance:
        a["window"] = [None if r.random() < 0.2 else int(r.integers(0, 4)) for _ in range(2)]
    if extremes and r.random() < 0.1 and Sk:
        a["value"][:, :, r.integers(0, Sk), 0] = np.nan
    return a


def limit(given):
    dtype = given["query"].dtype
    big = float(max(1, np.abs(given["query"].astype(np.float64)).max(initial=0)))
    return {F64: 1e-12, F32: 2e-5, BF: 2e-2, F16: 3e-3}[dtype] * big


def rows_of(given):
    if "query_lengths" not in given:
        return None
    B, Hq, Sq, _ = given["query"].shape
    rows = np.arange(Sq) < given["query_lengths"][:, None]
    return np.broadcast_to(rows[:, None, :], (B, Hq, Sq))


def count_differences(function, seeds, float32=False, extremes=True):
    bad = []
    for seed in seeds:
        given = draw(seed, extremes)
        right, _ = call(base.scaled_dot_product_attention, given)
        got, after = call(function, given)
        gap, name = difference(right, got, rows_of(given))
        most = limit(given)
        if float32:
            most = max(most, 2e-5 * float(max(1, np.abs(given["query"].astype(np.float64)).max(initial=0))))
        changed = [k for k, v in given.items() if isinstance(v, np.ndarray) and v.tobytes() != after[k].tobytes()]
        if not gap <= most or changed:
            bad.append((seed, gap, name, changed))
    return bad


def main():
    failed = 0
    for path in sorted((here / "wrong").glob("*.py")):
        made = W[path.stem[:3]]()
        calls = made if isinstance(made, list) else [made]
        function = load(path)
        for given in calls:
            right, _ = call(base.scaled_dot_product_attention, given)
            got, after = call(function, given)
        gap, name = difference(right, got, rows_of(given))
        changed = [k for k, v in given.items() if isinstance(v, np.ndarray) and v.tobytes() != after[k].tobytes()]
        shown = gap > 1e-2 or (gap > 1e-3 and given["query"].dtype == F64) or bool(changed)
        refused = "refused" in right
        failed += not shown
        line = f"{path.stem:40} {'shown' if shown else 'NOT SHOWN':10} {gap:9.3g} {name:12} {changed or ''} {'must be refused' if refused else ''}"
        if "--bland" in sys.argv:
            bad = count_differences(load(path), range(200), extremes=False)
            line += f"  bland {len(bad)}/200"
        print(line)
    for path in sorted((here / "right").glob("*.py")):
        bad = count_differences(load(path), range(1000, 1600), float32="float32" in path.stem)
        failed += bool(bad)
        print(f"{path.stem:40} {'agrees' if not bad else 'DISAGREES'} on 600 inputs {bad[:4]}")
    print("all shown" if not failed else f"{failed} FAILED")
    return failed


sys.exit(main() != 0)
