"""Draw the picture of every operation, and remove those of none: ``python -m attnspec_authoring.pictures``."""

from attnspec_authoring.pictures import FOLDER, drawn, file_of


def main() -> None:
    """Write what differs, and say what was written."""
    pictures = drawn()
    FOLDER.mkdir(exist_ok=True)
    for path in sorted({*FOLDER.glob("*.svg")} - {file_of(operation) for operation in pictures}):
        path.unlink()
        print(f"removed: {path.name}")  # noqa: T201
    for operation, text in pictures.items():
        path = file_of(operation)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(f"written: {path.name}")  # noqa: T201


if __name__ == "__main__":
    main()
