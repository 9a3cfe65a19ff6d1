"""Every command of `mpir`, with the module that runs it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command or, with a `parent`, an action of one.

    Attributes:
        name: the words after `mpir`, joined by "_", as `option_table` names it.
        help: the line in the list of commands.
        description: the first paragraph of its help; None repeats `help`.
        module: the module with EPILOG and with the function `run`; "" for a group of actions.
    """

    name: str
    help: str
    description: str
    module: str = ""
    run: str = "run"
    parent: str = ""

    @property
    def word(self) -> str:
        """The last word of the command."""
        return self.name.removeprefix(f"{self.parent}_")

    def epilog(self) -> str:
        """The text below the options."""
        texts = vars(import_module(self.module)) if self.module else {}
        return str(texts.get(f"EPILOG_{self.run.removeprefix('run_').upper()}", texts.get("EPILOG", "")))

    def __call__(self, arguments: Any) -> int:
        """Run the command and return its exit status."""
        return int(getattr(import_module(self.module), self.run)(arguments))


def _command(
    name: str, help: str, description: str = "", *, module: str = "", parent: str = "", run: str = "run"
) -> Command:
    return Command(
        name=name,
        help=help,
        description=description or f"{help[0].upper()}{help[1:]}.",
        module=f"mpir.app.cli.{module or name}",
        parent=parent,
        run=run,
    )


def _group(name: str, help: str, description: str) -> Command:
    return Command(name=name, help=help, description=description)


# fmt: off
COMMANDS = (
    _command("index", "make a search index of a corpus",
        "Index the titles and abstracts of a corpus with Lucene, for `mpir search` and the rerankers."),
    _command("search", "search an index with BM25, vectors or both",
        "Retrieve the documents that BM25, vectors or both rank best for each query."),
    _command("rerank", "rerank documents and their sentences",
        "Score every (query, sentence) pair from several perspectives and rank documents and sentences."),
    _command("pubmed", "search PubMed and Europe PMC over the network, and rank the results",
        "Search PubMed and Europe PMC for a question, and rank their abstracts and sentences. The question leaves "
        "this machine."),
    _command("bioasq", "make a BioASQ submission",
        "BioASQ Task B Phase A: questions in, a submission of documents and snippets out. Without --questions, the "
        "sample that ships with mpir is run and measured against its gold answers."),
    _command("annotate", "find a lexicon's concepts in documents, and whether they are negated",
        "Find a lexicon's concepts in documents, with offsets and a status: affirmed, negated, …."),
    _group("evaluate", "measure a BioASQ submission or a TREC run", "Measure results against judgements."),
    _command("evaluate_bioasq", "BioASQ Task B phase A: documents and snippets of a submission", module="evaluate",
        parent="evaluate", run="run_bioasq"),
    _command("evaluate_run", "standard retrieval measures of a TREC run", module="evaluate", parent="evaluate",
        run="run_run"),
    _command("benchmark", "measure models on judged queries",
        "Measure rerankers and encoders on judged queries: alone, with the first stage, and blended."),
    _command("score", "score questions with gold once, for tuning",
        "Retrieve candidates for every question, score their sentences, and write columns and gold."),
    _command("merge", "join the shards of a job that --shard made",
        "Join the shards that `mpir score`, `rerank`, `index --dense` or `data sia` made with --shard i/n."),
    _command("tune", "find weights on scored questions",
        "Search the weights of the blend for the best measure over scored questions."),
    _group("data", "make training data: SIA rows, triples, negatives, word vectors",
        "Make training data for your own perspectives."),
    _command("data_sia", "rows of (query, sentence, 0 to 4) for semantic information availability",
        "Generate SIA data: (query, sentence, score) rows, from 4 (exactly the information sought) to 0 (none of it).",
        parent="data"),
    _command("data_triples", "triples of (query, relevant document, negative) from judgements",
        "Sample training triples: relevant documents with candidates that were not judged relevant.", parent="data"),
    _command("data_negatives", "rows with hard negatives: of candidates, of other questions, of other abstracts",
        "Make training rows with hard negatives: sentences that look like answers and are none.", parent="data"),
    _command("data_vectors", "word vectors of a corpus, for the word swaps of SIA data",
        "Train word vectors on a corpus.", parent="data"),
    _command("data_chexpert", "a lexicon from CheXpert's phrases, for `mpir annotate`",
        "Make a lexicon from CheXpert's phrases.", module="data_lexicons", parent="data", run="run_chexpert"),
    _command("data_lexicon-pairs", "pairs of finding and sentence, labelled by a lexicon and negation",
        "Label pairs of a finding, or its denial, and a sentence by a lexicon.", module="data_lexicons",
        parent="data", run="run_lexicon_pairs"),
    _command("train", "train your own perspectives",
        "Fine-tune one encoder for the perspectives of a mixture, and make a bundle from it."),
    _command("train_average", "average two bundles that were trained from one checkpoint",
        "Make a bundle from the mean of two bundles' joint encoders.", module="train_encoders", parent="train",
        run="run_average"),
    _command("train_shrink", "make a smaller encoder to distil into",
        "Make a smaller encoder from some layers of a larger one and the frequent tokens of given texts.",
        module="train_encoders", parent="train", run="run_shrink"),
    _command("train_tk", "make an initial TK model from word vectors", module="train_encoders", parent="train",
        run="run_tk"),
    _group("bundle", "show, make, seal, calibrate or share a bundle of perspectives",
        "A bundle is a folder with trained perspectives, the weights that blend them, and a model card."),
    *(
        _command(f"bundle_{word}", help, module="bundle", parent="bundle", run=f"run_{word}")
        for word, help in (
            ("show", "check that a bundle can rerank, and print its card and licences"),
            ("new", "make a bundle from another bundle and models of your choice"),
            ("push", "upload a bundle to a hub (key: $HF_TOKEN)"),
            ("seal", "write the files' hashes into the manifest after an intended change"),
            ("calibrate", "fit the probabilities on scored questions, and seal the bundle"),
        )
    ),
    _command("serve", "serve a reranker over HTTP to clients of other rerankers",
        "Serve a reranker over HTTP, in the dialects of Cohere, Jina, Voyage, TEI and vLLM."),
    _command("mcp", "serve search, rerank and evidence to agents (Model Context Protocol)",
        "Serve tools to language-model agents over the Model Context Protocol."),
    _command("explain", "show in a browser why documents rank as they do",
        "Serve a page that ranks documents and shows how their scores are composed."),
    _command("doctor", "show what is installed and what mpir would use",
        "Show versions, the chosen device and precision, extras, Java, cache and bundles."),
    _command("completion", "print a completion script for a shell",
        "Print a script that lets a shell complete mpir's commands, options and files."),
)
