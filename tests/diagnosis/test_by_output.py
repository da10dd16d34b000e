"""Where an output alone is wrong that was requested beside the first one, its clause comes first."""

from types import SimpleNamespace

import numpy as np
import pytest

import attnspec
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention as reference

PROFILES = ("core", "masking", "cache", "logsumexp")


def changed(output, change):
    """Return attention that is right but for one of its outputs."""

    def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, **others):
        given = reference(query, key, value, mask, past_key, past_value, **others)._asdict()
        return given | {output: change(given[output])}

    return SimpleNamespace(scaled_dot_product_attention=scaled_dot_product_attention)


@pytest.mark.parametrize(
    ("output", "change", "clause"),
    [
        ("weights", np.sqrt, "sdpa.weights"),
        ("logsumexp", lambda array: array + 0.25, "sdpa.logsumexp"),
        ("present_key", lambda array: array[:, :, ::-1], "sdpa.past.present"),
        ("scores", lambda array: 2 * array, "sdpa.scores"),
    ],
)
def test_an_output_that_alone_is_wrong_points_at_its_clause(output, change, clause):
    first, *_ = attnspec.validate(changed(output, change), profile=PROFILES).diagnosis
    reported = [suspect.clause for suspect in first.suspects if suspect.is_reported]
    assert clause in (first.clause, *reported[:1])


def test_a_wrong_first_output_is_not_blamed_on_the_others():
    first, *_ = attnspec.validate(changed("output", lambda array: 3 * array), profile=PROFILES).diagnosis
    assert "sdpa.logsumexp" not in [suspect.clause for suspect in first.suspects if suspect.is_reported]
