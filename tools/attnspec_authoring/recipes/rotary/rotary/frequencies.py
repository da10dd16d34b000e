"""Frequencies without scaling, and under every scaling."""

from __future__ import annotations

from typing import Any

from attnspec_authoring.recipes.authoring import AuthoredCase, Source, headed, reported, table
from attnspec_authoring.recipes.generator import grid

PROFILE = "rotary"
MADE = Source(section="made for the profile rotary")
ONE = "rotary_frequencies.attention_factor.one"


@headed
def frequencies(
    name: str, title: str, clauses: tuple[str, ...], *, report: str | None = None, **attributes: Any
) -> AuthoredCase:
    """Make a case of rotary frequencies; a clause is named without the operation."""
    return AuthoredCase(
        id=f"{PROFILE}/frequencies_{name}",
        title=f"Rotary frequencies: {title}",
        operation="rotary_frequencies",
        clauses=tuple(f"rotary_frequencies.{clause}" for clause in clauses),
        source=MADE if report is None else reported(report),
        attributes=attributes,
        outputs=("inverse_frequencies", "attention_factor"),
        dtypes=(),
    )


@headed
def plain(name: str, title: str, *, report: str | None = None, **attributes: Any) -> AuthoredCase:
    """Make a case without scaling."""
    clauses = ("powers", "theta", "attention_factor.one")
    return frequencies(name, title)(clauses, report=report, **attributes)


def plain_and_linear_cases() -> tuple[AuthoredCase, ...]:
    """Return frequencies of several widths and bases, and those of linear scaling."""
    case = table(frequencies, width=6)
    theta = "sgl-project/SpecForge/issues/265"
    inverted = "xlite-dev/LeetCUDA/issues/289"
    linear = ("linear", "attention_factor.one")
    return (
        plain("width_2", "a single pair turns by one radian")(width=2),
        plain("width_4", "two pairs, one and a hundredth")(width=4, report=inverted),
        plain("width_6", "three pairs")(width=6),
        plain("width_64", "thirty-two pairs")(width=64),
        plain("width_80", "forty pairs")(width=80),
        plain("theta_million", "a base of a million")(width=8, theta=1000000.0, report=theta),
        plain("theta_500000", "sixty-four pairs on a base of half a million")(width=128, theta=500000.0, report=theta),
        plain("theta_3", "a small base")(width=6, theta=3.0),
        plain("theta_1", "a base of one: all pairs turn alike")(width=4, theta=1.0),
        frequencies("factor_beside_none", "a factor and an attention factor without scaling have no effect")(
            ("parameters", "powers", "attention_factor.one"), width=8, factor=4.0, attention_factor=1.5
        ),
        case("lengths_beside_none", "lengths and factors without scaling have no effect")(
            ("parameters", "powers", "attention_factor.one"),
            scaling="none",
            factor=2.5,
            original_length=16,
            sequence_length=64,
            low_frequency_factor=1.0,
            high_frequency_factor=4.0,
            proportion=1.5,
        ),
        frequencies("linear_4", "linear scaling by four")(linear, width=8, scaling="linear", factor=4.0),
        case("linear_2_5", "linear scaling by two and a half")(linear, scaling="linear", factor=2.5, theta=500.0),
        frequencies("linear_1", "linear scaling by one changes nothing")(linear, width=4, scaling="linear", factor=1.0),
        frequencies("linear_of_a_long_text", "linear scaling hears no length")(
            ("linear", "parameters", "attention_factor.one"),
            report="ml-explore/mlx-lm/pull/1562",
            width=8,
            scaling="linear",
            factor=2.0,
            original_length=16,
            sequence_length=64,
        ),
        case("linear_of_a_longer_text", "linear scaling hears neither length nor attention factor")(
            ("linear", "parameters", "attention_factor.one"),
            scaling="linear",
            factor=8.0,
            original_length=4096,
            sequence_length=131072,
            attention_factor=1.25,
        ),
    )


STATIC = "vllm-project/vllm/issues/41236"
SHRUNK = "vllm-project/vllm/issues/52665"
BY_WAVELENGTH = "ml-explore/mlx-examples/pull/907"
NOT_APPLIED = "lablup/mlxcel/issues/1355"
LONG_ONLY = "ml-explore/mlx-lm/pull/660"
TOO_EARLY = "unslothai/unsloth/pull/10681"
DENOMINATOR = "pegainfer-project/pegainfer/issues/820"
NOT_PADDED = "NVIDIA-NeMo/Megatron-Bridge/issues/4195"


@headed
def dynamic(
    name: str, title: str, *, short: bool = False, report: str | None = None, **attributes: Any
) -> AuthoredCase:
    """Make a case of dynamic scaling, of a text up to the original length or of a longer one."""
    clause = "dynamic.short" if short else "dynamic.base"
    clauses = (clause, "attention_factor.one")
    return frequencies(f"dynamic_{name}", f"dynamic, {title}")(clauses, report=report, scaling="dynamic", **attributes)


@headed
def llama3(name: str, title: str, *, report: str | None = None, **attributes: Any) -> AuthoredCase:
    """Make a case of llama3 scaling with pairs of all three kinds."""
    clauses = ("llama3.long_waves", "llama3.short_waves", "llama3.between", "attention_factor.one")
    return frequencies(f"llama3_{name}", f"llama3, {title}")(clauses, report=report, scaling="llama3", **attributes)


@headed
def longrope(
    name: str, title: str, clauses: tuple[str, ...], *, width: int, report: str | None = None, **attributes: Any
) -> AuthoredCase:
    """Make a case of longrope scaling with drawn factors: short ones from 1 to 1.5, long ones from 2 on."""
    drawn = abs(grid(f"rotary/longrope_{name}", (2, width // 2)))
    return frequencies(f"longrope_{name}", f"longrope, {title}")(
        clauses,
        report=report,
        width=width,
        scaling="longrope",
        short_factors=(1.0 + drawn[0] / 8.0).tolist(),
        long_factors=(2.0 + 4.0 * drawn[1]).tolist(),
        **attributes,
    )


@headed
def proportional(name: str, title: str, *, report: str | None = None, **attributes: Any) -> AuthoredCase:
    """Make a case of proportional scaling."""
    clauses = ("proportional", "attention_factor.one")
    title = f"proportional, {title}"
    return frequencies(f"proportional_{name}", title)(clauses, report=report, scaling="proportional", **attributes)


def llama3_cases() -> tuple[AuthoredCase, ...]:
    """Hold the settings of published models, and small ones in which every pair is of another kind."""
    published = {"theta": 500000.0, "original_length": 8192, "low_frequency_factor": 1.0, "high_frequency_factor": 4.0}
    return (
        llama3("factor_8", "as in Llama 3.1")(report=BY_WAVELENGTH, width=128, factor=8.0, **published),
        llama3("factor_32", "as in Llama 3.2")(report=NOT_APPLIED, width=64, factor=32.0, **published),
        llama3("small", "four pairs")(
            width=8, factor=4.0, original_length=100, low_frequency_factor=0.5, high_frequency_factor=4.0
        ),
        llama3("wide_band", "many pairs in between")(
            width=16, factor=2.5, original_length=1000, low_frequency_factor=1.5, high_frequency_factor=64.0
        ),
        frequencies("llama3_attention_factor", "llama3 has no attention factor, even where one is given")(
            ("attention_factor.one", "parameters", "llama3.between"),
            width=8,
            scaling="llama3",
            factor=16.0,
            attention_factor=1.5,
            theta=500.0,
            original_length=64,
            low_frequency_factor=1.0,
            high_frequency_factor=8.0,
        ),
    )


def longrope_cases() -> tuple[AuthoredCase, ...]:
    """Hold texts on both sides of the original length, and on it."""
    derived, given = "attention_factor.longrope", "attention_factor.given"
    settings: dict[str, Any] = {"factor": 32.0, "original_length": 4096}
    return (
        longrope("no_length", "no length stated")(("longrope.short", derived), report=LONG_ONLY, width=6, **settings),
        longrope("short", "a short text")(("longrope.short", derived), width=8, sequence_length=100, **settings),
        longrope("equal", "exactly the original length")(
            ("longrope.short", derived), report=TOO_EARLY, width=8, sequence_length=4096, **settings
        ),
        longrope("equal_small", "exactly a small original length")(
            ("longrope.short", derived), report=TOO_EARLY, width=4, factor=2.0, original_length=16, sequence_length=16
        ),
        longrope("one_more", "one token beyond the original length")(
            ("longrope.long", derived), width=8, sequence_length=4097, **settings
        ),
        longrope("long", "a long text")(("longrope.long", derived), width=16, sequence_length=131072, **settings),
        longrope("factor_1", "a factor of one needs no attention factor")(
            ("longrope.long", derived), width=6, factor=1.0, original_length=10, sequence_length=12
        ),
        longrope("given", "an attention factor is given")(
            ("longrope.short", given), width=6, attention_factor=1.25, **settings
        ),
        longrope("given_long", "an attention factor is given for a long text")(
            ("longrope.long", given), width=4, attention_factor=0.75, sequence_length=8192, **settings
        ),
    )


TRUNCATED = "vllm-project/vllm/issues/27722"
CLAMPED = "keras-team/keras-hub/pull/2981"
EXCHANGED = "pytorch/torchtitan/pull/3787"
MAGNITUDES = "vllm-project/vllm/issues/48621"
DROPPED = "vllm-project/vllm/pull/48351"
MULTIPLIED = "sgl-project/sglang/pull/33558"
THROUGH_LOGARITHM = "NVIDIA/TensorRT-LLM/pull/16379"

RANGE = ("yarn.range", "yarn.truncate", "yarn.blend", "attention_factor.yarn")
GIVEN = ("attention_factor.given", "yarn.blend")
OF_MAGNITUDES = ("attention_factor.magnitudes", "yarn.blend")


@headed
def yarn(
    name: str, title: str, clauses: tuple[str, ...] = RANGE, *, report: str | None = None, **attributes: Any
) -> AuthoredCase:
    """Make a case of yarn scaling."""
    return frequencies(f"yarn_{name}", f"yarn, {title}")(clauses, report=report, scaling="yarn", **attributes)


def ranges() -> tuple[AuthoredCase, ...]:
    """Hold ranges inside the pairs, beyond their ends, and of no width."""
    return (
        yarn("width_64", "thirty-two pairs")(report=EXCHANGED, width=64, factor=4.0, original_length=4096),
        yarn("width_128", "sixty-four pairs on a base of a million")(
            width=128, theta=1000000.0, factor=2.5, original_length=32768
        ),
        yarn("width_80", "forty pairs")(width=80, factor=8.0, original_length=2000),
        yarn("width_8", "four pairs")(width=8, factor=4.0, original_length=4096),
        yarn("width_6", "three pairs on a base of 2")(width=6, theta=2.0, factor=16.0, original_length=12),
        yarn("width_4", "two pairs, the range below both")(width=4, factor=2.0, original_length=5),
        yarn("upper_bound", "a range that ends beyond the last pair")(
            report=CLAMPED, width=64, factor=4.0, original_length=131072
        ),
        yarn("upper_bound_wide", "twenty-four pairs, the range ends beyond them")(
            report=CLAMPED, width=48, factor=8.0, original_length=131072
        ),
        yarn("upper_bound_clamped", "a range that would end beyond all features")(
            report=CLAMPED, width=6, beta_slow=0.0009765625, factor=4.0, original_length=40000
        ),
        yarn("not_truncated_upper_bound", "not truncated, the range would end beyond all features")(
            width=6, beta_slow=0.0009765625, factor=4.0, original_length=40000, truncate=False
        ),
        yarn("empty_range", "both ends at the first pair")(width=64, factor=4.0, original_length=5),
        yarn("turns", "other numbers of turns")(
            width=32, beta_fast=8.0, beta_slow=2.0, factor=4.0, original_length=1000
        ),
        yarn("turns_wide", "turns far apart")(
            report=EXCHANGED, width=64, beta_fast=128.0, beta_slow=0.25, factor=4.0, original_length=4096
        ),
        yarn("not_truncated", "not truncated, as in gpt-oss")(
            report=TRUNCATED, width=64, theta=150000.0, factor=32.0, original_length=4096, truncate=False
        ),
        yarn("not_truncated_small", "four pairs, not truncated")(
            report=TRUNCATED, width=8, factor=4.0, original_length=300, truncate=False
        ),
        yarn("not_truncated_lower_bound", "not truncated, the range begins below the first pair")(
            width=16, factor=4.0, original_length=100, truncate=False
        ),
        yarn("not_truncated_equal", "not truncated, equal numbers of turns")(
            width=16, beta_fast=4.0, beta_slow=4.0, factor=8.0, original_length=1000, truncate=False
        ),
        yarn("truncated_stated", "truncated, and saying so")(width=16, factor=4.0, original_length=1000, truncate=True),
    )


def attention_factors() -> tuple[AuthoredCase, ...]:
    """Hold attention factors that are given, derived, or quotients."""
    settings: dict[str, Any] = {"width": 8, "original_length": 4096}
    return (
        yarn("given_one", "an attention factor of one is given")(
            GIVEN, report=DROPPED, factor=64.0, attention_factor=1.0, **settings
        ),
        yarn("given", "an attention factor is given")(
            GIVEN, report=MULTIPLIED, factor=4.0, attention_factor=1.375, **settings
        ),
        yarn("given_below_one", "an attention factor below one is given")(
            GIVEN, report=THROUGH_LOGARITHM, factor=32.0, attention_factor=0.75, **settings
        ),
        yarn("attention_factor_zero", "an attention factor of zero, stated")(
            GIVEN, factor=4.0, attention_factor=0.0, **settings
        ),
        yarn("factor_1", "a factor of one")(("attention_factor.yarn", "yarn.blend"), factor=1.0, **settings),
        yarn("magnitudes_one", "two magnitude coefficients of one cancel")(
            OF_MAGNITUDES,
            report=MAGNITUDES,
            factor=16.0,
            magnitude_scaling=1.0,
            magnitude_scaling_all_dimensions=1.0,
            **settings,
        ),
        yarn("magnitudes_equal", "two equal magnitude coefficients cancel")(
            OF_MAGNITUDES,
            report=MAGNITUDES,
            factor=40.0,
            magnitude_scaling=0.707,
            magnitude_scaling_all_dimensions=0.707,
            **settings,
        ),
        yarn("magnitudes", "two magnitude coefficients")(
            OF_MAGNITUDES, factor=40.0, magnitude_scaling=1.0, magnitude_scaling_all_dimensions=0.5, **settings
        ),
        yarn("magnitudes_factor_1", "two magnitude coefficients and a factor of one")(
            OF_MAGNITUDES, factor=1.0, magnitude_scaling=1.0, magnitude_scaling_all_dimensions=0.5, **settings
        ),
        yarn("single_magnitude", "a single magnitude coefficient has no effect")(
            OF_MAGNITUDES, factor=8.0, magnitude_scaling=0.5, **settings
        ),
        yarn("second_magnitude", "the second magnitude coefficient alone has no effect")(
            OF_MAGNITUDES, factor=8.0, magnitude_scaling_all_dimensions=0.5, **settings
        ),
        yarn("magnitude_beside_zero", "a magnitude coefficient beside zero has no effect")(
            OF_MAGNITUDES, factor=8.0, magnitude_scaling=0.5, magnitude_scaling_all_dimensions=0.0, **settings
        ),
        yarn("given_beside_magnitudes", "a given attention factor goes before two coefficients")(
            ("attention_factor.given",),
            factor=8.0,
            attention_factor=1.5,
            magnitude_scaling=1.0,
            magnitude_scaling_all_dimensions=0.5,
            **settings,
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *plain_and_linear_cases(),
        # Hold texts shorter and longer than the original length, and exactly as long.
        dynamic("long", "three times the original length")(
            report=STATIC, width=64, factor=2.0, original_length=2048, sequence_length=6144
        ),
        dynamic("one_more", "one token beyond the original length")(
            width=8, factor=4.0, original_length=16, sequence_length=17
        ),
        dynamic("width_4", "two pairs")(width=4, factor=2.5, original_length=10, sequence_length=25, theta=1000000.0),
        dynamic("factor_1", "a factor of one stretches by the length alone")(
            width=6, factor=1.0, original_length=100, sequence_length=800
        ),
        dynamic("width_80", "forty pairs")(
            report=STATIC, width=80, factor=8.0, original_length=4096, sequence_length=131072
        ),
        dynamic("short", "half the original length")(
            short=True, report=SHRUNK, width=8, factor=2.0, original_length=2048, sequence_length=1024
        ),
        dynamic("shorter", "an eighth less than the original length")(
            short=True, report=SHRUNK, width=6, factor=4.0, original_length=64, sequence_length=56
        ),
        dynamic("equal", "exactly the original length")(
            short=True, width=8, factor=4.0, original_length=512, sequence_length=512
        ),
        dynamic("no_length", "no length stated")(short=True, width=6, factor=4.0, original_length=512),
        *llama3_cases(),
        *longrope_cases(),
        # Hold proportions with and without a remainder, and factors.
        proportional("quarter", "a quarter of the pairs turns")(
            report=NOT_PADDED, width=64, proportion=0.25, theta=1000000.0
        ),
        proportional("half", "half of the pairs turns")(report=DENOMINATOR, width=8, proportion=0.5),
        proportional("half_of_three", "half of three pairs is one pair")(width=6, proportion=0.5),
        proportional("three_quarters", "three of four pairs turn, at half the speed")(
            width=8, proportion=0.75, factor=2.0
        ),
        proportional("eighth", "an eighth of the pairs turns, at a third of the speed")(
            width=32, proportion=0.125, factor=3.0, theta=500.0
        ),
        proportional("whole", "all pairs turn where no proportion is stated")(width=6),
        proportional("none", "no pair turns")(width=4, proportion=0.0),
        *ranges(),
        *attention_factors(),
    )
