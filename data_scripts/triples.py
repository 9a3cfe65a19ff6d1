"""Training triples: what answers a question, against candidates that nobody judged to answer it.

    python data_scripts/triples.py --questions questions.json --index my-index --output bm25.tsv
    python data_scripts/triples.py --questions questions.json --index my-index --mode dense --skip 5 --output mined.tsv
    python data_scripts/triples.py --questions questions.json --corpus abstracts.jsonl --random --output random.tsv
    python data_scripts/triples.py --qrels qrels.raw.head.train.txt --run bm25.train.run --output clicks.tsv

Writes lines of `question⇥positive⇥negative`, as ids; a mixture may take several such files
(docs/reference/training.md). For each question and each document that is relevant to it, up to --negatives documents
are sampled from the --depth best of the candidates, without everything in the question's relevant pool, whatever its
grade (Hofstätter et al. 2022); --keep-judged lets judged documents without relevance be negatives. Candidates are
found by --index, whose vectors may be those of an encoder of a former round, stand in a TREC run, or are drawn from a
corpus at random. --skip leaves out the best ones, which are likely to be answers that nobody judged. --recipe
above-click is TripClick's own way, and unfiltered leaves the relevant pool in, to see what that costs.

What is relevant says --qrels or, in BioASQ's questions, their gold documents. Documents without a text, in --corpus
or else in --index, are left out and counted: training would refuse them. Questions of the files of --evaluation are
refused by id and by text. Triples are shuffled on disk and the first --number kept. A run's lines stand query by
query, as search engines write them. Memory holds the judgements and one chunk of questions. Finished chunks stay in
OUTPUT.parts until the end: the same command goes on, and the file is the same whatever was interrupted.
"""

from __future__ import annotations

import argparse
import heapq
import shutil
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from mpir.cli import guarded
from mpir.cli.first_stage import add_first_stage_options, open_first_stage
from mpir.cli.path_options import file_path, text_path
from mpir.corpora.bioasq import read_questions
from mpir.corpora.corpus import corpus_fingerprint
from mpir.corpora.queries import read_queries
from mpir.corpora.text_store import Texts
from mpir.corpora.trec import read_qrels, stream_run
from mpir.errors import ArtefactError, InputError, format_value
from mpir.io.folder_format import FolderFormat
from mpir.io.hash import fingerprint, sha256
from mpir.io.read import read_json, read_lines
from mpir.io.write import atomic_write, write_json
from mpir.train.clicks import SAMPLERS, Judged, triples_of
from mpir.train.leakage import EvaluationQuestions
from mpir.validation import whole_number

if TYPE_CHECKING:
    from mpir.retrieve import Retriever

QUERIES_PER_CHUNK = 5000
SEARCHED_AT_ONCE = 64
LEFT_OUT = ".left.json"
SHARDS = FolderFormat(names=("manifest.json", "*.tsv", f"*{LEFT_OUT}"))
"""The files of the finished chunks."""
"""The end of the name of what a finished chunk left out."""
Chunk = Sequence[tuple[str, list[str]]]
"""Questions and their candidates, by ids, best first."""
Find = Callable[[], Chunk]
"""The candidates of a chunk are found when they are asked for."""
Known = Callable[[Collection[str]], Collection[str]]
"""Those of some documents that have a text."""


def main(arguments_given: Sequence[str] | None = None) -> int:
    """Find candidates, sample, shuffle, write."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--index", type=text_path, metavar="DIR", help="candidates of a search, by --mode")
    source.add_argument("--run", type=file_path, metavar="FILE", help="candidates of a TREC run")
    source.add_argument("--random", action="store_true", help="candidates drawn from --corpus")
    parser.add_argument(
        "--questions", type=file_path, metavar="FILE", help="their texts: .json, .jsonl, .tsv or topics"
    )
    parser.add_argument(
        "--qrels", type=file_path, nargs="+", default=[], metavar="FILE", help="relevant: grades above 0"
    )
    parser.add_argument(
        "--corpus", type=text_path, nargs="+", metavar="PATH", help="documents to draw from or look up texts in"
    )
    parser.add_argument(
        "--evaluation", type=file_path, nargs="+", default=[], metavar="FILE", help="questions to refuse"
    )
    parser.add_argument("--output", type=file_path, required=True, metavar="FILE", help="the triples to write")
    parser.add_argument("--depth", type=int, default=500, help="candidates of each question (%(default)s)")
    parser.add_argument("--skip", type=int, default=0, help="of the best candidates (%(default)s)")
    parser.add_argument("--negatives", type=int, default=20, help="for each positive, at most (%(default)s)")
    parser.add_argument("--number", type=int, default=10_000_000, help="triples to keep, at most (%(default)s)")
    parser.add_argument("--recipe", choices=sorted(SAMPLERS), default="filtered", help="%(default)s")
    parser.add_argument("--keep-judged", action="store_true", help="what was judged not relevant may be a negative")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same file (%(default)s)")
    add_first_stage_options(parser)
    arguments = parser.parse_args(arguments_given)
    return guarded("triples", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole job; 0 is the exit status. Raises MpirError for a user's mistake."""
    check(arguments)
    judged = relevant(arguments)
    refuse_evaluation(arguments, judged)
    index = open_first_stage(arguments) if arguments.index else None
    corpus = Texts.of_corpus(arguments.corpus) if arguments.corpus else None
    source = corpus.source if corpus is not None else arguments.index
    gold, absent = leave_out_absent(judged, known_to(index, corpus), source)
    shards = folder_of_parts(arguments, index.identity if index is not None else {})
    sample(arguments, judged, candidates(arguments, judged, index, corpus), corpus, shards)
    count = merge(arguments, shards)
    gone = sum(read_json(path)["without_text"] for path in shards.glob(f"*{LEFT_OUT}"))
    SHARDS.refuse_foreign_files(shards)
    shutil.rmtree(shards)
    if absent or gone:
        which = f"{absent} of {gold} relevant documents and of {gone} candidates"
        print(f"{source}: has no text of {which}, which are left out.")
    print(f"{arguments.output}: {count} triples of {sum(map(answered, judged.values()))} judged questions.")
    return 0


def merge(arguments: argparse.Namespace, shards: Path) -> int:
    """Write the first triples of all parts; how many these are. Raises InputError where there is none."""
    count = 0
    with atomic_write(arguments.output) as stream:
        lines = heapq.merge(*map(_lines, sorted(shards.glob("*.tsv"))))
        for line in islice(lines, arguments.number):
            stream.write(line.partition("\t")[2] + "\n")
            count += 1
        if not count:
            source = arguments.run or arguments.index or arguments.corpus[0]
            raise InputError(f"{source}: not one triple was found; do candidates and judgements have the same ids?")
    return count


def check(arguments: argparse.Namespace) -> None:
    """Refuse numbers that are too small, and options that lack others."""
    for option, lowest in (("depth", 1), ("skip", 0), ("negatives", 1), ("number", 1), ("seed", 0)):
        whole_number(f"--{option}", getattr(arguments, option), minimum=lowest)
    for option, needed in (("index", "questions"), ("random", "corpus"), ("evaluation", "questions")):
        if getattr(arguments, option) and not getattr(arguments, needed):
            raise InputError(f"--{option} needs --{needed}, which is not given.")


def relevant(arguments: argparse.Namespace) -> dict[str, Judged]:
    """Judgements by question, from several files or the questions' own. Raises InputError where nothing is relevant."""
    judged: dict[str, Judged] = {}
    for path in arguments.qrels:
        for query, grades in read_qrels(path).items():
            judged[query] = {**judged.get(query, {}), **grades}
    if not arguments.qrels and arguments.questions and arguments.questions.suffix == ".json":
        judged = {
            question.id: dict.fromkeys(question.documents or (), 1) for question in read_questions(arguments.questions)
        }
    if not any(map(answered, judged.values())):
        source = next(iter(arguments.qrels), arguments.questions) or "--qrels"
        raise InputError(f"{source}: no document has a grade above 0; expected judgements, such as clicks.")
    return judged


def answered(grades: Judged) -> bool:
    """Whether anything is relevant to a question."""
    return any(grade > 0 for grade in grades.values())


def known_to(index: Retriever | None, corpus: Texts | None) -> Known:
    """Which documents have a text: in the corpus or else in the index. Without both, all count as if they had one."""
    if corpus is not None:
        return lambda ids: {name for name, text in corpus.find(ids).items() if text.strip()}
    return set if index is None else lambda ids: {name for name in ids if _stored(index, name).strip()}


def _stored(index: Retriever, name: str) -> str:
    """The text of a document, and "" where the index lacks it."""
    try:
        return index.document(name).text
    except InputError:
        return ""


def leave_out_absent(judged: dict[str, Judged], known: Known, source: str) -> tuple[int, int]:
    """Take relevant documents without a text out of the judgements: how many there were, and how many went.

    Raises:
        InputError: none of them has a text.
    """
    before = after = 0
    for query, grades in judged.items():
        relevant = [name for name, grade in grades.items() if grade > 0]
        present = known(relevant)
        judged[query] = {name: grade for name, grade in grades.items() if grade <= 0 or name in present}
        before, after = before + len(relevant), after + len(present)
    if not after:
        raise InputError(
            f"{source}: has no text of any of the {before} relevant documents; give the documents that were judged."
        )
    return before, before - after


def refuse_evaluation(arguments: argparse.Namespace, judged: Mapping[str, Judged]) -> None:
    """Raise InputError if a question that would be trained on is kept for evaluation."""
    if not arguments.evaluation:
        return
    pairs = [pair for path in arguments.evaluation for pair in read_queries(path)]
    evaluation_questions = EvaluationQuestions(pairs)
    for identifier, text in read_queries(arguments.questions):
        if identifier in judged:
            evaluation_questions.refuse(identifier, text)
    for identifier, text in pairs:
        if identifier in judged:  # and --questions, which may be of another part, lacks it
            evaluation_questions.refuse(identifier, text)


def candidates(
    arguments: argparse.Namespace, judged: Mapping[str, Judged], index: Retriever | None, corpus: Texts | None
) -> Iterator[Find]:
    """The questions in chunks, with their candidates."""
    if arguments.run:
        yield from (partial(list, chunk) for chunk in _chunks(stream_run(arguments.run)))
        return
    names = (name for name, grades in judged.items() if answered(grades))
    if arguments.random:
        find = draw(arguments, corpus)
    else:
        find = partial(search, arguments, index, Texts.of_questions(arguments.questions))
    yield from (partial(find, chunk) for chunk in _chunks(names))


def search(arguments: argparse.Namespace, index: Retriever, texts: Texts, names: Sequence[str]) -> Chunk:
    """What a first stage finds for questions. Raises InputError for a question without a text."""
    known, ids_of = texts.find(names), []
    for name in names:
        if name not in known:
            raise InputError(f"{texts.source}: has no question {format_value(name)}, which is judged; add it.")
    for start in range(0, len(names), SEARCHED_AT_ONCE):
        batch = names[start : start + SEARCHED_AT_ONCE]
        hits = index.search_batch([known[name] for name in batch], arguments.depth)
        ids_of += [(name, [document.id for document in documents]) for name, documents in zip(batch, hits, strict=True)]
    return ids_of


def draw(arguments: argparse.Namespace, corpus: Texts) -> Callable[[Sequence[str]], Chunk]:
    """What draws documents for questions; a question's are the same wherever it stands."""

    def drawn(name: str) -> list[str]:
        generator = np.random.default_rng([arguments.seed, zlib.crc32(name.encode()), 1])
        chosen = generator.choice(len(corpus), min(arguments.depth, len(corpus)), replace=False)
        return corpus.names(chosen.tolist())

    return lambda names: [(name, drawn(name)) for name in names]


def folder_of_parts(arguments: argparse.Namespace, identity: Mapping[str, object]) -> Path:
    """The folder of finished chunks. Raises ArtefactError where they are of other settings."""
    folder = arguments.output.with_name(f"{arguments.output.name}.parts")
    options = {name: str(value) for name, value in vars(arguments).items() if name not in ("output", "number")}
    paths = [*arguments.qrels, *(path for path in (arguments.run, arguments.questions) if path)]
    data = [[sha256(path) for path in paths if path.is_file()]]
    data += [corpus_fingerprint(arguments.corpus)] if arguments.corpus else []
    settings = {"settings": fingerprint([options, data, identity, QUERIES_PER_CHUNK])}
    manifest = folder / "manifest.json"
    begun = manifest.is_file() or any(folder.glob("*.tsv"))
    if begun and not (manifest.is_file() and read_json(manifest) == settings):
        raise ArtefactError(f"{folder}: holds parts of other settings or data; remove it, or choose another output.")
    SHARDS.refuse_foreign_files(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(manifest, settings)
    return folder


def sample(
    arguments: argparse.Namespace,
    judged: Mapping[str, Judged],
    hits: Iterator[Find],
    corpus: Texts | None,
    shards: Path,
) -> None:
    """Every chunk's triples in a file of their own, sorted by their place, beside how many candidates have no text."""
    for number, find in enumerate(tqdm(hits, desc="chunks of questions", disable=not sys.stderr.isatty())):
        path = shards / f"{number:06d}.tsv"
        if not path.is_file():
            chunk, gone = with_texts(find(), corpus)
            lines = sorted(line for query, ids in chunk for line in _triples(arguments, judged, query, ids))
            write_json(path.with_suffix(LEFT_OUT), {"without_text": gone})
            with atomic_write(path) as stream:
                stream.writelines(f"{line}\n" for line in lines)


def with_texts(chunk: Chunk, corpus: Texts | None) -> tuple[Chunk, int]:
    """A chunk without the candidates of which a corpus has no text, and how many those are.

    Without a corpus all are kept: what an index finds has words.
    """
    if corpus is None:
        return chunk, 0
    known, present_ids = known_to(None, corpus), []
    for query, ids in chunk:
        present = known(ids)
        present_ids.append((query, [name for name in ids if name in present]))
    return present_ids, sum(len(ids) for _, ids in chunk) - sum(len(ids) for _, ids in present_ids)


def _chunks(items: Iterable) -> Iterator[list]:
    items = iter(items)
    while chunk := list(islice(items, QUERIES_PER_CHUNK)):
        yield chunk


def _triples(
    arguments: argparse.Namespace, judged: Mapping[str, Judged], query: str, ids: Sequence[str]
) -> Iterator[str]:
    options = {name: getattr(arguments, name) for name in ("seed", "negatives", "recipe", "keep_judged")}
    shown = ids[arguments.skip : arguments.depth]
    for number, positive, negative in triples_of(query, shown, judged.get(query, {}), **options):
        yield f"{number:016x}\t{query}\t{positive}\t{negative}"


def _lines(path: Path) -> Iterator[str]:
    return (line for _, line in read_lines(path))


if __name__ == "__main__":
    sys.exit(main())
