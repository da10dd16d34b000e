"""Shows every mistake on an input within the pages, and that the right files agree with base on many."""
import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import base  # noqa: E402

BF, F16, F32, F64 = (np.dtype(d) for d in (ml_dtypes.bfloat16, np.float16, np.float32, np.float64))
UNIT = {F64: 2.0**-53, F32: 2.0**-24, F16: 2.0**-11, BF: 2.0**-8}
INF, NAN = np.inf, np.nan


def load(file):
    spec = importlib.util.spec_from_file_location("m_" + file.replace("/", "_")[:-3], here / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def mha(seed=0, B=2, Sq=3, Sk=4, H=2, E=2, dtype=F64, biases="", size=1.0, **more):
    r = np.random.default_rng(seed)
    D = H * E

    def n(*shape):
        return (r.standard_normal(shape) * size).astype(dtype)

    given = dict(query=n(B, Sq, D), key=n(B, Sk, D), value=n(B, Sk, D), w_query=n(D, D), w_key=n(D, D), w_value=n(D, D),
                 w_output=n(D, D), num_heads=H)
    for letter, name in zip("qkvo", ("b_query", "b_key", "b_value", "b_output")):
        bias = n(D)
        if letter in biases:
            given[name] = bias
    return given | more


def single(seed=0, S=4, D=3, d_k=2, d_v=3, out=None, dtype=F64, size=1.0, **more):
    r = np.random.default_rng(seed)

    def n(*shape):
        return (r.standard_normal(shape) * size).astype(dtype)

    given = dict(x=n(S, D), w_query=n(D, d_k), w_key=n(D, d_k), w_value=n(D, d_v))
    if out:
        given["w_output"] = n(d_v, out)
    return given | more


def context(seed=0, S=5, D=3, dtype=F64, size=1.0, **more):
    r = np.random.default_rng(seed)
    return dict(encoder_states=(r.standard_normal((S, D)) * size).astype(dtype),
                decoder_state=(r.standard_normal(D) * size).astype(dtype)) | more


def flags(shape, *off):
    mask = np.ones(shape, bool)
    for place in off:
        mask[place] = False
    return mask


def nan_key():
    given = mha(2)
    given["key"][0, 1] = NAN
    return given


def far_heads():
    D = 4
    given = mha(3, B=1, Sq=2, Sk=3)
    given |= {name: np.eye(D) for name in ("w_query", "w_key", "w_value", "w_output")}
    given["query"] = np.array([[[40.0, 0, 1, 0], [1, 0, 40, 0]]])
    given["key"] = np.array([[[40.0, 0, 1, 0], [30, 0, 2, 0], [35, 0, 40, 0]]])
    given["key"][0, :, 2] = [1, 2, -3]
    return given


def one_buffer():
    given = mha(4, B=1)
    buffer = np.random.default_rng(9).standard_normal((2, 1, 4, 4))
    return given | {"key": buffer[0], "value": buffer[1]}


def backwards():
    given = context(5)
    return given | {"encoder_states": given["encoder_states"][::-1]}


def low_scores():
    return dict(x=np.array([[40.0, 1], [38, -1], [41, 2]]), w_query=-np.eye(2), w_key=np.eye(2), w_value=np.eye(2))


tied = single(6)
tied["w_key"] = tied["w_query"]
twice = mha(7, biases="v")
big = dict(encoder_states=(np.eye(64)[:4] * 8 + 40).astype(F16), decoder_state=np.full(64, 40, F16))
big["decoder_state"][0] = 40.25
rising = context(8, S=70)
rising["encoder_states"] = rising["encoder_states"][np.argsort(rising["encoder_states"] @ rising["decoder_state"])]
wide = np.random.default_rng(1).random((2, 2, 3, 4)) < 0.6
wide[..., 0] = True

# file number: the calls, one after another; the last is compared (or what it does to inputs, earlier outputs, refusals)
SHOWN = {
    1: [mha(biases="qv")],
    2: [mha(mask=np.random.default_rng(3).standard_normal((2, 3, 4)))],
    3: [mha(mask=np.random.default_rng(3).standard_normal((2, 2, 3, 4)))],
    4: [mha(Sk=1, mask=flags((3, 1), (1, 0)))],
    5: [mha(Sq=40, Sk=40, is_causal=True)],
    6: [mha(mask=flags((2, 3, 4), (1, 2)))],
    7: [mha(biases="v", mask=flags((3, 4), 1))],
    8: [mha(biases="o", Sk=0)],
    9: [mha(H=3)],
    10: [nan_key()],
    11: [twice, twice | {"b_value": twice["b_value"] + 1}],
    12: [mha(mask=wide.copy(), is_causal=True)],
    13: [mha(Sq=2, Sk=3)],
    14: [far_heads()],
    15: [mha(H=1, E=4)],
    16: [one_buffer()],
    17: [mha(Sq=4, Sk=3, is_causal=True, mask=flags((4, 3), (2, 1), (3, 0)))],
    18: [single(out=2)],
    19: [tied],
    20: [single(scale=-0.5)],
    21: [single(S=1)],
    22: [low_scores()],
    23: [single(S=700, dtype=BF, size=0.25)],
    24: [single(size=6.0)],
    25: [single(1), single(2)],
    26: [big],
    27: [rising],
    28: [context(scale=0.25)],
    29: [backwards()],
    30: [dict(encoder_states=np.ones((3, 4)), decoder_state=np.ones(1))],
    31: [context(D=3), context(D=7)],
}


def run(module, operation, calls):
    """What the last call gave, or 'refused'; whether inputs or earlier outputs changed."""
    results, copies, changed = [], [], False
    function = getattr(module, operation)
    for given in calls:
        before = {k: v.copy() for k, v in given.items() if isinstance(v, np.ndarray)}
        try:
            result = function(**given)
        except ValueError:
            result = "refused"
        changed |= any(given[k].tobytes() != v.tobytes() for k, v in before.items())
        for k, v in before.items():
            if given[k].flags.writeable:
                given[k][...] = v
        results.append(result)
        copies.append({k: v.copy() for k, v in result.items()} if result != "refused" else None)
    for result, copy in zip(results, copies):
        changed |= copy is not None and any(result[k].tobytes() != copy[k].tobytes() for k in copy)
    return results[-1], changed


def distance(a, b):
    """The largest difference, relative to the size of the output; infinity where form, dtype or NaN differ."""
    if isinstance(a, str) or isinstance(b, str):
        return 0.0 if isinstance(a, str) and isinstance(b, str) else INF
    worst = 0.0
    for name in b:
        x, y = a[name], b[name]
        if x.shape != y.shape or x.dtype != y.dtype:
            return INF
        x, y = x.astype(np.float64), y.astype(np.float64)
        odd = ~np.isfinite(x) | ~np.isfinite(y)
        if not np.array_equal(x[odd], y[odd], equal_nan=True):
            return INF
        x, y = x[~odd], y[~odd]
        if x.size:
            worst = max(worst, float(np.max(np.abs(x - y)) / max(1e-30, np.max(np.abs(y)))))
    return worst


def layout(r, array):
    kind = r.integers(5)
    if kind == 1:
        return np.asfortranarray(array)
    if kind == 2 and array.ndim:
        return array[::-1].copy()[::-1]
    if kind == 3 and array.ndim:
        held = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
        held[..., ::2] = array
        return held[..., ::2]
    return array


def random_call(operation, seed, plain=False):
    r = np.random.default_rng([77, seed])
    dtype = [F64, F32, F16, BF][seed % 4]
    size = 1.0 if dtype.itemsize > 2 else 0.5
    if operation == "multi_head_attention":
        B, Sq, Sk, H, E = (int(r.integers(1, top)) for top in (4, 8, 14, 5, 5))
        if not plain:
            B, Sq, Sk = (0 if r.random() < 0.05 else n for n in (B, Sq, Sk))
        given = mha(seed, B, Sq, Sk, H, E, dtype, "".join(c for c in "qkvo" if r.random() < 0.5), size)
        if r.random() < 0.6:
            shape = [(Sq, Sk), (1, Sk), (H, Sq, Sk), (B, 1, Sq, Sk), (B, 1, 1, Sk), (B, H, Sq, Sk)][r.integers(6)]
            if r.random() < 0.5:
                given["mask"] = r.random(shape) < 0.6
            else:
                given["mask"] = np.where(r.random(shape) < 0.3, -INF, r.standard_normal(shape)).astype(dtype)
        given["is_causal"] = bool(r.random() < 0.4)
        if r.random() < 0.4:
            given["scale"] = float(r.choice([0.0, -0.5, 0.3, 1.0]))
        if not plain and r.random() < 0.15 and Sk and B:
            given[["key", "value"][r.integers(2)]][0, r.integers(Sk)] = NAN
    elif operation == "single_head_attention":
        S, D, dk, dv = (int(r.integers(1, top)) for top in (20, 6, 6, 6))
        given = single(seed, S, D, dk, dv, int(r.integers(0, 5)) or None, dtype, size)
        if r.random() < 0.4:
            given["scale"] = float(r.choice([0.0, -0.5, 0.3, 1.0]))
    else:
        given = context(seed, int(r.integers(1, 80)), int(r.integers(1, 9)), dtype, size)
        if r.random() < 0.4:
            given["scale"] = float(r.choice([0.0, -0.5, 0.3, 1.0]))
    return {k: layout(r, v) if isinstance(v, np.ndarray) and v.size else v for k, v in given.items()}


def refusals(operation):
    if operation == "multi_head_attention":
        given = mha()
        return [given | {"query": given["query"][0]}, given | {k: given[k][None] for k in ("query", "key", "value")},
                given | {k: given[k][0] for k in ("query", "key", "value")}, given | {"num_heads": 3},
                given | {"mask": np.ones((3, 1), bool)}, given | {"key": given["key"][:1], "value": given["value"][:1]}]
    if operation == "single_head_attention":
        given = single()
        return [given | {"w_query": np.ones((3, 4))}, given | {"x": np.ones((4, 2))}, given | {"w_output": np.ones((2, 2))}]
    return [context() | {"decoder_state": np.ones(2)}]


def main():
    batch = json.loads((here / "batch.json").read_text())
    right = {"right/01_heads_online_base2.py": "multi_head_attention", "right/02_heads_gathered_tree.py": "multi_head_attention",
             "right/03_single_fused_matrices.py": "single_head_attention", "right/04_context_split_merge.py": "context_vector"}
    failures = 0
    for number, item in enumerate(batch, 1):
        module, operation = load(item["file"]), item["operation"]
        calls = SHOWN[number]
        want, kept = run(base, operation, calls)
        got, changed = run(module, operation, calls)
        assert not kept
        far = distance(got, want)
        shown = changed or far > 1e-2
        refuses = all(run(base, operation, [c])[0] == "refused" for c in refusals(operation)) and all(
            run(module, operation, [c])[0] == "refused" for c in refusals(operation))
        same = 0
        for seed in range(80):
            call = random_call(operation, seed, plain=True)
            limit = 64 * UNIT[next(iter(call.values())).dtype]
            try:
                same += distance(run(module, operation, [call])[0], run(base, operation, [call])[0]) < max(limit, 1e-9)
            except Exception as error:  # noqa: BLE001
                print("   raised", repr(error))
        failures += not (shown and refuses)
        print(f"{'shown' if shown else 'NOT SHOWN':9} {item['file']:38} off by {far:.2g}{', edits' if changed else ''};"
              f" agrees on {same}/80 random inputs{'' if refuses else '; REFUSALS MISSING'}")
    for file, operation in right.items():
        module, worst = load(file), 0.0
        narrow = getattr(module, "conventions", {}).get("accumulation") == "float32"
        for seed in range(400):
            call = random_call(operation, seed)
            dtype = next(iter(call.values())).dtype
            unit = UNIT[F32] if narrow and dtype == F64 else UNIT[dtype]
            got, changed = run(module, operation, [call])
            assert not changed
            off = distance(got, run(base, operation, [call])[0]) / unit
            if off > 64:
                print("   seed", seed, dtype, off)
            worst = max(worst, off)
        refuses = all(run(module, operation, [c])[0] == "refused" for c in refusals(operation))
        failures += worst > 64 or not refuses
        print(f"{'agrees' if worst <= 64 else 'DISAGREES':9} {file}: worst {worst:.1f} units of roundoff")
    assert len(batch) == 31 and not failures, failures
    print("all shown:", len(batch), "wrong,", len(right), "right")


if __name__ == "__main__":
    main()
