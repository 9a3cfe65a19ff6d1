"""BM25 over a Lucene index, or several as one, through Anserini."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from mpir.core.text.characters import greek_forms, has_greek, without_accents, without_surrogates
from mpir.core.text.legible import legible
from mpir.core.text.query import is_field_search, report_field_search, truncated_query, without_question_words
from mpir.core.text.terms import is_truncated, split_truncated, wildcard, without_marks
from mpir.core.text.types import Document
from mpir.errors import ArtefactError, InputError, format_paths, format_value, shortened
from mpir.files.files import check_opening
from mpir.files.hash_set import HashSet
from mpir.files.paths import resolved
from mpir.search.base import ClosedAtExit, check_different, check_distinct, open_steadily
from mpir.search.lucene.java import JAVA_CALLS, java_class, java_error, reason
from mpir.search.lucene.manifest import LUCENE_FOLDER, MANIFEST, REMEDY, IndexInfo, read_info
from mpir.search.lucene.writer import analyzer, from_record
from mpir.search.memory import DEFAULT_B, DEFAULT_K1, Rm3, check_parameters
from mpir.types import F64
from mpir.validation import whole_number

BATCH = 64
_IDS_AT_ONCE = 65_536
_MAXIMUM_TERMS = 1_000_000
_MAXIMUM_FORMS = 1_000
"""The most words that a truncated one stands for."""


class LuceneIndex(ClosedAtExit):
    """Indexes that `build_index` made, opened for search. Use it in a `with` block, or close it. Threads may share it.

    With several folders, which hold different documents, scores are those of one index of all of them. Anserini has a
    searcher of a single folder; its reader is replaced by Lucene's reader of several, which adds up the documents,
    lengths and document frequencies that BM25 depends on.

    Scores are Lucene's BM25, without the constant factor k1 + 1. Anserini rounds them to four decimals, orders equal
    ones by document id and lowers each by one millionth per rank, so that scores alone reproduce the order. With `rm3`,
    scores are those of the expanded query.
    """

    name = "bm25"
    info: IndexInfo

    def __init__(
        self,
        folders: str | Path | Sequence[str | Path],
        *,
        k1: float = DEFAULT_K1,
        b: float = DEFAULT_B,
        rm3: Rm3 | None = None,
        question_words: bool = True,
    ) -> None:
        """Open one folder or several. `rm3` expands queries.

        Without `question_words`, words such as "which" are left out of them.

        Raises:
            ArtefactError: missing, half-built, damaged, or made by another version; or no Java to read it with.
            InputError: k1 or b out of bounds, an index that is named twice, or indexes with different stop words.
        """
        check_parameters(k1, b)
        several = [folders] if isinstance(folders, str | Path) else list(folders)
        check_different(several)
        self._folders = [Path(folder) for folder in several]
        self._names = str(several[0]) if len(several) == 1 else format_paths(several)
        self.parameters, self.rm3, self.question_words = (k1, b), rm3, question_words
        open_steadily([path / MANIFEST for path in self._folders], self._open_files, self.close)

    def _open_files(self) -> None:
        """Read the manifests, check the files, and open the searchers."""
        self._infos = {folder: checked_info(folder) for folder in self._folders}
        self.info = self._infos[self._folders[0]]
        _check_alike(self._infos)
        self._searcher = self._open()
        # A searcher with RM3 refuses compound queries, which `scores_of` needs.
        self._expander = self._searcher if self.rm3 is None else self._open()
        if self.rm3 is not None:
            self._expander.set_rm3("JsonCollection", self.rm3.terms, self.rm3.documents, self.rm3.weight)

    def _open(self) -> Any:
        """Anserini's searcher with BM25's parameters and the indexes' analyzer."""
        searcher = _open(self._folders[0], self.info)
        if len(self._folders) > 1:
            searcher.close()  # its reader covers the first index only
            reader = java_class("org.apache.lucene.index.MultiReader")(*starmap(_open_reader, self._infos.items()))
            java_class("org.apache.commons.lang3.reflect.FieldUtils").writeField(searcher, "reader", reader, True)
        searcher.set_bm25(*self.parameters)  # also makes Lucene's searcher, with this reader
        searcher.set_analyzer(analyzer(self.info.stop_words))
        return searcher

    @property
    def identity(self) -> dict[str, Any]:
        """The corpus or corpora, BM25's parameters, and settings other than the defaults."""
        sources = [dict(info.source) for info in self._infos.values()]
        unusual: dict[str, Any] = {} if self.info.stop_words == "english" else {"stop_words": self.info.stop_words}
        unusual |= {} if self.rm3 is None else {"rm3": asdict(self.rm3)}
        unusual |= {} if self.question_words else {"question_words": False}
        source = sources if len(sources) > 1 else sources[0]
        return {"source": source, "documents": len(self), "bm25": list(self.parameters), **unusual}

    def search(self, query: str, k: int = 100) -> list[Document]:
        """Return the k best documents that share a term with the query, best first, each with its score.

        A query without terms (empty, stop words or punctuation only) finds nothing.

        Raises:
            InputError: a document is in more than one index.
        """
        text, k = self._read(query), self._at_most(k)
        with _reading(self._names):
            hits = self._search_alone(text, k) if _has_forms(text) else _documents(self._expander.search(text, k))
        return check_distinct(hits, self._names)

    def search_batch(
        self, queries: Sequence[str], k: int = 100, *, threads: int | None = None, progress: bool = False
    ) -> list[list[Document]]:
        """Return the results of `search` for every query, in order, on several threads (every core by default)."""
        k, threads = self._at_most(k), threads or os.cpu_count() or 1
        bar = tqdm(total=len(queries), desc="Searching", unit=" queries", disable=not progress)
        results: list[list[Document]] = []
        with bar:
            for start in range(0, len(queries), BATCH):
                batch = [self._read(query) for query in queries[start : start + BATCH]]
                with _reading(self._names):
                    hits = self._search_together(batch, k, threads)
                    results += [check_distinct(documents, self._names) for documents in hits]
                bar.update(len(batch))
        return results

    def scores_of(self, query: str, ids: Sequence[str]) -> F64:
        """Return BM25 scores (N,) of documents by id; 0 for one that shares no term with the query."""
        if not ids:
            return np.zeros(0)
        with _reading(self._names):
            among = _among(self._words(self._read(query)), list(ids))
            hits = self._searcher.search(among, len(ids))
            score_of = {str(hit.docid): _score(hit) for hit in hits}
        return np.array([score_of.get(without_surrogates(document_id), 0.0) for document_id in ids])

    def document(self, id: str) -> Document:
        """Return the stored document of an id, without a score. Raises InputError for an id that the index lacks."""
        with _reading(self._names):
            record = self._searcher.doc_raw(without_surrogates(id))
            if record is None:
                raise InputError(
                    f"{self._names}: holds no document with id {format_value(id)}; check the id and the corpus."
                )
            return from_record(str(record))

    def known_ids(self) -> HashSet:
        """Return the ids of all documents, in 16 bytes each."""
        ids, batch = HashSet(), list[str]()
        with _reading(self._names):
            for name in _live_ids(self._searcher):
                batch.append(name)
                if len(batch) == _IDS_AT_ONCE:
                    ids.add(batch)
                    batch = []
        ids.add(batch)
        return ids

    def __len__(self) -> int:
        return sum(info.documents for info in self._infos.values())

    def close(self) -> None:
        """Close the index's files."""
        self._searcher.close()
        if self._expander is not self._searcher:
            self._expander.close()

    def _search_together(self, queries: list[str], k: int, threads: int) -> Iterator[list[Document]]:
        """Search all queries in one call into Java, whose threads run without Python's lock."""
        strings = java_class("java.util.Arrays")
        whole = {str(number): query for number, query in enumerate(queries) if not _has_forms(query)}
        hits = self._expander.batch_search(strings.asList(*whole.values()), strings.asList(*whole), k, threads)
        for number, query in enumerate(queries):
            yield _documents(hits.get(str(number))) if str(number) in whole else self._search_alone(query, k)

    def _search_alone(self, query: str, k: int) -> list[Document]:
        """Search for a query with truncated words or Greek letters, one at a time."""
        return _documents(self._searcher.search(self._words(query), k))

    def _read(self, query: str) -> str:
        """Take the words of a search in field syntax, and normalise them as texts are when they are indexed."""
        if is_field_search(query):
            report_field_search()
        legible_query = without_surrogates(legible(truncated_query(query)))
        if self.info.analysis.folds_accents:
            legible_query = without_accents(legible_query)
        return legible_query if self.question_words else without_question_words(legible_query)

    def _words(self, query: str) -> Any:
        """Build Lucene's query from the terms of a query or its expansion, and its truncated words."""
        query, truncated = split_truncated(query)
        words = self._whole_words(query)
        return _with_truncated(words, {word: self._whole_words(without_marks(word)) for word in truncated})

    def _whole_words(self, query: str) -> Any:
        if self.rm3 is not None and (weights := self._expander.get_feedback_terms(query)):
            return _weighted({str(term): float(weight) for term, weight in weights.items()})
        if has_greek(query):
            analyze = java_class("io.anserini.analysis.AnalyzerUtils").analyze
            return _weighted(Counter(map(str, analyze(self._searcher.get_analyzer(), query))))
        words = java_class("io.anserini.search.query.BagOfWordsQueryGenerator")()
        return words.buildQuery("contents", self._searcher.get_analyzer(), query)

    def _at_most(self, k: int) -> int:
        return min(whole_number("k", k), len(self))


def checked_info(folder: Path) -> IndexInfo:
    """Return an index's manifest, after a comparison with its files. Raises ArtefactError for damage."""
    info = read_info(folder)
    check_opening(folder, info.files, folder / MANIFEST, REMEDY)
    return info


def _weighted(weights: Mapping[str, float]) -> Any:
    """Build Lucene's query from weighted terms; the two spellings of a Greek letter count as one term."""
    occur, term = java_class("org.apache.lucene.search.BooleanClause$Occur"), java_class("org.apache.lucene.index.Term")
    names = ("SynonymQuery$Builder", "BoostQuery", "BooleanQuery$Builder")
    forms, boosted, builder = (java_class(f"org.apache.lucene.search.{name}") for name in names)
    words = builder()
    for name, weight in weights.items():
        synonyms = forms("contents")
        for form in (name, *greek_forms(name)):
            synonyms.addTerm(term("contents", form))
        words.add(boosted(synonyms.build(), float(weight)), occur.SHOULD)
    return words.build()


def _has_forms(query: str) -> bool:
    """Whether a query has truncated words or Greek letters, which stand for several terms of the index."""
    return is_truncated(query) or has_greek(query)


def _with_truncated(words: Any, stems: Mapping[str, Any]) -> Any:
    """Add truncated words to Lucene's query: all forms in the index, each as rare as the commonest, or the stem."""
    if not stems:
        return words
    occur, term = java_class("org.apache.lucene.search.BooleanClause$Occur"), java_class("org.apache.lucene.index.Term")
    search = "org.apache.lucene.search"
    forms = java_class(f"{search}.WildcardQuery")
    blended = java_class(f"{search}.MultiTermQuery$TopTermsBlendedFreqScoringRewrite")(_MAXIMUM_FORMS)
    query = java_class(f"{search}.BooleanQuery$Builder")()
    query.add(words, occur.SHOULD)
    for word, stem in stems.items():
        either = java_class("java.util.ArrayList")()
        either.add(forms(term("contents", wildcard(word)), 10_000, blended))
        either.add(stem)
        query.add(java_class(f"{search}.DisjunctionMaxQuery")(either, 0.0), occur.SHOULD)
    return query.build()


def _among(words: Any, ids: Sequence[str]) -> Any:
    """Build Lucene's query for the words, restricted to the documents with these ids."""
    occur, both = (
        java_class(f"org.apache.lucene.search.{name}") for name in ("BooleanClause$Occur", "BooleanQuery$Builder")
    )
    return both().add(words, occur.MUST).add(query_for_ids(ids), occur.FILTER).build()


def query_for_ids(ids: Iterable[str]) -> Any:
    """Build Lucene's query for the documents with these ids."""
    names, bytes_of = java_class("java.util.ArrayList")(), java_class("org.apache.lucene.util.BytesRef")
    for document_id in ids:
        names.add(bytes_of(without_surrogates(document_id)))
    return java_class("org.apache.lucene.search.TermInSetQuery")("id", names)


def _open(folder: Path, info: IndexInfo) -> Any:
    # Long queries are valid: Lucene's limit of 1,024 clauses guards against expanded wildcards, which mpir bounds.
    java_class("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(_MAXIMUM_TERMS)
    path = str(resolved(folder / LUCENE_FOLDER))  # Java resolves relative paths by the folder it was started in
    with _opening(folder):
        searcher = java_class("io.anserini.search.SimpleSearcher")(path)
    reader = java_class("org.apache.commons.lang3.reflect.FieldUtils").readField(searcher, "reader", True)
    _check_documents(folder, reader, info)  # the searcher's own count includes documents that updates replaced
    return searcher


def _open_reader(folder: Path, info: IndexInfo) -> Any:
    """Open Lucene's reader of an index. Raises ArtefactError if Lucene cannot read it."""
    with _opening(folder):
        reader = java_class("io.anserini.index.IndexReaderUtils").getReader(str(resolved(folder / LUCENE_FOLDER)))
    _check_documents(folder, reader, info)
    return reader


@contextmanager
def _opening(folder: Path) -> Iterator[None]:
    try:
        yield
    except java_error() as error:
        message = f"{folder}: Lucene cannot read the index ({shortened(reason(error))}); build it again."
        raise ArtefactError(message) from error


def _check_documents(folder: Path, reader: Any, info: IndexInfo) -> None:
    if reader.numDocs() != info.documents:
        raise ArtefactError(
            f"{folder}: holds {reader.numDocs()} documents, but its manifest says {info.documents}; build it again."
        )


def _check_alike(infos: Mapping[Path, IndexInfo]) -> None:
    first = next(iter(infos))
    for folder, info in infos.items():
        if info.stop_words != infos[first].stop_words:
            raise InputError(
                f"{folder}: its stop words are {info.stop_words!r}, and those of {first} are "
                f"{infos[first].stop_words!r}; search only indexes with the same settings together."
            )
        if info.analyzer != infos[first].analyzer:
            older, newer = (first, folder) if info.analysis.folds_accents else (folder, first)
            raise InputError(
                f"{older}: its words have accents, as in older indexes, and those of {newer} have none; build the "
                "older one again to search both together."
            )


def _live_ids(searcher: Any) -> Iterator[str]:
    """Yield the ids of a searcher's documents, without those that an update has removed."""
    reader = java_class("org.apache.commons.lang3.reflect.FieldUtils").readField(searcher, "reader", True)
    for leaf in reader.leaves():
        live, terms = leaf.reader().getLiveDocs(), leaf.reader().terms("id").iterator()
        while (term := terms.next()) is not None:
            postings = terms.postings(None) if live is not None else None
            if postings is None or live.get(postings.nextDoc()):
                yield str(term.utf8ToString())


@contextmanager
def _reading(names: str) -> Iterator[None]:
    """Turn read errors of Lucene, or of records that it stored, into one ArtefactError about a damaged index."""
    java_errors = java_error()  # also announces the thread to Java
    try:
        with JAVA_CALLS:
            yield
    except InputError:
        raise
    except (java_errors, ValueError, KeyError, TypeError) as error:
        raise ArtefactError(
            f"{names}: Lucene cannot read the index ({shortened(reason(error))}); it is damaged, so build it again "
            "with `mpir index`."
        ) from error


def _documents(hits: Iterable[Any] | None) -> list[Document]:
    return [from_record(str(hit.lucene_document.get("raw")), _score(hit)) for hit in hits or ()]


def _score(hit: Any) -> float:
    """Return the score of a hit. Raises ValueError if it is not finite."""
    score = float(hit.score)
    if not math.isfinite(score):
        raise ValueError(f"document {hit.docid} has the score {score}")
    return score
