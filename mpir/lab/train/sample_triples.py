"""Sample training triples in chunks, so that an interrupted run resumes, and write them in random order."""

from __future__ import annotations

import heapq
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from mpir.core.checksum import fingerprint
from mpir.errors import ArtefactError, InputError
from mpir.files.checksum import sha256
from mpir.files.corpora.corpus import corpus_fingerprint
from mpir.files.corpora.text_store import Texts
from mpir.files.folder_format import FolderFormat
from mpir.files.read import read_json, read_lines
from mpir.files.write import atomic_write, write_json
from mpir.lab.train import triple_candidates
from mpir.lab.train.clicks import Judged, triples_of
from mpir.lab.train.triple_candidates import (
    Find,
    TripleSettings,
    answered,
    candidates,
    known_to,
    leave_out_absent,
    refuse_evaluation,
    relevant,
    with_texts,
)

if TYPE_CHECKING:
    from mpir.search import Retriever

LEFT_OUT = ".left.json"
"""The suffix of the file that records the omissions of a finished chunk."""
SHARDS = FolderFormat(names=("manifest.json", "*.tsv", f"*{LEFT_OUT}"))
"""Files of the folder of finished chunks."""


def sample_triples(settings: TripleSettings, index: Retriever | None = None) -> str:
    """Write the triples, and return a summary with the number of documents without a text.

    Args:
        settings: sources, numbers and output.
        index: the opened first stage of ``settings.index``.

    Raises:
        MpirError: a missing or invalid file, an evaluation question, or no triples.
    """
    judged = relevant(settings)
    refuse_evaluation(settings, judged)
    corpus = Texts.of_corpus(settings.corpus) if settings.corpus else None
    source = corpus.source if corpus is not None else settings.index
    gold, absent = leave_out_absent(judged, known_to(index, corpus), str(source))
    shards = folder_of_parts(settings, index.identity if index is not None else {})
    sample(settings, judged, candidates(settings, judged, index, corpus), corpus, shards)
    count = merge(settings, shards)
    gone = sum(read_json(path)["without_text"] for path in shards.glob(f"*{LEFT_OUT}"))
    SHARDS.refuse_foreign_files(shards)
    shutil.rmtree(shards)
    lines = [f"{settings.output}: {count} triples of {sum(map(answered, judged.values()))} judged questions."]
    if absent or gone:
        absences = f"{absent} of {gold} relevant documents and of {gone} candidates"
        lines.insert(0, f"{source}: has no text for {absences}, which are excluded.")
    return "\n".join(lines)


def folder_of_parts(settings: TripleSettings, identity: Mapping[str, object]) -> Path:
    """Return the folder of finished chunks. Raises ArtefactError if they have other settings."""
    folder = settings.output.with_name(f"{settings.output.name}.parts")
    options = {name: str(value) for name, value in vars(settings).items() if name not in ("output", "number")}
    paths = [*settings.qrels, *(path for path in (settings.run_file, settings.questions) if path)]
    data: list[object] = [[sha256(path) for path in paths if path.is_file()]]
    data += [corpus_fingerprint(settings.corpus)] if settings.corpus else []
    content = [options, data, identity, triple_candidates.QUERIES_PER_CHUNK]
    begun_with = {"settings": fingerprint(content)}
    manifest = folder / "manifest.json"
    begun = manifest.is_file() or any(folder.glob("*.tsv"))
    if begun and not (manifest.is_file() and read_json(manifest) == begun_with):
        raise ArtefactError(f"{folder}: holds parts of other settings or data; remove it, or choose another output.")
    SHARDS.refuse_foreign_files(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(manifest, begun_with)
    return folder


def sample(
    settings: TripleSettings,
    judged: Mapping[str, Judged],
    hits: Iterator[Find],
    corpus: Texts | None,
    shards: Path,
) -> None:
    """Write each chunk's sorted triples to a file, and its number of candidates without a text to another."""
    for number, find in enumerate(tqdm(hits, desc="chunks of questions", disable=not sys.stderr.isatty())):
        path = shards / f"{number:06d}.tsv"
        if not path.is_file():
            chunk, gone = with_texts(find(), corpus)
            lines = sorted(line for query, ids in chunk for line in _triples(settings, judged, query, ids))
            write_json(path.with_suffix(LEFT_OUT), {"without_text": gone})
            with atomic_write(path) as stream:
                stream.writelines(f"{line}\n" for line in lines)


def merge(settings: TripleSettings, shards: Path) -> int:
    """Merge the chunks into the output, and return the number of triples. Raises InputError if there are none."""
    count = 0
    with atomic_write(settings.output) as stream:
        lines = heapq.merge(*map(_lines, sorted(shards.glob("*.tsv"))))
        for line in islice(lines, settings.number):
            stream.write(line.partition("\t")[2] + "\n")
            count += 1
        if not count:
            source = settings.run_file or settings.index or (settings.corpus or [""])[0]
            raise InputError(f"{source}: no triples found; do candidates and judgements have the same ids?")
    return count


def _triples(settings: TripleSettings, judged: Mapping[str, Judged], query: str, ids: Sequence[str]) -> Iterator[str]:
    options = {name: getattr(settings, name) for name in ("seed", "negatives", "recipe", "keep_judged")}
    shown = ids[settings.skip : settings.depth]
    for number, positive, negative in triples_of(query, shown, judged.get(query, {}), **options):
        yield f"{number:016x}\t{query}\t{positive}\t{negative}"


def _lines(path: Path) -> Iterator[str]:
    return (line for _, line in read_lines(path))
