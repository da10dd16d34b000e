"""Finding out how a layer of latent attention is to be read: its widths, tensors, masks, rotation and cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from attnspec.base.errors import TargetError, Unsupported
from attnspec.contract.implementation import DOUBTED
from attnspec_modules.attention.checking.composed_attention import Array, are_alike
from attnspec_modules.attention.checking.composed_latents import NEEDED, LatentSteps, composed_latents, latent_sample
from attnspec_modules.attention.checking.norm_mistakes import USUAL_EPSILON, Norm
from attnspec_modules.attention.constructing import Sizes, constructor_of, has_word
from attnspec_modules.attention.finding.finder import Finder
from attnspec_modules.attention.finding.rotary_reading import Expecting, rotation_of
from attnspec_modules.attention.latents.latent_parameters import assignments
from attnspec_modules.attention.latents.latent_runner import LatentRunner
from attnspec_modules.attention.latents.latent_weights import SIDE_BY_SIDE
from attnspec_modules.attention.latents.latent_widths import possible_ties, widths_for
from attnspec_modules.attention.layer_reading import LATENT_WORDS, LatentTies, Placement, Rotation
from attnspec_modules.libraries import Parameter

_WORDS = (*LATENT_WORDS, "head_width", "value_width")


class NormalizesError(TargetError):
    """Latents are normalized where that cannot be left out."""


class LatentFinder(Finder):
    """What is found of a layer of latent attention, step by step."""

    runner_class = LatentRunner
    usual_sizes = Sizes(66, NEEDED.heads, 64, 8, latents=widths_for(LatentTies(), NEEDED).widths)

    def constructor(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the constructor; raises UndecidedError."""
        return constructor_of(self.layer_class, self.instance, said, is_latent=True)

    def construct(self) -> None:
        """Find the arguments of the constructor, and the widths that follow from others."""
        if not self.reading.forward.is_self:
            raise TargetError(f"{self.name} takes several sequences; latent attention inside a layer has one.")
        constructor = self.constructor({})
        words = frozenset(word for word in _WORDS if has_word(self.layer_class, constructor, word))
        trouble: TargetError | None = None
        for ties in possible_ties(words):
            try:
                chosen = widths_for(ties, NEEDED if ties.has_rotary else NEEDED._replace(rotary=0))
                self.usual_sizes = Sizes(chosen.tokens, NEEDED.heads, 64, 8, latents=chosen.widths)
                self.take(latents=ties)
                super().construct()
                self._choose(ties)
            except NormalizesError:
                raise
            except Unsupported:
                continue
            except TargetError as error:
                trouble = trouble or error
                continue
            if self.reading.residual:
                raise TargetError(f"{self.name} adds its tokens to what it attends to; grade the attention by itself.")
            return
        raise trouble or TargetError(f"{self.name} has no widths of latent attention.")

    def _choose(self, ties: LatentTies) -> None:
        """Take the placements under which it is latent attention, or the likeliest; TargetError without any."""
        parameters = self.runner.made(self.usual_sizes, "float32").parameters
        chosen = widths_for(ties, NEEDED if ties.has_rotary else NEEDED._replace(rotary=0))
        tried = list(assignments(parameters, ties, chosen, NEEDED.heads))
        if not tried:
            raise TargetError(f"{self.name} is made with latents, and {_parameters_kept(parameters)}")
        self.take(parameters=tried[0])
        of_latents = Norm("rms", epsilon=USUAL_EPSILON, is_one=True)
        for norms in ((), (("latent", of_latents),), (("latent", of_latents), ("query_latent", of_latents))):
            for placements, causality in product(tried, ("none", "built in")):
                reading = replace(self.reading, parameters=placements, causality=causality)
                sample = latent_sample(reading, "float32")
                runner = LatentRunner(self.layer_class, self.library, reading)
                got = runner.tried(sample.call, sample.weights, sample.heads, {})
                if got is None or not are_alike(got, composed_latents(sample, LatentSteps(norms=norms))):
                    continue
                if norms:
                    raise NormalizesError(
                        f"{self.name} normalizes its latents in its own code, where that cannot be left out. Have a "
                        "module of a class called RMSNorm do it, or name the core as a function: --as latent_attention"
                    )
                self.take(parameters=placements)
                self.said += _of_order(placements)
                return

    def fill_in(self) -> None:
        """Keep what was chosen with the widths."""
        self.usual = self.reading.parameters
        self.take(has_heads=True)

    def rotate(self) -> None:
        """Find how rotary positions pair features, and their base."""
        is_meant = self.runner.made(self.usual_sizes, "float32").rotates
        if self.reading.latents is None or not self.reading.latents.has_rotary:
            return
        sample = latent_sample(self.reading)

        def expected(rotation: Rotation | None) -> Array:
            return composed_latents(sample, LatentSteps(rotation))

        expecting = Expecting(sample, expected)
        forward, rotation = rotation_of(self.runner, is_meant=is_meant, expecting=expecting)
        self.take(forward=forward, rotation=rotation)

    def declare(self) -> None:
        """Find the dtypes that come back, and the conventions that calls show."""
        super().declare()
        # Queries that have fewer tokens than there are latents are followed by others.
        self.take(without=tuple(each for each in self.reading.without if each != "cross_attention"))


def _parameters_kept(parameters: Mapping[str, Parameter]) -> str:
    kept = ", ".join(f"{path} {each.shape}" for path, each in parameters.items()) or "nothing"
    return (
        f"holds {kept}, which are not its matrices: tokens to latents, latents to keys and to values, tokens to "
        f"queries, with or without latents of their own, and values to the output."
    )


def _of_order(placements: Mapping[str, Placement]) -> list[str]:
    """Return sentences on parameters that hold tensors in another order than the usual one."""
    unusual = [
        (path, each.tensors)
        for path, each in placements.items()
        if len(each.tensors) > 1 and each.tensors not in SIDE_BY_SIDE
    ]
    return [
        f"{DOUBTED}{path} holds {', '.join(tensors)} in that order; published weights have the other one"
        for path, tensors in unusual
    ]
