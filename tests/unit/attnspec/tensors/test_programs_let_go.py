"""Compiled programs of JAX are let go before a process has no room for more."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from attnspec.contract.implementation import Outputs, Request  # noqa: E402
from attnspec.targets import load  # noqa: E402
from attnspec.tensors import of_jax  # noqa: E402


def test_programs_are_forgotten_where_mappings_run_out(monkeypatch):
    cleared = []
    monkeypatch.setattr(of_jax.jax, "clear_caches", lambda: cleared.append(1))
    for _ in range(400):
        of_jax.let_go_of_programs()
    assert not cleared
    monkeypatch.setattr(of_jax, "MOST_MAPPINGS", 10)
    for _ in range(200):
        of_jax.let_go_of_programs()
    assert len(cleared) == 1


def test_programs_that_are_kept_are_forgotten_with_them(monkeypatch):
    monkeypatch.setattr(of_jax, "MOST_MAPPINGS", 10)
    tensors = of_jax.tensors(None)
    given = {"x": tensors.given(np.ones(3, np.float32))}
    for _ in range(2):
        tensors.call(lambda named: named["x"] + 1, given, "added")
    assert tensors._programs._programs
    for _ in range(200):
        of_jax.let_go_of_programs(tensors._programs)
    assert not tensors._programs._programs
    assert tensors.returned(tensors.call(lambda named: named["x"] + 1, given, "added")).tolist() == [2, 2, 2]


@pytest.fixture(params=["jax", "flax"])
def call(request):
    """A function that calls one of the built-in adapters with so many keys."""
    pytest.importorskip(request.param)
    implementation = load(request.param)

    def called(keys):
        key = np.ones((1, 1, keys, 2), np.float32)
        inputs = {"query": key[:, :, :1], "key": key, "value": key}
        answer = implementation.run(Request("scaled_dot_product_attention", "float32", inputs, {}))
        assert isinstance(answer, Outputs)

    return called


def test_adapters_let_programs_go(monkeypatch, call):
    # Without it a process of Flax ended by SIGSEGV after some 2,400 shapes.
    cleared = []
    monkeypatch.setattr(of_jax.jax, "clear_caches", lambda: cleared.append(1))
    monkeypatch.setattr(of_jax, "MOST_MAPPINGS", 10)
    for _ in range(200):
        call(2)
    assert len(cleared) == 1


def test_adapters_keep_programs_on_the_disk(tmp_path, monkeypatch, call):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    call(7)
    assert any((tmp_path / "attnspec" / "jax").iterdir())
