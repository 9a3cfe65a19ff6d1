"""Options, positional arguments and settings of the commands that do not declare theirs in a dataclass yet.

A name with a dot is a setting (`--set NAME=VALUE`), a name without dashes a positional argument. `help` has a text for
each group of commands; the command of `mpir data sia` is called "data_sia" here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from mpir.app.cli.option import UNGROUPED, Option
from mpir.app.cli.value_options import (
    DOCS,
    cutoff,
    file_path,
    json_object,
    json_value,
    not_negative,
    output_path,
    path_list,
    positive,
    price,
    probability,
    query_text,
    switch,
    text_path,
    two_numbers,
)
from mpir.core.text.terms import StopWords
from mpir.core.weights import PUBLISHED, Normalise
from mpir.search.memory import DEFAULT_B, DEFAULT_K1


@dataclass(frozen=True, kw_only=True)
class Row:
    """An option ("--top-k"), a setting ("llm.timeout") or a positional argument ("query"), and the commands with it.

    Attributes:
        help: the help text for each command; a key may name several commands, separated by spaces.
        default: the value without the option, for all commands or for each.
        advanced: commands whose `--help` leaves the option to `--help-all`.
        required: commands that cannot do without it.
        needs: the option without which a setting has no effect.
        keywords: further arguments of argparse's `add_argument`.
    """

    name: str
    help: Mapping[str, str]
    group: str = UNGROUPED
    type: Callable[[str], Any] = str
    default: Any = None
    dest: str = ""
    advanced: Collection[str] = ()
    required: Collection[str] = ()
    needs: str = ""
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def of_command(self, command: str) -> Option:
        """The option as a command has it."""
        keywords = {name: value for name, value in self.keywords.items() if name != "aliases"}
        default = self.default.get(command) if isinstance(self.default, Mapping) else self.default
        return Option(
            name=self.name,
            help=self.help[command],
            attribute=self.dest or self.name.strip("-").replace("-", "_").replace(".", "_").replace("_*", ""),
            aliases=tuple(self.keywords.get("aliases", {}).get(command, ())),
            group=self.group,
            type=self.type,
            default=default,
            advanced=command in self.advanced,
            required=command in self.required,
            needs=self.needs,
            keywords=keywords,
        )


def option(
    name: str, help: Mapping[str, str], *, advanced: str | bool = "", required: str = "", **settings: Any
) -> Row:
    """Declare an option. `help` has a text for each group of commands; the rest is as in `Row` or argparse."""
    texts = {command: text for commands, text in help.items() for command in commands.split()}
    declared = {key: settings.pop(key) for key in ("group", "type", "default", "dest", "needs") if key in settings}
    rare = tuple(texts) if advanced is True else (advanced or "").split()
    return Row(name=name, help=texts, advanced=rare, required=required.split(), keywords=settings, **declared)


MODELS = "rerank pubmed bioasq benchmark score serve mcp explain"
RERANKERS = "rerank pubmed bioasq score serve mcp explain"
WEIGHTED = "rerank pubmed bioasq serve mcp explain"
SEARCHES = "search bioasq score data_triples data_negatives"
RANKINGS = "rerank pubmed"
ANNOTATING = "annotate data_lexicon-pairs"
SEVERAL: dict[str, Any] = {"nargs": "+", "default": []}
NUMBER: dict[str, Any] = {"metavar": "N"}
EXPORTS = ("rayyan", "covidence", "asreview", "eppi", "csv", "sources")
FORMATS = ("table", "json", "jsonl", "csv", "trec", "ris", "nbib", "html", "md")
BOOL: dict[str, Any] = {"type": switch, "choices": (True, False)}
SEED = "the same seed gives the same file (%(default)s)"

# fmt: off
INPUTS = (
    option("query", {"rerank": "a question (default: JSON lines on standard input)", "pubmed": "a question"}, nargs="?",
        type=query_text, metavar="QUERY"),
    option("queries", {"search": "what to search for (default: standard input)"}, nargs="*", type=query_text,
        metavar="QUERY"),
    option("paths", {"index": f"corpus: {DOCS}"}, nargs="*", type=text_path, metavar="PATH"),
    option("paths", {ANNOTATING: f"documents: {DOCS}; or -"}, nargs="+",
        type=text_path, metavar="FILE"),
    option("paths", {"explain": f"documents to rank and grade: {DOCS}"}, nargs="*", type=text_path, metavar="DOCS"),
    option("file", {"calibrate": "judgements: a review NAME.mpir, a table, or graded lists"}, type=file_path,
        metavar="FILE"),
    option("--docs", {"rerank": f"documents of the QUERY or of --run: {DOCS}",
        "calibrate": f"documents of TREC qrels: {DOCS}"},
        nargs="+", type=text_path, metavar="PATH"),
    option("--run", {"rerank": "a TREC run to rerank, with its --queries and --docs",
        "benchmark": "candidates in place of BM25's: a TREC run"}, dest="run_file", type=text_path, metavar="FILE"),
    option("--run", {"evaluate_run": "query Q0 document rank score tag; several are compared"}, dest="run_file",
        nargs="+", type=text_path, metavar="FILE", required="evaluate_run"),
    option("--run", {"data_triples": "candidates from a TREC run"}, dest="run_file", type=file_path, metavar="FILE"),
    option("--queries", {"rerank": "queries from a file: JSON lines with documents, or those of --run",
        "search": "queries from a file: .json, .jsonl, .tsv, or topics", "benchmark": "the queries of the --corpus",
        "evaluate_run": "the queries' texts, for --by length", "calibrate": "the queries of TREC qrels"},
        dest="query_file", type=text_path, metavar="FILE"),
    option("--questions", {"bioasq": "BioASQ questions (default: the sample)",
        "data_triples": "the questions' texts: .json, .jsonl, .tsv or topics",
        "data_negatives": "BioASQ questions with gold snippets"}, type=file_path, metavar="FILE"),
    option("--questions", {"score": "BioASQ questions with gold; with --qrels any"}, type=text_path, metavar="FILE",
        **SEVERAL),
    option("--corpus", {"bioasq": "PubMed XML or JSON lines, files or folders (default: the sample)",
        "benchmark": "documents, instead of a --dataset", "data_triples": "documents to draw from or look up texts in",
        "data_negatives": "documents that lend their titles", "data_sia": "from BioASQ: PubMed XML or JSON lines",
        "train": "documents of --objective mlm", "train_shrink": "documents to count tokens in"},
        default={"data_sia": [], "train_shrink": []}, nargs="+",
        type=text_path, metavar="PATH"),
    option("--qrels", {"score": "gold: documents of a grade above 0",
        "data_triples": "judgements; grades above 0 are relevant"}, type=file_path, metavar="FILE", **SEVERAL),
    option("--qrels", {"benchmark": "the judgements of the --queries",
        "evaluate_run": "judgements: query 0 document grade"}, type=text_path, metavar="FILE", required="evaluate_run"),
    option("--index", {"search": "folder that `mpir index` made, or an index in an engine "
            "(opensearch+https://HOST/NAME, elasticsearch+…, milvus+…); several folders, each with --index, are "
            "searched as one",
        "bioasq": "index folder, built from --corpus unless it matches these files (default: a cache), or an engine's "
            "address", "score": "index that `mpir index` made, or an engine's address",
        "serve explain": "index of `mpir index`, for /search", "mcp": "index of `mpir index`, for search_index"
        }, type=text_path, metavar="DIR", required="search",
        action="append"),
    option("--index", {"data_triples": "candidates from a search, by --mode",
        "data_negatives": "index of candidates, searched by --mode"}, type=text_path, metavar="DIR"),
    option("--exclude", {"data_sia": "questions reserved for evaluation"}, type=text_path, metavar="FILE", **SEVERAL),
    option("--exclude", {"data_negatives": "questions reserved for evaluation",
        "data_triples": "questions reserved for evaluation, which are refused"}, type=file_path, metavar="FILE",
        **SEVERAL),
    option("--gold", {"bioasq": "gold answers to measure against"}, type=file_path, metavar="FILE"),
    option("--gold", {"evaluate_bioasq": "gold questions (BioASQ JSON)"}, type=text_path, metavar="FILE",
        required="evaluate_bioasq"),
    option("--submission", {"evaluate_bioasq": "submitted questions (BioASQ JSON); several are compared"}, nargs="+",
        type=text_path, metavar="FILE", required="evaluate_bioasq"),
)
"""What commands read."""

OUTPUTS = (
    option("--index", {"index": "folder that the index goes to"}, type=output_path, metavar="DIR", required="index"),
    option("--output", {"rerank pubmed": "also write the ranking: its suffix tells the form (.html, .csv, .ris, "
            ".nbib, .md, .json, .jsonl, .trec); may be given several times", "bioasq": "the submission (default: "
            "submission.json), or with the suffix .trec a run of all candidates; may be given for both"},
        dest="outputs", default=[], action="append", type=output_path, metavar="FILE"),
    option("--output", {"benchmark": "folder for benchmark.md and benchmark.json",
        "score": "folder for the scored questions", "merge": "where the joined result goes",
        "tune": "where the weights go", "calibrate": "a new folder for the bundle",
        "train": "folder of the run (required)", "data_sia": "folder of the generation",
        "data_triples": "the triples to write", "data_negatives": "the training file to write",
        "data_vectors": "folder for the vectors", "data_chexpert": "the lexicon",
        "data_lexicon-pairs": "the pairs to write",
        "train_average": "folder of the result", "train_shrink": "folder of the new checkpoint",
        "train_tk": "folder of the checkpoint"}, type=output_path, metavar="PATH",
        required="score merge tune calibrate data_sia data_triples data_negatives data_vectors data_chexpert "
        "data_lexicon-pairs train_average train_shrink train_tk"),
    option("--format", {"rerank pubmed": "form of standard output: ris and nbib are references for Zotero, EndNote "
            "and Rayyan, md is Markdown (default: table)"}, choices=FORMATS),
    option("--format", {"merge": "export a review in the form that another program imports"}, choices=EXPORTS),
    option("--format", {"search": "default: table at a terminal, jsonl in a pipe, which `mpir rerank` reads"},
        choices=("table", "jsonl", "trec")),
    option("--format", {"benchmark evaluate_bioasq evaluate_run tune": "form of standard output (%(default)s)"},
        choices=("table", "json"), default="table"),
    option("--top-k", {"rerank pubmed": "show the N best documents (default: 10 in a table, all in files; a page "
            "always has all)",
        "search": "documents for each query (%(default)s)"}, default={"search": 10}, aliases={"search": ["--k"]},
        type=int, **NUMBER),
    option("--within", {"rerank": "answer in this time; what it does not reach keeps its place by what is known"},
        type=float, metavar="SECONDS"),
    option("--k", {"pubmed": "candidates to retrieve and rank, at most 10,000 (%(default)s)",
        "bioasq benchmark score data_triples": "candidates of the first stage (%(default)s)",
        "data_negatives": "search results of a question whose sentences are drawn or scored (default: 6)"},
        default={"pubmed": 200, "bioasq": 100, "benchmark": 100, "score": 100, "data_triples": 500}, type=positive,
        **NUMBER),
    option("--sentences", {RANKINGS: "a table of the N best sentences of all documents"}, type=positive, **NUMBER),
    option("--explain", {RANKINGS: "tables, and why the best document ranks first"}, action="store_true",
        default=False),
    option("--grades", {"rerank": "decisions (a review NAME.mpir, an explain page's .jsonl, or its .csv and TREC "
            "qrels, which are taken to follow the ranking): test whether reading may stop after them"},
        type=text_path, metavar="FILE"),
    option("stop.recall", {"rerank": "share of the relevant documents to find (%(default)s)"}, dest="recall",
        default=0.95, type=float, metavar="SHARE", needs="--grades"),
    option("stop.confidence", {"rerank": "confidence that the share is found (%(default)s)"}, dest="confidence",
        default=0.995, type=float, metavar="SHARE", needs="--grades"),
    option("output.min_probability", {RANKINGS: "show only documents of at least this probability"},
        dest="min_probability", type=probability, metavar="P"),
    option("--overwrite", {"rerank pubmed bioasq merge data_chexpert data_lexicon-pairs data_negatives data_triples":
            "replace an existing output file, whoever wrote it"}, default=False, advanced="rerank pubmed bioasq",
        action="store_true"),
    option("--quiet",
        {"index rerank pubmed bioasq benchmark score tune data_sia train": "no progress (never shown in a pipe)"},
        action="store_true", default=False),
)
"""What commands show and write."""

MODEL_OPTIONS = (
    option("--bundle",
        {f"{MODELS} data_sia": "bundle of perspectives: ./DIR, default, fast, or a hub's org/name (%(default)s)",
        "bundle_new": "a bundle whose perspectives are included (%(default)s)",
        "data_negatives": "bundle that scores candidates (default: default)",
        "calibrate": "bundle whose probabilities are fitted (%(default)s)"},
        default={**dict.fromkeys(f"{MODELS} data_sia bundle_new calibrate".split(), "default")},
        type=text_path, metavar="DIR|NAME", group="models"),
    option("--bundle", {"train": "also make a bundle there"}, type=output_path, metavar="DIR"),
    option("--model", {f"{MODELS} bundle_new": "a reranker, by hub name or folder, whose score joins the bundle's "
            "columns; may be given several times"}, dest="models", default=[], action="append", type=text_path,
        metavar="NAME|DIR", group="models"),
    option("--encoder", {"index": "encoder for vectors: a bundle with a bi-encoder, or a sentence encoder's folder "
            "or hub name (default: the bundle default)", "bundle_new": "an embedding model, for a column of vectors"},
        type=text_path, metavar="NAME|DIR", group="models"),
    option("--encoder", {"benchmark": "an embedding model; may be given several times"}, dest="encoders", default=[],
        action="append", type=text_path, metavar="NAME|DIR", group="models"),
    option("--instruction", {f"{MODELS} bundle_new": "a sentence about the task, for a language model or a chat model"},
        metavar="TEXT", group="models", advanced=MODELS),
    option("--trust-code", {f"{MODELS} bundle_show bundle_new": "let a bundle or model run its own Python code, and "
            "a bundle ask servers and fetch models"}, default=False, action="store_true", group="models",
        advanced=MODELS),
    option("--weights",
        {f"{WEIGHTED} bundle_new": f"weights instead of the bundle's: a file, or {', '.join(PUBLISHED)}"},
        type=text_path, metavar="FILE|NAME", group="models"),
    option("--cascade", {RERANKERS: "how far a model with exits reads: auto reads the best documents of long lists to "
            "the end, all every one, and first every one to the first exit (default: %(default)s)"},
        default={**dict.fromkeys(RERANKERS.split(), "auto"), "score": "all"}, choices=("auto", "all", "first"),
        group="models", advanced=RERANKERS),
    option("--device", {MODELS: "auto (a GPU if there is one), cpu, cuda, cuda:1 …; each device of a list, such as "
            "cuda:0,cuda:1, gets its own process (default: auto)", "data_sia train": "auto, cpu, cuda … (%(default)s)",
        "data_negatives": "auto, cpu, cuda … (default: auto)"},
        default={**dict.fromkeys(MODELS.split(), "auto"), "data_sia": "auto", "train": "auto"}, group="models"),
    option("--precision", {f"{MODELS} data_sia data_negatives": "auto, fp32, bf16 or fp16 (default: auto)"},
        default={**dict.fromkeys(MODELS.split(), "auto"), "data_sia": "auto"}, group="models", advanced=MODELS),
    option("--lexicon",
        {RERANKERS: "concepts and their phrases: adds a column for whether a document affirms or denies the query"},
        type=text_path, metavar="FILE", group="models"),
    option("--lexicon", {"annotate data_lexicon-pairs": "concepts and their phrases"}, type=text_path, metavar="FILE",
        required="annotate data_lexicon-pairs"),
    option("--llm", {RERANKERS: "a chat model with an OpenAI-compatible interface, for a column of its grades, such "
            "as http://localhost:11434/v1#qwen3:4b (key: $MPIR_LLM_KEY)"}, metavar="URL#MODEL", group="models"),
    option("model.only", {f"{RERANKERS} bundle_new": "rank documents by these models only"}, default=False,
        dest="only_model", **BOOL),
    option("model.level", {f"{RERANKERS} bundle_new": "what a --model reads"}, dest="level", default="document",
        choices=("document", "sentence", "both")),
    option("model.revision", {f"{MODELS} bundle_new": "commit, branch or tag of the --model on its hub"},
        dest="revision", metavar="COMMIT"),
    option("model.*",
        {f"{MODELS} bundle_new": "override a setting in the model's files: model.max_length=2048, model.scale=logit …"},
        dest="model_options", default=(), type=json_value),
    option("weights.context",
        {WEIGHTED: "S_CONTEXT: a document column, document or fixpoint (default: from the weights)"}, dest="context",
        metavar="COLUMN"),
    option("beta.*", {WEIGHTED: "the weight of a document column, such as beta.dense=1"}, dest="beta", default=(),
        type=float),
    option("batch.tokens", {f"{MODELS} data_sia": "size of a batch, with padding (default: chosen for the device)"},
        dest="tokens_per_batch", type=positive, **NUMBER),
    option("cache.folder",
        {RERANKERS: "folder for scores kept between runs, or none (default: mpir's cache folder; serve, mcp: none)"},
        dest="cache", type=text_path, metavar="DIR|none"),
    option("cache.limit", {RERANKERS: "maximum size of the cache (1 GiB)"}, type=int, metavar="BYTES"),
    option("lexicon.triggers", {f"{ANNOTATING} {RERANKERS}": "lists of negation triggers: negation, hedges, radiology, "
            "or files (default: negation,hedges; all three where the lexicon has phrases such as heart size)"},
        needs="--lexicon", dest="triggers", type=path_list, metavar="NAME|FILE,…"),
    option("lexicon.partial", {f"{ANNOTATING} {RERANKERS}": "also find phrases whose words are only similar, close "
            "together and in any order, such as 0.6"}, needs="--lexicon", dest="partial", type=float,
        metavar="LIKENESS"),
    option("llm.answers", {RERANKERS: "yes-no (log-probabilities), grade (a digit from 0 to 4) or auto"},
        needs="--llm"),
    option("llm.concurrency", {RERANKERS: "requests at the same time (default: 8)"}, needs="--llm", type=int, **NUMBER),
    option("llm.timeout", {RERANKERS: "time limit for an answer (default: 60)"}, needs="--llm", type=float,
        metavar="SECONDS"),
    option("llm.hyde", {"bioasq score": "search with the mean of the question's vector and that of a passage that the "
            "chat model writes as an answer (HyDE)"}, needs="--llm", default=False, **BOOL),
    option("llm.price", {RERANKERS: "dollars per million tokens of prompts and of answers, to show the cost"},
        needs="--llm", type=price, metavar="IN,OUT"),
    option("llm.body",
        {RERANKERS: 'further fields of each request, such as {"reasoning_effort": "none"}; null removes a field'},
        needs="--llm", type=json_object, metavar="JSON"),
)
"""The models of a reranker."""

SEARCH_OPTIONS = (
    option("--encoder", {SEARCHES: "encoder for vectors, if it is another than the index was made with"},
        type=text_path, metavar="NAME|DIR", group="search", advanced=True),
    option("--mode", {SEARCHES: "what to search by (%(default)s)"}, default="bm25", choices=("bm25", "dense", "hybrid"),
        group="search"),
    option("search.fusion", {SEARCHES: "how a hybrid search fuses"}, dest="fusion", default="rrf",
        choices=("rrf", "sum")),
    option("search.dense_weight",
        {SEARCHES: "the vectors' share in search.fusion=sum, 0 to 1 (BM25 has the rest), or tuned weights"},
        dest="dense_weight", default="0.5", type=text_path, metavar="W"),
    option("bm25.k1", {SEARCHES: "BM25's k1"}, dest="k1", default=DEFAULT_K1, type=float, metavar="X"),
    option("bm25.b", {SEARCHES: "BM25's b"}, dest="b", default=DEFAULT_B, type=float, metavar="X"),
    option("bm25.question_words", {SEARCHES: 'search for query words such as "which" and "list", too'},
        dest="question_words", default=True, **BOOL),
    option("rm3.documents",
        {SEARCHES: "repeat BM25 with words of the N best documents (5); any rm3 setting turns this on"}, type=int,
        **NUMBER),
    option("rm3.terms", {SEARCHES: "words to add (20)"}, type=int, **NUMBER),
    option("rm3.weight", {SEARCHES: "weight of the query's own words, 0 to 1 (0.8)"}, type=float, metavar="W"),
)
"""The first stage."""

PARALLEL = (
    option("--workers", {"rerank score": "processes on this machine, or on the cluster of --ray",
        "index": "threads on this machine (default: one per core), or workers of --ray",
        "serve": "processes that score (N CPU processes or N GPUs)", "data_vectors": "threads (%(default)s)"},
        default={"serve": 1, "data_vectors": 1}, type=positive, group="parallel", advanced="index serve", **NUMBER),
    option("--ray", {"rerank score": "share the queries among the workers of a Ray cluster: the HOST:PORT of its "
            "head, auto, or local (docs/guides/ray.md)", "index": "with --dense, make the vectors on a Ray cluster: "
            "the HOST:PORT of its head, auto, or local (docs/guides/ray.md)"}, metavar="ADDRESS", group="parallel",
        advanced=True),
    option("--shard", {"rerank": "with --output: rerank only shard i of n of the queries; `mpir merge` joins them "
            "(default: a Slurm array's task, else all)",
        "score": "score only shard i of n; `mpir merge` joins them (default: a Slurm array's task, else all)",
        "index": "make only shard i of n of the vectors, without an index of words; `mpir merge` joins them "
            "(default: a Slurm array's task, else all)", "data_sia": "make only shard i of n of the chunks, in "
            "OUTPUT; `mpir merge` joins them (default: a Slurm array's task, else all)"}, metavar="i/n",
        group="parallel", advanced=True),
    option("ray.gpus_per_worker", {"rerank score index": "GPUs of each worker; 0.5 lets two share one (default: 0)"},
        needs="--ray", dest="gpus_per_worker", type=float, metavar="G"),
)
"""Several processes and machines."""

FILTERS = (
    option("--from", {"pubmed": "first publication date: 2015, 2015-03, 2015-03-01"}, dest="start", metavar="DATE",
        group="filters"),
    option("--to", {"pubmed": "last publication date"}, dest="end", metavar="DATE", group="filters"),
    option("--type", {"pubmed": 'publication type, such as "clinical trial"; repeat it to allow several'}, default=[],
        action="append", metavar="NAME", group="filters"),
    option("filter.from", {"rerank": "documents of --docs published in YEAR or later"}, needs="--docs",
        dest="first_year", type=positive, metavar="YEAR"),
    option("filter.to", {"rerank": "documents of --docs published in YEAR or earlier"}, needs="--docs",
        dest="last_year", type=positive, metavar="YEAR"),
    option("filter.type", {"rerank": "their publication types, such as review"}, needs="--docs", dest="type",
        default=(), type=path_list, metavar="NAME,…"),
    option("filter.exclude_not", {"rerank": "leave out documents of --docs that match what NOT excludes in the query"},
        needs="--docs", dest="exclude_not", default=False, **BOOL),
)
"""Which documents."""

INDEXING = (
    option("--dense", {"index": "index the documents' vectors, too"}, default=False, action="store_true"),
    option("--update", {"index": "change the index that is there by the documents of PATH alone"}, default=False,
        action="store_true"),
    option("--verify", {"index": "build nothing, but compare every file of the index with its hash"}, default=False,
        action="store_true"),
    option("--vectors", {"index": "files of vectors (.npy) to add, of documents that --encoder's model has encoded"},
        type=text_path, metavar="FILE", **SEVERAL),
    option("--ids", {"index": "for each file of --vectors, a file with the ids of its rows (.json, or an id a line)"},
        type=text_path, metavar="FILE", **SEVERAL),
    option("--kind", {"index": "kind of vector index: Flat (exact, default), binary (a bit a dimension in memory, the "
            "vectors on disk), or another of faiss's strings"}, dest="factory", metavar="KIND"),
    option("index.sentence_vectors", {"index": "keep the vectors of every sentence, too"}, needs="--dense",
        dest="sentence_vectors", default=False, **BOOL),
    option("index.stop_words",
        {"index": "words that a search leaves out: Lucene's English ones, these but for \"no\" and \"not\", or none"},
        dest="stop_words", default="english", choices=get_args(StopWords)),
)
"""Of `mpir index`."""

PUBMED = (
    option("--query", {"pubmed": "send this search unchanged"}, dest="own_query", type=query_text, metavar="TEXT"),
    option("--source", {"pubmed": "pubmed or europepmc; may be repeated (default: both)"}, action="append",
        metavar="NAME"),
    option("pubmed.preprints", {"pubmed": "also Europe PMC's preprints"}, dest="preprints", default=False, **BOOL),
    option("pubmed.eutils", {"pubmed": "base URL of /esearch.fcgi (default: NCBI's)"}, dest="eutils", metavar="URL"),
    option("pubmed.europepmc", {"pubmed": "base URL of /search (default: Europe PMC's)"}, dest="europepmc",
        metavar="URL"),
    option("pubmed.email", {"pubmed": "address for NCBI to contact if requests cause trouble"}, dest="email",
        metavar="ADDRESS"),
    option("pubmed.timeout", {"pubmed": "time limit for an answer (default: 30)"}, dest="timeout", type=float,
        metavar="SECONDS"),
    option("pubmed.refresh", {"pubmed": "fetch again, and replace the cached answers"}, dest="refresh", default=False,
        **BOOL),
)
"""Of `mpir pubmed`."""

CUTOFF = "a number, or thresholds such as share=0.6,minimum=2,maximum=8 (default: as tuned for --version 9, else 10)"
BIOASQ = (
    option("--version", {"bioasq": "version of the measures; 9 is for BioASQ 9 and later (%(default)s)",
        "tune": "version of BioASQ's measures; 9 is for BioASQ 9 and later (%(default)s)",
        "evaluate_bioasq": "version of the measures: 2, 3, 5, 8, or 9 for BioASQ 9 and later (%(default)s)"}, default=9,
        type=int, advanced="tune bioasq", metavar="N"),
    option("--documents", {"bioasq": f"documents to submit: {CUTOFF}"}, type=cutoff, metavar="CUTOFF"),
    option("--snippets", {"bioasq": "snippets to submit, in the same forms"}, type=cutoff, metavar="CUTOFF"),
    option("--check", {"bioasq": "make no submission, but print what the upload would refuse in this one; it is "
            "compared with --questions and with the documents of --index or --corpus"}, type=file_path, metavar="FILE"),
    option("--omitted",
        {"evaluate_bioasq": "treatment of gold questions left out (default: skip, as the official program)"},
        default="skip", choices=("skip", "zero")),
    option("--by", {"evaluate_bioasq": "break MAP down by type, relevant (their number) or length (words)",
        "evaluate_run": "break the first measure down by relevant (their number) or length (words)"}, default=[],
        nargs="+", choices=("type", "relevant", "length")),
    option("--per-query", {"evaluate_bioasq evaluate_run": "write every value: CSV of system, query, measure, value"},
        type=output_path, metavar="FILE"),
    option("--measures", {"evaluate_run": "default: nDCG@10 RR R@100 P@10 AP"}, nargs="+", metavar="NAME"),
    option("--dataset",
        {"benchmark": "an ir_datasets name, such as beir/scifact/test; may be given several times (extra: benchmark)"},
        dest="datasets", default=[], action="append", metavar="NAME"),
    option("--limit", {"benchmark": "use only the first N queries (default: all)",
        "data_sia": "take at most N rows, questions and sentences from each source",
        "data_negatives": "use the first N questions, or N titles at random (default: all questions, 1100 titles)",
        "data_triples": "most triples to keep (%(default)s)"}, default={"data_triples": 10000000}, type=positive,
        **NUMBER),
)
"""Submissions and evaluations."""

TUNING = (
    option("--graded", {"score": "in place of all three: questions with graded candidates, as the page saves them"},
        type=text_path, metavar="FILE", **SEVERAL),
    option("score.gold_in_index",
        {"score": "count only gold that the index holds, and leave out questions without any"}, dest="gold_in_index",
        default=False, **BOOL),
    option("shards", {"merge": "folders of all shards, or reviews (.mpir), in any order"}, nargs="+", type=text_path,
        metavar="SHARD"),
    option("scored", {"tune": "folder from `mpir score`; several are fitted together"}, nargs="+",
        type=text_path, metavar="SCORED"),
    option("--also", {"tune": "further sets to tune on: other questions, or other candidates"}, type=text_path,
        metavar="SCORED", **SEVERAL),
    option("--measure", {"tune": "document-map, document-f1, snippet-map, snippet-f1, sentence-map or "
            "document-sentence-map (%(default)s)"}, default="document-map", metavar="NAME"),
    option("--against", {"tune": "weights to compare with if OUTPUT does not exist yet"}, type=text_path,
        metavar="FILE|NAME"),
    option("--method", {"tune": "how to search (%(default)s)"}, default="alternating",
        choices=("alternating", "joint", "random", "cutoffs")),
    option("--plots", {"tune": "write pictures (PNG and SVG)",
        "evaluate_bioasq evaluate_run": "draw all pairs and the differences of their queries (PNG and SVG)"},
        type=output_path, metavar="DIR"),
    option("--seed", {"train": "seed of the order, the sampling and the heads (default: 1)",
        "tune": "seed of folds and search (%(default)s)", "data_sia data_triples data_negatives": SEED,
        "data_vectors train_tk": "seed of the initial values (%(default)s)"},
        default={"tune": 0, "data_sia": 1, "data_triples": 1, "data_negatives": 1, "data_vectors": 1, "train_tk": 1},
        type=not_negative, **NUMBER),
    option("tune.context", {"tune": "S_CONTEXT: a document column, document, or fixpoint"}, dest="context",
        default="bm25", metavar="COLUMN"),
    option("tune.normalise", {"tune": "scaling of columns"}, dest="normalise", default="none",
        choices=get_args(Normalise)),
    option("bounds.*",
        {"tune": "bounds of the share of a perspective, context, bm25, w1 … in its sum, such as bounds.context=0,0.5"},
        dest="bounds", default=(), type=two_numbers, metavar="LOW,HIGH"),
    option("tune.cutoffs", {"tune": "search cut-offs with document-f1 or snippet-f1"}, dest="cutoffs", default=True,
        **BOOL),
    option("tune.calls", {"tune": "evaluations per half and loop"}, dest="calls", default=25, type=int, **NUMBER),
    option("tune.loops", {"tune": "most loops over both halves"}, dest="loops", default=3, type=int, **NUMBER),
    option("tune.initial", {"tune": "calls before the model is used"}, dest="initial", default=8, type=int, **NUMBER),
    option("tune.tolerance", {"tune": "smallest gain to continue with"}, dest="tolerance", default=0.0001, type=float,
        metavar="X"),
    option("tune.acquisition", {"tune": "acquisition function"}, dest="acquisition", default="EI",
        choices=("EI", "PI", "LCB")),
    option("tune.folds", {"tune": "parts of the questions, each held out once"}, dest="folds", default=5, type=int,
        **NUMBER),
    option("tune.level", {"tune": "significance level for adoption"}, dest="level", default=0.05, type=float,
        metavar="P"),
    option("tune.log", {"tune": "log of trials (default: OUTPUT.trials.jsonl)"}, dest="log", type=output_path,
        metavar="FILE"),
)
"""Scores and weights."""

SERVER = (
    option("--host", {"serve mcp": "address to listen on (%(default)s: this machine only)"}, default="127.0.0.1"),
    option("--port", {"serve explain mcp": "port to listen on; 0 takes a free one (%(default)s)"},
        default={"serve": 8000, "explain": 0, "mcp": 8765}, type=int),
    option("--allowed-host", {"serve": "another name by which clients reach the server"}, default=[], action="append",
        metavar="NAME", advanced=True),
    option("--cors", {"serve": "let pages of this origin use the server, such as https://app.example.org"}, default=[],
        action="append", metavar="ORIGIN", advanced=True),
    option("--insecure", {"serve": "allow other machines without a key"}, default=False, action="store_true"),
    option("--pubmed", {"serve explain": "let the page and /search (mode pubmed) search PubMed over the network"},
        default=False, action="store_true"),
    option("--model-name", {"serve": "another name of the model"}, default=[], action="append", metavar="NAME",
        advanced=True),
    option("--any-model", {"serve": "accept any model name in requests"}, default=False, action="store_true"),
    option("--reviewer", {"explain": "name under which decisions are kept (default: that of your account)",
        "merge": "whose decisions a form with one decision has (default: your account, or the only reviewer)"},
        default="", metavar="NAME"),
    option("--decisions", {"explain": "a column of DOCS with your decisions (include, maybe, exclude, 1, 0, -1)"},
        default="", metavar="COLUMN"),
    option("--split", {"explain": "take the record of this id out of the one that it was wrongly joined with"},
        default="", metavar="ID"),
    option("--no-browser", {"explain": "only print the page's address"}, default=False, action="store_true"),
    option("--no-pubmed", {"mcp": "no tool that sends a query over the network"}, default=False, action="store_true"),
    option("--http", {"mcp": "streamable HTTP in place of standard input and output"}, default=False,
        action="store_true"),
    option("serve.warmup", {"serve explain": "load the models at once"}, dest="warmup", default=True, **BOOL),
    *(
        option(f"serve.{name}", {"serve explain": help}, dest=name, default=default, type=kind, metavar=unit)
        for name, help, default, kind, unit in (
            ("max_documents", "documents of a request", {"serve": 1000, "explain": 100_000}, int, "N"),
            ("max_sentences", "sentences of a request", {"serve": 50_000, "explain": 5_000_000}, int, "N"),
            ("max_body", "bytes of a request", {"serve": 16 * 2**20, "explain": 2**28}, int, "BYTES"),
            ("queue", "tokens that may wait before clients get 429", 2_000_000, int, "TOKENS"),
            ("max_connections", "connections open at the same time", 1000, int, "N"),
            ("timeout", "time limit for an answer", {"serve": 60.0, "explain": 86_400.0}, float, "SECONDS"),
            ("grace", "time to finish requests when stopped", 60.0, float, "SECONDS"),
        )
    ),
)
"""Of the servers."""

BUNDLES = (
    option("bundle", {"bundle_show": "default: the one that ships"}, nargs="?", default="default", type=text_path,
        metavar="DIR|NAME"),
    option("bundle", {"bundle_push bundle_seal": "a folder with a bundle.json",
        "bundle_calibrate": "a folder with a bundle.json"}, type=text_path, metavar="DIR"),
    option("scored", {"bundle_calibrate": "folder from `mpir score`; several are fitted together"}, nargs="+",
        type=text_path, metavar="SCORED"),  # after the bundle, so not the row of `mpir tune`
    option("folder", {"bundle_new": "a new folder, or one that this command made"}, type=output_path, metavar="DIR"),
    option("repository", {"bundle_push": "the hub's repository, created if it does not exist"}, metavar="ORG/NAME"),
    option("--private", {"bundle_push": "make a new repository private"}, default=False, action="store_true"),
    option("shell", {"completion": "the shell"}, choices=("bash", "zsh", "fish", "powershell", "tcsh")),
)
"""Of bundles, and of the shell."""

LAB = (
    option("phrases", {"data_chexpert": "folder with mention/*.txt and unmention/*.txt"}, type=file_path,
        metavar="PHRASES"),
    option("corpus", {"data_vectors": "corpus file or folder"}, nargs="+", type=text_path, metavar="PATH"),
    option("before", {"train_average": "a bundle's folder or name, or a checkpoint"}, type=text_path, metavar="FIRST"),
    option("after", {"train_average": "another bundle or checkpoint"}, type=text_path, metavar="SECOND"),
    option("checkpoint", {"train_shrink": "folder of a BERT-like encoder"}, type=file_path, metavar="DIR"),
    option("vectors", {"train_tk": "word2vec's format, or a folder with it"}, type=file_path, metavar="VECTORS"),
    option("pairs.fewest", {"data_lexicon-pairs": "leave out queries with fewer sentences"}, dest="fewest", default=1,
        type=positive, **NUMBER),
    option("--random", {"data_triples": "candidates drawn from --corpus"}, default=False, action="store_true"),
    option("triples.recipe", {"data_triples": "treatment of candidates that were judged"}, dest="recipe",
        default="filtered", choices=("above-click", "filtered", "unfiltered")),
    option("triples.keep_judged", {"data_triples": "allow documents judged irrelevant as negatives"},
        dest="keep_judged", default=False, **BOOL),
    option("negatives.most", {"data_triples": "most negatives per positive", "data_negatives": "most negatives of a "
            "question; of topics and titles, from either ranking (search, candidates: 8; topics, titles: 10)"},
        dest="negatives", default={"data_triples": 20}, type=int, **NUMBER),
    option("negatives.skip", {"data_triples": "best candidates to leave out",
        "data_negatives": "best-scored sentences of candidates to leave out, as likely answers (1)"}, dest="skip",
        default={"data_triples": 0}, type=int, **NUMBER),
    option("negatives.below", {"data_negatives": "candidates score below this share of the gold mean (0.95)"},
        dest="below", type=float, metavar="X"),
    option("negatives.perspective", {"data_negatives": "the bundle's perspective for candidates (relevance)"},
        dest="perspective", metavar="NAME"),
    option("negatives.same", {"data_negatives": "cosine from which a sentence repeats a gold one (0.85)"}, dest="same",
        type=float, metavar="X"),
    option("negatives.alike", {"data_negatives": "cosine from which two questions are the same (0.8)"}, dest="alike",
        type=float, metavar="X"),
    option("negatives.dev_titles", {"data_negatives": "titles of --dev (100)"}, dest="dev_titles", type=int, **NUMBER),
    option("--source", {"data_negatives": "where the negatives come from"},
        choices=("search", "candidates", "topics", "titles"),
        required="data_negatives"),
    option("--dev", {"data_negatives": "rows of titles that are not in OUTPUT"}, type=output_path, metavar="FILE"),
    option("--methods", {"data_sia": "combined, partial, similar, swap, generated, graded, coverage"}, default="",
        metavar="A,B"),
    option("--resume", {"data_sia": "keep the finished work of an interrupted run"}, default=False,
        action="store_true"),
    option("--qasc",
        {"data_sia": "rows for combined, partial, similar, swap: JSON lines, or a hub dataset (allenai/qasc)"},
        type=text_path, metavar="FILE"),
    option("sia.entities", {"data_sia": "terms, or scispacy:NAME"}, dest="entities", default="terms", metavar="NAME"),
    option("--vectors", {"data_sia": "word vectors, for swap"}, type=text_path, metavar="PATH"),
    option("--bioasq", {"data_sia": "questions with gold snippets, for graded and coverage"}, type=text_path,
        metavar="FILE", **SEVERAL),
    option("--writer", {"data_sia": "causal checkpoint for generated: a folder or hub name"}, type=text_path,
        metavar="NAME|DIR"),
    option("--sources", {"data_sia": "corpora, or BioASQ .json (snippets), for generated"}, type=text_path,
        metavar="PATH", **SEVERAL),
    option("sia.skip_bad", {"data_sia": "leave out rows that lack a field, and count them"}, dest="skip_bad",
        default=False, **BOOL),
    option("sia.probability", {"data_sia": "chance to choose an entity"}, dest="probability", default=0.5, type=float,
        metavar="P"),
    option("sia.threshold", {"data_sia": "minimum similarity of two questions, 0-5"}, dest="threshold", default=1.0,
        type=float, metavar="X"),
    option("sia.sentences", {"data_sia": "write for at most N sentences of --sources (as --limit)"}, dest="sentences",
        type=positive, **NUMBER),
    option("sia.epochs", {"data_sia": "passes of the writer over the rows"}, dest="epochs", default=3, type=int,
        **NUMBER),
    *(
        option(f"sia.{name}", {"data_sia": help}, dest=name, default=default, type=float, metavar="X")
        for name, default, help in (
            ("learning_rate", 5e-5, "the writer's learning rate"),
            ("top_p", 0.9, "nucleus sampling"),
            ("temperature", 0.8, "temperature of sampling"),
            ("most_loss", 4.0, "filter: nats per token"),
            ("most_copied", 0.8, "filter: copied share of the text"),
            ("least_relevance", 0.6, "filter: relevance of a sentence to its query, in the bundle's units"),
            ("least_grounded", 0.6, "filter: share of a partial fact's terms found in its sentence"),
        )
    ),
    *(
        option(f"vectors.{name}", {"data_vectors": help}, dest=name, default=default, type=int, **NUMBER)
        for name, default, help in (
            ("size", 100, "dimensions"),
            ("window", 5, "words on either side"),
            ("least", 5, "how often a word must occur"),
            ("epochs", 5, "passes over the corpus"),
        )
    ),
    option("--objective", {"train": "mlm trains an encoder on the plain text of --corpus, without a mixture"},
        choices=("mixture", "mlm"), default="mixture"),
    option("--mixture", {"train": "JSON that assigns rows to perspectives (required)"}, type=file_path, metavar="FILE"),
    option("--data", {"train": "folder of the rows (default: the mixture's own)"}, type=file_path, metavar="DIR"),
    option("--checkpoint", {"train": "encoder to start from: a folder or a hub name"}, type=text_path,
        metavar="NAME|DIR"),
    option("--without", {"train": "leave out a perspective, file, kind or file:kind"}, default=(), nargs="+",
        metavar="NAME"),
    option("--calibrate", {"train": "rows to calibrate on (default: the dev rows)",
        "train_average": "rows with labels 0 and 1 (for bundles)"}, type=file_path, metavar="FILE"),
    option("bundle.stored", {"train train_average": "number format of the bundle's weights"}, dest="stored",
        default="fp16", choices=("fp16", "bf16")),
    option("train.*",
        {"train": "a setting of the run, such as train.batch_size=48; docs/reference/training.md lists all"},
        dest="settings", default=(), type=json_value),
    option("--share", {"train_average": "weight of the second one, 0 to 1 (%(default)s)"}, default=0.5, type=float,
        metavar="X"),
    option("--layers", {"train_shrink": "number of layers to keep"}, type=int, required="train_shrink", **NUMBER),
    option("--tokens", {"train_shrink": "number of tokens to keep"}, type=int, required="train_shrink", **NUMBER),
    option("--rows", {"train_shrink": "training files to count tokens in"}, type=file_path, metavar="FILE", **SEVERAL),
    option("tk.heads", {"train_tk": "attention heads; a divisor of the width"}, dest="heads", default=10, type=int,
        **NUMBER),
    option("tk.layers", {"train_tk": "layers of attention"}, dest="layers", default=2, type=int, **NUMBER),
    option("tk.feed_forward", {"train_tk": "inner width of the layers"}, dest="feed_forward", default=300, type=int,
        **NUMBER),
)
"""Of `mpir data` and `mpir train`."""

OPTIONS: tuple[Row, ...] = (
    *INPUTS,
    *OUTPUTS,
    *MODEL_OPTIONS,
    *SEARCH_OPTIONS,
    *PARALLEL,
    *FILTERS,
    *INDEXING,
    *PUBMED,
    *BIOASQ,
    *TUNING,
    *SERVER,
    *BUNDLES,
    *LAB,
)
