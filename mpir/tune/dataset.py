"""Scored questions on disk: the columns of many questions with their gold, without models and corpus.

scored/manifest.json    format, column names, settings, sizes, the hash of every file, a checksum
scored/questions.json   the questions with their gold documents and snippets
scored/*.npy            one array each: document_scores (D, K), sentence_scores (N, P), question_of, document_of,
                        documents (ids), sections, begin, end, lexical, in_passages, documents_in_passages,
                        documents_left_out, documents_in_part
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpir.core.candidates import Candidates
from mpir.core.checksum import fingerprint
from mpir.core.columns import Columns, Layout
from mpir.core.text import Question, Snippet
from mpir.errors import ArtefactError, InputError, format_value
from mpir.files.arrays import NoArrayError, map_array
from mpir.files.checksum import read_json_with_checksum, sha256, write_json_with_checksum
from mpir.files.folder_format import FolderFormat
from mpir.files.read import read_json
from mpir.files.write import atomic_folder, write_json
from mpir.reranking.options import AUTO
from mpir.reranking.prepare import BM25
from mpir.types import F64, I64, Bool
from mpir.version import __version__

log = logging.getLogger(__name__)
FORMAT = 3
MANIFEST, QUESTIONS = "manifest.json", "questions.json"
MARKER = "document_of.npy"
"""A file that identifies scored questions: folders without it are not replaced."""
OWNERS = {"question_of": "query_of", "document_of": "document_of"}
"""Files of owners, and their names among the columns."""
NOT_FITTED = ("documents_left_out", "documents_in_part")
"""Flags of documents that some model did not read to its end; nothing is fitted on them."""
CANDIDATE_ARRAYS = (
    *("documents", "sections", "begin", "end", "lexical", "in_passages", "documents_in_passages"),
    *NOT_FITTED,
)
_ARRAYS = (*OWNERS, *CANDIDATE_ARRAYS, "document_scores", "sentence_scores")


def _listed(folder: Path) -> Iterator[str]:
    """Return the files listed by a manifest of scored questions; empty for other manifests."""
    try:
        manifest = read_json(folder / MANIFEST)
    except InputError:  # damaged
        manifest = {"files": {}, "made_by": {}}
    if isinstance(files := manifest.get("files"), dict) and "made_by" in manifest:
        yield from (MANIFEST, *files)


SCORED = FolderFormat(marker=MARKER, names=(QUESTIONS, *(f"{name}.npy" for name in _ARRAYS)), listed=_listed)
"""Files of a folder of scored questions."""
OF_DOCUMENTS = {"documents", "documents_in_passages", *NOT_FITTED}


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Q questions with gold, D candidate documents, N sentences and their columns: the input of tuning.

    `documents` (D,) ids; `sections` (N,) names; `begin`, `end` (N,) offsets, the end exclusive; `lexical` (N,) BM25 of
    a sentence among the question's own; `in_passages` (N,) some model read the sentence in passages, and
    `documents_in_passages` (D,) the document. `documents_left_out` (D,) some model did not read the document,
    so that its score there is a placeholder; `documents_in_part` (D,) some model read it to its first exit only.
    Nothing is fitted on either (`fully_read`). `made_by` has the settings of scoring; `data` is the fingerprint of the
    content, "" for a set that was never written.

    Raises:
        InputError: no questions, or a repeated candidate of one question.
    """

    questions: tuple[Question, ...]
    columns: Columns
    documents: npt.NDArray[np.str_]
    sections: npt.NDArray[np.str_]
    begin: I64
    end: I64
    lexical: F64
    in_passages: Bool
    documents_in_passages: Bool
    documents_left_out: Bool
    documents_in_part: Bool
    made_by: Mapping[str, Any] = field(default_factory=dict, compare=False)
    data: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.questions:
            raise InputError("scored questions: no questions; score some first.")
        keys = np.char.add(np.char.add(self.columns.query_of.astype(str), " "), self.documents)
        names, counts = np.unique(keys, return_counts=True)
        if len(keys) and counts.max() > 1:
            number, name = str(names[counts.argmax()]).split(" ", 1)
            question = self.questions[int(number)].id
            message = f"question {question}: the document {format_value(name)} is twice among its candidates; keep one."
            raise InputError(message)

    @classmethod
    def collect(
        cls, scored: Iterable[tuple[Question, Candidates]], made_by: Mapping[str, Any] | None = None
    ) -> Dataset:
        """Collect questions that were scored one by one. Raises InputError for no questions.

        Texts are dropped question by question, so `scored` may be a stream.
        """
        scored_queries = [
            (question, candidates.columns, _candidate_arrays(candidates)) for question, candidates in scored
        ]
        if not scored_queries:
            raise InputError("scored questions: no questions; score some first.")
        questions, columns, array_sets = zip(*scored_queries, strict=True)
        joined = {name: np.concatenate([arrays[name] for arrays in array_sets]) for name in CANDIDATE_ARRAYS}
        return cls(questions=questions, columns=Columns.stack(columns), **joined, made_by=dict(made_by or {}))

    def save(self, folder: str | Path) -> Dataset:
        """Write the folder atomically, and return the loaded set.

        Raises:
            OutputError: the folder cannot be written, or holds something other than scored questions.
        """
        with atomic_folder(folder, SCORED) as temporary:
            arrays = {"document_scores": self.columns.documents, "sentence_scores": self.columns.sentences}
            arrays |= {file: getattr(self.columns, name) for file, name in OWNERS.items()}
            arrays |= {name: getattr(self, name) for name in CANDIDATE_ARRAYS}
            for name, array in arrays.items():
                np.save(temporary / f"{name}.npy", np.ascontiguousarray(array))
            write_json(temporary / QUESTIONS, {"questions": [asdict(question) for question in self.questions]})
            manifest = {
                "format": FORMAT,
                "mpir": __version__,
                "columns": self.columns.layout.to_dict(),
                "questions": len(self.questions),
                "documents": len(self.documents),
                "sentences": len(self.begin),
                "made_by": dict(self.made_by),
                "files": {path.name: sha256(path) for path in sorted(temporary.iterdir())},
            }
            write_json_with_checksum(temporary / MANIFEST, manifest)
        return self.load(folder)

    @classmethod
    def load(cls, folder: str | Path) -> Dataset:
        """Open a folder that `save` wrote; its arrays are memory-mapped, read-only.

        Raises:
            ArtefactError: no such set, another format, or a missing or changed file.
        """
        root = Path(folder)
        if not (root / MANIFEST).is_file():
            raise ArtefactError(
                f"{root}: holds no scored questions ({MANIFEST} is missing); make some with mpir score."
            )
        manifest = read_json_with_checksum(root / MANIFEST, "score the questions again")
        if not isinstance(manifest.get("files"), dict) or "made_by" not in manifest:
            raise ArtefactError(
                f"{root}: holds no scored questions ({MANIFEST} is something else's, an index's say); give a folder "
                "that mpir score made."
            )
        if manifest.get("format") != FORMAT:
            raise ArtefactError(
                f"{root}: its format is {format_value(manifest.get('format'))}, expected {FORMAT}; score the "
                "questions again."
            )
        for name, expected in manifest["files"].items():
            if not (root / name).is_file() or sha256(root / name) != expected:
                raise ArtefactError(
                    f"{root / name}: is missing or has changed since scoring; score the questions again."
                )
        arrays = {path.stem: _read_array(path) for path in root.glob("*.npy")}
        questions = tuple(map(_question, read_json(root / QUESTIONS)["questions"]))
        layout = Layout.from_dict(manifest["columns"])
        owners = {name: arrays[file] for file, name in OWNERS.items()}
        columns = Columns(
            layout=layout,
            documents=arrays["document_scores"],
            sentences=arrays["sentence_scores"],
            **owners,
            queries=len(questions),
        )
        for name in NOT_FITTED:
            if name not in arrays:
                arrays[name] = _no_flags(root, manifest["made_by"], len(arrays["documents"]))
        candidate_arrays = {name: arrays[name] for name in CANDIDATE_ARRAYS}
        return cls(
            questions=questions,
            columns=columns,
            made_by=manifest["made_by"],
            data=fingerprint(manifest["files"]),
            **candidate_arrays,
        )

    def subset(self, numbers: Sequence[int] | I64) -> Dataset:
        """Return the set of the questions with these numbers, in the set's order."""
        chosen = np.zeros(len(self.questions), bool)
        chosen[np.asarray(numbers, np.int64)] = True
        columns, documents, sentences = self.columns.select(chosen)
        candidate_arrays = {
            name: getattr(self, name)[documents if name in OF_DOCUMENTS else sentences] for name in CANDIDATE_ARRAYS
        }
        questions = tuple(question for question, keep in zip(self.questions, chosen, strict=True) if keep)
        return replace(self, questions=questions, columns=columns, **candidate_arrays)

    def fully_read(self) -> Dataset:
        """Return the set of the documents that every model read to its end: other scores are no basis of a fit.

        The others still count among a question's gold documents, so what a ranking misses by them lowers its recall.
        """
        partly_read = self.documents_left_out | self.documents_in_part
        if not partly_read.any():
            return self
        log.warning(
            "%d of %d documents were not read by every model, and %d to a model's first exit only, so nothing is "
            "fitted on them; score without a cascade to use them",
            np.count_nonzero(self.documents_left_out),
            len(self.documents),
            np.count_nonzero(self.documents_in_part & ~self.documents_left_out),
        )
        chosen = ~np.asarray(partly_read)
        columns, sentences = self.columns.select_documents(chosen)
        arrays = {name: getattr(self, name)[chosen if name in OF_DOCUMENTS else sentences] for name in CANDIDATE_ARRAYS}
        return replace(self, columns=columns, **arrays)

    def join_columns(self, added: Dataset) -> Dataset:
        """Join the columns of two sets of the same questions, such as a new perspective that was scored alone.

        A document column in both sets is taken once; BM25's is taken from the first set.

        Raises:
            InputError: different questions, candidates or sentences, a sentence column in both sets, or a shared
                document column of different models or with different values.
        """
        self._check_company(added)
        mine, theirs = self.columns, added.columns
        extra = [column for column in theirs.layout.document_columns if column.name not in mine.layout.documents]
        columns = mine.with_columns(
            {column: theirs.document(column.name) for column in extra}
            | {column: theirs.sentence(column.name) for column in theirs.layout.sentence_columns}
        )
        made_by, joined = dict(self.made_by), {*(column.name for column in extra), *theirs.layout.sentences}
        for key in ("perspectives", "scores"):
            joined_entries = {name: entry for name, entry in added.made_by.get(key, {}).items() if name in joined}
            made_by[key] = {**self.made_by.get(key, {}), **joined_entries}
        return replace(
            self,
            columns=columns,
            in_passages=self.in_passages | added.in_passages,
            documents_in_passages=self.documents_in_passages | added.documents_in_passages,
            documents_left_out=self.documents_left_out | added.documents_left_out,
            documents_in_part=self.documents_in_part | added.documents_in_part,
            made_by=made_by,
            data=fingerprint([self.data, added.data]),
        )

    @classmethod
    def concat(cls, sets: Sequence[Dataset]) -> Dataset:
        """Concatenate sets with the same columns, of different questions or with different candidates.

        Raises:
            InputError: the sets have different columns, or columns of different models.
        """
        first = sets[0]
        if len(sets) == 1:
            return first
        if any(dataset.made_by.get("perspectives") != first.made_by.get("perspectives") for dataset in sets):
            raise InputError("the sets were scored by different models; score all of them with one bundle.")
        return cls(
            questions=tuple(question for dataset in sets for question in dataset.questions),
            columns=Columns.stack([dataset.columns for dataset in sets]),
            **{name: np.concatenate([getattr(dataset, name) for dataset in sets]) for name in CANDIDATE_ARRAYS},
            made_by={**first.made_by, "sets": [dataset.data for dataset in sets]},
            data=fingerprint([dataset.data for dataset in sets]),
        )

    @property
    def contents(self) -> set[str]:
        """The fingerprints of the set and of the sets that it was concatenated from."""
        return {self.data, *self.made_by.get("sets", ())} - {""}

    def _check_company(self, added: Dataset) -> None:
        mine, theirs = ({question.id for question in dataset.questions} for dataset in (self, added))
        if [question.id for question in self.questions] != [question.id for question in added.questions]:
            odd = sorted(mine ^ theirs)
            example = f" ({format_value(odd[0])} is in one of them only)" if odd else " (their order differs)"
            raise InputError(f"the columns are of different question sets{example}; score the same questions for both.")
        array_names = ("documents", "sections", "begin", "end")
        if not all(np.array_equal(getattr(self, name), getattr(added, name)) for name in array_names):
            raise InputError(
                "the columns are of the same questions but of different candidates or sentences; score both over the "
                "same index with the same number of candidates."
            )
        both = set(self.columns.layout.sentences) & set(added.columns.layout.sentences)
        if both:
            raise InputError(f"both sets have the perspective {format_value(min(both))}; give each column once.")
        shared = set(self.columns.layout.documents) & set(added.columns.layout.documents) - {BM25}
        if odd := sorted(name for name in shared if not self._same_documents(added, name)):
            raise InputError(
                f"both sets have the document column {format_value(odd[0])}, by other models or with other values; "
                "give each column once."
            )

    def _same_documents(self, added: Dataset, name: str) -> bool:
        """Whether both sets have a document column of the same model, with equal values up to rounding."""
        models = [dataset.made_by.get("perspectives", {}).get(name) for dataset in (self, added)]
        mine, theirs = self.columns.document(name), added.columns.document(name)
        return models[0] == models[1] and np.allclose(mine, theirs, atol=1e-5)


def _read_array(path: Path) -> npt.NDArray[Any]:
    try:
        return map_array(path)
    except NoArrayError as error:
        raise ArtefactError(f"{path}: is damaged ({error}); score the questions again.") from error


def _no_flags(folder: Path, made_by: Mapping[str, Any], count: int) -> Bool:
    """Return the flags (D,) of a set without them. Raises ArtefactError where documents may have been left out."""
    if made_by.get("cascade") == AUTO:
        raise ArtefactError(
            f"{folder}: does not say which documents its cascade left out or read in part; score the questions again."
        )
    return np.zeros(count, bool)


def _question(values: Mapping[str, Any]) -> Question:
    """Restore a question with its gold; ids are plain ones, not the PubMed URLs of BioASQ's files."""
    documents, snippets = values["documents"], values["snippets"]
    gold = None if snippets is None else tuple(Snippet(**snippet) for snippet in snippets)
    return Question(**{**values, "documents": None if documents is None else tuple(documents), "snippets": gold})


def _candidate_arrays(scored: Candidates) -> dict[str, npt.NDArray[Any]]:
    """Return the set's arrays for one question's documents and sentences, besides the columns."""
    sentences = scored.sentences
    return {
        "documents": np.array([document.id for document in scored.documents], np.str_),
        "sections": np.array([sentence.section for sentence in sentences], np.str_),
        "begin": np.array([sentence.begin for sentence in sentences], np.int64),
        "end": np.array([sentence.end for sentence in sentences], np.int64),
        "lexical": scored.lexical,
        "in_passages": scored.in_passages,
        "documents_in_passages": scored.documents_in_passages,
        **{name: getattr(scored, name) for name in NOT_FITTED},
    }
