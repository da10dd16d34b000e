"""Libraries whose layers are graded: PyTorch, Flax NNX, Keras, and plain classes that hold arrays."""

from attnspec_modules.libraries.library import Kept, Library, Parameter, library_called, library_of, method_of

__all__ = ["Kept", "Library", "Parameter", "library_called", "library_of", "method_of"]
