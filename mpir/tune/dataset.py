"""Scored questions as an artefact: the columns of many questions with their gold, on disk, and no model or corpus.

scored/manifest.json    format, what made it, sizes, the hash of every file
scored/questions.json   the questions with their golden documents and snippets, in BioASQ's format
scored/*.npy            one array each: bm25, question_of, document_of, scores, documents (ids), sections, begin,
                        end, lexical, in_passages (see `Dataset`)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.corpora.bioasq import read_questions, write_submission
from mpir.errors import ArtefactError, InputError
from mpir.io.hash import fingerprint, sha256
from mpir.io.read import read_json
from mpir.io.write import atomic_folder, write_json
from mpir.rank.blend import Columns, Floats, Integers
from mpir.rank.candidates import Candidates
from mpir.rank.weights import AGREEMENT
from mpir.text import Question
from mpir.version import __version__

MANIFEST, QUESTIONS = "manifest.json", "questions.json"
MARKER = "document_of.npy"
"""A file that only scored questions have: a folder without it is not replaced."""
FORMAT = 2
FIRST = {"in_passages": "cut"}
"""What format 1 called it."""
COLUMNS = ("bm25", "question_of", "document_of", "scores")
PLACES = ("documents", "sections", "begin", "end", "lexical", "in_passages")


@dataclass(frozen=True)
class Dataset:
    """Q questions with gold, D candidate documents, N sentences, P perspectives: all that tuning ever reads.

    `documents` (D,) ids; `sections` (N,) names; `begin`, `end` (N,) offsets, the end exclusive; `lexical` (N,) BM25 of
    a sentence among the question's own; `in_passages` (N,) some model read the sentence in windows. `made_by` says what
    scored them; `data` is the fingerprint of the content, "" for a set that was never written.

    Raises:
        InputError: no questions, or a document that is twice among the candidates of one question.
    """

    questions: tuple[Question, ...]
    columns: Columns
    documents: npt.NDArray[np.str_]
    sections: npt.NDArray[np.str_]
    begin: Integers
    end: Integers
    lexical: Floats
    in_passages: npt.NDArray[np.bool_]
    made_by: Mapping[str, Any] = field(default_factory=dict, compare=False)
    data: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.questions:
            raise InputError("scored questions: there is not one question; score some first.")
        keys = np.char.add(np.char.add(self.columns.question_of.astype(str), " "), self.documents)
        names, counts = np.unique(keys, return_counts=True)
        if len(keys) and counts.max() > 1:
            number, name = str(names[counts.argmax()]).split(" ", 1)
            question = self.questions[int(number)].id
            raise InputError(f"question {question}: the document {name!r} is twice among its candidates; keep one.")

    @classmethod
    def collect(
        cls, scored: Iterable[tuple[Question, Candidates]], made_by: Mapping[str, Any] | None = None
    ) -> Dataset:
        """The set of questions that were scored one by one. Raises InputError where there are none.

        Texts are let go of question by question, so that they may come from a stream.
        """
        parts = [(question, one.columns, _places(one)) for question, one in scored]
        if not parts:
            raise InputError("scored questions: there is not one question; score some first.")
        questions, columns, places = zip(*parts, strict=True)
        joined = {name: np.concatenate([part[name] for part in places]) for name in PLACES}
        return cls(questions, Columns.stack(columns), **joined, made_by=dict(made_by or {}))

    def save(self, folder: str | Path) -> Dataset:
        """Write the folder, atomically, and return the set as it loads.

        Raises:
            OutputError: the folder cannot be written, or holds something other than scored questions.
        """
        with atomic_folder(folder, marker=MARKER) as temporary:
            for name in COLUMNS:
                np.save(temporary / f"{name}.npy", np.ascontiguousarray(getattr(self.columns, name)))
            for name in PLACES:
                np.save(temporary / f"{name}.npy", getattr(self, name))
            write_submission(temporary / QUESTIONS, self.questions)
            manifest = {
                "format": FORMAT,
                "mpir": __version__,
                "perspectives": list(self.columns.perspectives),
                "questions": len(self.questions),
                "documents": len(self.documents),
                "sentences": len(self.begin),
                "made_by": dict(self.made_by),
                "files": {path.name: sha256(path) for path in sorted(temporary.iterdir())},
            }
            write_json(temporary / MANIFEST, manifest)
        return self.load(folder)

    @classmethod
    def load(cls, folder: str | Path) -> Dataset:
        """Open a folder that `save` wrote; its arrays are memory-mapped, read-only.

        Raises:
            ArtefactError: no such set, another format, or a file that is missing or changed.
        """
        root = Path(folder)
        if not (root / MANIFEST).is_file():
            raise ArtefactError(
                f"{root}: holds no scored questions ({MANIFEST} is missing); make some with mpir score."
            )
        manifest = read_json(root / MANIFEST)
        if manifest.get("format") not in (1, FORMAT):
            raise ArtefactError(
                f"{root}: is of format {manifest.get('format')!r}, expected {FORMAT}; score the questions again."
            )
        for name, expected in manifest["files"].items():
            if not (root / name).is_file() or sha256(root / name) != expected:
                raise ArtefactError(
                    f"{root / name}: is missing or has changed since scoring; score the questions again."
                )
        files = {name: name for name in (*COLUMNS, *PLACES)} | (FIRST if manifest["format"] == 1 else {})
        arrays = {name: np.load(root / f"{file}.npy", mmap_mode="r") for name, file in files.items()}
        columns = Columns(**{name: arrays[name] for name in COLUMNS}, perspectives=tuple(manifest["perspectives"]))
        places = {name: arrays[name] for name in PLACES}
        made_by, data = manifest["made_by"], fingerprint(manifest["files"])
        return cls(tuple(read_questions(root / QUESTIONS)), columns, made_by=made_by, data=data, **places)

    def subset(self, numbers: Sequence[int] | Integers) -> Dataset:
        """The questions of these numbers, in the order of the set."""
        chosen = np.zeros(len(self.questions), bool)
        chosen[np.asarray(numbers, np.int64)] = True
        columns = self.columns
        documents = chosen[columns.question_of]
        sentences = documents[columns.document_of]
        part = Columns(
            columns.bm25[documents],
            (np.cumsum(chosen) - 1)[columns.question_of[documents]],
            (np.cumsum(documents) - 1)[columns.document_of[sentences]],
            columns.scores[sentences],
            columns.perspectives,
        )
        kept = {name: getattr(self, name)[sentences] for name in PLACES if name != "documents"}
        questions = tuple(question for question, keep in zip(self.questions, chosen, strict=True) if keep)
        return replace(self, questions=questions, columns=part, documents=self.documents[documents], **kept)

    def beside(self, other: Dataset) -> Dataset:
        """The same questions with the columns of both sets, so that a new perspective can be scored by itself.

        Raises:
            InputError: other questions, candidates or sentences, or a perspective that both have.
        """
        self._check_company(other)
        names = (*self.columns.perspectives, *other.columns.perspectives)
        scores = np.concatenate([self.columns.scores, other.columns.scores], axis=1)
        made_by = {**self.made_by, "perspectives": {**_fingerprints(self), **_fingerprints(other)}}
        if AGREEMENT in other.columns.perspectives:
            made_by[AGREEMENT] = other.made_by.get(AGREEMENT)
        columns = replace(self.columns, scores=scores, perspectives=names)
        data = fingerprint([self.data, other.data])
        return replace(
            self, columns=columns, in_passages=self.in_passages | other.in_passages, made_by=made_by, data=data
        )

    def _check_company(self, other: Dataset) -> None:
        mine, theirs = ({question.id for question in one.questions} for one in (self, other))
        if [question.id for question in self.questions] != [question.id for question in other.questions]:
            odd = sorted(mine ^ theirs)
            example = f" ({odd[0]!r} is in one of them only)" if odd else " (their order differs)"
            raise InputError(f"the columns are of different question sets{example}; score the same questions for both.")
        places = ("documents", "sections", "begin", "end")
        if not all(np.array_equal(getattr(self, name), getattr(other, name)) for name in places):
            raise InputError(
                "the columns are of the same questions but of different candidates or sentences; score both over the "
                "same index with the same number of candidates."
            )
        both = set(self.columns.perspectives) & set(other.columns.perspectives)
        if both:
            raise InputError(f"both sets have the perspective {sorted(both)[0]!r}; give each column once.")


def _places(scored: Candidates) -> dict[str, npt.NDArray[Any]]:
    """What a set keeps of one question's documents and sentences, besides the columns."""
    sentences = scored.sentences
    return {
        "documents": np.array([document.id for document in scored.documents], np.str_),
        "sections": np.array([sentence.section for sentence in sentences], np.str_),
        "begin": np.array([sentence.begin for sentence in sentences], np.int64),
        "end": np.array([sentence.end for sentence in sentences], np.int64),
        "lexical": scored.lexical,
        "in_passages": scored.in_passages,
    }


def _fingerprints(scored: Dataset) -> dict[str, Any]:
    return dict(scored.made_by.get("perspectives", {}))
