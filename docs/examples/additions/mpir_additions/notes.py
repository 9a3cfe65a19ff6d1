"""A reader of .notes files: documents with blank lines between, each with its title on its first line."""

from mpir import Document


def read_notes(path):
    """Yield the documents of a file, whose ids are their positions."""
    for number, text in enumerate(path.read_text(encoding="utf-8").split("\n\n"), 1):
        title, _, abstract = text.strip().partition("\n")
        yield Document(id=f"{path.stem}-{number}", title=title, abstract=abstract)
