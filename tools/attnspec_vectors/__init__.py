"""Test vectors for other projects: the golden cases in files that a program in any language copies and reads.

`write_release` makes the folder, `write_archive` one file of it. `vector_files` gives its documents.
"""

from attnspec_vectors.documents import VectorFile, vector_files
from attnspec_vectors.release import Release, write_archive, write_release

__all__ = ["Release", "VectorFile", "vector_files", "write_archive", "write_release"]
