"""Flax NNX modules, on a CPU; 64-bit numbers are enabled for float64 alone."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.tensors.jax_programs import Programs
from attnspec.tensors.libraries import import_library
from attnspec_modules.libraries.kinds import is_array
from attnspec_modules.libraries.library import Parameter, with_tensors
from attnspec_modules.libraries.walking import walked

jax = import_library("jax", adapter="flax")
nnx = import_library("flax.nnx", adapter="flax")


class Flax:
    """Layers of ``flax.nnx``."""

    evaluates = True

    def without_dropout(self) -> AbstractContextManager[None]:
        """Leave it as it is."""
        return nullcontext()

    def __init__(self) -> None:
        self._programs = Programs()

    def made(self, layer_class: Any, keywords: Mapping[str, Any], dtype: str) -> Any:
        """Make a module, with generators of its own, whose parameters have the dtype."""
        given = {name: nnx.Rngs(0) if value == "rngs" else value for name, value in keywords.items()}
        with _numbers(dtype):
            layer = layer_class(**given)
            layer.eval()
            for _, _, _, variable in _variables(layer):
                if jax.numpy.issubdtype(variable.get_value().dtype, jax.numpy.floating):
                    variable.set_value(variable.get_value().astype(dtype))
        return layer

    def beside(self, object_class: Any, keywords: Mapping[str, Any], dtype: str) -> Any:
        """Make an object."""
        with _numbers(dtype):
            return object_class(**keywords)

    def parameters(self, layer: Any) -> dict[str, Parameter]:
        """Return the variables that are parameters; kernels are applied as they stand."""
        return {
            path: Parameter(
                tuple(variable.get_value().shape), False if name == "kernel" else None, type(holder).__name__
            )
            for path, holder, name, variable in _variables(layer)
            if isinstance(variable, nnx.Param)
        }

    def fill(self, layer: Any, values: Mapping[str, NDArray[Any]]) -> None:
        """Put numbers into parameters."""
        for path, _, _, variable in _variables(layer):
            if path in values:
                with _numbers(values[path].dtype.name):
                    variable.set_value(jax.numpy.asarray(values[path]))

    def state(self, layer: Any) -> Any:
        """Return the values of all variables, such as caches."""
        return [(variable, variable.get_value()) for _, _, _, variable in _variables(layer)]

    def reset(self, layer: Any, state: Any) -> None:
        """Put back the values of variables."""
        del layer
        for variable, value in state:
            variable.set_value(value)

    def called(self, layer: Any, given: Sequence[Any], named: Mapping[str, Any], dtype: str) -> Any:
        """Call a module, as one compiled program; its parameters are inputs of it, so that others can have theirs."""
        structure, state = nnx.split(layer)
        leaves, tree = jax.tree.flatten(state)
        arrays = {f"leaf{number}": leaf for number, leaf in enumerate(leaves) if _is_numeric(leaf)}

        def taken(value: Any) -> Any:
            if not is_array(value):
                return value
            arrays[f"given{len(arrays)}"] = jax.numpy.asarray(value)
            return _Given(f"given{len(arrays) - 1}")

        def function(tensors: Mapping[str, Any]) -> Any:
            own = [tensors.get(f"leaf{number}", leaf) for number, leaf in enumerate(leaves)]
            module = nnx.merge(structure, jax.tree.unflatten(tree, own))

            def tensor(value: Any) -> Any:
                return tensors[value.name] if isinstance(value, _Given) else value

            result = module(*with_tensors(by_position, tensor), **with_tensors(by_name, tensor))
            return result, {path: variable.get_value() for path, _, _, variable in _variables(module) if path in kept}

        kept = [path for path, _, _, variable in _variables(layer) if not isinstance(variable, nnx.Param)]
        with _numbers(dtype):
            by_position, by_name = with_tensors(list(given), taken), with_tensors(dict(named), taken)
            returned, after = self._programs.call(
                function, arrays, type(layer).__qualname__, (dtype, *map(str, by_name.items()))
            )
            for path, _, _, variable in _variables(layer):
                if path in after:
                    variable.set_value(after[path])
            return with_tensors(returned, _array)


class _Given(NamedTuple):
    """An array among the inputs of a program."""

    name: str


def _is_numeric(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and not jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _variables(layer: Any) -> Iterator[tuple[str, Any, str, Any]]:
    return walked(
        layer,
        lambda value: isinstance(value, nnx.Variable) and not isinstance(value, nnx.RngState),
        lambda value: isinstance(value, nnx.Module | nnx.List | nnx.Dict),
    )


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, jax.Array) else value


@contextmanager
def _numbers(dtype: str) -> Generator[None]:
    with jax.enable_x64(dtype == "float64"), jax.default_device(jax.devices("cpu")[0]):
        yield


LIBRARY = Flax()
