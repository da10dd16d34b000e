"""Calls of JAX's functions: one program each, with the effects of a call as it stands."""

import functools

import numpy as np
import pytest

import attnspec
from attnspec.contract.dtypes import numpy_dtype

jax = pytest.importorskip("jax")
jnp = jax.numpy

COMPILED = "/jax/core/compile/backend_compile_duration"
SHAPES = ((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4))


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "attnspec" / "jax"


@pytest.fixture
def compilations():
    import jax.monitoring

    found = []

    def note(name, _seconds, **_):
        found.extend([name] if name == COMPILED else [])

    jax.monitoring.register_event_duration_secs_listener(note)
    yield found
    jax.monitoring.unregister_event_duration_listener(note)


def tensors():
    from attnspec.tensors import tensors_called

    return tensors_called("jax", None, said_by="a test")


def attention(given):
    query, key, value = (given[name] for name in ("query", "key", "value"))
    scores = jnp.einsum("bhqe,bhke->bhqk", query, key) / query.shape[-1] ** 0.5
    weights = jnp.exp(scores - scores.max(axis=-1, keepdims=True))
    return jnp.einsum("bhqk,bhke->bhqe", weights / weights.sum(axis=-1, keepdims=True), value)


def inputs(seed, dtype="float32", shapes=SHAPES):
    numbers = np.random.default_rng(seed)
    arrays = zip(("query", "key", "value"), shapes, strict=True)
    library = tensors()
    return {name: library.given(numbers.normal(size=shape).astype(numpy_dtype(dtype))) for name, shape in arrays}


def longer(tokens):
    return ((1, 2, tokens, 4), (1, 2, tokens, 4), (1, 2, tokens, 4))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_one_compilation_for_a_shape_and_none_for_the_same_again(dtype, compilations):
    called = tensors()
    called.call(attention, inputs(0, dtype), "attention")
    called.call(attention, inputs(0, dtype, longer(6)), "attention")
    compilations.clear()
    called.call(attention, inputs(0, dtype, longer(7)), "attention")
    assert len(compilations) == 1
    called.call(attention, inputs(1, dtype, longer(7)), "attention")
    assert len(compilations) == 1


def test_what_python_keeps_between_calls_has_its_effect():
    calls = []

    def counting(given):
        calls.append(None)
        return given["query"] * len(calls)

    called, given = tensors(), inputs(0)
    found = [np.asarray(called.call(counting, given, "counting")) for _ in range(4)]
    for number, array in enumerate(found, 1):
        assert np.array_equal(array, np.asarray(given["query"]) * np.float32(number))


def test_masks_that_are_kept_by_shape_are_found_again():
    @functools.cache
    def mask(tokens):
        return jnp.tril(jnp.ones((tokens, tokens), dtype=bool))

    def causal(given):
        return jnp.where(mask(given["query"].shape[-2]), 1.0, 0.0)

    called = tensors()
    for tokens in (3, 4, 3, 4, 5, 4):
        found = called.call(causal, inputs(0, shapes=longer(tokens)), "causal")
        assert np.array_equal(np.asarray(found), np.tril(np.ones((tokens, tokens))))


def test_an_input_that_is_kept_is_found_again():
    kept = []

    def remembering(given):
        query = given["query"]
        if not kept or not bool(jnp.array_equal(kept[0], query)):
            kept[:] = [query]
        return kept[0] + 0

    called = tensors()
    for seed in (0, 1, 1, 0):
        given = inputs(seed)
        assert np.array_equal(called.call(remembering, given, "remembering"), given["query"])


def test_a_function_that_branches_on_numbers_is_called_as_it_stands():
    def branching(given):
        return -given["query"] if float(given["query"].sum()) < 0 else given["query"]

    called = tensors()
    for seed in range(4):
        given = inputs(seed)
        numbers = np.asarray(given["query"])
        found = np.asarray(called.call(branching, given, "branching"))
        assert np.array_equal(found, numbers if numbers.sum() >= 0 else -numbers)


def test_what_cannot_be_traced_with_one_argument_is_compiled_without_it(compilations):
    def branching(given):
        is_negative = "value" in given and float(given["value"].sum()) < 0
        return attention({"value": given["query"], **given}) * (-1 if is_negative else 1)

    called = tensors()
    for tokens in (3, 4, 5):
        given = inputs(0, shapes=longer(tokens))
        for variant in (("query", "key", "value"), ("query", "key")):
            compilations.clear()
            called.call(branching, {name: given[name] for name in variant}, "branching", variant)
    assert len(compilations) == 1


def test_products_are_rounded_to_their_dtype_before_they_are_added():
    def sums(given):
        return (given["query"] * given["key"]).sum(axis=-1)

    called, dtype = tensors(), numpy_dtype("bfloat16")
    # 129/128 squared is a 16384th more than 130/128, which bfloat16 rounds it to.
    numbers = {"query": np.array([129, 130]) / 128, "key": np.array([129 / 128, -1])}
    given = {name: called.given(array.astype(dtype)) for name, array in numbers.items()}
    for _ in range(2):
        assert float(called.call(sums, given, "sums")) == 0


def test_an_error_is_that_of_the_function():
    def refusing(given):
        raise ValueError(f"no {type(given['query']).__name__}")

    called = tensors()
    for _ in range(2):
        with pytest.raises(ValueError, match=r"no ArrayImpl"):
            called.call(refusing, inputs(0), "refusing")


def test_programs_are_kept_on_disk_and_the_settings_are_as_before(empty_cache):
    before = jax.config.jax_compilation_cache_dir, jax.config.jax_persistent_cache_min_compile_time_secs
    found = []
    for _ in range(2):
        called = tensors()
        for tokens in (11, 12):
            found.append(np.asarray(called.call(attention, inputs(0, shapes=longer(tokens)), "attention")))
    assert np.array_equal(found[1], found[3])
    assert any(empty_cache.iterdir())
    after = jax.config.jax_compilation_cache_dir, jax.config.jax_persistent_cache_min_compile_time_secs
    assert after == before


def test_a_folder_that_the_user_has_named_is_used(tmp_path, empty_cache):
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "theirs"))
    try:
        called = tensors()
        for tokens in (13, 14):
            called.call(attention, inputs(0, shapes=longer(tokens)), "attention")
        assert jax.config.jax_compilation_cache_dir == str(tmp_path / "theirs")
        assert not empty_cache.exists()
    finally:
        jax.config.update("jax_compilation_cache_dir", before)


def test_a_plain_function_is_validated_with_what_it_keeps(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import jax\ntensors = 'jax'\nkept = {}\n"
        "def softmax(x, axis=-1):\n"
        "    if x.shape not in kept:\n        kept[x.shape] = jax.nn.softmax(x, axis)\n    return kept[x.shape]\n"
    )
    report = attnspec.validate(str(path), select="documents/001/*", probes=False)
    assert {result.status for result in report.results if result.is_wrong} == {"fail"}
