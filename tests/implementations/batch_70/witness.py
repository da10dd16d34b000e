"""Shows each wrong file beside base on one input, and each right file on many."""

import importlib.util
import json
import pathlib
import sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import base  # noqa: E402

BF16 = np.dtype(ml_dtypes.bfloat16)
INF = np.inf


def load(file):
    spec = importlib.util.spec_from_file_location(pathlib.Path(file).stem, HERE / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def qkv(B=1, Hq=2, Sq=3, Sk=5, E=4, Ev=3, Hkv=None, P=0, dtype=np.float64, seed=0):
    g = np.random.default_rng(seed)
    Hkv = Hkv or Hq
    made = dict(query=g.normal(size=(B, Hq, Sq, E)), key=g.normal(size=(B, Hkv, Sk, E)), value=g.normal(size=(B, Hkv, Sk, Ev)))
    if P:
        made |= dict(past_key=g.normal(size=(B, Hkv, P, E)), past_value=g.normal(size=(B, Hkv, P, Ev)))
    return {name: array.astype(dtype) for name, array in made.items()}


def with_(inputs, **more):
    return inputs | more


def mask_true(*shape):
    return np.ones(shape, bool)


def witnesses():
    g = np.random.default_rng(70)
    i64 = lambda *n: np.array(n)
    yield "001", with_(qkv(), mask=mask_true(6, 5)), "refused"
    m = mask_true(1, 1, 1, 5)
    m[..., 1] = False
    yield "002", with_(qkv(), mask=m), "output"
    yield "003", with_(qkv(), mask=np.full((3, 5), -20000.0)), "output"
    m = mask_true(2, 3, 5)
    m[0] = False
    yield "004", with_(qkv(), mask=m), "output"
    yield "005", with_(qkv(Sq=5), key_lengths=i64(2), is_causal=True, causal_alignment="bottom_right"), "output"
    yield "006", with_(qkv(), query_lengths=i64(1), alibi_slopes=np.array([0.5, 2.0]), causal_alignment="bottom_right"), "output"
    yield "007", with_(qkv(Sq=1, Sk=8), key_lengths=i64(6), window=[3, None], causal_alignment="bottom_right"), "output"
    made = qkv(Sq=1, Sk=65)
    made["value"][:, :, 64] = 50
    yield "008", with_(made, is_causal=True, causal_alignment="bottom_right"), "output"
    yield "009", with_(qkv(Sq=5), is_causal=True, window=[2, 0]), "present_key"
    yield "010", qkv(Sk=70), "weights"
    made = qkv(Sq=3, Sk=3)
    made["value"][:, :, 2] = np.nan
    yield "011", with_(made, is_causal=True), "output"
    yield "012", qkv(Sk=4), "output"
    yield "013", with_(qkv(dtype=np.float32), scale=-300.0), "output"
    yield "014", with_(qkv(dtype=np.float32), sinks=np.array([200.0, 150.0], np.float32)), "logsumexp"
    yield "015", with_(qkv(Sk=40), sinks=np.array([3.0, 4.0])), "output"
    yield "016", with_(qkv(dtype=np.float32), scale=100.0, softcap=0.5), "output"
    made = qkv(Sk=70, Ev=80)
    made["key"][:, :, 40:] *= 4
    yield "017", made, "output"
    yield "018", with_(qkv(Sq=5), key_lengths=i64(3), is_causal=True, causal_alignment="bottom_right"), "output"
    yield "019", with_(qkv(Sq=5), query_lengths=i64(3)), "output"
    m = mask_true(2, 1, 3, 5)
    m[1, :, :, :3] = False
    yield "020", with_(qkv(B=2), mask=m), "output"
    yield "021", with_(qkv(Hq=6, Hkv=2, Sq=1), is_causal=True, causal_alignment="bottom_right"), "output"
    yield "022", qkv(Hq=10, Hkv=2), "output"
    m = mask_true(3, 40)
    m[1, :35] = False
    yield "023", with_(qkv(Sk=40), mask=m), "output"
    yield "024", with_(qkv(Sq=40, Sk=7), mask=g.normal(size=(40, 7))), "output"
    yield "025", with_(qkv(Sq=1), softcap=0.5, alibi_slopes=np.array([0.5, 2.0])), "output"
    yield "026", with_(qkv(Sq=1, Sk=67), scale=3.0), "output"
    yield "027", qkv(E=80), "output"
    yield "028", (with_(qkv(Sk=4, P=1), is_causal=True), with_(qkv(Sk=2, P=3), is_causal=True)), "output"
    made = qkv(Sq=1, Sk=302, dtype=BF16)
    yield "029", with_(made, alibi_slopes=np.array([1, 2], BF16), causal_alignment="bottom_right"), "output"
    made = qkv(dtype=np.float16)
    made["value"] = np.full_like(made["value"], 60000)
    yield "030", made, "output"
    yield "031", with_(qkv(), mask=np.full((3, 5), 2.0), sinks=np.array([0.0, 1.0])), "output"


def copied(inputs):
    return {name: item.copy() if isinstance(item, np.ndarray) else list(item) if isinstance(item, list) else item for name, item in inputs.items()}


def same(a, b):
    return type(a) is type(b) and (a.tobytes() == b.tobytes() if isinstance(a, np.ndarray) else a == b)


def call(function, inputs):
    given = copied(inputs)
    with np.errstate(all="ignore"):
        try:
            outputs = function(**given)
        except ValueError as error:
            return f"refused: {error}"
    assert all(same(given[name], inputs[name]) for name in inputs), "inputs changed"
    return outputs


def difference(got, want, rows=None):
    """Largest difference relative to 1 + |want|; infinite where one is finite and the other not."""
    if got.shape != want.shape:
        return INF
    got, want = got.astype(np.float64), want.astype(np.float64)
    if rows is not None:
        got, want = got[rows], want[rows]
    with np.errstate(all="ignore"):
        apart = np.abs(got - want) / (1 + np.abs(want))
    alike = (got == want) | (np.isnan(got) & np.isnan(want)) | (~np.isfinite(want) & np.isnan(got))
    apart = np.where(alike, 0, np.where(np.isnan(apart), INF, apart))
    return apart.max(initial=0)


EPS = {np.dtype(np.float64): 2.0**-53, np.dtype(np.float32): 2.0**-24, np.dtype(np.float16): 2.0**-11, BF16: 2.0**-8}


def counted(inputs, shape):
    """The rows (B, Hq, Sq) that count."""
    rows = np.ones(shape[:3], bool)
    if inputs.get("query_lengths") is not None:
        rows &= np.arange(shape[2]) < inputs["query_lengths"][:, None, None]
    return rows


def random_inputs(g, dtype, small=True):
    pick = lambda *options: options[g.integers(len(options))]
    Hkv, rep, B = pick(1, 2, 3), pick(1, 1, 2, 3), pick(1, 2, 3)
    Hq, Sq, Sk = Hkv * rep, pick(0, 1, 1, 2, 3, 5, 9), pick(0, 1, 2, 3, 4, 7, 12)
    E, Ev, P = pick(1, 3, 4, 8, 20), pick(1, 2, 5, 8), pick(0, 0, 1, 4)
    made = qkv(B, Hq, Sq, Sk, E, Ev, Hkv, P, dtype, int(g.integers(1 << 30)))
    T = P + Sk
    if not P and pick(0, 1):
        made["key_lengths"] = g.integers(0, Sk + 1, B)
    if not P and pick(0, 0, 1):
        made["query_lengths"] = g.integers(0, Sq + 1, B)
    kind = pick("none", "none", "boolean", "float")
    if kind != "none":
        shape = (pick(1, B), pick(1, Hq), pick(1, Sq), T)[pick(0, 1, 2) :]
        shape = tuple(shape)
        if kind == "boolean":
            made["mask"] = g.random(shape) < 0.7
        else:
            made["mask"] = np.where(g.random(shape) < 0.2, -INF, g.normal(size=shape) * pick(1, 5)).astype(dtype)
    if pick(0, 0, 1):
        made["sinks"] = g.normal(size=Hq).astype(dtype)
    if pick(0, 0, 1):
        made["alibi_slopes"] = g.random(Hq).astype(dtype)
    if pick(0, 1):
        made["is_causal"] = True
    if pick(0, 1):
        made["causal_alignment"] = "bottom_right"
    if pick(0, 0, 1):
        made["scale"] = pick(0.0, 0.3, 2.0, -1.0)
    if pick(0, 0, 1):
        made["softcap"] = pick(0.0, 0.5, 4.0)
    if pick(0, 0, 1):
        made["window"] = [pick(None, 0, 1, 3), pick(None, 0, 2)]
    return made


def poison(g, inputs):
    """NaN and infinity in keys and values, among others where they are excluded."""
    made = copied(inputs)
    for name in ("key", "value"):
        for _ in range(int(g.integers(0, 3))):
            if made[name].size:
                made[name].flat[g.integers(made[name].size)] = (np.nan, INF)[g.integers(2)]
    return made


def agree(file, wanted, got, inputs, dtype, factor):
    """The largest difference in units of the dtype's roundoff."""
    worst = 0
    assert isinstance(got, dict), got
    for name, want in wanted.items():
        if name.startswith("present"):
            assert got[name].dtype == want.dtype and got[name].tobytes() == want.tobytes(), (file, name)
            continue
        if name in ("scores", "logits"):
            continue
        assert got[name].dtype == want.dtype, (file, name, got[name].dtype)
        rows = counted(inputs, want.shape)
        worst = max(worst, difference(got[name], want, rows) / (EPS[np.dtype(want.dtype)] * factor))
    return worst


def open_rows(inputs):
    """Whether a row may hold scores of minus infinity alone, of which nothing is asked."""
    with np.errstate(all="ignore"):
        steps = base.Attention(dict.fromkeys(base.scaled_dot_product_attention.__code__.co_varnames[:19]) | {"is_causal": False, "causal_alignment": "top_left"} | copied(inputs))
        steps.run()
    alone = steps.allowed.any(-1) & (steps.logits == -INF).all(-1)
    return bool(alone.any())


def main():
    batch = json.loads((HERE / "batch.json").read_text())
    files = {pathlib.Path(entry["file"]).name[:3]: entry["file"] for entry in batch}
    assert len(files) == len(list((HERE / "wrong").glob("*.py"))) == 31
    shown = set()
    for number, inputs, output in witnesses():
        function = load(files[number]).scaled_dot_product_attention
        for one in inputs if isinstance(inputs, tuple) else (inputs,):
            got, want = call(function, one), call(base.scaled_dot_product_attention, one)
        if output == "refused":
            assert isinstance(want, str) and isinstance(got, dict), number
            print(number, "takes what base refuses")
        else:
            rows = counted(one, want[output].shape) if not output.startswith("present") else None
            apart = difference(got[output], want[output], rows)
            assert apart > 0.02, (number, apart)
            assert np.isfinite(want[output].astype(np.float64)).any()
            print(number, output, "differs by", apart)
        shown.add(number)
    assert shown == set(files), set(files) - shown

    g = np.random.default_rng(7)
    trials = 150
    drawn = [random_inputs(g, np.float64) for _ in range(trials)]
    wanted = [call(base.scaled_dot_product_attention, inputs) for inputs in drawn]
    assert all(isinstance(want, dict) for want in wanted), [w for w in wanted if isinstance(w, str)][:1]
    for number, file in files.items():
        function = load(file).scaled_dot_product_attention
        off = sum(agree(file, {k: v for k, v in want.items() if not k.startswith("present")}, call(function, inputs), inputs, np.float64, 1e4) > 1 for inputs, want in zip(drawn, wanted))
        print(number, f"differs on {off} of {trials} random inputs")

    for path in sorted((HERE / "right").glob("*.py")):
        module = load(f"right/{path.name}")
        function = module.scaled_dot_product_attention
        narrow = getattr(module, "conventions", {}).get("accumulation") == "float32"
        for dtype in (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16), BF16):
            g = np.random.default_rng(11)
            worst = 0
            for trial in range(120):
                inputs = random_inputs(g, dtype)
                if trial % 3 == 0:
                    inputs = poison(g, inputs)
                    if open_rows(inputs):
                        continue
                want = call(base.scaled_dot_product_attention, inputs)
                factor = 64 if dtype.itemsize >= 4 else 3
                if dtype.itemsize == 8 and narrow:
                    factor *= 2.0**29
                if dtype.itemsize < 4:  # weights and logsumexp come back in float32
                    want = {name: item for name, item in want.items()}
                    for name in ("weights", "logsumexp"):
                        assert difference(call(function, inputs)[name], want[name], counted(inputs, want[name].shape)) < 64 * 2.0**-24, (path.name, trial, name)
                    kept = {name: want[name] for name in ("output", "present_key", "present_value")}
                else:
                    kept = want
                units = agree(path.name, kept, call(function, inputs), inputs, dtype, factor)
                assert units <= 1, (path.name, dtype, trial, units)
                worst = max(worst, units)
            print(path.name, dtype, "agrees; worst share of the bound", round(worst, 3))
    # refusals: base and right files alike
    bad = [
        with_(qkv(), mask=mask_true(3, 1)), with_(qkv(), mask=mask_true(5)), with_(qkv(), key_lengths=np.array([6])),
        with_(qkv(), query_lengths=np.array([-1])), with_(qkv(), value=qkv(Sk=4)["value"]), with_(qkv(), key=qkv(E=5)["key"]),
        with_(qkv(Hq=4), key=qkv(Hq=3)["key"], value=qkv(Hq=3)["value"]), with_(qkv(), value=qkv(Hq=1)["value"]),
        with_(qkv(B=2), key=qkv()["key"]), with_(qkv(P=2), past_value=qkv(P=3)["past_value"]), with_(qkv(), query=qkv()["query"][0]),
    ]
    for file in ["base.py", *files.values(), *(f"right/{p.name}" for p in sorted((HERE / "right").glob("*.py")))]:
        for inputs in bad:
            assert isinstance(call(load(file).scaled_dot_product_attention, inputs), str), file
    print("all shown")


if __name__ == "__main__":
    main()
