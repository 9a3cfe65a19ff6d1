"""``mpir merge``: join the shards of a job, made with ``--shard``, or several reviews, into one result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mpir.app.cli.common_options import OverwriteArguments
from mpir.app.cli.option import option, positional
from mpir.app.cli.value_options import output_path, text_path
from mpir.errors import ArtefactError, InputError, OutputError, format_names, format_value

if TYPE_CHECKING:
    from mpir.files.job_shards import FinishedShard

EPILOG = """\
The result equals that of one run without --shard, byte for byte. Only scored questions may differ in their last digits,
because several share a batch. Missing, repeated and unrelated shards are errors.

Reviews of the explain page (NAME.mpir) are joined, too, in any order: each person's latest decision on a record counts,
and where two people differ, both decisions stay. With --format, the decisions of one review go to another program:
rayyan (a table), covidence (references, a file for each list), asreview (a table), eppi (references) or csv; sources
lists what became of each record of the files.

OUTPUT is a folder for scored questions and SIA data, a file for the rankings of `mpir rerank`, and for the vectors of
`mpir index --dense` the folder of an index, to which they are added.

examples:
  for i in 1 2 3; do mpir score … --shard $i/3 --output shards/$i; done
  mpir merge shards/1 shards/2 shards/3 --output scored

  mpir index corpus.jsonl --index my-index
  for i in 1 2 3; do mpir index corpus.jsonl --index vectors/$i --dense --shard $i/3; done
  mpir merge vectors/* --output my-index

  for i in 1 2 3; do mpir rerank --queries candidates.jsonl --format trec --shard $i/3 --output ranked/$i; done
  mpir merge ranked/* --output run.trec

  for i in 1 2 3; do mpir data sia --qasc train.jsonl --shard $i/3 --output shards/$i; done
  mpir merge shards/* --output sia

  mpir merge ada.mpir grace.mpir --output both.mpir
  mpir merge both.mpir --format rayyan --output rayyan.csv
"""


@dataclass(frozen=True, kw_only=True)
class MergeArguments(OverwriteArguments):
    """The arguments of `mpir merge`."""

    shards: Sequence[str] = positional(
        help="folders of all shards, or reviews (.mpir), in any order", type=text_path, nargs="+", metavar="SHARD"
    )
    output: Path = option(
        "--output", help="where the joined result goes", type=output_path, required=True, metavar="PATH"
    )
    format: str | None = option(
        "--format",
        help="export a review in the form that another program imports",
        choices=("rayyan", "covidence", "asreview", "eppi", "csv", "sources"),
    )
    reviewer: str = option(
        "--reviewer",
        help="whose decisions a form with one decision has (default: your account, or the only reviewer)",
        default="",
        metavar="NAME",
    )


def run(arguments: MergeArguments) -> int:
    """Join the shards; 0 is the exit status. Raises MpirError for shards that do not belong together."""
    from mpir.app.cli.rerank_file import check_rankings_file
    from mpir.app.explain.library import SUFFIX
    from mpir.files.job_shards import in_order, is_finished, read_finished
    from mpir.files.output_checks import check_folders
    from mpir.tune.dataset import MANIFEST

    check_folders([("--output", arguments.output)], [("SHARD", folder) for folder in arguments.shards])
    if all(str(path).endswith(SUFFIX) for path in arguments.shards):
        return _merge_reviews(arguments)
    if arguments.format:
        raise InputError(
            f"--format {arguments.format}: is for a review (expected NAME{SUFFIX}). Leave it out for shards."
        )
    if not any(map(is_finished, arguments.shards)) and any(
        (Path(shard) / MANIFEST).is_file() for shard in arguments.shards
    ):
        return _merge_scored(arguments)
    shards = in_order([read_finished(folder) for folder in arguments.shards])
    merge = _MERGERS.get(shards[0].job["kind"])
    if merge is None:
        raise ArtefactError(f"{shards[0].folder}: unknown kind of shard; use the version of mpir that made it.")
    if shards[0].job["kind"] == "rankings":
        check_rankings_file("--output", arguments.output, overwrite=arguments.overwrite)
    print(f"{arguments.output}: {merge(shards, arguments.output)} of {len(shards)} shards.")
    return 0


def _merge_reviews(arguments: MergeArguments) -> int:
    from mpir.app.explain.library import SUFFIX
    from mpir.app.explain.merge_reviews import merge_reviews
    from mpir.app.explain.review import Review
    from mpir.files.output_checks import Output, check_outputs, is_never_ours

    output = arguments.output
    if arguments.format:
        return _export(arguments, arguments.format)
    if arguments.reviewer:
        raise InputError(
            "--reviewer says whose decisions a --format takes; leave it out, since a merged review has all."
        )
    if output.suffix != SUFFIX:
        raise InputError(
            f"--output: invalid name (got {format_value(output.name)}, expected NAME{SUFFIX}). Rename it, or choose a "
            "--format for another program."
        )
    read = [("a review", path) for path in arguments.shards]
    check_outputs([Output("--output", output, is_never_ours)], read, overwrite=arguments.overwrite)
    result = merge_reviews([Review(_existing(path)) for path in arguments.shards], output)
    names = ", ".join(f"{name} {len(result.decisions(name))}" for name in result.reviewers()) or "none"
    print(f"{output}: {len(result.records())} records of {len(arguments.shards)} reviews; decisions: {names}.")
    return 0


def _export(arguments: MergeArguments, form: str) -> int:
    """Write the decisions of a review in the form of another program."""
    from mpir.app.explain.export import export_texts, suffix_of, write_texts
    from mpir.app.explain.library import SUFFIX, account
    from mpir.app.explain.review import Review
    from mpir.files.output_checks import Output, check_outputs, is_never_ours

    suffix, output = suffix_of(form), arguments.output
    if output.suffix != suffix or len(arguments.shards) > 1:
        got = format_value(output.name) if output.suffix != suffix else f"{len(arguments.shards)} reviews"
        raise InputError(
            f"--format {form}: invalid request (got {got}, expected one review and --output NAME{suffix}). "
            f"Merge several reviews into a {SUFFIX} file first."
        )
    review = Review(_existing(arguments.shards[0]))
    texts = export_texts(review, output, form, arguments.reviewer or account())
    read = [("a review", arguments.shards[0])]
    outputs = [Output("--output", path, is_never_ours) for path in texts]
    check_outputs(outputs, read, overwrite=arguments.overwrite)
    write_texts(texts)
    print(f"{', '.join(map(str, texts))}: {len(review.records())} records.")
    return 0


def _existing(path: str) -> Path:
    if not Path(path).is_file():
        raise InputError(f"{path}: no such review; give files of `mpir explain`.")
    return Path(path)


def _merge_scored(arguments: MergeArguments) -> int:
    from mpir.files.output_checks import Output, check_outputs
    from mpir.tune.dataset import SCORED
    from mpir.tune.score_shards import merge

    check_outputs([Output("--output", arguments.output, SCORED)])
    dataset = merge(arguments.shards).save(arguments.output)
    print(f"{arguments.output}: {len(dataset.questions)} questions of {len(arguments.shards)} shards.")
    return 0


def _merge_vectors(shards: Sequence[FinishedShard], output: Path) -> str:
    """Add the vectors of all shards to the index at `output`, or to an empty folder."""
    from mpir.app.cli.first_stage import DENSE_FOLDER
    from mpir.files.corpora.corpus import is_same_corpus
    from mpir.files.write import check_folder
    from mpir.search.dense.job_shards import merge_shards
    from mpir.search.dense.manifest import corpus_of
    from mpir.search.lucene.manifest import MANIFEST, read_info

    if (output / MANIFEST).is_file():
        if not is_same_corpus(read_info(output).source, corpus_of(shards[0].details["source"])):
            raise InputError(
                f"{output}: indexes another corpus than the shards (in {shards[0].folder}) were made from; index that "
                "corpus first, or choose another folder."
            )
    elif others := _other_names(output, DENSE_FOLDER):
        raise OutputError(
            f"{output}: contains {format_names(others, 3)}, so it is not an index; give the folder of the corpus's "
            "index, or a new one."
        )
    check_folder(output)
    output.mkdir(parents=True, exist_ok=True)
    return f"{merge_shards(shards, output / DENSE_FOLDER).documents:,} documents"


def _other_names(folder: Path, name: str) -> list[str]:
    """The names in a folder, except those of an index's vectors and of the files for building them."""
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if path.name.partition(".")[0] != name)


def _merge_rankings(shards: Sequence[FinishedShard], output: Path) -> str:
    from mpir.reranking.ranking_files import merge_rankings

    return f"{merge_rankings(shards, output)} queries"


def _merge_sia(shards: Sequence[FinishedShard], output: Path) -> str:
    from mpir.lab.sia.job_shards import merge_shards

    return f"{merge_shards(shards, output).rows.total():,} rows"


_MERGERS: dict[str, Callable[[Sequence[FinishedShard], Path], str]] = {
    "dense": _merge_vectors,
    "rankings": _merge_rankings,
    "sia": _merge_sia,
}
"""The function that joins the shards of each kind; it returns a description of the result."""
