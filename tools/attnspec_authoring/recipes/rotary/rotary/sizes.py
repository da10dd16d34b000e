"""Positions, frequencies, features and tables of other ranks and sizes, each input by itself, more as well as fewer."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnspec_authoring.recipes.authoring import AuthoredCase, row
from attnspec_authoring.recipes.generator import grid
from attnspec_authoring.recipes.rotary.rotary.rejects import POSITIONS, refused


def cases() -> tuple[AuthoredCase, ...]:
    """Return the refused sizes."""
    positions, three = np.array(POSITIONS, dtype=np.int64), np.array([1.0, 0.5, 0.25])
    of_tables = (
        row("positions_of_three_axes", "Positions of three axes are refused")(positions[np.newaxis], three),
        row("single_position", "A position without axes is refused")(positions[0, 0], three),
        row("single_frequency", "A frequency without axes is refused")(positions, three[0]),
        row("frequencies_of_three_axes", "Frequencies of three axes are refused")(
            positions, three[np.newaxis, np.newaxis]
        ),
    )
    valid = {
        "x": grid("rotary/refused_x", (2, 1, 3, 5)),
        "cos": grid("rotary/refused_cos", (2, 3, 2)),
        "sin": grid("rotary/refused_sin", (2, 3, 2)),
    }

    def drawn(*shape: int) -> dict[str, Any]:
        return {name: grid(f"rotary/of_shape_{name}", shape) for name in ("cos", "sin")}

    rank, both, tokens, width = (f"apply_rotary.rejects.{name}" for name in ("rank", "tables", "tokens", "width"))
    of_rotations = (
        row("features_of_five_axes", "Features of five axes are refused")(rank, {"x": valid["x"][np.newaxis]}, True),
        row("features_of_two_axes", "Features of two axes are refused")(rank, {"x": valid["x"][0, 0]}, True),
        row("tables_of_four_axes", "Tables of four axes are refused")(
            rank, {n: valid[n][:, np.newaxis] for n in ("cos", "sin")}, True
        ),
        row("tables_of_one_axis", "Tables of one axis are refused")(
            rank, {n: valid[n][0, 0] for n in ("cos", "sin")}, True
        ),
        row("wider_cosines", "Cosines of three pairs and sines of two are refused")(
            both, {"cos": drawn(2, 3, 3)["cos"]}, False
        ),
        row("narrower_sines", "Cosines of two pairs and sines of one are refused")(
            both, {"sin": valid["sin"][..., :1]}, True
        ),
        row("narrower_cosines", "Cosines of one pair and sines of two are refused")(
            both, {"cos": valid["cos"][..., :1]}, True
        ),
        row("one_row_of_cosines", "Cosines of one token and sines of three are refused")(
            both, {"cos": valid["cos"][:, :1]}, True
        ),
        row("sines_of_one_entry", "Sines of one batch entry and cosines of two are refused")(
            both, {"sin": valid["sin"][:1]}, True
        ),
        row("cosines_of_one_entry", "Cosines of one batch entry and sines of two are refused")(
            both, {"cos": valid["cos"][:1]}, True
        ),
        row("sines_of_two_tokens", "Sines of two tokens and cosines of three are refused")(
            both, {"sin": valid["sin"][:, :2]}, False
        ),
        row("sines_of_four_tokens", "Sines of four tokens and cosines of three are refused")(
            both, {"sin": drawn(2, 4, 2)["sin"]}, False
        ),
        row("six_tokens", "Tables of twice as many tokens are refused")(tokens, drawn(2, 6, 2), False),
        row("four_entries", "Tables of twice as many batch entries are refused")(tokens, drawn(4, 3, 2), False),
        row("no_tokens", "Tables of no token for three are refused")(tokens, drawn(2, 0, 2), False),
        row("tokens_for_one", "Tables of three tokens for one are refused")(tokens, {"x": valid["x"][:, :, :1]}, True),
        row("entries_for_one", "Tables of two batch entries for one are refused")(tokens, {"x": valid["x"][:1]}, True),
        row("four_pairs_of_five_features", "Tables of four pairs for five features are refused")(
            width, drawn(2, 3, 4), False
        ),
        row("five_pairs_of_five_features", "Tables of a pair for each of five features are refused")(
            width, drawn(2, 3, 5), False
        ),
        row("pairs_of_one_feature", "Tables of one pair for one feature are refused")(
            width, {"x": valid["x"][..., :1], **drawn(2, 3, 1)}, True
        ),
    )
    return (
        *(
            refused(name, title)(
                "rotary_tables.rejects.rank",
                "tables_twin",
                f"{title.removesuffix(' refused').removesuffix(' are').removesuffix(' is')}.",
                inputs={"position_ids": ids, "inverse_frequencies": frequency},
                strict=True,
            )
            for name, title, ids, frequency in of_tables
        ),
        *(
            refused(f"{name}_{pairing}", f"{title}, {pairing}")(
                clause,
                counterpart,
                f"{title.removesuffix(' are refused')}.",
                inputs={**valid, **changed},
                attributes={"pairing": pairing},
                strict=strict,
            )
            for pairing, counterpart in (("half", "apply_twin"), ("interleaved", "apply_twin_interleaved"))
            for name, title, clause, changed, strict in of_rotations
        ),
        *(
            refused(f"pairing_{name}", f"The pairing {pairing!r} is refused")(
                "apply_rotary.rejects.pairing",
                "apply_twin",
                "There is no pairing of that name.",
                inputs=valid,
                attributes={"pairing": pairing},
            )
            for name, pairing in (("empty", ""), ("capital", "Half"), ("neox", "neox"), ("halves", "halves"))
        ),
    )
