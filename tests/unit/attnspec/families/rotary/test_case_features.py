"""What a case of rotary positions has, in words by which failures are sorted."""

import pytest

from attnspec.cases import load_suite
from attnspec.families.lookup import family_called

FAMILY = family_called("rotary")
CASES = {case.id: case for case in load_suite(select=["rotary/*"]).cases.values()}


def had(case_id):
    return {phrase for phrase, has in FAMILY.features(CASES[case_id]) if has}


@pytest.mark.parametrize(
    ("case_id", "phrases"),
    [
        ("rotary/frequencies_width_4", {"no scaling", "no stated length of the text"}),
        ("rotary/frequencies_yarn_not_truncated", {"the scaling yarn", "a range that is not truncated"}),
        ("rotary/frequencies_yarn_single_magnitude", {"a single magnitude coefficient"}),
        ("rotary/frequencies_yarn_magnitudes", {"both magnitude coefficients"}),
        ("rotary/frequencies_longrope_equal", {"a text of exactly the original length"}),
        ("rotary/frequencies_dynamic_short", {"a text shorter than the original length"}),
        ("rotary/frequencies_dynamic_long", {"a text longer than the original length"}),
        ("rotary/tables_far", {"a position beyond 65535", "positions in another order than 0, 1, 2"}),
        ("rotary/tables_repeated", {"a position that occurs twice"}),
        ("rotary/tables_batch", {"batch entries with different positions", "more than one batch entry"}),
        ("rotary/apply_partial_odd_interleaved", {"interleaved pairs", "features that are not rotated"}),
        ("rotary/apply_nan_half", {"NaN or infinity among the inputs", "an odd number of features"}),
        ("rotary/apply_heads_last", {"an input in another memory layout"}),
    ],
)
def test_a_case_has_what_it_is_about(case_id, phrases):
    assert phrases <= had(case_id)


def test_counted_positions_are_nothing_special():
    assert "positions in another order than 0, 1, 2" not in had("rotary/tables_counted")
    assert "a position that occurs twice" not in had("rotary/tables_counted")


def test_every_case_has_features_and_no_phrase_is_said_twice():
    for case in CASES.values():
        phrases = [phrase for phrase, _ in FAMILY.features(case)]
        assert len(phrases) == len(set(phrases)) > 3, case.id


def test_what_does_not_turn_shows_little():
    still = {case_id for case_id, case in CASES.items() if FAMILY.shows_little(case)}
    assert {"rotary/tables_one_token", "rotary/apply_still_half"} <= still
    assert "rotary/tables_counted" not in still
    assert not any(case_id.startswith("rotary/frequencies") for case_id in still)
