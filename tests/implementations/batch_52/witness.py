"""For every wrong file an input on which it differs from base, for every right file many on which it agrees."""
import importlib.util
import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base

BACK, MERGE, SOFT = "scaled_dot_product_attention_backward", "merge_states", "softmax"
RAW = {BACK: base.scaled_dot_product_attention_backward, MERGE: base.merge_states, SOFT: base.softmax}
DTYPES = {"float64": np.dtype(np.float64), "float32": np.dtype(np.float32), "float16": np.dtype(np.float16), "bfloat16": base.bfloat16}
NAN, INF = np.nan, np.inf


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_") + "_module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(function, given):
    given = {k: v.copy() if isinstance(v, np.ndarray) and v.flags.owndata and v.flags.writeable and v.flags.c_contiguous else v for k, v in given.items()}
    before = {k: v.tobytes() for k, v in given.items() if isinstance(v, np.ndarray)}
    try:
        result = function(**given)
    except ValueError as error:
        return "refused", {}, str(error)
    changed = [k for k, v in before.items() if given[k].tobytes() != v]
    if not isinstance(result, dict):
        result = {"output": result}
    return "ok", result, changed


def differ(a, b, tolerance):
    """The largest difference over tolerance, relative to the size of the array; infinite where NaN or shapes differ."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return INF
    a, b = a.astype(np.float64), b.astype(np.float64)
    if not a.size:
        return 0.0
    if (np.isnan(a) != np.isnan(b)).any() or (np.isinf(a) != np.isinf(b)).any():
        return INF
    good = np.isfinite(b)
    if (np.sign(a[~good & ~np.isnan(b)]) != np.sign(b[~good & ~np.isnan(b)])).any():
        return INF
    size = np.abs(b[good]).max(initial=0.0)
    return float(np.abs(a[good] - b[good]).max(initial=0.0) / (tolerance * max(size, 1e-300)))


ROUND = {"float64": 1e-10, "float32": 1e-4, "float16": 2e-2, "bfloat16": 8e-2}


def verdict(operation, function, given, dtype):
    """'' where the function agrees with base."""
    status, owed, _ = call(RAW[operation], given)
    got_status, got, note = call(function, given)
    if status != got_status:
        return f"{got_status} where base has {status}: {note}"
    if status == "refused":
        return ""
    if note:
        return f"edits {note}"
    bad = {}
    for name, array in owed.items():
        if name not in got:
            bad[name] = "missing"
            continue
        a, b = got[name], array
        rows = given.get("query_lengths")
        if operation == BACK and rows is not None and name in ("grad_query", "delta", "grad_scores"):
            keep = np.arange(a.shape[2])[None, :] < np.asarray(rows)[:, None]
            a = np.where(keep[:, None, :].reshape(keep.shape[0], 1, -1, *[1] * (a.ndim - 3)), a, np.zeros((), a.dtype)) if a.shape == b.shape else a
            b = np.where(keep[:, None, :].reshape(keep.shape[0], 1, -1, *[1] * (b.ndim - 3)), b, np.zeros((), b.dtype))
        d = differ(a, b, ROUND[dtype])
        if d > 1:
            bad[name] = d
    return " ".join(f"{k}:{v if isinstance(v, str) else format(v, '.3g')}" for k, v in bad.items())


rng = np.random.default_rng(52)


def n(*shape, dtype="float64", size=1.0):
    return (rng.normal(size=shape) * size).astype(DTYPES[dtype])


def back(B=2, H=4, K=2, Sq=3, Sk=5, E=4, V=3, dtype="float64", **more):
    given = dict(grad_output=n(B, H, Sq, V, dtype=dtype), query=n(B, H, Sq, E, dtype=dtype), key=n(B, K, Sk, E, dtype=dtype), value=n(B, K, Sk, V, dtype=dtype))
    given.update(more)
    return given


def merge(B=2, H=3, S=4, V=5, dtype="float64", **more):
    given = dict(output_a=n(B, H, S, V, dtype=dtype), logsumexp_a=n(B, H, S, dtype=dtype), output_b=n(B, H, S, V, dtype=dtype), logsumexp_b=n(B, H, S, dtype=dtype))
    given.update(more)
    return given


def with_at(array, index, number):
    array = array.copy()
    array[index] = number
    return array


def cases():
    """number -> (dtype, list of calls); the last one is held against base."""
    c = {}
    gl = n(2, 4, 3)
    dead = np.ones((3, 5), bool)
    dead[1] = False
    c[1] = back(sinks=n(4), grad_logsumexp=gl, mask=dead)
    c[2] = back(sinks=n(4), grad_logsumexp=gl, query_lengths=np.array([3, 1]))
    c[3] = back(B=4, mask=n(4, 3, 5))
    c[4] = back(alibi_slopes=np.array([0.5, 0.25, 1.0, 0.125]), causal_alignment="bottom_right", key_lengths=np.array([5, 2]))
    c[5] = back(Sq=4, Sk=24, is_causal=True, causal_alignment="bottom_right")
    stored = back(sinks=n(4))
    stored["output"], stored["logsumexp"] = base.forward(**{k: v for k, v in stored.items() if k != "grad_output"})
    c[6] = stored
    c[7] = back(grad_logsumexp=gl)
    late = np.ones((3, 5), bool)
    late[1, :2] = False
    c[8] = back(mask=late, is_causal=True)
    poisoned = back(is_causal=True)
    poisoned["grad_output"][0, 0, 0, 0] = NAN
    c[9] = poisoned
    c[10] = back(Sk=1, grad_logsumexp=gl)
    padded = back(query_lengths=np.array([3, 1]))
    padded["output"] = with_at(base.forward(**{k: v for k, v in padded.items() if k != "grad_output"})[0], np.s_[1, :, 1:], NAN)
    c[11] = padded
    c[12] = back()
    c[12]["grad_output"] = np.broadcast_to(n(2, 4, 3, 1), (2, 4, 3, 3))
    c[13] = back(grad_logsumexp=n(2, 4, 1))
    large = back(E=2, V=4, Sq=2, Sk=2, dtype="float16")
    large["grad_output"][:] = 200
    large["value"][:] = 200
    large["value"][:, :, 1] = 199
    c[14] = "float16", [large]
    many = back(B=1, H=1, K=1, Sq=700, Sk=2, dtype="bfloat16")
    many["grad_output"][:] = 1
    c[15] = "bfloat16", [many]
    first = back(is_causal=True, causal_alignment="bottom_right", query_lengths=np.array([3, 3]))
    c[16] = "float64", [first, dict(first, query_lengths=np.array([1, 2]))]
    la = n(2, 3, 4)
    empty = with_at(la, np.s_[0, 1, 2], -INF)
    c[17] = merge(logsumexp_a=empty, logsumexp_b=with_at(n(2, 3, 4), np.s_[0, 1, 2], -INF))
    c[18] = merge(logsumexp_a=empty)
    c[18]["output_a"][0, 1, 2] = NAN
    c[19] = merge(B=1, H=1, S=1, logsumexp_a=np.full((1, 1, 1), 20.0), logsumexp_b=np.zeros((1, 1, 1)))
    c[20] = merge(output_a=n(2, 4, 3, 5).swapaxes(1, 2))
    c[21] = merge(logsumexp_a=with_at(la, np.s_[0, 1, 2], -2000), logsumexp_b=with_at(n(2, 3, 4), np.s_[0, 1, 2], -2001))
    half = merge(dtype="float16")
    half["output_a"][0, 0, 0], half["output_b"][0, 0, 0] = 60000, 50000
    half["logsumexp_a"][0, 0, 0] = half["logsumexp_b"][0, 0, 0] = 1
    c[22] = "float16", [half]
    c[23] = merge(logsumexp_a=with_at(la, np.s_[0, 1, 2], NAN))
    c[24] = merge(logsumexp_b=n(2, 4, 3))
    c[25] = "bfloat16", [dict(x=np.zeros((2, 600), DTYPES["bfloat16"]))]
    c[26] = dict(x=n(3, 4).T, axis=None)
    c[27] = dict(x=n(3, 4), axis=None)
    c[28] = dict(x=np.array([-1000.0, -1001.0, -1002.0]))
    c[29] = dict(x=n(4, 1), axis=0)
    same = n(3, 4)
    c[30] = "float64", [dict(x=same, axis=0), dict(x=same, axis=None)]
    c[31] = dict(x=n(3, 3, 3), axis=0)
    return {k: v if isinstance(v, tuple) else ("float64", [v]) for k, v in c.items()}


def draw_back(dtype):
    B, K, G = rng.integers(1, 4), rng.integers(1, 3), rng.integers(1, 3)
    Sq, Sk, E, V = rng.integers(0, 8), rng.integers(0, 9), rng.integers(1, 5), rng.integers(1, 5)
    H = K * G
    given = back(B, H, K, Sq, Sk, E, V, dtype)
    yes = lambda p=0.3: rng.random() < p
    if yes():
        given["mask"] = rng.random((Sq, Sk)) < 0.6
    elif yes():
        shape = [(Sq, Sk), (H, Sq, Sk), (B, 1, 1, Sk), (1, Sq, Sk), (B, H, Sq, Sk), (H, 1, Sk)][rng.integers(6)]
        given["mask"] = n(*shape, dtype=dtype)
        given["mask"][rng.random(shape) < 0.3] = -INF
    if yes():
        given["key_lengths"] = rng.integers(0, Sk + 1, B)
        if yes(0.5):
            for b, length in enumerate(given["key_lengths"]):
                given["key"][b, :, length:] = given["value"][b, :, length:] = NAN
    if yes():
        given["query_lengths"] = rng.integers(0, Sq + 1, B)
    if yes():
        given["sinks"] = n(H, dtype=dtype)
    if yes():
        given["alibi_slopes"] = np.abs(n(H)).astype(DTYPES[dtype])
    if yes():
        given["grad_logsumexp"] = n(B, H, Sq, dtype=dtype)
    if yes():
        given["is_causal"] = True
    if yes(0.5):
        given["causal_alignment"] = "bottom_right"
    if yes():
        given["scale"] = [0.0, -0.5, 2.0][rng.integers(3)]
    if yes():
        given["softcap"] = [0.0, 1.5][rng.integers(2)]
    if yes():
        given["window"] = [[0, None], [2, 1], [None, 0], [1, 0]][rng.integers(4)]
    if yes():
        output, logsumexp = base.forward(**{k: v for k, v in given.items() if k not in ("grad_output", "grad_logsumexp")})
        if yes(0.7):
            given["output"] = output
        if yes(0.7):
            given["logsumexp"] = logsumexp
    if "query_lengths" in given and yes(0.7):
        for b, length in enumerate(given["query_lengths"]):
            for name in ("query", "grad_output", "output", "logsumexp", "grad_logsumexp"):
                if name in given:
                    given[name][b, :, length:] = NAN
    if yes(0.15) and Sq > 1 and V:
        given["grad_output"][0, 0, rng.integers(Sq), 0] = NAN
    return given


def draw_merge(dtype):
    B, H, S, V = rng.integers(0, 4, 4)
    given = merge(B, H, S, V, dtype)
    for part in "ab":
        size = [1, 10, 100, 1000][rng.integers(4)]
        name = "logsumexp_" + part
        given[name] = (given[name].astype(np.float64) * size).astype(DTYPES[dtype])
        gone = rng.random((B, H, S)) < 0.2
        given[name][gone] = -INF
        given["output_" + part][gone] = [0, NAN, INF, 1e4][rng.integers(4)]
    if given["output_a"].size and rng.random() < 0.2:
        given["output_a"][..., 0] = NAN
    return given


def draw_softmax(dtype):
    shape = tuple(rng.integers(1, 6, rng.integers(1, 5)))
    if rng.random() < 0.1:
        shape = (3, 300)
    x = n(*shape, dtype=dtype, size=[1, 30, 1000][rng.integers(3)])
    x = x + x.dtype.type([0, 500, -2000][rng.integers(3)])
    if rng.random() < 0.3:
        x = x.T
    if rng.random() < 0.3:
        x = x[::-1]
    axes = [None, *range(-x.ndim, x.ndim)]
    given = dict(x=x)
    if rng.random() < 0.8:
        given["axis"] = axes[rng.integers(len(axes))]
    return given


DRAWS = {BACK: draw_back, MERGE: draw_merge, SOFT: draw_softmax}


def main():
    batch = json.loads((HERE / "batch.json").read_text())
    shown = 0
    table = cases()
    modules = []
    for number, entry in enumerate(batch, 1):
        assert entry["file"].startswith(f"wrong/{number:03d}_"), entry
        dtype, calls = table[number]
        module = load(HERE / entry["file"])
        function = getattr(module, entry["operation"])
        modules.append((entry, function))
        for given in calls[:-1]:
            call(function, given)
        found = verdict(entry["operation"], function, calls[-1], dtype)
        shown += bool(found)
        print("shown " if found else "NOT   ", entry["file"], found)
    print(f"{shown} of {len(batch)} wrong files shown")
    agree = True
    rights = sorted((HERE / "right").glob("*.py"))
    for path in rights:
        module = load(path)
        operation = next(o for o in RAW if hasattr(module, o))
        count = bad = 0
        for dtype in DTYPES:
            for _ in range(150):
                given = DRAWS[operation](dtype)
                found = verdict(operation, getattr(module, operation), given, dtype)
                count += 1
                if found:
                    bad += 1
                    agree = False
                    if bad < 6:
                        print("   ", path.name, dtype, found, {k: v.shape if getattr(v, "ndim", 0) > 1 else v for k, v in given.items()})
        print(f"{path.name}: agrees on {count - bad} of {count}")
    if "--rate" in sys.argv:  # how often plain draws show each mistake: few
        for entry, function in modules:
            hits, why = 0, ""
            for dtype in ("float64", "float16"):
                for _ in range(60):
                    found = verdict(entry["operation"], function, DRAWS[entry["operation"]](dtype), dtype)
                    hits += bool(found)
                    why = why or found
            print(f"{entry['file']}: {hits} of 120 {why}")
    good = agree and shown == len(batch) == 31 and len(rights) == 4
    print("PASSED" if good else "FAILED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
