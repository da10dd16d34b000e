"""The page of draws is exact: its weights, its words, and what is made from it by hand are those of the code."""

import re
from collections import Counter
from math import prod
from pathlib import Path

import numpy as np
import pytest

from attnspec.contract import OPERATIONS
from attnspec_draws import Recipe, recipe_from_text
from attnspec_draws.attention.operations import backward, forward, projecting, softmax, without_inputs
from attnspec_draws.attention.operations import merging_states as merging
from attnspec_draws.attention.parts import exclusions, extents, quantizing, spoiling, tokens
from attnspec_draws.drawing import case_of, drawable, drawn_of
from attnspec_draws.generators import limits, memory, refusing, special_numbers
from attnspec_draws.generators.drawn import _CHANGED
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.random_cases import random_cases_of
from attnspec_draws.generators.words import Stream
from attnspec_draws.rotary.operations import frequencies, rotation, tables

from .by_hand import (
    NEEDED,
    attention_mask,
    axes_of_attention,
    causal_mask,
    combined_heads,
    context_of,
    in_float32,
    merged_states,
    numbers_of_softmax,
    one_head,
    random_weights,
    rotary_frequencies,
    rotated,
    several_heads,
    split_heads,
    tables_of_rotary,
    tokens_of_attention,
)
from .by_hand import Stream as ByHand
from .caches_by_hand import appended, pages, scattered, slots, window
from .memory_by_hand import sharing_memory
from .norms_by_hand import qk_norm, rms_norm
from .quantized_by_hand import quantized_of
from .refused_by_hand import misfit_of, refused_of

PAGE = (Path(__file__).parents[3] / "spec" / "draws.md").read_text("utf-8")
FORWARD, BACKWARD, MERGE = "scaled_dot_product_attention", "scaled_dot_product_attention_backward", "merge_states"
SOFTMAX, ROTATION, TABLES_OF = "softmax", "apply_rotary", "rotary_tables"
MODULES = (
    backward,
    exclusions,
    extents,
    forward,
    merging,
    projecting,
    quantizing,
    softmax,
    tokens,
    frequencies,
    rotation,
    tables,
    without_inputs,
    special_numbers,
    limits,
    memory,
    refusing,
)
CHANGED_APART = {"rising", "tied", "nearly_tied", "equal", "far_below"}
"""Classes whose elements depend on others, which are not made by hand."""

SHARING_MEMORY = frozenset({"one_array", "one_part_for_many"})
REFUSED = frozenset({"refused"})
ALIKE = frozenset({"alike"})
NOT_FINITE = frozenset(
    {"excluded_nonfinite", "attended_nan", "infinite_scores", "nan_in_mask", "padded_nonfinite", "nan_in_gradient"}
)
BEYOND = frozenset({"beyond_float16"})
NOT_BY_HAND = NOT_FINITE | {"shared_prefix", "heavy"} | BEYOND | SHARING_MEMORY | REFUSED | ALIKE
"""What changes tokens of attention, and is not made by hand."""

MAY_SHARE_MEMORY = {
    FORWARD: ("query", "key", "value"),
    BACKWARD: ("grad_output", "query", "key", "value"),
    "single_head_attention": ("x", "w_query", "w_key", "w_value"),
    "multi_head_attention": ("query", "key", "value", "w_query", "w_key", "w_value", "w_output"),
    ROTATION: ("cos", "sin"),
}
NOT_SHARING_MEMORY = {
    FORWARD: NOT_FINITE | {"float8_e4m3fn", "float8_e5m2", "int8"},
    BACKWARD: NOT_FINITE,
    "multi_head_attention": NOT_FINITE,
}
"""What is left out so that the same draw without numbers in one part of memory differs in nothing else."""

FORMATS = ("float8_e4m3fn", "float8_e5m2", "int8")

TABLES = {
    f"{module.__name__.rpartition('.')[2]}.{name}": table
    for module in MODULES
    for name, table in vars(module).items()
    if isinstance(table, dict) and table and all(type(weight) is int for weight in table.values())
}
SHARES = {
    "in 40 of 100": forward._CAUSAL,
    "whether there is one, in 30 of 100": forward._SCALED,
    "`softcap` | in 15 of 100": forward._CAPPED,
    "`sinks` | in 12 of 100": forward._WITH_SINKS,
    "whether their sum is the number of entries, in 15 of 100": exclusions._COINCIDING,
    "`alibi` | in 12 of 100": forward._WITH_SLOPES,
    "`window` | in 20 of 100": exclusions._WINDOWED,
    "A mask, in 30 of 100": exclusions._MASKED,
    "of numbers in 45 of 100": exclusions._AS_NUMBERS,
    "a past in 18 of 100": extents._PAST,
    "some inputs have another memory layout": memory._LAID_OUT,
    "whether tensors are quantized, in 10 of 100": quantizing._QUANTIZED,
    "whether each has a format of its own, in 20 of 100": quantizing._MIXED,
    "Stream `grad_logsumexp`: in 15 of 100": backward._WITH_GRAD_LOGSUMEXP,
    "`stored`: in 50 of 100": backward._STORED,
    "In 60 of 100 there is `w_output`": projecting._WITH_OUTPUT,
    "In 20 of 100, and without `unequal_lengths`": projecting._ALIKE,
    "Stream `no keys`: else, in 3 of 100": projecting._NO_KEYS,
    "each bias in 50 of 100": projecting._WITH_BIAS,
    "`is_causal` in 30 of 100": projecting._CAUSAL,
    "Stream `scale`: in 35 of 100": projecting._SCALED,
    "Stream `one array`: in 5 of 100": memory._ONE_ARRAY,
    "whether for all of one shape, in 50 of 100": memory._OF_ALL,
    "stream `one part`: in 5 of 100": memory._ONE_PART,
    "Stream `refused`: in 4 of 100": refusing._REFUSED,
    "In 30 of 100 of these, by the stream `refused_twice`": refusing._TWICE,
    "in 5 of 100 by the stream `heavy`": tokens._HEAVY,
    "Stream `beyond_float16`: in 5 of 100": special_numbers._BEYOND_FLOAT16,
    "are the same in 8 of 100 by the stream `alike NAME`": special_numbers._ALIKE,
    "Stream `changed_argument`: in 16 of 100": _CHANGED,
    "Stream `misfit`: in 3 of 100": refusing._MISFIT,
    "pairs are heavy in 10 of 100": rotation._HEAVY,
    "Stream `hidden`: in 20 of 100": softmax._WITH_MINUS_INFINITY,
    "`large`: in 8 of 100": projecting._LARGE,
    "in 4 of 100 by the stream `infinite scores`": spoiling._INFINITE,
    "holds NaN in 12 of 100 by the stream `spoilt mask`": spoiling._IN_MASK,
    "are spoilt in 50 of 100 by the stream `spoilt padding`": spoiling._IN_PADDING,
    "in 4 of 100 by the stream `spoilt gradient`": spoiling._IN_GRADIENT,
    "in 12 of 100 all that no query of any head": projecting._EXCLUDED,
    "else in 4 of 100 one that some": projecting._ATTENDED,
    "Stream `spoilt`: in 6 of 100": merging._SPOILT,
    "in 50 of 100 by the stream `opposite`": merging._OPPOSITE,
    "Stream `nearly largest`: in 6 of 100": merging._NEARLY_LARGEST,
    "Stream `empty`: in 4 of 100 there are no keys": without_inputs._EMPTY,
    "Stream `nearly largest`: in 8 of 100": softmax._NEARLY_LARGEST,
    "Stream `standing`: in 8 of 100": rotation._STANDING,
    "Then in 50 of 100 the first of them": rotation._SPOILT,
    "Stream `turned inside`: in 12 of 100": tables._TURNED,
    "begin alike in 30 of 100 by the stream `prefix`": tokens._PREFIXED,
    "In 25 of 100, where the recipe states no keys": without_inputs._SQUARE,
    "Stream `additive`: true in 50 of 100": without_inputs._ADDITIVE,
    "Stream `unused`: in 25 of 100, one more": frequencies._UNUSED,
    "In 15 of 100, if the recipe states neither": softmax._ALIKE,
    "Stream `scale`: whether there is one, in 40 of 100": softmax._SCALED,
    "Stream `spoilt`: in 20 of 100": projecting._SPOILT,
    "In 40 of 100 features stay untouched": rotation._PARTIAL,
    "Stream `spoilt`: in 8 of 100": rotation._NONFINITE,
    "have those of the first, in 30 of 100": tables._ALIKE,
    "Stream `factor`: in 40 of 100": tables._WITH_FACTOR,
}


def plain(text):
    return re.sub(r"\s+", " ", text)


def spelt(choice, *, whole=False):
    """A choice as the page spells it: nothing, truth values and, if whole, also whole fractions are not as Python's."""
    if isinstance(choice, float) and whole:
        return f"{choice:.10g}"
    return {"": "none", "None": "-", "False": "false", "True": "true"}.get(str(choice), str(choice))


def rows(*heads):
    """Cells of the rows of the table under some heads."""
    lines = PAGE.splitlines()
    start = lines.index(f"| {' | '.join(heads)} |") + 2
    for line in lines[start:]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def same(array, numbers):
    return np.array_equal(array.ravel().astype(np.float64), np.array(numbers, np.float64), equal_nan=True)


@pytest.mark.parametrize("name", sorted(TABLES.keys() - {"exclusions._SHARES", "memory._ALONG"}))
def test_weights_are_those_of_the_code(name):
    assert any(
        ", ".join(f"{spelt(choice, whole=whole)}: {weight}" for choice, weight in TABLES[name].items()) in plain(PAGE)
        for whole in (False, True)
    )


def test_there_are_tables_of_every_room():
    assert {name.partition(".")[0] for name in TABLES} >= {module.__name__.rpartition(".")[2] for module in MODULES}


@pytest.mark.parametrize("sentence", SHARES)
def test_shares_are_those_of_the_code(sentence):
    assert sentence in plain(PAGE)
    said = re.search(r"(\d+) of 100", sentence)
    assert said is None or int(said[1]) == SHARES[sentence]


def test_lists_are_those_of_the_code():
    for listed in (extents._SPECIAL, extents._TILES, extents._USUAL_WIDTHS, exclusions._BLOCK):
        assert ", ".join(map(str, listed)) in plain(PAGE)
    assert f"one of {', '.join(f'{number:g}' for number in merging._APART)}, and at least 1" in plain(PAGE)
    assert f"one of {', '.join(f'{number:g}' for number in merging._SHIFTS)};" in plain(PAGE)


def test_usual_values_are_those_of_the_code():
    usual = {word.strip("`").partition("=")[0]: value for word, _, value in rows("word", "what it says", "else")}
    limits = Limits("float32")
    for name in ("elements", "longest", "variant"):
        assert usual[name] == str(getattr(limits, name))


def test_known_words():
    found = [*rows("seed", "base", "words 0, 1, 2")]
    assert len(found) == 2
    for seed, _, words in found:
        stream = Stream(seed.strip("`"))
        assert words.replace("`", "").split() == [f"{word:016x}" for word in stream.words(3).tolist()]
    stream = Stream(found[0][0].strip("`"))
    said = f"below 10 gives {stream.below(10)}, then between 1 and 8 gives {stream.between(1, 8)}, "
    assert f"{said}then any size from 9 to 4096 gives {stream.of_any_size(9, 4096)}." in plain(PAGE)


def test_known_elements():
    found = [*rows("draw", "input", "elements")]
    with_inputs = {operation for operation in drawable() if OPERATIONS[operation].inputs}
    assert {recipe_from_text(text.strip("`")).operation for text, *_ in found} == with_inputs
    for text, name, elements in found:
        of, _, shape = name.partition(" ")
        array = drawn_of(recipe_from_text(text.strip("`"))).inputs[of]
        assert str(array.shape) == shape
        assert same(array.ravel()[:4], [float(number) for number in elements.split(",")])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("elements", "longest"), [(400, 4_096), (60, 20), (2, 1)])
def test_states_to_be_merged_are_made_from_the_page(dtype, elements, longest):
    for number in range(60):
        recipe = Recipe(MERGE, "by-hand", number, Limits(dtype, REFUSED | BEYOND, elements=elements, longest=longest))
        drawn = drawn_of(recipe)
        shape, parts = merged_states(f"{MERGE}/by-hand/{number}/{dtype}", dtype, elements, longest)
        assert drawn.inputs["output_a"].shape == shape
        for name, numbers in parts.items():
            assert same(drawn.inputs[name], numbers), (recipe.text, name)


BY_HAND = {
    SOFTMAX: numbers_of_softmax,
    ROTATION: rotated,
    TABLES_OF: tables_of_rotary,
    "rotary_frequencies": rotary_frequencies,
    "causal_mask": causal_mask,
    "attention_mask": attention_mask,
    "append_cache": appended,
    "scatter_cache": scattered,
    "write_slots": slots,
    "write_paged_cache": pages,
    "write_window": window,
    "rms_norm": rms_norm,
    "qk_norm": qk_norm,
    "context_vector": context_of,
    "split_heads": split_heads,
    "combine_heads": combined_heads,
    "single_head_attention": one_head,
    "multi_head_attention": several_heads,
}


@pytest.mark.parametrize("operation", BY_HAND)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("elements", "longest"), [(400, 4_096), (60, 20), (2, 1)])
def test_draws_of_short_operations_are_made_from_the_page(operation, dtype, elements, longest):
    # Who may attend what is not made by hand.
    left_out = NOT_FINITE if operation == "multi_head_attention" else frozenset[str]()
    for number in range(150):
        recipe = Recipe(
            operation,
            "by-hand",
            number,
            Limits(dtype, SHARING_MEMORY | REFUSED | ALIKE | BEYOND | left_out, elements=elements, longest=longest),
        )
        drawn = drawn_of(recipe)
        made, attributes = BY_HAND[operation](f"{operation}/by-hand/{number}/{dtype}", dtype, elements, longest)
        assert drawn.attributes == attributes, recipe.text
        assert {*drawn.inputs} - {"mask"} == {*made}, recipe.text
        for name, (shape, numbers) in made.items():
            assert drawn.inputs[name].shape == shape, (recipe.text, name)
            assert same(drawn.inputs[name], numbers), (recipe.text, name)


@pytest.mark.parametrize("elements", [60_000, 5_000, 10])
def test_random_weights_are_made_from_the_page(elements):
    seeds = set()
    for number in range(300):
        recipe = Recipe("glorot_normal", "by-hand", number, Limits("float32", elements=elements))
        drawn = drawn_of(recipe)
        assert drawn.attributes == random_weights(f"glorot_normal/by-hand/{number}/float32", elements), recipe.text
        assert {**drawn.attributes, **drawn.properties} == {**drawn.attributes, "distribution": "normal"}
        seeds.add(drawn.attributes["seed"])
    assert 0 in seeds


@pytest.mark.parametrize("operation", [FORWARD, BACKWARD])
@pytest.mark.parametrize(("elements", "longest"), [(60_000, 4_096), (1_000, 64), (30, 5), (4, 4_096)])
def test_axes_of_attention_are_made_from_the_page(operation, elements, longest):
    for number in range(300):
        recipe = Recipe(operation, "by-hand", number, Limits("float32", elements=elements, longest=longest))
        allowed = elements if operation == FORWARD else max(elements // 4, 2)
        seed = f"{operation}/by-hand/{number}/float32"
        axes = axes_of_attention(seed, allowed, longest, has_past=operation == FORWARD)
        assert drawn_of(recipe).extents == {axis: axes[axis] for axis in drawn_of(recipe).extents}, recipe.text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operation", [FORWARD, BACKWARD])
def test_tokens_of_attention_are_made_from_the_page(operation, dtype):
    classes = set()
    for number in range(150):
        recipe = Recipe(operation, "by-hand", number, Limits(dtype, NOT_BY_HAND, elements=300, longest=40))
        drawn = drawn_of(recipe.leaving_out(FORMATS))
        axes = {"past": 0, **drawn.extents}
        chosen, made = tokens_of_attention(f"{operation}/by-hand/{number}/{dtype}", dtype, axes)
        if chosen in CHANGED_APART:
            made = {name: numbers for name, numbers in made.items() if name.endswith("value")}
        classes.add(chosen)
        for name, numbers in made.items():
            assert same(drawn.inputs[name], numbers), (recipe.text, chosen, name)
    assert classes == {*tokens.CLASSES}


def test_quantized_tensors_are_made_from_the_page():
    formats = Counter()
    for number in range(800):
        limits = Limits("float32", NOT_BY_HAND, elements=300, longest=40)
        recipe = Recipe(FORWARD, "by-hand", number, limits)
        drawn, plain = drawn_of(recipe), drawn_of(recipe.leaving_out(FORMATS))
        extents = drawn.extents
        made = quantized_of(f"{FORWARD}/by-hand/{number}/float32", plain.inputs, extents["batch"], extents["shared"])
        assert {name for name in drawn.inputs if name.endswith("_scale")} == {name for name in made if "scale" in name}
        for name, (dtype, shape, numbers) in made.items():
            formats[dtype] += 1
            assert drawn.inputs[name].dtype.name == dtype, (recipe.text, name)
            assert drawn.inputs[name].shape == shape, (recipe.text, name)
            assert same(drawn.inputs[name], numbers), (recipe.text, name)
        for name in drawn.inputs.keys() - made.keys():
            assert same(drawn.inputs[name], plain.inputs[name].ravel().tolist()), (recipe.text, name)
    assert {*FORMATS} < formats.keys()
    assert min(formats.values()) > 20


def test_scores_far_below_are_made_from_the_page():
    done, with_sinks = 0, 0
    for number in range(1_500):
        recipe = Recipe(
            FORWARD, "by-hand", number, Limits("float32", NOT_BY_HAND | {*FORMATS}, elements=300, longest=40)
        )
        drawn = drawn_of(recipe)
        if "far_below" not in drawn.features:
            continue
        plain = drawn_of(recipe.leaving_out({"far_below"}))
        changed = {name: array.copy() for name, array in plain.inputs.items()}
        changed["query"][..., 0] = 1
        for name in {"key", "past_key"} & changed.keys():
            changed[name][..., 0] = -4096
        if "sinks" in changed:
            scale = drawn.attributes.get("scale", drawn.extents["width"] ** -0.5)
            changed["sinks"] = [in_float32(sink - 4096 * scale) for sink in changed["sinks"].tolist()]
            with_sinks += 1
        for name, array in changed.items():
            assert same(drawn.inputs[name], np.ravel(array).tolist()), (recipe.text, name)
        done += 1
    assert min(done, 10 * with_sinks) > 10


def test_lengths_that_coincide_are_made_from_the_page():
    done = Counter()
    for number in range(1_500):
        recipe = Recipe(FORWARD, "by-hand", number, Limits("float32", NOT_BY_HAND, elements=300, longest=40))
        drawn = drawn_of(recipe)
        for name, axis in (("key_lengths", "keys"), ("query_lengths", "queries")):
            if name not in drawn.inputs:
                continue
            stream = ByHand(f"{FORWARD}/by-hand/{number}/float32/{name} coincide")
            entries = drawn.inputs[name].size
            if not stream.share(15) or min(entries, drawn.extents[axis]) < 2:
                continue
            expected, more = [1] * entries, stream.below(entries)
            fewer = (more + stream.below(entries - 1) + 1) % entries
            expected[more], expected[fewer] = 2, 0
            assert drawn.inputs[name].tolist() == expected, recipe.text
            done[name] += 1
    assert min(done["key_lengths"], done["query_lengths"]) > 3


def test_heavy_pairs_are_made_from_the_page():
    done = Counter()
    for number in range(300):
        recipe = Recipe(ROTATION, "by-hand", number, Limits("float16", REFUSED, elements=300, longest=40))
        drawn, seed = drawn_of(recipe), f"{ROTATION}/by-hand/{number}/float16"
        apart = {"nonfinite", "standing_tokens", "alike", *SHARING_MEMORY}
        heavy = ByHand(f"{seed}/heavy").share(10) and apart.isdisjoint(drawn.features)
        assert ("heavy" in drawn.features) == heavy, recipe.text
        if not heavy:
            continue
        batch, heads, tokens, pairs = (drawn.extents[axis] for axis in ("batch", "heads", "tokens", "pairs"))
        table, all_pairs = (batch, 1, tokens, pairs), (batch, heads, tokens, pairs)
        signs = {
            name: 1 - 2 * np.reshape(ByHand(f"{seed}/sign of {name}").whole(prod(shape), 0, 1), shape)
            for name, shape in (("cos", table), ("sin", table), ("x", all_pairs))
        }
        assert same(drawn.inputs["cos"], 1.25 * signs["cos"].ravel()), recipe.text
        assert same(drawn.inputs["sin"], 0.5 * signs["sin"].ravel()), recipe.text
        first = np.reshape(ByHand(f"{seed}/heavy first").coarse(prod(all_pairs)), all_pairs) * 1250 + 55500
        second = np.reshape(ByHand(f"{seed}/heavy second").coarse(prod(all_pairs)), all_pairs) * 500 + 21000
        each = drawn.attributes.get("pairing", "half")
        x = drawn.inputs["x"][..., : 2 * pairs]
        halves = (x[..., ::2], x[..., 1::2]) if each == "interleaved" else (x[..., :pairs], x[..., pairs:])
        assert same(halves[0], (signs["x"] * first).astype(np.float16).ravel()), recipe.text
        of_second = signs["x"] * signs["cos"] * signs["sin"] * second
        assert same(halves[1], of_second.astype(np.float16).ravel()), recipe.text
        done[each] += 1
    assert min(done["half"], done["interleaved"]) > 3


def test_heavy_values_are_made_from_the_page():
    done = 0
    for number in range(800):
        limits = Limits("float32", NOT_BY_HAND - {"heavy"} | {*FORMATS}, elements=300, longest=40)
        recipe = Recipe(FORWARD, "by-hand", number, limits)
        drawn, plain = drawn_of(recipe), drawn_of(recipe.leaving_out(["heavy"]))
        makes = ByHand(f"{FORWARD}/by-hand/{number}/float32/heavy").share(5)
        is_heavy = makes and not {"cancelling", "tiny"} & {*plain.features}
        assert ("heavy" in drawn.features) == is_heavy, recipe.text
        for name, array in plain.inputs.items():
            numbers = array.ravel().tolist()
            if is_heavy and name in ("value", "past_value"):
                numbers = [in_float32(each + 4) * 2**13 for each in numbers]
            assert same(drawn.inputs[name], numbers), (recipe.text, name)
        done += is_heavy
    assert done > 20


@pytest.mark.parametrize("operation", [FORWARD, BACKWARD, "single_head_attention", "multi_head_attention", ROTATION])
def test_numbers_that_share_memory_are_those_of_the_page(operation):
    done = Counter()
    for number in range(400):
        limits = Limits(
            "float32", NOT_SHARING_MEMORY.get(operation, REFUSED) | REFUSED | BEYOND, elements=300, longest=40
        )
        recipe = Recipe(operation, "by-hand", number, limits)
        drawn, apart = drawn_of(recipe), drawn_of(recipe.leaving_out(SHARING_MEMORY))
        inputs = {name: apart.inputs[name] for name in MAY_SHARE_MEMORY[operation]}
        shapes = {name: array.shape for name, array in inputs.items()}
        found = sharing_memory(f"{operation}/by-hand/{number}/float32", shapes)
        if found is None:
            assert not SHARING_MEMORY & {*drawn.features}, recipe.text
            continue
        names, axis = found
        if axis is None:
            expected = dict.fromkeys(names, inputs[names[0]])
        else:
            expected = {names[0]: np.repeat(np.take(inputs[names[0]], [0], axis), shapes[names[0]][axis], axis)}
        for name, array in (inputs | expected).items():
            assert same(drawn.inputs[name], array.ravel().tolist()), (recipe.text, name)
        assert {*drawn.memory_order} == {*names}, recipe.text
        done.update(set(drawn.memory_order.values()))
    assert len(done) > (3 if operation in (FORWARD, BACKWARD) else 1), done


@pytest.mark.parametrize(
    ("operation", "names"),
    [
        (operation.strip("`"), names.split(", "))
        for operations, names in rows("operation", "inputs")
        for operation in operations.split(", ")
    ],
)
def test_inputs_that_are_alike_are_those_of_the_page(operation, names):
    done = set()
    for number in range(1_000):
        limits = Limits("float32", NOT_BY_HAND - ALIKE | {"standing_tokens"}, elements=300, longest=40)
        recipe = Recipe(operation, "by-hand", number, limits)
        drawn, apart = drawn_of(recipe), drawn_of(recipe.leaving_out(ALIKE))
        expected, alike_here = dict(apart.inputs), set()
        for name in names:
            stream = ByHand(f"{operation}/by-hand/{number}/float32/alike {name}")
            makes, kind = stream.share(8), stream.by_weight(neutral=3, first=1)
            if not makes or name not in expected:
                continue
            array = expected[name]
            is_truth = array.dtype == np.bool_
            of_all = {
                "mask": is_truth,
                "key_lengths": drawn.extents.get("keys"),
                "query_lengths": drawn.extents.get("queries"),
            }
            is_first = kind == "first" and array.size and not is_truth and np.isfinite(array.ravel()[0])
            expected[name] = np.full_like(array, array.ravel()[0] if is_first else of_all.get(name, 0))
            alike_here.add(name)
        done |= alike_here
        assert ("alike" in drawn.features) == bool(alike_here), recipe.text
        if drawn.inputs.keys() == expected.keys():
            for name in expected.keys() - {"output", "logsumexp"}:
                assert same(drawn.inputs[name], expected[name].ravel().tolist()), (recipe.text, name)
    assert done == {*names}


def resizings(operation):
    """What is multiplied and what is divided, as the page's table has it."""
    return [
        [[] if names == "none" else [name.strip("`") for name in names.split(", ")] for names in (more, less)]
        for of, more, less in rows("operation", "multiplied", "divided")
        if of.strip("`") == operation
    ]


@pytest.mark.parametrize("operation", drawable())
def test_inputs_beyond_float16_are_those_of_the_page(operation):
    choices, done = resizings(operation), 0
    for number in range(500):
        limits = Limits("float32", REFUSED, elements=300, longest=40)
        recipe = Recipe(operation, "by-hand", number, limits)
        drawn, plain = drawn_of(recipe), drawn_of(recipe.leaving_out(BEYOND))
        stream = ByHand(f"{operation}/by-hand/{number}/float32/beyond_float16")
        expected, is_beyond = dict(plain.inputs), False
        if choices and stream.share(5):
            factor, (more, less) = stream.one_of((2.0**20, 2.0**-30)), stream.one_of(choices)
            inputs = [expected[name] for name in (*more, *less) if name in expected]
            is_beyond = {*less} <= {*expected} and all(array.dtype == np.float64 for array in inputs)
            is_beyond &= not SHARING_MEMORY & {*plain.features}
            if is_beyond:
                expected |= {name: expected[name] * factor for name in more if name in expected}
                expected |= {name: expected[name] / factor for name in less}
        assert ("beyond_float16" in drawn.features) == is_beyond, recipe.text
        for name, array in expected.items():
            assert same(drawn.inputs[name], array.ravel().tolist()), (recipe.text, name)
        done += is_beyond
    assert (done > 5) == bool(choices)


def test_nothing_is_beyond_float16_in_float16():
    drawn = [drawn_of(Recipe("split_heads", "by-hand", number, Limits("float16"))) for number in range(200)]
    assert not any("beyond_float16" in one.features for one in drawn)


def concerns(cell, operation):
    """Whether a row is about an operation; *both* are attention and its backward pass."""
    return operation in (FORWARD, BACKWARD) if cell == "both" else cell.strip("`") == operation


def table_of_refusals(operation):
    """The clauses of axes and rank of each input, as the page's table has them."""
    found = {}
    for of, names, axes, rank in rows("operation", "input", "axes", "rank"):
        clauses = tuple(None if word == "none" else word for word in axes.split(", "))
        for name in names.split(", ") if concerns(of, operation) else ():
            found[name.strip("`")] = (clauses, None if rank == "none" else rank)
    return found


def table_of_misfits(operation):
    """Argument and clause of what other values must be refused, as the page's table has them."""
    cells = rows("operation", "argument", "values", "clause")
    return [(argument.strip("`"), clause) for of, argument, _, clause in cells if concerns(of, operation)]


def refusal_by_hand(recipe, drawn, counterpart, table):
    """Hold a draw, if it is refused, against the page, and return its clause and the number of inputs that changed."""
    if not drawn.is_refused:
        assert {name: array.shape for name, array in drawn.inputs.items()} == {
            name: array.shape for name, array in counterpart.inputs.items()
        }
        return None
    inputs = {name: (array.tolist(), array.ndim) for name, array in counterpart.inputs.items()}
    seed = f"{recipe.operation}/by-hand/{recipe.number}/float32"
    clause, changed = refused_of(seed, inputs, table, recipe.limits.elements)
    for name, numbers in {**counterpart.inputs, **changed}.items():
        expected = np.asarray(numbers)
        # Nested lists do not say how long an axis is behind one that is empty.
        assert drawn.inputs[name].shape == expected.shape or not expected.size, (recipe.text, name)
        assert same(drawn.inputs[name], expected.ravel()), (recipe.text, name)
    assert ("refused_twice" in drawn.features) == (len(changed) == 2), recipe.text
    assert [each.partition(".rejects.")[2] for each in drawn.clauses] == [clause], recipe.text
    return clause, len(changed)


@pytest.mark.parametrize("operation", drawable())
def test_values_that_do_not_fit_and_refused_inputs_are_made_from_the_page(operation):
    table, done, refusals = table_of_misfits(operation), Counter(), table_of_refusals(operation)
    refused = []
    # A draw of attributes alone is quick, and has many of them.
    for number in range(1_500 if OPERATIONS[operation].inputs else 8_000):
        recipe = Recipe(operation, "by-hand", number, Limits("float32", elements=300, longest=40))
        drawn, right = drawn_of(recipe), drawn_of(recipe.leaving_out(REFUSED))
        seed = f"{operation}/by-hand/{number}/float32"
        found = misfit_of(seed, operation, right.inputs, right.attributes, table)
        if found is None:
            if refusals:
                refused.append(refusal_by_hand(recipe, drawn, right, refusals))
            continue
        if not drawn.is_refused:
            # What is not refused after all: a parameter that the scaling does not use.
            assert operation == "rotary_frequencies", recipe.text
            continue
        argument, value, clause = found
        holds = {**drawn.inputs, **drawn.attributes}[argument]
        assert (holds.tolist() if isinstance(holds, np.ndarray) else holds) == value, recipe.text
        assert [each.partition(".rejects.")[2] for each in drawn.clauses] == [clause], recipe.text
        done[argument] += 1
    misfits = random_cases_of(operation).case_generators[operation].misfits
    assert [misfit.argument for misfit in misfits] == [row[0] for row in table]
    assert done.keys() == {row[0] for row in table}
    if refusals:
        clauses = {clause for clause, _ in filter(None, refused)}
        known = {each for axes, rank in refusals.values() for each in (*axes, rank)} - {None}
        assert clauses >= known - {"mask_shape", "scale_shape", "gradient_shape"}
        assert clauses
        assert any(number == 2 for _, number in filter(None, refused)) == (len(refusals) > 1)


def test_frequencies_are_refused_without_what_their_scaling_needs():
    done = set()
    for number in range(2_000):
        drawn = drawn_of(Recipe("rotary_frequencies", "by-hand", number, Limits("float32")))
        right = drawn_of(Recipe("rotary_frequencies", "by-hand", number, Limits("float32", REFUSED)))
        stream = ByHand(f"rotary_frequencies/by-hand/{number}/float32/refused")
        scaling = right.attributes.get("scaling")
        if "refused" in drawn.features and drawn.attributes.keys() >= right.attributes.keys():
            continue
        needed = sorted({*NEEDED.get(scaling, "").split()} - ({"factor"} if scaling == "longrope" else set()))
        if not stream.share(4) or not needed:
            assert drawn.attributes == right.attributes
            assert not drawn.is_refused
            continue
        missing = stream.one_of(needed)
        assert {**drawn.attributes, missing: right.attributes[missing]} == right.attributes
        assert drawn.clauses == ("rotary_frequencies.rejects.parameters",)
        case = case_of(Recipe("rotary_frequencies", "by-hand", number, Limits("float32")), drawn)
        assert case.rejects is not None
        assert case.rejects.convention is None
        done.add((right.attributes["scaling"], missing))
    assert len(done) > 9


def test_the_page_has_every_input_that_is_refused():
    for operation in drawable():
        refusals = random_cases_of(operation).case_generators[operation].refusals
        table = table_of_refusals(operation)
        assert {*refusals} == {*table}
        assert [name for name in refusals if name in table] == [*table]


@pytest.mark.parametrize("operation", drawable())
def test_changed_arguments_are_those_of_the_page(operation):
    chosen = set()
    for number in range(300):
        recipe = Recipe(operation, "by-hand", number, Limits("float32", elements=300, longest=40))
        drawn = drawn_of(recipe)
        stream = ByHand(f"{operation}/by-hand/{number}/float32/changed_argument")
        if not stream.share(16) or drawn.is_refused:
            assert drawn.changed is None, recipe.text
            continue
        others = {name for name, value in drawn.attributes.items() if value is True or (type(value) is float and value)}
        unchanged = {"theta", "beta_fast", "beta_slow"} if drawn.attributes.get("scaling") == "yarn" else set()
        unchanged |= {"batch_indices", "positions"} if operation == "write_paged_cache" else set()
        counts = {"seed"} | ({"offset", "query_length", "key_length"} if operation == "causal_mask" else set())
        counts |= {"causal_alignment", "window"}
        left = sorted(({*drawn.inputs} | others) - unchanged | (counts & drawn.attributes.keys()))
        weights = [(name, 1 if name in OPERATIONS[operation].inputs else 4) for name in left]
        assert drawn.changed == (stream.of_pairs(weights) if left else None), recipe.text
        stored = operation == BACKWARD and "output" in drawn.inputs
        done = case_of(recipe, drawn).changed_argument
        assert done is None or not stored, recipe.text
        assert done is None or "one_array" not in drawn.features, recipe.text
        chosen |= {drawn.changed} if done is not None else set()
    assert chosen
