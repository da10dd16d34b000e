"""The same tokens, divided into past and new ones in several ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, TOP_LEFT, Sizes, attention

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase


def divided_cases() -> tuple[AuthoredCase, ...]:
    """Divide eight tokens into past and new ones in several ways, for as many queries each time.

    Who keeps masks, places or biases by the numbers of queries and of keys in all gives those of the case before.
    """
    features: dict[str, dict[str, Any]] = {
        "causal": {"is_causal": True},
        "window": {"window": [1, 1]},
        "slopes": {"alibi_slopes": [0.5, 0.125, 1.0, 0.25, 0.0625]},
        "slopes_causal": {"alibi_slopes": [0.5, 0.125, 1.0, 0.25, 0.0625], "is_causal": True},
    }
    return tuple(
        attention(
            f"cache/divided_{name}_after_{past}_{alignment}",
            f"Three queries on eight keys of which {past} are past, {name.replace('_', ' ')}, "
            f"{alignment.replace('_', ' ')}",
        )(
            Sizes(2, 5, 1, 3, 8 - past, past=past),
            outputs=("output", "logits", "logsumexp"),
            causal_alignment=alignment,
            **arguments,
        )
        for name, arguments in features.items()
        for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        for past in (0, 2, 4)
    )
