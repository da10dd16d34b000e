"""Cases as files, for devices with neither Python nor a pipe: written with what is expected, graded when answers come.

Reading and writing tensors has a module for each format; what a folder holds, the manifest says.
"""

from attnspec.offline.exporting import Exported, export
from attnspec.offline.grading_answers import answered, graded_answers
from attnspec.offline.manifest import MANIFEST, Manifest, read_manifest

__all__ = ["MANIFEST", "Exported", "Manifest", "answered", "export", "graded_answers", "read_manifest"]
