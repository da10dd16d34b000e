"""Pages of implementations: the table of all, a page for each version on which every failing cell says why, defects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from attnspec.contract import PROFILES
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec_authoring.results import (
    BIN_EDGES,
    Count,
    Defect,
    Distribution,
    Failure,
    Implementation,
    Result,
    read_defects,
    read_implementations,
    read_results,
)
from attnspec_site import addresses
from attnspec_site.page import Page, PageMaker, issue_name
from attnspec_site.search_index import Entry

_DTYPES = (*FLOAT_DTYPES, ANY)
_REFERENCE = "reference"
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Cell:
    """A cell of the table: results that passed, failed by a known defect, and failed otherwise."""

    passed: int
    known: int
    failed: int

    @property
    def tried(self) -> int:
        """How many results were graded."""
        return self.passed + self.known + self.failed

    @property
    def kind(self) -> str:
        """The class of its colour."""
        return "bad" if self.known or self.failed else "good"


@dataclass(frozen=True)
class Table:
    """The committed results of implementations, their defects, and which cases they fail."""

    implementations: Mapping[str, Implementation]
    results: Sequence[Result]
    defects: Mapping[str, Defect]

    @cached_property
    def failures_of_case(self) -> Mapping[str, Sequence[tuple[Result, Failure]]]:
        """Case to the failures of it, in any version of any implementation."""
        found: dict[str, list[tuple[Result, Failure]]] = {}
        for result in self.results:
            for failure in result.failures:
                found.setdefault(failure.case, []).append((result, failure))
        return found

    @cached_property
    def newest(self) -> Mapping[str, Result]:
        """Implementation to its newest results."""
        return {result.name: result for result in reversed(self.results)}

    def failing(self, cases: Iterable[str]) -> dict[str, list[str]]:
        """Return which of some cases each implementation fails in its newest version."""
        found: dict[str, list[str]] = {}
        for case in cases:
            for result, _ in self.failures_of_case.get(case, ()):
                if result is self.newest[result.name] and case not in found.setdefault(result.name, []):
                    found[result.name].append(case)
        return {name: found[name] for name in sorted(found)}

    def following(self, convention: str) -> dict[str, list[str]]:
        """Return which implementations declare each choice of a convention, perhaps in one operation or dtype alone."""
        found: dict[str, list[str]] = {}
        for name, result in sorted(self.newest.items()):
            for declared, choice in result.conventions.items():
                bare = declared.partition("@")[0].rpartition(".")[2]
                if bare == convention:
                    where = declared.replace(convention, "").strip(".@")
                    found.setdefault(choice, []).append(f"{name} ({where})" if where else name)
        return found


def read_table() -> Table:
    """Return what is committed in ``spec/results``."""
    return Table(read_implementations(), read_results(), {defect.id: defect for defect in read_defects()})


def of_version(result: Result) -> str:
    """Return the address of the page of one version of an implementation."""
    return addresses.of_implementation(result.name, result.release)


def implementation_pages(table: Table, maker: PageMaker) -> Iterator[Page]:
    """Give the table of implementations, a page for each version, and the page of defects."""
    dtypes = [dtype for dtype in _DTYPES if any(dtype in result.dtypes for result in table.results)]
    # What the others are measured by comes first.
    ordered = sorted(table.results, key=lambda result: result.name != _REFERENCE)
    rows = [
        (result, table.implementations.get(result.name), _cells(result.counts, dtypes), of_version(result))
        for result in ordered
    ]
    yield maker.page(
        "implementations.html",
        addresses.IMPLEMENTATIONS,
        "Implementations",
        dtypes=dtypes,
        rows=rows,
        missing=[each for name, each in table.implementations.items() if name not in table.newest],
    )
    for result in table.results:
        yield _version_page(result, table, maker)
    yield maker.page(
        "defects.html",
        addresses.DEFECTS,
        "Defects",
        defects=list(table.defects.values()),
        failing={name: _failing(table, name) for name in table.defects},
        of_version=of_version,
    )


def implementation_entries(table: Table) -> Iterator[Entry]:
    """Give the entries of the search: each version, and each defect."""
    for result in table.results:
        about = table.implementations.get(result.name)
        words = f"{about.library} {about.language} {about.runs}" if about else ""
        yield Entry("implementation", f"{result.name} {result.release}", of_version(result), words)
    for defect in table.defects.values():
        known_as = issue_name(defect.link) if defect.link else ""
        words = f"{defect.id} {defect.sentence} {' '.join(defect.implementations)} {known_as}"
        yield Entry("defect", defect.title, f"{addresses.DEFECTS}#{defect.id}", words)


def _version_page(result: Result, table: Table, maker: PageMaker) -> Page:
    dtypes = [dtype for dtype in _DTYPES if dtype in result.dtypes]
    profiles = [profile for profile in PROFILES if profile in result.profiles]
    of_profile = {
        profile: _cells([count for count in result.counts if count.profile == profile], dtypes) for profile in profiles
    }
    return maker.page(
        "implementation.html",
        of_version(result),
        f"{result.name} {result.release}",
        result=result,
        about=table.implementations.get(result.name),
        dtypes=dtypes,
        profiles={profile: cells for profile, cells in of_profile.items() if any(cells.values())},
        failures=_by_cell(result.failures, dtypes),
        defects=table.defects,
        distributions=[(each, sum(each.bins), sparkline(each), _median(each)) for each in result.distributions],
        others=[each for each in table.results if each.name == result.name and each is not result],
        of_version=of_version,
    )


def _cells(counts: Iterable[Count], dtypes: Sequence[str]) -> dict[str, Cell | None]:
    """Return the cell of each dtype; None where nothing was graded."""
    found: dict[str, Cell | None] = dict.fromkeys(dtypes)
    for count in counts:
        before = found[count.dtype] or Cell(0, 0, 0)
        cell = Cell(before.passed + count.passed, before.known + count.known, before.failed + count.failed)
        found[count.dtype] = cell if cell.tried else None
    return found


def _by_cell(failures: Sequence[Failure], dtypes: Sequence[str]) -> list[tuple[str, list[tuple[str, list[Failure]]]]]:
    """Return the failures by dtype and profile, as cells of the table lead to them."""
    found: list[tuple[str, list[tuple[str, list[Failure]]]]] = []
    for dtype in dtypes:
        own = sorted((each for each in failures if each.dtype == dtype), key=lambda each: each.case)
        by_profile = [(name, list(of)) for name, of in groupby(own, key=lambda each: each.case.partition("/")[0])]
        if by_profile:
            found.append((dtype, by_profile))
    return found


def _failing(table: Table, defect: str) -> list[tuple[Result, int]]:
    """Return the versions that fail by a defect, each with the number of its results."""
    counted = [(result, sum(failure.defect == defect for failure in result.failures)) for result in table.results]
    return [(result, count) for result, count in counted if count]


def sparkline(distribution: Distribution) -> str:
    """Return a distribution as bars of one character a bin; a bin without results is a space below the line."""
    most = max(distribution.bins, default=0)
    return "".join(
        _BARS[min(len(_BARS) - 1, count * len(_BARS) // (most + 1))] if count else "·" for count in distribution.bins
    )


def _median(distribution: Distribution) -> str:
    """Return the bin of the median result, by its upper edge."""
    half, seen = sum(distribution.bins) / 2, 0
    for position, count in enumerate(distribution.bins):
        seen += count
        if seen >= half:
            edges = (0.0, *BIN_EDGES)
            return f"{edges[position]:.2g}" if position < len(edges) else "above 1000"
    return ""
