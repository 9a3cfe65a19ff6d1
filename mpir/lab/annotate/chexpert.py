"""Read CheXpert's phrases as a lexicon: folders ``mention`` and ``unmention`` with one file for each class.

The labeller of Irvin et al., "CheXpert" (2019), looks for its phrases anywhere in a lower-cased sentence, with ``_``
for a space. Here a phrase begins at a word boundary and may have any ending, unless it ends with ``_``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mpir.errors import InputError
from mpir.files.read import place_of, read_lines
from mpir.lab.annotate.lexicon import Entry, Lexicon
from mpir.lab.annotate.phrases import ANY_ENDING, canonical

NO_FINDING = "no_finding"
"""Despite its name, this file lists other findings; phrases of other classes take precedence over its own."""


def read_chexpert(folder: str | Path) -> Lexicon:
    """The lexicon of a folder with ``mention/*.txt`` and optionally ``unmention/*.txt``; file names are class names.

    Raises:
        InputError: no such folder, no phrases in it, or a phrase in two classes (except those of no_finding.txt).
    """
    root = Path(folder)
    files = sorted((root / "mention").glob("*.txt"), key=lambda path: path.stem == NO_FINDING)
    if not files:
        raise InputError(f"{root}: there is no file mention/*.txt; give CheXpert's folder of phrases.")
    entries = [entry for path in files for entry in _entries(path, excluded=False)]
    entries += [entry for path in sorted((root / "unmention").glob("*.txt")) for entry in _entries(path, excluded=True)]
    no_finding = _name(NO_FINDING)
    specific_phrases = {entry.phrase for entry in entries if entry.concept != no_finding and not entry.excluded}
    distinct_entries = (
        entry for entry in entries if entry.concept != no_finding or entry.phrase not in specific_phrases
    )
    return Lexicon(tuple(dict.fromkeys(distinct_entries)), str(root))


def _entries(path: Path, *, excluded: bool) -> Iterator[Entry]:
    for number, line in read_lines(path):
        if words := canonical(line.replace("_", " ")):
            open_ended = line.rstrip().endswith("_") or words.endswith(ANY_ENDING)
            yield Entry(_name(path.stem), words if open_ended else words + ANY_ENDING, excluded, place_of(path, number))


def _name(stem: str) -> str:
    return "other finding" if stem == NO_FINDING else stem.replace("_", " ")
