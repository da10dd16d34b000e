"""One reading of a layer after another, each more of it known."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attnspec.base.errors import TargetError
from attnspec.contract.dtypes import FLOAT_DTYPES, numpy_dtype
from attnspec.contract.implementation import DOUBTED
from attnspec_modules.attention.caches import DICT, cache_classes, is_named_cache
from attnspec_modules.attention.constructing import Sizes, UndecidedError, constructor_of
from attnspec_modules.attention.finding.conventions import conventions_of
from attnspec_modules.attention.finding.forwards import forms_of, forward_of
from attnspec_modules.attention.finding.mask_probes import mask_found
from attnspec_modules.attention.finding.parameters import (
    Candidates,
    applied_alike,
    candidates_of,
    with_their_biases,
)
from attnspec_modules.attention.finding.probes import (
    is_inside_float32,
    is_proportional,
    keeps_a_triangle,
    rate_seen,
    remembers,
    shares,
    token_alone,
)
from attnspec_modules.attention.finding.roles import believed, doubts_about_roles
from attnspec_modules.attention.finding.rotary_reading import rotation_of
from attnspec_modules.attention.finding.source import source_of
from attnspec_modules.attention.finding.stated_masks import (
    Stated,
    effect_in_words,
    stated_meaning,
    takes_truth_values,
)
from attnspec_modules.attention.layer import Call, LayerRunner
from attnspec_modules.attention.layer_reading import MATRICES, Forward, MaskForm, Placement, Reading
from attnspec_modules.attention.masking import fitting_mask
from attnspec_modules.attention.names import meaning_of
from attnspec_modules.libraries import library_called, method_of
from attnspec_modules.libraries.kinds import attributes_of, entries_of, is_dict, is_listed

_WIDTH, _HEADS = 24, 3
"""Sizes of the layer that is looked at: features, heads and features of a head all differ."""

_SIZES = Sizes(_WIDTH, _HEADS, 64, 8)
_OF_ONE_HEAD = _SIZES._replace(heads=1)
_BATCH, _TOKENS = 2, 5

_UNDECIDED_AT_MOST = 2
_TRIED = ("width", "heads", "length", 0.0, True, None, "head_width")
"""What an argument of a constructor is tried as, if its name says nothing."""


class Finder:
    """What is found of a layer's class, step by step."""

    runner_class: type[LayerRunner] = LayerRunner
    usual_sizes = _SIZES

    def __init__(self, layer_class: type, instance: object, library: str, renames: Mapping[str, str]) -> None:
        self.layer_class, self.instance, self.renames = layer_class, instance, renames
        self.name = layer_class.__name__
        self.library, self.library_name = library_called(library), library
        method = method_of(layer_class)
        assert method is not None
        forward, masks, left_out = forward_of(layer_class, method, renames)
        self.reading = Reading({}, forward, masks=masks, left_out=left_out)
        self.sizes = self.usual_sizes
        self.said: list[str] = []
        self.doubts: list[str] = []
        self.usual: Mapping[str, Placement] = {}
        self.source = source_of(layer_class)
        self.runner = self.runner_with()

    def runner_with(self, **changes: Any) -> LayerRunner:
        """Return a runner of what was found, with changes."""
        return self.runner_class(self.layer_class, self.library, replace(self.reading, **changes))

    def constructor(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the constructor; raises UndecidedError."""
        return constructor_of(self.layer_class, self.instance, said)

    def take(self, **changes: Any) -> None:
        """Take what was found into the reading."""
        self.reading = replace(self.reading, **changes)
        self.runner = self.runner_with()

    def construct(self) -> None:
        """Find the arguments of the constructor, and the layout of tokens and results."""
        said = {own: "heads" for own, argument in self.renames.items() if argument == "num_heads"}
        try:
            tried: Sequence[dict[str, Any]] = [self.constructor(said)]
        except UndecidedError as undecided:
            names = undecided.names
            if len(names) > _UNDECIDED_AT_MOST:
                raise self._asks_for(names, "") from None
            tried = [
                self.constructor({**said, **dict(zip(names, values, strict=True))})
                for values in itertools.product(_TRIED, repeat=len(names))
            ]
        else:
            names = []
        trouble = ""
        for constructor in tried:
            said = {*constructor.values()} if not any(map(is_dict, constructor.values())) else {"heads"}
            # Who names the width of a head, and no number of them, has one.
            self.sizes = _OF_ONE_HEAD if "head_width" in said and "heads" not in said else self.usual_sizes
            for forward in forms_of(self.reading.forward):
                runner = self.runner_with(constructor=constructor, forward=forward)
                answer = self._answered(runner, 1 if forward.rank == 2 else _BATCH)
                if isinstance(answer, str):
                    trouble = trouble or answer
                    continue
                output, weights = answer
                self.take(constructor=constructor, forward=replace(forward, output=output, weights=weights))
                if forward.rank == 3:
                    self.take(forward=replace(self.reading.forward, batch_first=not self._mixes_entries()))
                made = self.runner.made(self.sizes, "float32")
                self.take(rotates=made.has_positions, residual=self._adds_tokens())
                if made.normalises:
                    parts = ", ".join(made.normalises)
                    self.take(left_out=(*self.reading.left_out, f"it normalizes inside ({parts}), which is left out"))
                return
        raise self._asks_for(names, trouble)

    def _adds_tokens(self) -> bool:
        """Return whether the tokens are added to what it attends to."""
        batch = 1 if self.reading.forward.rank == 2 else _BATCH
        query, other = np.random.default_rng(0).normal(size=(2, batch, _TOKENS, self.sizes.width)).astype("float32")
        key = query if self.reading.forward.is_self else other
        return self.runner.adds_tokens(Call(query, key, key), self.sizes)

    def _mixes_entries(self) -> bool:
        """Return whether what is changed in one token shows in others of its position, and not of its batch entry."""
        tokens = np.random.default_rng(0).normal(size=(_BATCH, _TOKENS, self.sizes.width)).astype("float32")
        other = tokens.copy()
        other[0, -1] += 1
        made = self.runner.made(self.sizes, "float32")
        one, two = (self.runner.returned(made, Call(each, each, each), self.sizes) for each in (tokens, other))
        index = self.reading.forward.output
        if index is not None:
            one, two = (list(each.values())[index] if is_dict(each) else each[index] for each in (one, two))
        changed = np.abs(np.asarray(one) - np.asarray(two)).max(axis=-1) > 0
        return bool(changed[1:, -1].any()) and not changed[:, :-1].any()

    def _asks_for(self, names: Sequence[str], trouble: str) -> TargetError:
        if names:
            return TargetError(
                f"{self.name} cannot be made: its constructor demands {', '.join(names)}, whose names say nothing. "
                f"Give them defaults, or say which one is the number of heads: --rename {names[0]}=num_heads"
            )
        return TargetError(
            f"{self.name} cannot be made and called as attention of {self.sizes.width} features: {trouble}"
        )

    def _answered(self, runner: LayerRunner, batch: int) -> tuple[int | None, int | None] | str:
        """Return which of the results are output and weights (None: there is one alone), or what went wrong."""
        dtype = "float32"
        tokens = np.random.default_rng(0).normal(size=(batch, _TOKENS, self.sizes.width)).astype(dtype)
        call = Call(tokens, tokens, tokens)
        try:
            returned = runner.returned(runner.made(self.sizes, dtype), call, self.sizes)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return f"{type(error).__name__}: {error}".partition("\n")[0]
        wanted = tokens.shape if runner.reading.forward.rank == 3 else tokens.shape[1:]
        wanted = wanted if runner.reading.forward.batch_first else wanted[::-1]
        if not (is_listed(returned) or is_dict(returned)):
            shape = getattr(returned, "shape", None)
            return (None, None) if shape == wanted else f"it returned the shape {shape} for tokens {wanted}"
        entries = entries_of(returned)
        shapes = [getattr(each, "shape", None) for each in entries]
        if wanted not in shapes:
            return f"it returned the shapes {shapes} for tokens {wanted}"
        scores = (batch, self.sizes.heads, _TOKENS, _TOKENS)
        of_heads = [scores, *([(scores[0], *scores[2:]), scores[2:]] if self.sizes.heads == 1 else [])]
        weights = next((shapes.index(each) for each in of_heads if each in shapes), None)
        return shapes.index(wanted), weights

    def fill_in(self) -> None:
        """Find which matrices and biases the parameters hold."""
        sizes = self.sizes
        parameters = self.runner.made(sizes, "float32").parameters
        has_heads = _has_heads(self.reading.constructor)
        try:
            candidates = candidates_of(parameters, sizes, self.renames, self.name)
        except TargetError:
            # One matrix may serve every head; it is that of the contract where there is one head.
            sizes, of_many = _OF_ONE_HEAD, parameters
            parameters = self.runner.made(sizes, "float32").parameters
            if {path: each.shape for path, each in parameters.items()} == {p: e.shape for p, e in of_many.items()}:
                raise
            candidates = candidates_of(parameters, sizes, self.renames, self.name)
            has_heads = False
            self.said.append("one matrix serves every head, so that one head alone is graded")
        has_heads = has_heads or any("#" in path for path in candidates)
        self.take(has_heads=has_heads)
        placements = {path: each.placements[0] for path, each in candidates.items()}
        missing = [name for name in MATRICES[:3] if not any(name in each.tensors for each in placements.values())]
        if missing:
            kept = ", ".join(f"{path} {parameter.shape}" for path, parameter in parameters.items()) or "nothing"
            raise TargetError(
                f"{self.name} has no parameter for {', '.join(missing)}; it holds {kept}. If one of them is it, say: "
                f"--rename NAME={missing[0]}"
            )
        self.take(parameters=self._chosen(candidates, placements, sizes))
        if self.reading.forward.listed:
            self.take(forward=replace(self.reading.forward, listed=self._order_of_list()))
        self.usual, doubts = believed(self.reading.parameters, candidates, self.source, self.name)
        self.doubts += doubts or doubts_about_roles(self.runner, sizes.heads, _WIDTH, self.name)

    def _order_of_list(self) -> tuple[str, ...]:
        """Return the order of tokens in a list, in which that of the value is seen where it stands alone."""
        for order in (("query", "key", "value"), ("query", "value", "key"), ("value", "key", "query")):
            runner = self.runner_with(forward=replace(self.reading.forward, listed=order))
            if is_proportional(token_alone(runner, 1, _WIDTH, "float32", apart=True)):
                return order
        return self.reading.forward.listed

    def _chosen(
        self, candidates: Mapping[str, Candidates], likeliest: dict[str, Placement], sizes: Sizes
    ) -> dict[str, Placement]:
        """Return the placements under which a token alone becomes x W_v W_o; the likeliest where none does.

        Where another matrix makes the values, which is a mistake, it is one under which they become that.
        """
        open_ = {path: each for path, each in candidates.items() if len(each.placements) > 1}
        for made_by in ("w_value", "w_key", "w_query") if open_ else ():
            seen = [path for path in open_ if {made_by, "w_output"} & {*likeliest[path].tensors}]
            found = self._chosen_by_values(candidates, likeliest, sizes, seen, made_by)
            if found is not None:
                return found
        return likeliest

    def _chosen_by_values(
        self,
        candidates: Mapping[str, Candidates],
        likeliest: dict[str, Placement],
        sizes: Sizes,
        seen: Sequence[str],
        made_by: str,
    ) -> dict[str, Placement] | None:
        """Return the placements under which a token alone becomes its product with a matrix and W_o."""
        # A head by itself is joined as it is, however heads are; a token that may not attend to itself needs others.
        ways = dict.fromkeys(((sizes.heads, 1), (1, 1), (1, _TOKENS)))
        choices = list(itertools.product(*(candidates[path].placements for path in seen)))
        for (heads, count), choice in itertools.product(ways, choices):
            tried = {**likeliest, **dict(zip(seen, choice, strict=True))}
            tried = with_their_biases(applied_alike(tried, candidates, seen), candidates)
            try:
                runner = self.runner_with(parameters=tried)
                distance = token_alone(runner, heads, _WIDTH, "float32", count=count, made_by=made_by)
            except KeyboardInterrupt:
                raise
            except BaseException:
                continue
            if is_proportional(distance):
                return tried
        return None

    def attend(self) -> None:
        """Find causality and masks."""
        dtype, forward = "float32", self.reading.forward
        base = shares(self.runner, dtype, {})
        words = self.name.lower()
        # A row without any key may be NaN, as it is where a diagonal is hidden, too.
        shown = np.zeros((1, 2, 2)) if base is None else np.nan_to_num(base)
        is_triangular = bool((shown[0, 1, -1] == 0) != (shown[0, -1, 1] == 0))
        if is_triangular:
            causality = "built in"
        elif forward.causal is not None:
            causality = "argument"
        elif "causal" in self.reading.constructor.values():
            causality = "constructor"
        elif not self.reading.masks and (
            "causal" in words
            or "masked" in words
            or keeps_a_triangle(self.runner.made(self.sizes, "float32").layer, _SIZES.length)
        ):
            causality = "built in"
        else:
            causality = "none"
        masks: list[MaskForm] = []
        for form in self.reading.masks:
            found, unclear = mask_found(self.runner, form, dtype, heads=self.reading.has_heads)
            if found is not None and found.meaning != "lengths":
                masks.append(self._as_stated(found, unclear))
                continue
            masks += [] if found is None else [found]
            if unclear is not None:
                self.said.append(unclear)
        masks.sort(key=lambda form: "q" not in form.axes)
        if causality == "none" and any("q" in form.axes for form in masks):
            causality = "mask"
        self.take(masks=tuple(masks), causality=causality)
        if is_triangular and any("q" in form.axes for form in masks):
            everything = fitting_mask(masks, np.ones((1,) * 4, np.bool_), (1, 1, 5, 5), np.float32)
            seen = shares(self.runner, dtype, everything)
            if seen is not None and seen.all():
                self.take(causality="unless masked")

    def keep(self) -> None:
        """Find how a cache begins that grows from call to call, be it right or not."""
        forward = self.reading.forward
        layer = self.runner.made(self.usual_sizes, "float32").layer
        ways: list[Forward] = []
        is_named = forward.cache is not None and meaning_of("forward", forward.cache) == "cache"
        if forward.cache is not None:
            begins = (None, *cache_classes(self.layer_class), DICT)
            ways += [replace(forward, grows="given", begins=each) for each in begins]
        if not is_named and (
            forward.switched or forward.position is not None or any(map(is_named_cache, _names(layer)))
        ):
            ways.append(replace(forward, cache=None, grows="inside"))
        found = [(way, remembers(self.runner.with_forward(way))) for way in ways]
        for way, sees in sorted(found, key=lambda each: not each[1]):
            # An argument whose name says nothing is a cache if it works as one.
            if sees or (sees is not None and (is_named or way.cache is None)):
                self.take(forward=way)
                break

    def _as_stated(self, form: MaskForm, unclear: str | None) -> MaskForm:
        """Return a mask with the meaning that is stated of it, and say how its effect departs from that."""
        if form.meaning == "lengths":
            self.said += [] if unclear is None else [unclear]
            return form
        others = [each.name for each in self.reading.masks if each.name != form.name]
        stated = stated_meaning(form, others, self.layer_class, self.source, self.library_name)
        if form.meaning == "add" and stated is None and takes_truth_values(form, self.source):
            stated = Stated("attend", "it is looked at whether it is Boolean, so that")
        words = effect_in_words(form, stated, unclear)
        (self.doubts if words.startswith(DOUBTED) else self.said).append(words)
        if stated is None or stated.meaning == "add":
            return form
        return replace(form, meaning=stated.meaning, adds=form.adds or form.meaning == "add")

    def declare(self) -> None:
        """Find the dtypes that come back, and the conventions that calls show."""
        # Beside tokens that are added, float16 has no range in which what it attends to is seen as it was computed.
        tried = [dtype for dtype in FLOAT_DTYPES if dtype != "float16" or not self.reading.residual]
        offered = [dtype for dtype in tried if self._comes_back(dtype)]
        if not offered:
            raise TargetError(f"{self.name} returns none of the dtypes {', '.join(FLOAT_DTYPES)} as it was given.")
        self.take(dtypes=tuple(offered))
        inside = "float64" in offered and is_inside_float32(self.runner)
        conventions, without = conventions_of(self.runner)
        precision = {"accumulation": "float32"} if inside else {}
        self.take(conventions={**precision, **conventions}, without=without)

    def rotate(self) -> None:
        """Find how rotary positions pair features, and their base."""
        is_meant = self.runner.made(self.usual_sizes, "float32").rotates
        if is_meant or self.reading.forward.optional:
            forward, rotation = rotation_of(self.runner, is_meant=is_meant)
            self.take(forward=forward, rotation=rotation)

    def _comes_back(self, dtype: str) -> bool:
        tokens = np.random.default_rng(0).normal(size=(1, 3, 16)).astype(numpy_dtype(dtype))
        weights = {name: np.eye(16).astype(numpy_dtype(dtype)) for name in MATRICES}
        # A number that fills excluded scores may be none of the dtype, so that something is excluded.
        of_queries = any("q" in form.axes for form in self.reading.masks)
        excluding = np.tril(np.ones((1, 1, 3, 3), np.bool_)) if of_queries else np.array([[[[True, True, False]]]])
        mask = excluding if self.reading.masks else None
        call = Call(tokens, tokens, tokens, mask, self.reading.causality == "built in")
        output = self.runner.tried(call, weights, 2 if self.reading.has_heads else 1)
        return output is not None and getattr(output, "dtype", None) == tokens.dtype

    def believe(self) -> None:
        """Take matrices in their usual order, after all has been found of the layer as it is."""
        self.take(parameters=self.usual)

    def evaluate(self) -> None:
        """Find out whether dropout is left on in evaluation, and have it be seen if so."""
        rate = rate_seen(self.runner, _HEADS if self.reading.has_heads else 1, _WIDTH)
        if rate is not None:
            self.take(dropout=rate)
            self.doubts.append(
                f"{DOUBTED}{self.name} is random in evaluation: two calls with the same tokens give different numbers, "
                "as where dropout is left on"
            )


def _names(layer: Any) -> list[str]:
    """Return the names of a layer's attributes, and of its buffers."""
    return [*attributes_of(layer), *attributes_of(layer).get("_buffers", ())]


def _has_heads(constructor: Mapping[str, Any]) -> bool:
    """Return whether a layer is made with a number of heads."""
    nested = [value for value in constructor.values() if is_dict(value)]
    # A configuration of which nothing is known answers by name.
    return any(each == {"": None} or "heads" in each.values() for each in (*nested, constructor))


def find_reading(finder: Finder) -> tuple[Reading, tuple[str, ...]]:
    """Return how a layer is read, and what was not clear about it, when all steps of its finder are taken.

    Raises TargetError, which asks by name for what cannot be found.
    """
    with warnings.catch_warnings():
        # Of probes, nobody is to be warned.
        warnings.simplefilter("ignore")
        with finder.library.without_dropout():
            finder.construct()
            finder.fill_in()
            finder.attend()
            finder.declare()
            finder.rotate()
            finder.keep()
        finder.believe()
        finder.evaluate()
    return finder.reading, (*finder.doubts, *finder.said)
