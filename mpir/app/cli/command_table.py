"""Every command of `mpir`, with the module that runs it: mpir's own, and those of installed packages."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Collection, Iterator
from dataclasses import KW_ONLY, dataclass, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_type_hints

from mpir.errors import InputError, format_value
from mpir.plugins import COMMANDS as GROUP
from mpir.plugins import load_plugin, plugins_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from mpir.app.cli.option import Option

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Command:
    """A command or, with a `parent`, an action of one.

    Attributes:
        name: the words after `mpir`, joined by "_".
        help: the line in the list of commands.
        description: the first paragraph of its help; "" repeats `help`.
        module: the module with EPILOG and with the function `run`; "" is the one of `app/cli` with the command's name.
        run: the function that runs it, whose parameter `arguments` has the dataclass that declares its options as type.
        is_group: whether it has actions alone, and no module.
        package: the distribution that has it, "" is mpir.
    """

    name: str
    help: str
    description: str = ""
    _: KW_ONLY
    module: str = ""
    run: str = "run"
    parent: str = ""
    is_group: bool = False
    package: str = ""

    @property
    def word(self) -> str:
        """The last word of the command."""
        return self.name.removeprefix(f"{self.parent}_")

    def _names(self) -> dict[str, Any]:
        """The names of its module."""
        if self.is_group:
            return {}
        if self.package:
            return dict(vars(load_plugin(GROUP, self.name)))
        return vars(import_module(f"mpir.app.cli.{self.module or self.name}"))

    def epilog(self) -> str:
        """The text below the options."""
        texts = self._names()
        return str(texts.get(f"EPILOG_{self.run.removeprefix('run_').upper()}", texts.get("EPILOG", "")))

    def arguments(self) -> type[DataclassInstance]:
        """The dataclass that declares its options, which is the type of its function's parameter `arguments`.

        Raises:
            InputError: a package's function takes none.
        """
        function = self._names()[self.run]
        try:
            cls = get_type_hints(function).get("arguments")
        except NameError:  # it is imported for types alone
            cls = function.__annotations__.get("arguments")
        if not isinstance(cls, type) or not is_dataclass(cls):
            raise InputError(
                f"{self.package or 'mpir'}: the command {self.name!r} takes {format_value(str(cls))} (expected a "
                "dataclass of options). Update or remove the package."
            )
        return cls

    def options(self) -> tuple[Option, ...]:
        """Its options, settings and positional arguments."""
        from mpir.app.cli.option import options_of

        return () if self.is_group else options_of(self.arguments())

    def __call__(self, parsed: argparse.Namespace) -> int:
        """Run the command with what the parser has read, and return its exit status."""
        from mpir.app.cli.option import arguments_of

        return int(self._names()[self.run](arguments_of(self.arguments(), parsed)))


# fmt: off
COMMANDS = (
    Command("index", "make a search index of a corpus",
        "Index the titles and abstracts of a corpus with Lucene, for `mpir search` and the rerankers."),
    Command("search", "search an index with BM25, vectors or both",
        "Retrieve the documents that BM25, vectors or both rank best for each query."),
    Command("rerank", "rerank documents and their sentences",
        "Score every (query, sentence) pair from several perspectives and rank documents and sentences."),
    Command("pubmed", "search PubMed and Europe PMC over the network, and rank the results",
        "Search PubMed and Europe PMC for a question, and rank their abstracts and sentences. The question leaves "
        "this machine."),
    Command("bioasq", "make a BioASQ submission",
        "BioASQ Task B Phase A: questions in, a submission of documents and snippets out. Without --questions, the "
        "sample that ships with mpir is run and measured against its gold answers."),
    Command("annotate", "find a lexicon's concepts in documents, and whether they are negated",
        "Find a lexicon's concepts in documents, with offsets and a status: affirmed, negated, …."),
    Command("evaluate", "measure a BioASQ submission or a TREC run", "Measure results against judgements.",
        is_group=True),
    Command("evaluate_bioasq", "BioASQ Task B phase A: documents and snippets of a submission", module="evaluate",
        parent="evaluate", run="run_bioasq"),
    Command("evaluate_run", "standard retrieval measures of a TREC run", module="evaluate", parent="evaluate",
        run="run_run"),
    Command("benchmark", "measure models on judged queries",
        "Measure rerankers and encoders on judged queries: alone, with the first stage, and blended."),
    Command("score", "score questions with gold once, for tuning",
        "Retrieve candidates for every question, score their sentences, and write columns and gold."),
    Command("merge", "join the shards of a job that --shard made, or reviews",
        "Join the shards that `mpir score`, `rerank`, `index --dense` or `data sia` made with --shard i/n."),
    Command("tune", "find weights on scored questions",
        "Search the weights of the blend for the best measure over scored questions."),
    Command("calibrate", "fit the probabilities to your own judgements",
        "Fit the probabilities of documents to about 50 of your judgements, and make a bundle with them."),
    Command("data", "make training data: SIA rows, triples, negatives, word vectors",
        "Make training data for your own perspectives.", is_group=True),
    Command("data_sia", "rows of (query, sentence, 0 to 4) for semantic information availability",
        "Generate SIA data: (query, sentence, score) rows, from 4 (exactly the information sought) to 0 (none of it).",
        parent="data"),
    Command("data_triples", "triples of (query, relevant document, negative) from judgements",
        "Sample training triples: relevant documents with candidates that were not judged relevant.", parent="data"),
    Command("data_negatives", "rows with hard negatives: of candidates, of other questions, of other abstracts",
        "Make training rows with hard negatives: sentences that look like answers and are none.", parent="data"),
    Command("data_vectors", "word vectors of a corpus, for the word swaps of SIA data",
        "Train word vectors on a corpus.", parent="data"),
    Command("data_chexpert", "a lexicon from CheXpert's phrases, for `mpir annotate`",
        "Make a lexicon from CheXpert's phrases.", module="data_lexicons", parent="data", run="run_chexpert"),
    Command("data_lexicon-pairs", "pairs of finding and sentence, labelled by a lexicon and negation",
        "Label pairs of a finding, or its denial, and a sentence by a lexicon.", module="data_lexicons",
        parent="data", run="run_lexicon_pairs"),
    Command("train", "train your own perspectives",
        "Fine-tune one encoder for the perspectives of a mixture, and make a bundle from it."),
    Command("train_average", "average two bundles that were trained from one checkpoint",
        "Make a bundle from the mean of two bundles' joint encoders.", module="train_encoders", parent="train",
        run="run_average"),
    Command("train_shrink", "make a smaller encoder to distil into",
        "Make a smaller encoder from some layers of a larger one and the frequent tokens of given texts.",
        module="train_encoders", parent="train", run="run_shrink"),
    Command("train_tk", "make an initial TK model from word vectors", module="train_encoders", parent="train",
        run="run_tk"),
    Command("bundle", "show, make, seal, calibrate or share a bundle of perspectives",
        "A bundle is a folder with trained perspectives, the weights that blend them, and a model card.",
        is_group=True),
    *(
        Command(f"bundle_{word}", help, module="bundle", parent="bundle", run=f"run_{word}")
        for word, help in (
            ("show", "check that a bundle can rerank, and print its card and licences"),
            ("new", "make a bundle from another bundle and models of your choice"),
            ("push", "upload a bundle to a hub (key: $HF_TOKEN)"),
            ("seal", "write the files' hashes into the manifest after an intended change"),
            ("calibrate", "fit the probabilities on scored questions, and seal the bundle"),
        )
    ),
    Command("serve", "serve a reranker over HTTP to clients of other rerankers",
        "Serve a reranker over HTTP, in the dialects of Cohere, Jina, Voyage, TEI and vLLM."),
    Command("mcp", "serve search, rerank and evidence to agents (Model Context Protocol)",
        "Serve tools to language-model agents over the Model Context Protocol."),
    Command("explain", "show in a browser why documents rank as they do",
        "Serve a page that ranks documents and shows how their scores are composed."),
    Command("doctor", "show what is installed and what mpir would use",
        "Show versions, the chosen device and precision, extras, Java, cache and bundles."),
    Command("completion", "print a completion script for a shell",
        "Print a script that lets a shell complete mpir's commands, options and files."),
)
# fmt: on


def commands(words: Collection[str] = ()) -> Iterator[Command]:
    """Yield every command; those of installed packages only unless the `words` call one of mpir's own."""
    yield from COMMANDS
    own = {command.name for command in COMMANDS if not command.parent}
    if own.isdisjoint(words):
        yield from _of_packages(own)


def _of_packages(own: Collection[str]) -> Iterator[Command]:
    """Yield the commands of installed packages, whose code runs only once it is asked for."""
    for name, entry in plugins_of(GROUP).items():
        package = entry.dist.name if entry.dist else entry.value
        if name in own:
            _log.warning("%s: its command %s is left out, because mpir has one of this name.", package, name)
            continue
        summary = entry.dist.metadata["Summary"] if entry.dist else None
        yield Command(name, summary or f"a command of {package}", package=package)


def own_options() -> Iterator[Option]:
    """Yield the options of mpir's own commands, whose modules it imports."""
    for command in COMMANDS:
        yield from command.options()


def package_options() -> Iterator[Option]:
    """Yield the options of the commands of installed packages."""
    for command in commands():
        if command.package:
            yield from command.options()
