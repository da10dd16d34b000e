"""Shows every wrong file on one input within the contract, and every right file on many. Run from anywhere."""

import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base

DTYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def load(file):
    spec = importlib.util.spec_from_file_location("m_" + pathlib.Path(file).stem, HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(function, arguments):
    try:
        with np.errstate(all="ignore"):
            result = function(**arguments)
    except Exception as error:
        return error
    return {k: np.array(v) for k, v in result.items()}


def distance(got, want, dtype):
    """In units of roundoff times the size of the largest number; infinite where NaN, shapes, dtypes or refusals differ."""
    if isinstance(got, Exception) or isinstance(want, Exception):
        return 0.0 if isinstance(got, Exception) and isinstance(want, Exception) else np.inf
    worst = 0.0
    for name in want:
        a, b = got[name], want[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            return np.inf
        a, b = a.astype(np.float64), b.astype(np.float64)
        if not a.size:
            continue
        if (np.isnan(a) != np.isnan(b)).any() or (np.isinf(a) != np.isinf(b)).any() or (a[np.isinf(a)] != b[np.isinf(b)]).any():
            return np.inf
        fine = np.isfinite(b)
        if fine.any():
            size = max(1.0 if name == "weights" else 0.0, np.abs(b[fine]).max(), 1e-30)
            worst = max(worst, np.abs(a - b)[fine].max() / size / UNIT[dtype])
    return worst


def multi(rng, dtype="float64", B=2, Sq=3, Sk=4, D=6, H=2, biases=(), size=1.0, **more):
    t = DTYPES[dtype]
    draw = lambda *shape: (rng.normal(size=shape) * size).astype(t)
    given = dict(query=draw(B, Sq, D), key=draw(B, Sk, D), value=draw(B, Sk, D), num_heads=H)
    for name in ("query", "key", "value", "output"):
        given["w_" + name] = (rng.normal(size=(D, D)) / np.sqrt(max(D, 1))).astype(t)
        if name in biases:
            given["b_" + name] = draw(D)
    return given | more


def single(rng, dtype="float64", S=4, D=5, dk=3, dv=3, Do=None, **more):
    t = DTYPES[dtype]
    draw = lambda *shape: rng.normal(size=shape).astype(t)
    given = dict(x=draw(S, D), w_query=draw(D, dk), w_key=draw(D, dk), w_value=draw(D, dv))
    if Do is not None:
        given["w_output"] = draw(dv, Do)
    return given | more


def context(rng, dtype="float64", S=5, D=4, **more):
    t = DTYPES[dtype]
    return dict(encoder_states=rng.normal(size=(S, D)).astype(t), decoder_state=rng.normal(size=D).astype(t)) | more


ALL = ("query", "key", "value", "output")


def witnesses(rng):
    """For each number: (dtype, arguments), or (dtype, earlier arguments, arguments)."""
    m = multi(rng, Sq=4, Sk=4)
    yield "float64", m | {"key": m["query"].copy()}
    mask = np.ones((3, 4), bool)
    mask[1] = False
    yield "float64", multi(rng, biases=("value", "output"), mask=mask)
    mask = np.ones((2, 3, 4), bool)
    mask[1, 2] = False
    yield "float64", multi(rng, mask=mask)
    yield "float64", multi(rng, B=3, Sq=3, Sk=4, mask=np.arange(4) <= np.arange(3)[:, None])
    yield "float64", multi(rng, Sq=1, is_causal=True)
    yield "float64", multi(rng, H=1)
    m = multi(rng)
    wide = rng.normal(size=(2, 4, 9))
    yield "float64", m | {"key": wide[:, :, :6]}
    yield "float64", multi(rng), multi(rng)  # the first result is looked at (below)
    yield "float64", multi(rng, scale=-0.7)
    yield "float64", multi(rng, B=1, Sq=20, Sk=20, is_causal=True)
    m = multi(rng, B=1, is_causal=True, D=4, H=1)
    m["key"] = m["key"].copy()
    m["w_query"], m["w_key"] = np.eye(4), np.eye(4)
    m["query"] = np.ones((1, 3, 4))
    m["key"][0, 3] = 800.0
    yield "float64", m
    m = multi(rng, Sq=4, is_causal=True)
    m["value"][0, 3, 1] = np.nan
    yield "float64", m
    yield "float64", multi(rng, B=1, Sq=2, Sk=2, D=6, H=4)
    m = multi(rng, B=1)
    yield "float64", m | {"value": m["value"][0]}
    mask = np.zeros((3, 4))
    mask[1] = -20000.0
    yield "float64", multi(rng, mask=mask)
    yield "float64", multi(rng, Sk=0, biases=("output",))
    m = multi(rng, biases=("value",))
    yield "float64", m, m | {"b_value": m["b_value"] + 1}
    yield "float64", single(rng, dk=4)
    yield "float64", single(rng)
    yield "float64", single(rng, Do=2)
    yield "float64", single(rng, D=2, dk=5)
    yield "float64", single(rng, S=1)
    s = single(rng, Do=4)
    yield "float64", s, s | {"w_output": s["w_output"] * 2}
    yield "float64", single(rng, S=33)
    yield "float64", single(rng, scale=0.0)
    c = context(rng, S=5, D=4)
    yield "float64", c | {"decoder_state": rng.normal(size=5)}
    yield "float64", context(rng) | {"decoder_state": rng.normal(size=1)}
    c = context(rng, "float32", scale=-1.0)
    c["encoder_states"] = (np.arange(20, dtype=np.float32).reshape(5, 4) - 10) * 4
    c["decoder_state"] = np.ones(4, np.float32)
    yield "float32", c
    yield "float64", context(rng, scale=0.0)
    c = context(rng)
    yield "float64", c | {"encoder_states": np.asfortranarray(c["encoder_states"])}
    c = context(rng, "float16", scale=2.0**-12)
    c["encoder_states"] = (c["encoder_states"] * 0 + 200 + np.arange(5)[:, None]).astype(np.float16)
    c["decoder_state"] = np.full(4, 200, np.float16)
    yield "float16", c


def ordinary(rng, operation, dtype):
    """A valid input of no special kind, to see how seldom or often a mistake shows."""
    if operation == "context_vector":
        given = context(rng, dtype, S=int(rng.integers(1, 9)), D=int(rng.integers(1, 9)))
        if rng.random() < 0.4:
            given["scale"] = float(rng.choice([0.5, 1.0, 0.3, -0.4, 0.0]))
        return given
    if operation == "single_head_attention":
        S, D, dk, dv = (int(n) for n in rng.integers(1, 8, size=4))
        given = single(rng, dtype, S, D, dk, dv, int(rng.integers(1, 7)) if rng.random() < 0.5 else None)
        if rng.random() < 0.4:
            given["scale"] = float(rng.choice([0.5, 1.0, 0.3, -0.4, 0.0]))
        return given
    H, B, E = int(rng.integers(1, 4)), int(rng.integers(0 if rng.random() < 0.1 else 1, 4)), int(rng.integers(1, 5))
    Sq, Sk = int(rng.integers(1, 7)), int(rng.integers(0, 8))
    if rng.random() < 0.1:
        Sq = 0
    given = multi(rng, dtype, B, Sq, Sk, H * E, H, [n for n in ALL if rng.random() < 0.5])
    if rng.random() < 0.5:
        given["is_causal"] = True
    if rng.random() < 0.4:
        given["scale"] = float(rng.choice([0.5, 1.0, 0.3, -0.4, 0.0]))
    if rng.random() < 0.6:
        shape = [(Sq, Sk), (H, Sq, Sk), (B, 1, Sq, Sk), (B, H, Sq, Sk), (B, 1, 1, Sk), (1, Sk)][int(rng.integers(6))]
        if rng.random() < 0.5:
            given["mask"] = rng.random(shape) < 0.6
        else:
            given["mask"] = np.where(rng.random(shape) < 0.7, rng.normal(size=shape), -np.inf).astype(DTYPES[dtype])
    return given


def frozen(arguments):
    return {k: (v.tobytes(), v.dtype) for k, v in arguments.items() if isinstance(v, np.ndarray)}


def main():
    batch = json.loads((HERE / "batch.json").read_text())
    assert [e["file"] for e in batch] == sorted("wrong/" + p.name for p in (HERE / "wrong").glob("*.py"))
    rng = np.random.default_rng(69)
    bad = 0
    shown = list(witnesses(rng))
    assert len(shown) == len(batch) == 31
    for entry, (dtype, *calls) in zip(batch, shown):
        operation = entry["operation"]
        wrong, truth = getattr(load(entry["file"]), operation), getattr(base, operation)
        if "workspace" in entry["file"]:
            want, got = call(truth, calls[0]), wrong(**calls[0])
            at_once = distance(call(lambda: got, {}), want, dtype)
            wrong(**calls[1])
            off = distance(got, want, dtype)
            assert at_once < 100
        else:
            for early in calls[:-1]:
                assert distance(call(wrong, early), call(truth, early), dtype) < 100
            off = distance(call(wrong, calls[-1]), call(truth, calls[-1]), dtype)
        seldom, kept = 0, True
        fresh = getattr(load(entry["file"]), operation)
        for n in range(80):
            name = list(DTYPES)[n % 4]
            given = ordinary(rng, operation, name)
            before = frozen(given)
            seldom += distance(call(fresh, given), call(truth, given), name) > 64
            kept &= frozen(given) == before
        good = off > 1e6 and kept
        bad += not good
        print(f"{'shown' if good else 'NOT SHOWN'}  {entry['file']:44} off {off:9.3g}   ordinary inputs that show it {seldom}/80")
    for path in sorted((HERE / "right").glob("*.py")):
        module = load("right/" + path.name)
        operation = next(o for o in ("multi_head_attention", "single_head_attention", "context_vector") if hasattr(module, o))
        right, truth = getattr(module, operation), getattr(base, operation)
        worst = {}
        for n in range(400):
            name = list(DTYPES)[n % 4]
            given = ordinary(rng, operation, name)
            if n % 5 == 0 and operation == "multi_head_attention" and given["value"].size:  # NaN and infinity in one token
                where = rng.choice(["key", "value"])
                given[where][0, int(rng.integers(given[where].shape[1])), 0] = np.nan
            before = frozen(given)
            off = distance(call(right, given), call(truth, given), name)
            worst[name] = max(worst.get(name, 0), off)
            assert frozen(given) == before
        for refused in refusals(rng, operation):
            assert isinstance(call(right, refused), Exception) and isinstance(call(truth, refused), Exception)
        good = max(worst.values()) < 64
        bad += not good
        print(f"{'agrees' if good else 'DIFFERS'}  {path.name:40}", {k: round(float(v), 1) for k, v in worst.items()})
    for entry in batch:  # what is refused by all, but for the mistakes about it
        function = getattr(load(entry["file"]), entry["operation"])
        for n, refused in enumerate(refusals(rng, entry["operation"])):
            if not isinstance(call(function, refused), Exception):
                print("takes", n, entry["file"])
                bad += "rejects" not in " ".join(entry["clauses"])
    print("all shown" if not bad else f"{bad} BAD")
    return bad


def refusals(rng, operation):
    if operation == "multi_head_attention":
        m = multi(rng)
        for name in ("query", "key", "value"):
            yield m | {name: m[name][0]}
            yield m | {name: m[name][:, None]}
        yield m | {"num_heads": 4}
        yield multi(rng, Sq=3, Sk=5, D=7, H=2)
    elif operation == "context_vector":
        c = context(rng)
        yield c | {"decoder_state": rng.normal(size=3)}
        yield c | {"decoder_state": rng.normal(size=5)}
        yield c | {"decoder_state": rng.normal(size=1)}
    else:
        s = single(rng)
        yield s | {"w_query": rng.normal(size=(4, 3))}


if __name__ == "__main__":
    sys.exit(bool(main()))
