"""The command as a whole: interrupts, closed streams, and what is refused before anything is loaded."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mpir
from mpir.app.cli import main

SAMPLE = Path(mpir.__file__).parent / "sample"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    line = command.replace("mpir ", f"{sys.executable} -m mpir ", 1)
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["numpy", "mpir.app.cli.evaluate", "tabulate"])
def test_an_interrupt_while_importing_is_one_word(module: str) -> None:
    code = f"""
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from mpir.app.cli import main
sys.exit(main(["evaluate", "bioasq", "--gold", {str(SAMPLE / "questions.json")!r}, "--submission",
               {str(SAMPLE / "questions.json")!r}]))
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout, finished.stderr) == (130, "", "mpir: interrupted\n")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("mpir search --index nowhere aspirin >&-", "mpir: standard output is closed; send it to a file"),
        ("mpir rerank <&-", "mpir: standard input is closed; pipe data into it."),
        ("mpir evaluate run --qrels - --run - <&-", "mpir: standard input is closed; pipe data into it."),
    ],
)
def test_closed_streams_are_one_sentence(command: str, message: str) -> None:
    finished = shell(command)
    assert finished.returncode == 2
    assert finished.stderr.startswith(message)
    assert len(finished.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "end"),
    [
        (
            "mpir rerank is aspirin safe --docs x",
            "arguments: aspirin safe; put a question of several words in quotation marks",
        ),
        ("mpir rerank aspirin --nonsense", "arguments: --nonsense"),
    ],
)
def test_a_question_without_quotation_marks_is_told_of_them(command: str, end: str) -> None:
    finished = shell(command)
    assert finished.returncode == 2
    assert finished.stderr.rstrip().endswith(end)


def test_without_standard_error_nothing_ends_up_among_the_results() -> None:
    finished = shell("mpir search --index nowhere aspirin 2>&-")
    assert (finished.returncode, finished.stdout) == (2, "")


@pytest.fixture
def alphas(tmp_path: Path) -> list[str]:
    """A command that prints a letter which is neither in ASCII nor in Windows' cp1252."""
    (tmp_path / "lexicon.tsv").write_text("edema\tedema\n")
    (tmp_path / "docs.jsonl").write_text(json.dumps({"id": "TNF-α", "abstract": "No edema."}))
    files = [str(tmp_path / "docs.jsonl"), "--lexicon", str(tmp_path / "lexicon.tsv")]
    return [sys.executable, "-m", "mpir", "annotate", *files]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp1252:strict"])
def test_a_pipe_carries_utf8_wherever_it_is(alphas: list[str], encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    finished = subprocess.run(alphas, capture_output=True, env=environment, check=False)
    assert finished.returncode == 0, finished.stderr
    assert "TNF-α" in finished.stdout.decode("utf-8")


def test_a_terminal_shows_what_it_can(alphas: list[str]) -> None:
    ours, theirs = os.openpty()
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    finished = subprocess.run(alphas, stdout=theirs, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(theirs)
    assert finished.returncode == 0, finished.stderr
    assert "TNF-?" in os.read(ours, 10_000).decode("ascii")
    os.close(ours)


@pytest.mark.parametrize(
    "options",
    [["--top-k", "9" * 9999], ["--weights", "w" * 9999], ["--bundle", f"./{'b' * 9999}"], ["--docs", "d" * 9999]],
)
def test_long_values_are_cut(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["rerank", "aspirin", "--docs", str(SAMPLE / "documents.jsonl"), *options])
    except SystemExit as end:  # by argparse, which prints how the command is used before
        status = int(str(end.code))
    assert status == 2
    assert len(capsys.readouterr().err.splitlines()[-1]) < 500


REFUSED = """
import json, sys
sys.modules["torch"] = sys.modules["transformers"] = None  # importing either fails
from mpir.app.cli import main
for arguments in json.loads(sys.argv[1]):
    try:
        status = main(arguments)
    except SystemExit as end:  # by argparse
        status = end.code
    print("status", status, file=sys.stderr)
"""


def test_bad_options_are_refused_where_torch_cannot_even_be_imported(tiny_bundle: Path, tmp_path: Path) -> None:
    documents, mixture = str(SAMPLE / "documents.jsonl"), tmp_path / "mixture.json"
    mixture.write_text('{"perspectives": [], "settings": {"checkpoint": "none"}}')
    rerank = ["rerank", "aspirin", "--docs", documents, "--bundle", str(tiny_bundle)]
    score = [
        "score",
        "--questions",
        str(SAMPLE / "questions.json"),
        "--index",
        "nowhere",
        "--output",
        str(tmp_path / "s"),
    ]
    search = ["search", "--index", "nowhere", "--mode", "dense", "aspirin"]
    fused = ["search", "--index", "nowhere", "--mode", "hybrid", "--set", "search.fusion=sum", "aspirin"]
    train = ["train", "--mixture", str(mixture), "--output", str(tmp_path / "run")]
    refused = [
        ([*rerank, "--top-k", "0"], "--top-k is 0"),
        ([*rerank, "--device", "toaster"], "device 'toaster' cannot be used"),
        ([*rerank, "--device", "cuda", "--top-k", "0"], "--top-k is 0"),
        ([*rerank, "--precision", "fp12"], "precision is 'fp12'; choose from auto"),
        ([*rerank, "--set", "batch.tokens=0"], "batch.tokens: '0' is given"),
        ([*rerank, "--set", "batch.tokens=9", "--device", "cpu"], "tokens_per_batch is 9, too small for one pair"),
        ([*rerank, "--cascade", "2"], "argument --cascade: invalid choice: '2'"),
        ([*rerank, "--set", "cache.limit=1"], "limit in bytes is 1"),
        ([*rerank, "--weights", "nowhere.json"], "nowhere.json"),
        ([*rerank, "--set", "weights.context=nothing"], "context is 'nothing'"),
        ([*rerank, "--set", "beta.other=1"], "'other'"),
        ([*rerank, "--lexicon", "nowhere.tsv"], "nowhere.tsv"),
        ([*score, "--k", "0"], "argument --k: '0' is given"),
        ([*score, "--device", "toaster"], "device 'toaster' cannot be used"),
        (
            ["index", documents, "--index", str(tmp_path / "index"), "--workers", "0"],
            "argument --workers: '0' is given",
        ),
        ([*search, "--k", "0"], "--top-k is 0"),
        ([*fused, "--set", "search.dense_weight=2"], "search.dense_weight is 2.0"),
        (
            ["search", "--index", "nowhere", "aspirin", "--encoder", "mine"],
            "--encoder mine makes vectors, and --mode bm25 searches by words",
        ),
        ([*train, "--device", "toaster"], "device 'toaster' cannot be used"),
        ([*train, "--set", "train.batch_size=0"], "setting batch_size is 0"),
    ]
    command = [sys.executable, "-c", REFUSED, json.dumps([arguments for arguments, _ in refused])]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr.splitlines()
    assert said.count("status 2") == len(refused)
    last_lines = [line for line, after in itertools.pairwise(said) if after == "status 2"]
    for line, (_, message) in zip(last_lines, refused, strict=True):
        assert message in line
