"""`attnspec init` on the signatures of ten libraries and kernels: what it writes passes, and hides no mistake."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import attnspec
from attnspec.base.errors import UsageError
from attnspec.scaffold import find_function, guess_adapter

EXAMPLES = Path(__file__).parents[2] / "examples"
OPERATION = "scaled_dot_product_attention"
FOUND = {
    "flash_attn_func": (
        'layout = "bshe"',
        '"causal_alignment": "bottom_right"',
        '"logsumexp": returned[1]',
        "tuple(-1 if",
    ),
    "flash_attn_varlen_func": ('layout = "packed:int32"', '"logsumexp": returned[1].swapaxes(-1, -2)'),
    "memory_efficient_attention": ('layout = "bshe"', '"boolean_mask"'),
    "single_prefill_with_kv_cache": (
        'layout = "she"',
        '"logsumexp_base": "2"',
        "return_lse=True",
        "NotImplementedError",
    ),
    "paged_attention": ('layout = "paged:int32"', "query = query[:, :, 0]", "output = np.full("),
    "scaled_dot_product_attention": ("enable_gqa=True", '"causal_alignment": "top_left"'),
    "fast_scaled_dot_product_attention": ("query.shape[-1] ** -0.5 if scale is None else scale",),
    "mha": ('layout = "bshe"', "query.shape[-1] ** -0.5 if scale is None else scale"),
    "attention": ("query.shape[-1] ** -0.5 if scale is None else scale",),
    "sdpa": ('"logsumexp": returned["Stats"][..., 0]', "generate_stats=True"),
    "attention_forward": ('without = ("strided_inputs",)', "logsumexp = np.full("),
}
IN_A_MOMENT = ("flash_attn_func", "paged_attention", "attention_forward")
CHANGED = {
    # Heads of a few widths alone, and no other width of values: the one line that is requested.
    "attention": [
        (
            "    return attention(",
            "    if value.shape != key.shape:\n        raise NotImplementedError\n    return attention(",
        )
    ]
}
"""What is changed by hand in an adapter: at most three lines, which `init` names."""


def begun(name, folder):
    """Return what `init` says of an interface and where it wrote the adapter, changed as it says."""
    path = folder / f"adapter_{name}.py"
    said = guess_adapter(find_function(f"{EXAMPLES / 'interfaces.py'}:{name}"), OPERATION, path)
    text = said.text
    for old, new in CHANGED.get(name, ()):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")
    return said, path


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in IN_A_MOMENT else pytest.mark.proof) for name in FOUND]
)
def test_the_adapter_of_an_interface_passes_with_three_changed_lines_at_most(name, tmp_path):
    said, path = begun(name, tmp_path)
    for words in FOUND[name]:
        assert words in said.text
    assert ("NotImplementedError for these" in " ".join(said.said)) == (name in CHANGED)
    report = attnspec.validate(str(path), probes=False)
    assert report.conforms, [(result.case.id, result.verdict.message) for result in report.wrong][:5]
    assert "float64" not in report.declaration.dtypes, "it computes in float32"


SCALE = "q.shape[-1] ** -0.5 if scale is None else scale"
MISTAKES = {
    "scale": (SCALE, "1 / q.shape[-1] if scale is None else scale"),
    "no scale": (SCALE, "1 if scale is None else scale"),
    "softmax axis": (
        "total = exponentials.sum(axis=-1, keepdims=True)",
        "total = exponentials.sum(axis=-2, keepdims=True)",
    ),
    "diagonal": ("0 if causal else window[1]", "1 if causal else window[1]"),
    "window": ("(ahead >= -left)", "(ahead > -left)"),
    "heads": (
        "np.repeat(each, q.shape[1] // max(each.shape[1], 1), axis=1)",
        "np.tile(each, (1, q.shape[1] // max(each.shape[1], 1), 1, 1))",
    ),
}


@pytest.mark.parametrize(
    "mistake",
    [pytest.param(each, marks=() if each in ("scale", "diagonal") else pytest.mark.proof) for each in MISTAKES],
)
def test_no_guess_hides_a_mistake(mistake, tmp_path):
    old, new = MISTAKES[mistake]
    source = (EXAMPLES / "interfaces.py").read_text("utf-8")
    assert source.count(old) == 1
    module = f"wrong_{re.sub(' ', '_', mistake)}"
    (tmp_path / f"{module}.py").write_text(source.replace(old, new), "utf-8")
    path = tmp_path / "adapter.py"
    path.write_text(guess_adapter(find_function(f"{tmp_path / module}.py:flash_attn_func"), None, path).text, "utf-8")
    sys.modules.pop(module, None)
    report = attnspec.validate(str(path), profile=("core", "causal", "window", "grouped_query"), probes=False)
    assert report.wrong


def narrow(q, k, v, scale=1.0):
    weights = np.exp(q @ k.swapaxes(-1, -2) * scale)
    return (weights / weights.sum(-1, keepdims=True) @ v).astype(np.float16).astype(q.dtype)


def test_dtypes_are_declared_by_the_bits_that_come_back(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "__file__", __file__)
    said = guess_adapter(find_function(f"{__name__}:narrow"), OPERATION, tmp_path / "adapter.py")
    assert 'dtypes = ("float16", "bfloat16")' in said.text
    assert any("not float64, float32: its numbers have 1" in sentence for sentence in said.said)


def written(tmp_path, monkeypatch, name, text):
    """Return what `init` says of a function of a file, and the text that it writes."""
    # A module of the same name would be loaded already.
    file = tmp_path / f"of_{tmp_path.name}.py"
    file.write_text("import numpy as np\n\n" + text, "utf-8")
    monkeypatch.chdir(tmp_path)
    guessed = guess_adapter(find_function(f"{file.name}:{name}"), None, tmp_path / "adapter.py")
    return guessed.said, guessed.text


def test_a_cache_that_is_written_in_place_is_returned_by_the_adapter(tmp_path, monkeypatch):
    text = """
def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype):
    for token, slot in enumerate(slot_mapping):
        if slot >= 0:
            where = divmod(int(slot), key_cache.shape[1])
            key_cache[where], value_cache[where] = key[token], value[token]
"""
    said, text = written(tmp_path, monkeypatch, "reshape_and_cache", text)
    assert "operation: write_slots, because its arguments are named so" in said
    assert 'kv_cache_dtype is given "auto"' in said
    assert not any("no declaration accounts" in sentence for sentence in said)
    assert '"cache_written": "in_place"' in text
    assert 'return {"present_key": key_pool, "present_value": value_pool}' in text


def test_pools_of_one_width_are_declared(tmp_path, monkeypatch):
    text = """
def store_kvcache(key, value, k_cache, v_cache, slot_mapping):
    assert key.shape == value.shape, "one width"
    for token, slot in enumerate(slot_mapping):
        if slot >= 0:
            where = divmod(slot, k_cache.shape[1])
            k_cache[where], v_cache[where] = key[token], value[token]
"""
    said, _ = written(tmp_path, monkeypatch, "store_kvcache", text)
    assert any(sentence.startswith("without: value_width, because") for sentence in said)
    assert not any("no declaration accounts" in sentence for sentence in said)


def test_write_indices_that_a_function_demands_are_zero_where_none_are_stated(tmp_path, monkeypatch):
    text = """
def kv_cache_scatter(cache, update, indices):
    return np.stack([
        np.concatenate([old[..., :at, :], new, old[..., at + new.shape[-2] :, :]], axis=-2)
        for old, new, at in zip(cache, update, indices)
    ])
"""
    _, adapter = written(tmp_path, monkeypatch, "kv_cache_scatter", text)
    assert "indices=np.zeros(len(cache), np.int64) if write_indices is None else write_indices" in adapter
    assert "import numpy as np" in adapter


def test_write_indices_that_a_function_may_do_without_are_handed_over_as_they_are(tmp_path, monkeypatch):
    text = """
def tensor_scatter(past_cache, update, write_indices=None):
    present = past_cache.copy()
    for entry, new in enumerate(update):
        at = 0 if write_indices is None else write_indices[entry]
        present[entry, ..., at : at + new.shape[-2], :] = new
    return present
"""
    said, adapter = written(tmp_path, monkeypatch, "tensor_scatter", text)
    assert "write_indices=write_indices)" in adapter
    assert not any("not guessed" in each or "no declaration accounts" in each for each in said)


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize(
    ("operation", "news"), [("scatter_cache", {"cache": "new"}), ("write_window", {"k_cache": "k", "v_cache": "v"})]
)
def test_one_position_for_the_whole_batch_is_tried_where_that_says_it(tmp_path, monkeypatch, operation, news, wrong):
    order = "::-1" if wrong else ":"
    lines = [f"    {cache}[:, :, pos:pos + {new}.shape[2]] = {new}[:, :, {order}]\n" for cache, new in news.items()]
    text = f"def update({', '.join((*news, *news.values()))}, pos):\n{''.join(lines)}    return {', '.join(news)}\n"
    said, adapter = written(tmp_path, monkeypatch, "update", text)
    assert f"operation: {operation}" in said[0]
    assert "0])" in adapter
    assert any(each.startswith("not tried: batch entries") for each in said)
    assert any("no declaration accounts" in sentence for sentence in said) == wrong


def test_two_outputs_that_are_needed_come_in_their_order(tmp_path, monkeypatch):
    text = """
def norm(x, weight, eps):
    x = x.astype(np.promote_types(x.dtype, np.float32))
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight

def apply_norms(q, k, q_norm_weight, k_norm_weight, eps=1e-6):
    return norm(q, q_norm_weight, eps).astype(q.dtype), norm(k, k_norm_weight, eps).astype(k.dtype)
"""
    said, text = written(tmp_path, monkeypatch, "apply_norms", text)
    assert "operation: qk_norm, because its arguments are named so" in said
    assert any(sentence.startswith("dtypes: float64, float32") for sentence in said)
    assert not any("no declaration accounts" in sentence for sentence in said)
    assert "    return apply_norms(" in text


@pytest.mark.parametrize("wrong", [False, True])
def test_a_mask_of_two_axes_is_read_by_its_name_and_arguments(tmp_path, monkeypatch, wrong):
    text = f"""
def make_mask(q_len, kv_len, causal=True, padding_mask=None):
    q, k = np.arange(q_len)[:, None], np.arange(kv_len)
    return (k <= q{" + 1" if wrong else ""}) | (not causal)
"""
    said, text = written(tmp_path, monkeypatch, "make_mask", text)
    assert "operation: attention_mask, because its name and arguments say so" in said
    assert "is_causal=False" in text
    assert "returned[None, None]" in text
    assert any("no declaration accounts" in sentence for sentence in said) == wrong


# An interruption amid the collection of garbage is lost, and comes again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_circle_of_parents_does_not_hang_it(tmp_path, monkeypatch):
    monkeypatch.setattr("attnspec.scaffold.trying._SECONDS_OF_A_CALL", 1)
    text = """
def tree_mask(query_len, parents):
    mask = np.zeros((len(parents), 1, query_len, query_len), bool)
    for entry, token in np.ndindex(parents.shape):
        above = token
        while above >= 0:
            mask[entry, 0, token, above] = True
            above = int(parents[entry, above])
    return mask
"""
    said, text = written(tmp_path, monkeypatch, "tree_mask", text)
    assert any("did not end and had to be interrupted; validate --timeout" in sentence for sentence in said)
    assert "return tree_mask(query_length, parents=parents)" in text
    assert any(each.startswith("conventions: input_checks=lenient") for each in said)
    assert not any("no declaration accounts" in sentence for sentence in said)


def test_refusals_beside_an_argument_are_tried_where_forms_of_it_are(tmp_path, monkeypatch):
    text = """
def make_mask(q_len, kv_len=None, is_causal=False, prefix_lengths=None, query_starts=None, key_starts=None):
    if prefix_lengths is not None and query_starts is not None:
        raise ValueError("prefixes beside starts")
    return np.ones((1, 1, q_len, kv_len or q_len), bool)
"""
    said, _ = written(tmp_path, monkeypatch, "make_mask", text)
    assert any("no declaration accounts" in sentence for sentence in said)


def test_a_mask_whose_length_nobody_names_is_not_taken_for_attention(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="which operation it is cannot be guessed"):
        written(tmp_path, monkeypatch, "make_mask", "def make_mask(batch_size, cache_position, kv_length):\n    ...\n")


SAME_DOCUMENT = "ids[..., :, None] == ids[..., None, :]"
OTHER_DOCUMENTS = "documents of queries other than those of keys, and tokens of no document"
NARROWED = {
    "one_array": (
        f"def document_mask(document_ids):\n    ids = document_ids\n    return ({SAME_DOCUMENT})[:, None]",
        (OTHER_DOCUMENTS,),
    ),
    "one_sequence": (
        f"def packed_mask(n, seq_ids):\n    ids = np.array([*map(int, seq_ids)])\n    return {SAME_DOCUMENT}",
        (OTHER_DOCUMENTS, "more than one batch entry"),
    ),
    "one_tree": (
        "def tree_mask(parents):\n    mask = np.eye(len(parents), dtype=bool)\n    for _ in parents:\n"
        "        mask |= mask[parents] & (parents >= 0)[:, None]\n    return mask",
        ("more than one batch entry", "calls without parents"),
    ),
    "own_token": (
        "def sliding_mask(seq_len, sliding_window):\n"
        '    """Causal, sliding_window tokens with the query\'s own."""\n'
        "    return np.tri(seq_len, dtype=bool) & ~np.tri(seq_len, k=-sliding_window, dtype=bool)",
        ("what is not causal", "calls without window", "a window that is open to the left"),
    ),
    "two_sides": (
        "def causal_mask_of_window(seq_len, window):\n    back, row = window[0], np.arange(seq_len)\n"
        "    far = row[:, None] - row\n    return (far >= 0) & (far <= (seq_len if back is None else back))",
        ("what is not causal", "calls without window"),
    ),
    "chunk_of_one_length": (
        "def chunked_mask(seq_len, chunk_size):\n    row = np.arange(seq_len)\n"
        "    return np.tri(seq_len, dtype=bool) & (row[:, None] // chunk_size == row // chunk_size)",
        ("what is not causal",),
    ),
    "prefix_of_one_sequence": (
        "def prefix_mask(seq_len, prefix_len):\n    mask = np.tril(np.ones((seq_len, seq_len)))\n"
        "    mask[:, :prefix_len] = 1\n    return mask",
        ("what is not causal", "calls without prefix_lengths", "more than one batch entry"),
    ),
    "window_that_is_added": (
        "def sliding_window_mask(seq_len, window):\n    row = np.arange(seq_len)\n    far = row[:, None] - row\n"
        "    return np.where((far >= 0) & (far < window), 0, -1e9)",
        ("what is not causal", "calls without window"),
    ),
    "last_query_at_the_last_key": (
        "def make_causal_mask(q_len, kv_len):\n    return np.tri(q_len, kv_len, kv_len - q_len, dtype=bool)",
        ("what is not causal",),
    ),
    "pair_with_its_own_word_for_open": (
        "def band_mask(q_len, kv_len, window_size=(-1, -1)):\n    (back, on), last = window_size, kv_len\n"
        "    far = np.arange(q_len)[:, None] + kv_len - q_len - np.arange(kv_len)\n"
        "    return (far <= (last if back < 0 else back)) & (-far <= (last if on < 0 else on))",
        (),
    ),
    "width_of_both_sides": (
        "def local_mask(n, window):\n    row = np.arange(n)\n    return abs(row[:, None] - row) <= window // 2",
        ("calls without window", "windows that are not as wide ahead as behind"),
    ),
}
BROKEN = {
    "last_query_at_the_last_key": ("kv_len - q_len, ", "kv_len - q_len + 1, "),
    "pair_with_its_own_word_for_open": ("(-far <=", "(-far <"),
    "width_of_both_sides": ("abs(", "("),
    "chunk_of_one_length": ("row[:, None] // chunk_size == row // chunk_size", "row[:, None] - row < chunk_size"),
    "prefix_of_one_sequence": ("mask[:, :prefix_len]", "mask[:prefix_len]"),
    "window_that_is_added": ("far < window", "far < 2 * window"),
    "one_array": ("==", ">="),
    "one_sequence": ("==", "<="),
    "one_tree": ("mask[parents]", "np.eye(len(parents), dtype=bool)[parents]"),
    "own_token": ("k=-sliding_window", "k=-2 * sliding_window"),
    "two_sides": ("far >= 0", "far > 0"),
}


@pytest.mark.parametrize("name", NARROWED)
@pytest.mark.parametrize("wrong", [False, True])
def test_a_mask_that_is_given_in_fewer_words_is_tried_where_these_say_it(tmp_path, monkeypatch, name, wrong):
    source, not_tried = NARROWED[name]
    source = source.replace(*BROKEN[name]) if wrong else source
    said, _ = written(tmp_path, monkeypatch, source.partition("(")[0].removeprefix("def "), source + "\n")
    assert "operation: attention_mask" in said[0]
    assert {f"not tried: {each}" for each in not_tried} <= {*said} or wrong
    assert any("no declaration accounts" in sentence for sentence in said) == wrong


@pytest.mark.parametrize("wrong", [False, True])
def test_a_mask_that_is_added_alone_is_tried_where_it_is_to_be_added(tmp_path, monkeypatch, wrong):
    text = f"def causal_mask(n):\n    return np.triu(np.full((n, n), -np.inf), {int(not wrong)})\n"
    said, text = written(tmp_path, monkeypatch, "causal_mask", text)
    assert ("not tried: masks of truth values" in said) != wrong
    assert any("no declaration accounts" in each or "not guessed" in each for each in said) == wrong


@pytest.mark.parametrize(("name", "is_tried"), [("causal_attention", False), ("non_causal_attention", True)])
def test_causality_that_words_say_is_built_in_is_the_only_one_that_is_tried(tmp_path, monkeypatch, name, is_tried):
    text = f"""
def {name}(q, k, v):
    scores = q @ k.swapaxes(-1, -2) * np.asarray(q.shape[-1] ** -0.5, q.dtype)
    {"" if is_tried else "scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)"}
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v
"""
    said, text = written(tmp_path, monkeypatch, name, text)
    assert ("not tried: what is not causal" in said) != is_tried
    assert ("if not is_causal" in text) != is_tried
    assert not any("no declaration accounts" in sentence for sentence in said)
