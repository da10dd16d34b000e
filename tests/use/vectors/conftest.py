"""What the tests of consumers share: a release of the vectors that they read."""

import pytest

from attnspec.cases import load_suite
from attnspec.cases.selecting import of_operations
from attnspec_vectors import write_release

PROFILES = ("core", "masking", "causal", "window", "softcap", "grouped_query")


@pytest.fixture(scope="session")
def vectors(tmp_path_factory):
    """The files of the vectors of attention, in profiles that a plain implementation offers."""
    folder = tmp_path_factory.mktemp("release") / "vectors"
    write_release(of_operations(load_suite(profiles=PROFILES), ["scaled_dot_product_attention"]), folder)
    return sorted(map(str, folder.glob("*/*.json")))
