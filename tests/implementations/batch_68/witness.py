"""For every wrong file an input on which it differs from base; for every right file many on which it agrees.

Also: outside of its own condition a wrong file behaves like base (the share of random cases that show it is printed).
"""

import importlib.util
import json
import pathlib
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import base  # noqa: E402

warnings.simplefilter("ignore")
DTYPES = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float16": np.dtype(np.float16),
}
CLOSE = {"float64": 1e-9, "float32": 3e-4, "bfloat16": 3e-2, "float16": 5e-3, "bool": 0.0}
BATCH = json.loads((HERE / "batch.json").read_text())
RIGHT = {
    "right/01_complex_numbers.py": "apply_rotary",
    "right/02_doubled_angles.py": "rotary_tables",
    "right/03_split_tokens.py": "context_vector",
    "right/04_powers_of_two.py": "rotary_frequencies",
}
EXACT = ("split_heads", "combine_heads", "causal_mask")


def load(file):
    spec = importlib.util.spec_from_file_location(file.replace("/", "_")[:-3], HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer(function, arguments):
    try:
        result = function(**arguments)
    except Exception as error:  # noqa: BLE001
        return type(error).__name__
    return result if isinstance(result, dict) else {"output": result}


def difference(operation, got, want, close=None):
    """None where they agree, else what differs."""
    if isinstance(got, str) or isinstance(want, str):
        if isinstance(got, str) and isinstance(want, str):
            return None
        return f"{got if isinstance(got, str) else 'an answer'} instead of {want if isinstance(want, str) else 'an answer'}"
    if set(got) != set(want):
        return f"outputs {sorted(got)}"
    for name in want:
        a, b = np.asarray(got[name]), np.asarray(want[name])
        if a.shape != b.shape:
            return f"{name}: shape {a.shape} instead of {b.shape}"
        if a.dtype != b.dtype:
            return f"{name}: dtype {a.dtype} instead of {b.dtype}"
        if operation in EXACT:
            if not np.array_equal(a.astype(np.float64), b.astype(np.float64), equal_nan=True):
                return f"{name}: other values"
            continue
        limit = CLOSE[b.dtype.name] if close is None else close
        a, b = a.astype(np.float64), b.astype(np.float64)
        if not (np.array_equal(np.isnan(a), np.isnan(b)) and np.array_equal(np.isinf(a), np.isinf(b))):
            return f"{name}: NaN or infinity elsewhere"
        inside = np.isfinite(b)
        if not np.array_equal(a[~inside], b[~inside], equal_nan=True):
            return f"{name}: other infinities"
        if inside.any():
            worst = np.max(np.abs(a - b)[inside] / np.maximum(1e-30, np.abs(b[inside]) + np.abs(b[inside]).max()))
            if worst > limit:
                return f"{name}: off by {worst:.3g} (limit {limit:.1g})"
    return None


def held(arguments):
    return {n: v.copy() if isinstance(v, np.ndarray) else list(v) if isinstance(v, list) else v for n, v in arguments.items()}


def same_inputs(arguments, before):
    for name, value in before.items():
        now = arguments[name]
        if isinstance(value, np.ndarray):
            if np.ascontiguousarray(now).tobytes() != np.ascontiguousarray(value).tobytes():
                return False
        elif isinstance(value, list) and now != value:
            return False
    return True


# --- random inputs ----------------------------------------------------------------------------------------------------


def laid(rng, array):
    """The same numbers, lying otherwise in memory."""
    kind = rng.integers(5)
    if kind == 1:
        return np.asfortranarray(array)
    if kind == 2:
        turned = tuple(slice(None, None, -1) for _ in array.shape)
        return np.ascontiguousarray(array[turned])[turned]
    if kind == 3:
        large = np.zeros([2 * n + 1 for n in array.shape], dtype=array.dtype)
        view = large[tuple(slice(1, 2 * n + 1, 2) for n in array.shape)]
        view[...] = array
        return view
    if kind == 4:
        order = rng.permutation(array.ndim)
        return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
    return array


def numbers(rng, shape, dtype, size=1.0):
    return laid(rng, (rng.standard_normal(shape) * size).astype(dtype))


def draw_apply_rotary(rng, dtype):
    b, h, s, pairs = rng.integers(1, 4), rng.integers(1, 5), rng.integers(1, 6), rng.integers(1, 5)
    width = 2 * pairs + rng.integers(0, 4) * rng.integers(0, 2)
    angles = rng.uniform(0, 7, (b, s, pairs)) * rng.integers(0, 2, (b, s, 1))
    if rng.integers(4) == 0:
        angles[...] = angles[:1]
    x = (rng.standard_normal((b, h, s, width)) * 2).astype(dtype)
    if rng.integers(5) == 0:
        x[rng.integers(b), rng.integers(h), rng.integers(s), rng.integers(width)] = rng.choice([np.nan, np.inf, -np.inf])
    given = {
        "x": laid(rng, x),
        "cos": laid(rng, np.cos(angles).astype(dtype)),
        "sin": laid(rng, np.sin(angles).astype(dtype)),
    }
    if rng.integers(3):
        given["pairing"] = str(rng.choice(["half", "interleaved"]))
    spoiled = rng.integers(20)
    if spoiled == 0:
        given["sin"] = given["sin"][..., :-1]
    elif spoiled == 1:
        given["x"] = given["x"][0]
    elif spoiled == 2:
        given["x"] = given["x"][..., : 2 * pairs - 1]
    elif spoiled == 3:
        given["pairing"] = "rotate"
    elif spoiled == 4:
        given["cos"], given["sin"] = (np.concatenate([given[n], given[n]], axis=1) for n in ("cos", "sin"))
    elif spoiled == 5:
        given["cos"], given["sin"] = (np.concatenate([given[n], given[n]], axis=0) for n in ("cos", "sin"))
    return given


def draw_rotary_tables(rng, dtype):
    b, s, pairs = rng.integers(1, 4), rng.integers(1, 7), rng.integers(1, 6)
    kind = rng.integers(4)
    top = [8, 100, 3000, 131072][rng.integers(4)]
    if kind == 0:
        ids = np.tile(np.arange(s), (b, 1)) + rng.integers(0, top, (b, 1))
    elif kind == 1:
        ids = np.tile(np.arange(s), (b, 1))
    else:
        ids = rng.integers(0, top, (b, s))
    frequencies = 10000.0 ** (-np.arange(pairs) / pairs)
    if top > 5000:  # large phases are rounded by different routes
        frequencies = frequencies * 1e-3
    given = {
        "position_ids": laid(rng, ids.astype(rng.choice([np.int32, np.int64]))),
        "inverse_frequencies": laid(rng, frequencies.astype(dtype)),
    }
    if rng.integers(2):
        given["attention_factor"] = float(rng.choice([1.0, 1.2, 0.8, 2.0]))
    if rng.integers(15) == 0:
        given["position_ids"] = given["position_ids"][0]
    elif rng.integers(15) == 0:
        given["inverse_frequencies"] = given["inverse_frequencies"][None]
    return given


def draw_rotary_frequencies(rng, dtype):
    width = int(rng.choice([2, 4, 6, 8, 12, 16, 64, 128]))
    given = {"width": width, "scaling": str(rng.choice(list(base.NEEDS)))}
    if rng.integers(2):
        given["theta"] = float(rng.choice([10000.0, 500000.0, 1000.0, 150000.0, 5.0]))
    given["factor"] = float(rng.choice([1.0, 2.0, 4.0, 8.0, 40.0]))
    given["original_length"] = int(rng.choice([128, 700, 4096, 8192]))
    if rng.integers(2):
        given["sequence_length"] = int(rng.choice([1, 128, 700, 4096, 5000, 9000, 40000]))
    given["low_frequency_factor"], given["high_frequency_factor"] = 1.0, float(rng.choice([4.0, 3.0, 32.0]))
    given["short_factors"] = list(rng.uniform(1, 2, width // 2))
    given["long_factors"] = np.asarray(rng.uniform(1, 20, width // 2))
    given["proportion"] = float(rng.choice([0.0, 0.25, 0.5, 0.7, 1.0]))
    if rng.integers(2):
        given["beta_fast"], given["beta_slow"] = float(rng.choice([32.0, 16.0])), float(rng.choice([1.0, 2.0]))
    given["truncate"] = bool(rng.integers(2))
    for name in ("magnitude_scaling", "magnitude_scaling_all_dimensions"):
        given[name] = [None, 0.0, 1.0, 0.7][rng.integers(4)]
    given["attention_factor"] = [None, None, 1.3, 0.5][rng.integers(4)]
    spoiled = rng.integers(12)
    if spoiled == 0:
        given[str(rng.choice(["factor", "original_length", "low_frequency_factor", "short_factors", "long_factors"]))] = None
    elif spoiled == 1:
        given["width"] = int(rng.choice([0, 1, 5, 7]))
    elif spoiled == 2:
        given["theta"] = float(rng.choice([0.0, -1.0]))
    elif spoiled == 3:
        given["high_frequency_factor"] = 1.0
    elif spoiled == 4:
        given["long_factors"] = given["long_factors"][:1] if width > 2 else np.ones(3)
    elif spoiled == 5:
        given["factor"] = 0.0
    elif spoiled == 6:
        given["proportion"] = 1.5
    if given["scaling"] == "yarn":  # inside of the contract, and away from steps
        try:
            theta = given.get("theta", 10000)
            low, high = (
                base.yarn_place(given.get(name, default), width, theta, given["original_length"])
                for name, default in (("beta_fast", 32), ("beta_slow", 1))
            )
            near = max(abs(low - round(low)), abs(high - round(high)))
            if min(abs(low - round(low)), abs(high - round(high))) < 1e-6 or near < 1e-6:
                given["scaling"] = "none"
            if max(low, 0) > min(high, width - 1) or max(np.floor(low), 0) > min(np.ceil(high), width - 1):
                given["scaling"] = "none"
        except (ValueError, ZeroDivisionError, TypeError):
            pass
    return given


def draw_causal_mask(rng, dtype):
    given = {"query_length": int(rng.integers(0, 7))}
    if rng.integers(3):
        given["key_length"] = int(rng.integers(0, 9))
    if rng.integers(2):
        given["offset"] = int(rng.integers(-4, 8)) if rng.integers(8) else int(rng.choice([-300, 125, 126, 300]))
    if rng.integers(2):
        given["additive"] = bool(rng.integers(2))
    return given


def draw_split_heads(rng, dtype):
    b, s, h, e = rng.integers(1, 4), rng.integers(0, 40) if rng.integers(2) else rng.integers(0, 6), rng.integers(1, 5), rng.integers(1, 5)
    features = int(h * e + rng.integers(1, 4) * (rng.integers(6) == 0))
    return {"x": numbers(rng, (b, s, features), dtype), "num_heads": int(h)}


def draw_combine_heads(rng, dtype):
    shape = (rng.integers(1, 4), rng.integers(1, 5), rng.integers(0, 7), rng.integers(1, 5))
    if rng.integers(3) == 0:  # what splitting gives, without its copy
        x = numbers(rng, (shape[0], shape[2], shape[1] * shape[3]), dtype)
        return {"x": np.ascontiguousarray(x).reshape(shape[0], shape[2], shape[1], shape[3]).swapaxes(1, 2)}
    return {"x": numbers(rng, shape, dtype)}


def draw_glorot_normal(rng, dtype):
    return {"fan_in": int(rng.integers(1, 9)), "fan_out": int(rng.integers(1, 9)), "seed": int(rng.integers(0, 9))}


def draw_context_vector(rng, dtype):
    s, d = rng.integers(1, 20), rng.integers(1, 9)
    given = {"encoder_states": numbers(rng, (s, d), dtype), "decoder_state": numbers(rng, (d + (rng.integers(15) == 0),), dtype)}
    if rng.integers(2):
        given["scale"] = float(rng.choice([0.5, 1.0, 0.125, -0.5, 0.3, 0.0]))
    if rng.integers(8) == 0 and dtype.name in ("float32", "float64"):
        given["scale"] = float(rng.choice([1000.0, -1000.0]))
    return given


def judge(function, operation, arguments, dtype=None):
    before = held(arguments)
    want = answer(getattr(base, operation), arguments)
    assert same_inputs(arguments, before), "base edits its inputs"
    got = answer(function, arguments)
    if not same_inputs(arguments, before):
        return "inputs changed"
    close = None
    if dtype is not None and operation == "context_vector" and abs(arguments.get("scale", 1)) > 10:
        close = 1e-2 if dtype.name == "float32" else 1e-9
    return difference(operation, got, want, close)


def fuzz(file, operation, count, seed):
    module = load(file)
    rng = np.random.default_rng(seed)
    shown, messages = 0, {}
    for number in range(count):
        name = module.dtypes[number % len(module.dtypes)]
        arguments = globals()[f"draw_{operation}"](rng, DTYPES[name])
        message = judge(getattr(module, operation), operation, arguments, DTYPES[name])
        if message is not None:
            shown += 1
            messages.setdefault(message, arguments)
    return shown, messages


# --- one input for each mistake ---------------------------------------------------------------------------------------

F = np.float64


def tables(angles, dtype=F):
    return {"cos": np.cos(angles).astype(dtype), "sin": np.sin(angles).astype(dtype)}


def counted(*shape):
    return np.arange(1.0, 1 + np.prod(shape)).reshape(shape) / 8


def plain(function, operation, arguments):
    return judge(function, operation, arguments)


def w001(f):
    return plain(f, "apply_rotary", {"x": counted(1, 3, 3, 4), **tables(counted(1, 3, 2))})


def w002(f):
    return plain(f, "apply_rotary", {"x": counted(2, 2, 1, 4), **tables(np.array([[[0.1, 0.2]], [[3.0, 2.0]]]))})


def w003(f):
    x = counted(1, 1, 2, 4)
    x[0, 0, 0, 0] = np.inf
    return plain(f, "apply_rotary", {"x": x, **tables(np.array([[[0.0, 0.0], [1.0, 0.1]]]))})


def w004(f):
    return plain(f, "apply_rotary", {"x": counted(2, 4, 3, 4)[:, :2], **tables(counted(2, 3, 2))})


def w005(f):
    x = np.array([[[[60000, 50000]]]], np.float16)
    return plain(f, "apply_rotary", {"x": x, "cos": np.array([[[1.125]]], np.float16), "sin": np.array([[[0.75]]], np.float16)})


def w006(f):
    return plain(f, "apply_rotary", {"x": counted(1, 2, 3, 4), **tables(counted(1, 5, 2))})


def w007(f):
    return plain(f, "rotary_tables", {"position_ids": np.array([[0, 2, 1, 3]]), "inverse_frequencies": np.array([1.0, 0.1])})


def w008(f):
    ids = np.array([[0, 1, 2, 3]])
    f(ids, np.array([1.0, 0.1, 0.01]))
    return plain(f, "rotary_tables", {"position_ids": ids, "inverse_frequencies": np.array([1.0, 0.05, 0.01])})


def w009(f):
    return plain(
        f, "rotary_tables", {"position_ids": np.array([[0, 1]]), "inverse_frequencies": np.array([1.0]), "attention_factor": 0.75}
    )


def w010(f):
    return plain(
        f, "rotary_tables", {"position_ids": np.array([[0, 1, 2, 3], [0, 1, 0, 1]]), "inverse_frequencies": np.array([1.0, 0.1])}
    )


def w011(f):
    shared = {"width": 8, "scaling": "dynamic", "factor": 2.0, "original_length": 16}
    f(**shared, sequence_length=64)
    return plain(f, "rotary_frequencies", {**shared, "sequence_length": 32})


def w012(f):
    return plain(
        f,
        "rotary_frequencies",
        {"width": 8, "scaling": "yarn", "factor": 4.0, "original_length": 100, "truncate": False},
    )


def w013(f):
    return plain(f, "rotary_frequencies", {"width": 2, "scaling": "dynamic", "factor": 2.0, "original_length": 16})


def w014(f):
    return plain(
        f,
        "rotary_frequencies",
        {"width": 4, "scaling": "longrope", "factor": 2.0, "original_length": 16, "short_factors": [1.0, 2.0]},
    )


def w015(f):
    return plain(
        f,
        "rotary_frequencies",
        {
            "width": 8,
            "scaling": "yarn",
            "factor": 4.0,
            "original_length": 4096,
            "magnitude_scaling": 1.0,
            "magnitude_scaling_all_dimensions": 0.5,
            "attention_factor": 1.5,
        },
    )


def w016(f):
    return plain(f, "causal_mask", {"query_length": 1, "key_length": 4, "offset": 1})


def w017(f):
    return plain(f, "causal_mask", {"query_length": 3, "key_length": 3, "offset": -1, "additive": True})


def w018(f):
    return plain(f, "causal_mask", {"query_length": 2, "key_length": 3, "offset": 127})


def w019(f):
    want = base.causal_mask(3, 3, 0)["output"]
    earlier = f(3, 3, 0)["output"]
    f(3, 3, 1)
    return None if np.array_equal(earlier, want) else "an earlier mask changed"


def w020(f):
    return plain(f, "split_heads", {"x": np.asfortranarray(counted(2, 3, 4)), "num_heads": 2})


def w021(f):
    return plain(f, "split_heads", {"x": counted(1, 2, 6), "num_heads": 4})


def w022(f):
    return plain(f, "split_heads", {"x": counted(1, 17, 4), "num_heads": 2})


def w023(f):
    return plain(f, "combine_heads", {"x": counted(1, 2, 3, 2).copy()[:, ::-1]})


def w024(f):
    x = counted(1, 2, 2, 2)
    x[0, 0, 0, 0] = np.inf
    return plain(f, "combine_heads", {"x": x})


def w025(f):
    return plain(f, "combine_heads", {"x": np.zeros((2, 3, 0, 4))})


def w026(f):
    one, two = f(64, 64, 0)["output"], f(64, 64, 0)["output"]
    return None if np.array_equal(one, two) else "the same seed gives another matrix"


def w027(f):
    shape = np.shape(f(4096, 1, 1)["output"])
    assert base.glorot_normal(4096, 1, 1)["output"].shape == (4096, 1)
    return None if shape == (4096, 1) else f"shape {shape}"


def w028(f):
    def errors(function):
        matrix = function(64, 256, 1)["output"]
        want = np.sqrt(2 / 320)
        return abs(matrix.std() - want) / (want / np.sqrt(2 * matrix.size))

    assert errors(base.glorot_normal) < 6
    return None if errors(f) <= 6 else f"{errors(f):.0f} standard errors off"


def w029(f):
    states = np.array([[1000.0, 0.0], [0.0, 1.0], [-1000.0, 2.0]])
    return plain(f, "context_vector", {"encoder_states": states, "decoder_state": np.array([1.0, 0.0]), "scale": -1.0})


def w030(f):
    states = np.array([[-1000.0, 0.0], [-1001.0, 1.0], [-1002.0, 2.0]])
    return plain(f, "context_vector", {"encoder_states": states, "decoder_state": np.array([1.0, 0.0]), "scale": 1.0})


def w031(f):
    return plain(f, "context_vector", {"encoder_states": counted(3, 2), "decoder_state": np.array([1.0, 2.0]), "scale": 0.0})


def main():
    passed = True
    assert len(BATCH) == 31 and sorted(entry["file"] for entry in BATCH) == sorted(f"wrong/{p.name}" for p in (HERE / "wrong").glob("*.py"))
    assert sorted(RIGHT) == sorted(f"right/{p.name}" for p in (HERE / "right").glob("*.py"))
    for entry in BATCH:
        module = load(entry["file"])
        message = globals()[f"w{entry['file'][6:9]}"](getattr(module, entry["operation"]))
        shown, messages = fuzz(entry["file"], entry["operation"], 400, 68)
        passed &= message is not None
        print(f"{entry['file']:42} {'differs: ' + message if message else 'NOT SHOWN':60} {shown:4} of 400 random", flush=True)
        if "-v" in sys.argv:
            print("      ", list(messages)[:8])
    for file, operation in RIGHT.items():
        shown, messages = fuzz(file, operation, 3000, 69)
        passed &= shown == 0
        print(f"{file:42} {'agrees' if not shown else 'DISAGREES'} on {3000 - shown} of 3000 random inputs")
        for message, arguments in list(messages.items())[:3]:
            print("    ", message, arguments)
    print("all shown" if passed else "NOT ALL SHOWN")
    return not passed


if __name__ == "__main__":
    sys.exit(main())
