"""Libraries whose layers are graded: PyTorch, Flax NNX, Keras, and plain classes that hold arrays."""

from attnspec_modules.libraries.library import Library, Parameter, library_called, library_of, method_of

__all__ = ["Library", "Parameter", "library_called", "library_of", "method_of"]
