"""Finding out how a layer is to be read: by names first, then by shapes, then by what its output depends on.

Nothing is chosen because it makes the layer right: a layer with a mistake is read as what it says it is.
"""

from attnspec_modules.attention.finding.finder import Finder, find_reading

__all__ = ["Finder", "find_reading"]
