"""A lexicon: the concepts of a field and the phrases that name them.

A UTF-8 file has one ``concept<TAB>phrase`` per line. A phrase that ends with ``*`` matches any ending; one that
begins with ``!`` is an exclusion: mentions of the concept inside such a phrase do not count. ``#`` begins a comment.

    pleural effusion	effusion*
    pleural effusion	!pericardial effusion*
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mpir.core.checksum import fingerprint
from mpir.core.text.phrases import ANY_ENDING, canonical
from mpir.errors import InputError, format_value
from mpir.files.read import place_of, read_lines
from mpir.files.write import atomic_write

EXCLUDED, COMMENT = "!", "#"


@dataclass(frozen=True, slots=True)
class Entry:
    """A phrase of a concept, in canonical form. `location` is its file and line, for messages."""

    concept: str
    phrase: str
    excluded: bool = False
    location: str = field(default="lexicon", compare=False)

    @property
    def line(self) -> str:
        """The entry as a line of a lexicon file."""
        return f"{self.concept}\t{EXCLUDED if self.excluded else ''}{self.phrase}"


@dataclass(frozen=True)
class Lexicon:
    """The concepts of a field and their phrases; immutable.

    Raises:
        InputError: no phrase at all, or a phrase listed under two concepts.
    """

    entries: tuple[Entry, ...]
    source: str = field(default="lexicon", compare=False)

    def __post_init__(self) -> None:
        if all(entry.excluded for entry in self.entries):
            raise InputError(f"{self.source}: the lexicon has no phrases; expected lines of the form concept⇥phrase.")
        entry_of: dict[str, Entry] = {}
        for entry in self.entries:
            earlier = entry if entry.excluded else entry_of.setdefault(entry.phrase, entry)
            if earlier.concept != entry.concept:
                raise InputError(
                    f"{entry.location}: the phrase {format_value(entry.phrase)} is listed under "
                    f"{format_value(entry.concept)}, "
                    f"and at {earlier.location} under {format_value(earlier.concept)}; a phrase names one concept, so "
                    "remove one of the lines."
                )

    @classmethod
    def load(cls, path: str | Path) -> Lexicon:
        """Read a lexicon file; CRLF line ends and a byte-order mark are fine.

        Raises:
            InputError: an unreadable file, a line without a tab or with an empty half, or as the class.
        """
        entries = [
            _entry(line, place_of(path, number))
            for number, line in read_lines(path)
            if line.strip() and not line.lstrip().startswith(COMMENT)
        ]
        return cls(tuple(entries), str(path))

    @classmethod
    def of(cls, phrases: Mapping[str, Sequence[str]]) -> Lexicon:
        """A lexicon from phrases by concept, written as in a file: ``{"edema": ["edema*", "!leg edema"]}``."""
        pairs = [(concept, phrase) for concept, phrases_of_concept in phrases.items() for phrase in phrases_of_concept]
        return cls(tuple(_entry(f"{concept}\t{phrase}", "lexicon") for concept, phrase in pairs))

    @property
    def concepts(self) -> tuple[str, ...]:
        """The concepts, in the order of their first phrases."""
        return tuple(dict.fromkeys(entry.concept for entry in self.entries))

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify the lexicon's contents, whatever the order of its lines."""
        return fingerprint(sorted(entry.line for entry in self.entries))

    @cached_property
    def phrases(self) -> dict[str, Entry]:
        """The entries that name concepts, by phrase."""
        return {entry.phrase: entry for entry in self.entries if not entry.excluded}

    @cached_property
    def exclusions(self) -> dict[str, list[str]]:
        """The phrases that exclude mentions, by concept; concepts without any are left out."""
        exclusions: dict[str, list[str]] = {}
        for entry in self.entries:
            if entry.excluded:
                exclusions.setdefault(entry.concept, []).append(entry.phrase)
        return exclusions

    def save(self, path: str | Path) -> None:
        """Write the lexicon as a file that `load` reads, atomically."""
        with atomic_write(path) as stream:
            stream.writelines(f"{entry.line}\n" for entry in self.entries)


def _entry(line: str, location: str) -> Entry:
    concept, tab, phrase = line.partition("\t")
    concept, phrase = concept.strip(), phrase.strip()
    excluded = phrase.startswith(EXCLUDED)
    words = canonical(phrase.removeprefix(EXCLUDED))
    if not tab or not concept or not words.strip(ANY_ENDING + " "):
        raise InputError(f"{location}: found {format_value(line)}; expected a concept, a tab and a phrase.")
    if ANY_ENDING in words[:-1] or words.endswith(f" {ANY_ENDING}"):
        raise InputError(
            f"{location}: the phrase {format_value(phrase)} has a {ANY_ENDING} inside; it may only be at a word's end."
        )
    return Entry(concept, words, excluded, location)


NO_FINDING = "no_finding"
"""Despite its name, this file lists other findings; phrases of other classes take precedence over its own."""


def read_chexpert(folder: str | Path) -> Lexicon:
    """The lexicon of a folder with ``mention/*.txt`` and optionally ``unmention/*.txt``; file names are class names.

    The labeller of Irvin et al., "CheXpert" (2019), looks for its phrases anywhere in a lower-cased sentence, with
    ``_`` for a space. Here a phrase begins at a word boundary and may have any ending, unless it ends with ``_``.

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
