"""For every wrong file an input within the contract on which it differs from base; for every right file, agreement."""
import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base  # noqa: E402

rng = np.random.default_rng(75)
DTYPES = {"float64": np.float64, "float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(function, arguments):
    try:
        return {k: np.array(v) for k, v in function(**arguments).items()}
    except ValueError as error:
        return f"refused: {error}"


def differs(one, two):
    """Clearly: refusal, shape, dtype, NaN and infinity, or more than rounding of float64 or a tenth of a percent."""
    if isinstance(one, str) or isinstance(two, str):
        return isinstance(one, str) != isinstance(two, str)
    for name in one:
        a, b = one[name], two[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            return True
        limit = 1e-10 if a.dtype == np.float64 else 1e-3 if a.dtype == np.float32 else 5e-2
        if not np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=limit, atol=limit, equal_nan=True):
            return True
    return False


def normal(*shape, dtype=np.float64):
    return rng.standard_normal(shape).astype(dtype)


def rotary(b, h, s, e, pairs, pairing="half", dtype=np.float64):
    angles = rng.uniform(-3, 3, (b, s, pairs))
    return dict(x=normal(b, h, s, e, dtype=dtype), cos=np.cos(angles).astype(dtype), sin=np.sin(angles).astype(dtype),
                pairing=pairing)


def at(arguments, where, value):
    arguments["x"][where] = value
    return arguments


def with_tables(arguments, **other):
    return arguments | other


a = rotary(2, 2, 3, 4, 2)
longer = rotary(1, 2, 3, 4, 2)
longer["x"] = longer["x"][:, :, :2]
permuted = rotary(2, 3, 4, 6, 2)
permuted["x"] = np.ascontiguousarray(permuted["x"].transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
start = with_tables(rotary(1, 2, 3, 4, 2))
start["cos"][0, 0], start["sin"][0, 0] = 1.25, 0.0
frequencies = np.array([1.0, 0.1, 0.01])
llama = dict(width=64, theta=500000.0, scaling="llama3", factor=8.0, original_length=8192, low_frequency_factor=1.0,
             high_frequency_factor=4.0)
dynamic = dict(width=16, scaling="dynamic", factor=2.0, original_length=128)
yarn = dict(width=16, scaling="yarn", factor=8.0, original_length=4096)
rising = np.zeros((40, 4))
rising[35] = 3.0
# each a list of calls; what counts is whether any result differs from base's
WITNESS = {
    "001": [rotary(3, 2, 1, 4, 2)],
    "002": [at(rotary(1, 1, 2, 4, 2), (0, 0, 0, 1), np.nan)],
    "003": [at(rotary(1, 1, 2, 6, 2), (0, 0, 1, 5), np.inf)],
    "004": [a, with_tables(a, sin=-a["sin"])],
    "005": [longer],
    "006": [rotary(1, 3, 3, 4, 2)],
    "007": [permuted],
    "008": [start],
    "009": [dict(position_ids=np.array([[0, 2, 1, 3]]), inverse_frequencies=frequencies)],
    "010": [dict(position_ids=np.array([[0, 5]]), inverse_frequencies=frequencies),
            dict(position_ids=np.array([[0, 5]]), inverse_frequencies=frequencies, attention_factor=1.5)],
    "011": [dict(position_ids=np.array([[0, 100, 1000]]), inverse_frequencies=frequencies)],
    "012": [yarn | dict(magnitude_scaling=0.7, magnitude_scaling_all_dimensions=0.0)],
    "013": [dynamic | dict(sequence_length=1000), dynamic | dict(sequence_length=300)],
    "014": [dict(width=10, scaling="proportional", proportion=0.35)],
    "015": [llama],
    "016": [dict(query_length=3, key_length=0)],
    "017": [dict(query_length=3, key_length=3, offset=-1, additive=True)],
    "018": [dict(query_length=4, key_length=4, offset=-1), dict(query_length=4, key_length=4, offset=-2)],
    "019": [dict(query_length=3, key_length=3, offset=1)],
    "020": [dict(query_length=1, key_length=4, offset=1)],
    "021": [dict(x=np.asfortranarray(normal(2, 3, 8)), num_heads=2)],
    "022": [dict(x=normal(1, 2, 6), num_heads=4)],
    "023": [dict(x=normal(1, 2, 3, 1))],
    "024": [at(dict(x=normal(1, 2, 2, 2)), (0, 1, 0, 0), np.inf)],
    "027": [],
    "028": [dict(encoder_states=np.array([[30.0, 0.0], [-30.0, 1.0]]), decoder_state=np.array([20.0, 0.0]), scale=-1.0)],
    "029": [dict(encoder_states=normal(3, 4), decoder_state=normal(4), scale=0.0)],
    "030": [dict(encoder_states=normal(1, 4), decoder_state=normal(4))],
    "031": [dict(encoder_states=rising, decoder_state=np.ones(4))],
}


def shown(number, function, operation):
    right = getattr(base, operation)
    if number == "025":
        x = normal(2, 1, 3, 4)
        function(x=x)
        return x.shape != (2, 1, 3, 4)
    if number == "026":
        one, two = (function(fan_in=64, fan_out=64, seed=0)["output"] for _ in range(2))
        return not np.array_equal(one, two)
    if number == "027":
        fan_in, fan_out = 64, 256
        deviation = np.sqrt(2 / (fan_in + fan_out))
        found = [g(fan_in=fan_in, fan_out=fan_out, seed=1)["output"].std() for g in (function, right)]
        error = 6 * deviation / np.sqrt(2 * fan_in * fan_out)
        return abs(found[0] - deviation) > error > abs(found[1] - deviation)
    return any([differs(call(function, arguments), call(right, arguments)) for arguments in WITNESS[number]])


def benign(operation):
    """Ordinary inputs, on which nearly all wrong files agree: told, not asked."""
    if operation == "apply_rotary":
        return rotary(2, 3, 4, 6, 2, rng.choice(["half", "interleaved"]))
    if operation == "rotary_tables":
        return dict(position_ids=rng.integers(0, 3, (2, 4)), inverse_frequencies=frequencies)
    if operation == "rotary_frequencies":
        return [dict(width=8), dict(width=8, scaling="linear", factor=4.0), yarn,
                dynamic | dict(sequence_length=64)][rng.integers(4)]
    if operation == "causal_mask":
        return dict(query_length=3, key_length=5, offset=2, additive=bool(rng.integers(2)))
    if operation == "split_heads":
        return dict(x=normal(2, 3, 8), num_heads=4)
    if operation == "combine_heads":
        return dict(x=normal(2, 3, 4, 5))
    if operation == "glorot_normal":
        return dict(fan_in=8, fan_out=8, seed=3)
    return dict(encoder_states=normal(5, 4), decoder_state=normal(4))


# --- right files ----------------------------------------------------------------------------------


def close(one, two, tolerance):
    assert not isinstance(one, str) and not isinstance(two, str), (one, two)
    for name in two:
        p, q = one[name], two[name]
        assert p.shape == q.shape and p.dtype == q.dtype, (name, p.shape, q.shape, p.dtype, q.dtype)
        p, q = p.astype(np.float64), q.astype(np.float64)
        t = tolerance(name, q)
        with np.errstate(invalid="ignore"):
            ok = (np.abs(p - q) <= t) | (p == q) | (np.isnan(p) & np.isnan(q))
        assert ok.all(), (name, np.max(np.abs(p - q)))


def right_rotary(module):
    for trial in range(300):
        name = list(DTYPES)[trial % 4]
        b, h, s, e = rng.integers(1, 5, 3).tolist() + [int(rng.integers(2, 12))]
        arguments = rotary(b, h, s, e, int(rng.integers(1, e // 2 + 1)), ["half", "interleaved"][trial // 4 % 2], DTYPES[name])
        if trial % 5 == 0:
            arguments["x"] = np.ascontiguousarray(arguments["x"].transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
        if trial % 7 == 0:
            arguments["x"][0, 0, 0, -1] = np.inf
        size = 4 * np.abs(arguments["x"].astype(np.float64)[np.isfinite(arguments["x"].astype(np.float64))]).max()
        close(call(module.apply_rotary, arguments), call(base.apply_rotary, arguments), lambda n, q: 2 * UNIT[name] * size)
    for bad in (longer, with_tables(a, pairing="both"), with_tables(a, sin=a["sin"][:1]), with_tables(a, x=a["x"][0])):
        assert isinstance(call(module.apply_rotary, bad), str)


def right_frequencies(module):
    for trial in range(400):
        width = 2 * int(rng.integers(2, 65))
        scaling = base.SCALINGS[trial % 7]
        low = float(rng.uniform(0.5, 2))
        choose = lambda *values: values[rng.integers(len(values))]  # noqa: E731
        arguments = dict(
            width=width, theta=choose(10000.0, 500000.0, 1e6), scaling=scaling, factor=float(rng.uniform(1, 40)),
            original_length=choose(2048, 4096, 8192), sequence_length=choose(None, 1000, 4096, 20000),
            low_frequency_factor=low, high_frequency_factor=low + float(rng.uniform(0.5, 4)),
            short_factors=rng.uniform(1, 2, width // 2).tolist(), long_factors=rng.uniform(1, 40, width // 2),
            proportion=float(rng.uniform(0, 1)), truncate=bool(rng.integers(2)), magnitude_scaling=choose(None, 0, 0.7),
            magnitude_scaling_all_dimensions=choose(None, 0, 1.0), attention_factor=choose(None, None, 1.3))
        close(call(module.rotary_frequencies, arguments), call(base.rotary_frequencies, arguments),
              lambda n, q: 1e-13 * np.abs(q))
    for bad in (dict(width=7), dict(width=8, scaling="ntk"), dict(width=8, scaling="yarn"), dict(width=8, theta=0.0)):
        assert isinstance(call(module.rotary_frequencies, bad), str)


def right_tables(module):
    for trial in range(300):
        name = list(DTYPES)[trial % 4]
        b, s, pairs = rng.integers(1, 6, 3)
        f = np.power(10000.0, -np.arange(pairs) / pairs).astype(DTYPES[name])
        positions = rng.integers(0, [8, 300, 131072][trial % 3], (b, s))
        factor = float(rng.choice([1.0, 1.2]))
        arguments = dict(position_ids=positions, inverse_frequencies=f, attention_factor=factor)
        phase = positions.max() * 1.0
        wide = 2.0**-53
        close(call(module.rotary_tables, arguments), call(base.rotary_tables, arguments),
              lambda n, q: 2.5 * UNIT[name] * factor + 2 * wide * phase)
    assert isinstance(call(module.rotary_tables, dict(position_ids=np.arange(3), inverse_frequencies=frequencies)), str)
    assert isinstance(call(module.rotary_tables, dict(position_ids=np.arange(3)[None], inverse_frequencies=frequencies[None])), str)


def right_context(module):
    for trial in range(300):
        name = list(DTYPES)[trial % 4]
        s, d = int(rng.integers(1, 70)), int(rng.integers(1, 12))
        arguments = dict(encoder_states=normal(s, d, dtype=DTYPES[name]), decoder_state=normal(d, dtype=DTYPES[name]))
        if trial % 3:
            arguments["scale"] = float(rng.choice([0.0, -0.5, 1.0, 2.0]))
        inner = 2.0**-53 if name == "float64" else 2.0**-24
        close(call(module.context_vector, arguments), call(base.context_vector, arguments),
              lambda n, q: 2.5 * UNIT[name] * np.abs(q) + 400 * inner * (1 if n != "weights" else np.abs(q)))
    bad = dict(encoder_states=normal(3, 4), decoder_state=normal(1))
    assert isinstance(call(module.context_vector, bad), str)


RIGHT = {"01_rotary_gathered": right_rotary, "02_frequencies_base_two": right_frequencies,
         "03_tables_angle_sums": right_tables, "04_context_split_states": right_context}


def main():
    batch = json.loads((HERE / "batch.json").read_text())
    assert [e["file"] for e in batch] == sorted(f"wrong/{p.name}" for p in (HERE / "wrong").glob("*.py"))
    good = True
    for entry in batch:
        number, operation = pathlib.Path(entry["file"]).name[:3], entry["operation"]
        path = HERE / entry["file"]
        plain = all(not differs(call(getattr(m, operation), g), call(getattr(base, operation), g))
                    for m in [load(path)] for g in (benign(operation) for _ in range(12)))
        result = shown(number, getattr(load(path), operation), operation)
        good &= bool(result)
        print("shown  " if result else "MISSING", "agrees elsewhere" if plain else "differs widely  ", entry["file"])
    assert sorted(RIGHT) == sorted(p.stem for p in (HERE / "right").glob("*.py"))
    for name, check in RIGHT.items():
        check(load(HERE / "right" / f"{name}.py"))
        print("agrees ", name)
    print("all shown" if good else "NOT ALL SHOWN")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
