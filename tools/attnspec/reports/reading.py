"""Reading report.json files, whoever wrote them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from attnspec.base.errors import FixtureError, ReportError
from attnspec.contract import OPERATIONS

if TYPE_CHECKING:
    from pathlib import Path


def read_report(path: Path) -> dict[str, Any]:
    """Read one report.json, following ``spec/schemas/report.schema.json``.

    `ReportError` if the file cannot be read, is cut off, does not follow the schema, or has lost results.
    """
    from attnspec.cases.reading import check_against_schema

    document = _parsed(path)
    try:
        check_against_schema(path, document, "report")
    except FixtureError as error:
        raise ReportError(f"{error} Write it anew with `attnspec validate … --report {path.name}`.") from None
    for place, result in enumerate(document["results"]):
        if result["operation"] not in OPERATIONS:
            raise ReportError(
                f"{path} names the operation {result['operation']!r} at /results/{place}/operation, which this "
                "attnspec does not know; was it written by a later version?"
            )
    count, found = document["count"], len(document["results"])
    if count != found:
        raise ReportError(
            f"{path} says {count} results at /count but holds {found}: it was cut or edited. "
            f"Write it anew with `attnspec validate … --report {path.name}`."
        )
    return document


def _parsed(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text, parse_constant=_no_constants)
    except OSError as error:
        raise ReportError(f"{path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError as error:
        raise ReportError(f"{path} is not UTF-8 text (byte {error.start}); a report is.") from None
    except json.JSONDecodeError as error:
        present = error.doc.rstrip()
        # An unterminated string is said to be wrong where it starts.
        at_the_end = present[:1] in ("", "{") and (error.pos >= len(present) or not present.endswith("}"))
        cut = "; it seems to be cut off" if at_the_end else ""
        raise ReportError(
            f"{path} is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg}{cut})."
        ) from None
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path} is not a report ({str(error)[:200]}).") from None
    if not isinstance(document, dict):
        raise ReportError(f"{path} does not hold a JSON object, as a report does.")
    return cast("dict[str, Any]", document)


def _no_constants(name: str) -> Any:
    raise ValueError(f'it holds the bare word {name}; a report writes it as a string, such as "inf"')
