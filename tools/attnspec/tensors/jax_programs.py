"""Calls of functions of JAX, each compiled as one program, which is kept for later calls and on the disk.

A function that is called as it stands is compiled operation by operation, anew for each shape and dtype, and that takes
most of the time of a run. Decision 44 says why a program is compiled so, and which functions are called as they stand.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Hashable, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from attnspec.tensors.libraries import import_library

jax = import_library("jax", adapter="jax")

_QUICK_TO_COMPILE = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 0}
"""Options of XLA on a CPU: a program runs once or twice here, so that optimizing it would take more than it saves."""

_ROUNDED_AS_WRITTEN = {"xla_allow_excess_precision": False}
"""Option of XLA under which each operation rounds to its dtype, as it does where operations are compiled one by one."""

_CACHE = {
    # Programs are small and quick to compile, and there are thousands of them.
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
"""JAX's settings for a cache on the disk that keeps every program."""

_JIT = ("jit", "pjit")
"""Names that versions of JAX have for the call of a compiled function inside another."""


class Programs:
    """The programs that calls of an implementation were compiled to, and what is known of its functions."""

    def __init__(self) -> None:
        self._programs: dict[Hashable, Any] = {}
        self._watched: set[tuple[Hashable, Hashable]] = set()
        self._keep_arrays: set[Hashable] = set()
        self._untraceable: set[tuple[Hashable, Hashable]] = set()

    def call(
        self,
        function: Callable[[Mapping[str, Any]], Any],
        given: Mapping[str, Any],
        name: Hashable,
        variant: Hashable,
    ) -> Any:
        """Return what a function of JAX's arrays returns, or what it raises where it is called as it stands.

        `name` is its own, `variant` which other arguments it gets. Python runs its body in each call, so that what it
        keeps from one call to the next has its effect.
        """
        with programs_on_disk():
            way = name, variant
            if jax.config.jax_disable_jit or name in self._keep_arrays or way in self._untraceable:
                return function(given)
            if way not in self._watched:
                self._watched.add(way)
                returned, keeps_arrays = watched_call(function, given)
                if keeps_arrays:
                    self._keep_arrays.add(name)
                return returned

            # A function of its own, for JAX does not run one again that it has traced.
            def traced_anew(tensors: dict[str, Any]) -> Any:
                return function(tensors)

            try:
                traced = jax.jit(traced_anew).trace(dict(given))
            # Whatever it is, the function itself says it better, or does without.
            except Exception:
                returned = function(given)
                self._untraceable.add(way)
                return returned
            try:
                return self._compiled(traced)(dict(given))
            except jax.errors.JaxRuntimeError:
                return function(given)

    def forget(self) -> None:
        """Let go of all programs; what is known of the functions stays."""
        self._programs.clear()

    def _compiled(self, traced: Any) -> Any:
        """Return the program of a traced call, compiled unless there was the same one before."""
        written = _written_out(traced)
        if written is not None and written in self._programs:
            return self._programs[written]
        steps = traced.jaxpr.eqns
        # What is compiled as a whole already is rounded as XLA likes.
        is_whole = len(steps) == 1 and steps[0].primitive.name in _JIT
        lowered = traced.lower()
        key = lowered.as_text(), is_whole
        if key not in self._programs:
            options = quick_options() | ({} if is_whole else _ROUNDED_AS_WRITTEN)
            self._programs[key] = lowered.compile(compiler_options=options)
        if written is not None:
            self._programs[written] = self._programs[key]
        return self._programs[key]


def _written_out(traced: Any) -> Hashable | None:
    """Return all that a traced program is, which is found quicker than its text for XLA; None if this may not be all.

    An object says where it lies and not what it is, and a long array leaves out its middle.
    """
    text = str(traced.jaxpr)
    if " at 0x" in text or "..." in text:
        return None
    constants = [np.asarray(constant) for constant in traced.jaxpr.consts]
    return text, *((array.dtype.name, array.shape, array.tobytes()) for array in constants)


@cache
def quick_options() -> dict[str, Any]:
    """Return the options under which a CPU's programs compile quickly, none where this version does not know them."""
    try:
        jax.jit(lambda: 0).lower().compile(compiler_options=_QUICK_TO_COMPILE)
    except (jax.errors.JaxRuntimeError, ValueError):
        return {}
    return dict(_QUICK_TO_COMPILE)


def watched_call(function: Callable[[Mapping[str, Any]], Any], given: Mapping[str, Any]) -> tuple[Any, bool]:
    """Call a function as it stands, and return what it returns, as NumPy's arrays, and whether it keeps any array.

    An array that is kept while a program is traced stands for no numbers, and a later call that reads it fails.
    """
    # First of all, for a bfloat16 array that NumPy has read keeps another of JAX.
    numbers = {id(tensor): np.array(tensor) for tensor in given.values()}
    # Kept until the end, so that no other array can have the identity of one of them.
    before = jax.live_arrays()
    known = {id(array) for array in before}
    copies = {id(tensor): jax.device_put(numbers[id(tensor)], tensor.device) for tensor in given.values()}
    handed = {name: copies[id(tensor)] for name, tensor in given.items()}
    del copies
    returned = jax.tree.map(_own_array, function(handed))
    del handed

    def keeps_arrays() -> bool:
        return any(id(array) not in known for array in jax.live_arrays())

    if not keeps_arrays():
        return returned, False
    # A function that calls itself is a circle, which holds its arrays until it is collected.
    gc.collect()
    return returned, keeps_arrays()


def _own_array(leaf: Any) -> Any:
    """Return an array of JAX as one of NumPy in memory of its own; anything else as it is."""
    return np.array(leaf) if isinstance(leaf, jax.Array) else leaf


def cache_folder() -> Path | None:
    """Return the folder of the user's caches in which programs are kept; None for a user without a home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attnspec" / "jax"
    except RuntimeError:
        return None


@contextmanager
def programs_on_disk() -> Generator[None]:
    """Let JAX keep all programs in the user's cache, unless the user named a folder; afterwards all is as before."""
    folder = cache_folder()
    is_theirs = jax.config.jax_compilation_cache_dir is not None or not jax.config.jax_enable_compilation_cache
    if is_theirs or folder is None:
        yield
        return
    reset_cache: Any = import_module("jax.experimental.compilation_cache.compilation_cache").reset_cache
    ours = {**_CACHE, "jax_compilation_cache_dir": str(folder)}
    before = {name: getattr(jax.config, name) for name in ours}
    # JAX keeps the folder that it used first.
    reset_cache()
    for name, value in ours.items():
        jax.config.update(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        reset_cache()
