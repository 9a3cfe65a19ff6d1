"""The main job: a valid submission, resumed after an interrupt, and one sentence for each mistake."""

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import Perspective
from mpir.app.cli import main as mpir_main
from mpir.app.cli.bioasq import main
from mpir.files.checksum import read_json_with_checksum
from mpir.files.corpora import read_questions, read_run
from tests.search.engine_server import serving

SCRIPT = Path(__file__).parents[3] / "experiments/bioasq.py"
URL = "http://www.ncbi.nlm.nih.gov/pubmed/"
DOCUMENTS = {
    "T1": ("Aspirin and blood", "Aspirin is a drug. Aspirin does thin the blood of patients."),
    "T2": ("Heart attack", "A heart attack is a risk. Blood is in the heart."),
    "T3": ("Aspirin trial", "A trial of aspirin and placebo. No risk of aspirin in the trial."),
    "T4": ("", "A gene is in a cell."),
}
QUESTIONS = {"q1": "does aspirin thin the blood", "q2": "is heart attack a risk", "q3": "is a gene in a cell"}
NAMES = {"run-file": "output"}
"""Options that are given another name, so that there may be two."""
GOLD = {"q1": "T1", "q2": "T2", "q3": "T4"}


class Words(Perspective):
    """The share of the question's words that a sentence has; a perspective that a test can interrupt or break."""

    calls = 0
    stop_at: int | None = None
    value: float | None = None

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        for _ in {query for query, _ in pairs}:
            Words.calls += 1
            if Words.calls == Words.stop_at:
                raise KeyboardInterrupt
        words = [(set(query.lower().split()), set(text.lower().strip(".").split())) for query, text in pairs]
        result = np.array([len(query & text) / len(query) for query, text in words])
        return result if Words.value is None else result + Words.value


@pytest.fixture(autouse=True)
def calm() -> None:
    Words.calls, Words.stop_at, Words.value = 0, None, None


@pytest.fixture
def job(tmp_path: Path) -> dict[str, Path]:
    """A corpus, questions, gold answers and a bundle without a model, in a folder of their own."""
    paths = {name: tmp_path / name for name in ("corpus.jsonl", "questions.json", "gold.json", "bundle")}
    records = [{"id": name, "title": title, "abstract": text} for name, (title, text) in DOCUMENTS.items()]
    paths["corpus.jsonl"].write_text("".join(json.dumps(record) + "\n" for record in records))
    questions = [{"id": name, "body": body, "type": "yesno"} for name, body in QUESTIONS.items()]
    paths["questions.json"].write_text(json.dumps({"questions": questions}))
    for question in questions:
        name = GOLD[question["id"]]
        text = DOCUMENTS[name][1]
        span = {"beginSection": "abstract", "endSection": "abstract", "offsetInBeginSection": 0}
        snippet = {"document": URL + name, "text": text, "offsetInEndSection": len(text), **span}
        question |= {"documents": [URL + name], "snippets": [snippet]}
    paths["gold.json"].write_text(json.dumps({"questions": questions}))
    paths["bundle"].mkdir()
    declared = {"format": 1, "perspectives": [{"name": "words", "kind": f"{__name__}:Words"}]}
    (paths["bundle"] / "bundle.json").write_text(json.dumps(declared))
    return {**paths, "output": tmp_path / "submission.json", "index": tmp_path / "index"}


@pytest.fixture
def run(job: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run the script in this process with the job's arguments, some of them replaced; the exit status."""

    def call(**changes: Any) -> int:
        options = {
            "questions": job["questions.json"],
            "corpus": job["corpus.jsonl"],
            "bundle": job["bundle"],
            "output": job["output"],
            "index": job["index"],
        } | changes
        arguments = [
            text for name, value in options.items() if value for text in (f"--{NAMES.get(name, name)}", str(value))
        ]
        monkeypatch.setattr(sys, "argv", ["bioasq.py", "--trust-code", *arguments])
        return main()

    return call


def test_writes_a_valid_submission_and_measures_it(
    run: Callable[..., int], job: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(gold=job["gold.json"], **{"run-file": tmp_path / "run.trec"}) == 0
    submission = read_questions(job["output"])
    assert [question.id for question in submission] == list(QUESTIONS)
    for question in submission:
        assert question.documents is not None
        assert question.documents[0] == GOLD[question.id]
        for snippet in question.snippets or ():
            title, abstract = DOCUMENTS[snippet.document]
            text = {"title": title, "abstract": abstract}[snippet.begin_section]
            assert text[snippet.begin : snippet.end] == snippet.text
            assert snippet.document in question.documents
    assert submission[0].snippets is not None
    assert submission[0].snippets[0].text == "Aspirin does thin the blood of patients."
    printed = capsys.readouterr().out
    assert "3 questions" in printed
    assert [line.split("  ")[0] for line in printed.splitlines()[-3:]] == ["BM25 alone", "words alone", "blend"]
    trec = read_run(tmp_path / "run.trec")
    assert list(trec) == list(QUESTIONS)
    assert max(trec["q1"], key=lambda name: trec["q1"][name]) == "T1"


def test_candidates_come_from_an_engine(run: Callable[..., int], job: dict[str, Path]) -> None:
    pytest.importorskip("opensearchpy")
    documents = [{"id": name, "title": title, "abstract": text} for name, (title, text) in DOCUMENTS.items()]
    with serving(documents) as engine:
        assert run(corpus=None, index=engine.address("opensearch")) == 0
        assert read_questions(job["output"])[0].documents == ("T1", "T3", "T2")
        job["output"].unlink()
        Words.calls = 0
        assert run(corpus=None, index=engine.address("opensearch")) == 0
    assert Words.calls == 0  # the journal knows the engine's address


def test_questions_for_which_nothing_is_found_are_named(
    run: Callable[..., int], job: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    questions = [{"id": "q1", "body": "does aspirin help"}, {"id": "q2", "body": "¿?"}, {"id": "q3", "body": "and the"}]
    job["questions.json"].write_text(json.dumps({"questions": questions}))
    assert run() == 0
    assert "Nothing was found for 2 of them, so they have no documents: 'q2', 'q3'." in capsys.readouterr().out
    assert [len(question.documents or ()) for question in read_questions(job["output"])] == [2, 0, 0]


def test_an_interrupted_run_goes_on_where_it_stopped(run: Callable[..., int], job: dict[str, Path]) -> None:
    assert run() == 0
    complete = job["output"].read_text()
    job["output"].unlink()
    journal = Path(f"{job['output']}.scores.jsonl")
    lines = journal.read_text().splitlines(keepends=True)
    journal.unlink()
    Words.calls, Words.stop_at = 0, 3
    assert run() == 130
    assert not job["output"].exists()
    journal.write_text("".join(lines[:3]) + lines[3][:20])  # what made it, two questions, and a kill in the third
    Words.calls, Words.stop_at = 0, None
    assert run() == 0
    assert Words.calls == 1
    assert job["output"].read_text() == complete


def test_other_weights_need_no_scoring_but_other_candidates_do(
    run: Callable[..., int], job: dict[str, Path], tmp_path: Path
) -> None:
    assert run() == 0
    first = job["output"].read_text()
    weights = {"alpha": {"words": -1.0}, "alpha_context": 0.0, "beta": {"bm25": 0.0}}
    (tmp_path / "weights.json").write_text(json.dumps(weights))
    assert run(weights=tmp_path / "weights.json") == 0
    assert Words.calls == 3
    assert job["output"].read_text() != first
    assert run(k=2) == 0
    assert Words.calls == 6


def test_cut_offs_of_the_weights_are_for_version_nine(
    run: Callable[..., int], job: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = {"alpha": {"words": 1.0}, "alpha_context": 0.0, "beta": {"bm25": 0.0}}
    weights["cutoffs"] = {"documents": {"share": 0.9}, "snippets": {"score": 9.0}}
    (tmp_path / "weights.json").write_text(json.dumps(weights))

    def counts(**options: Any) -> list[list[int]]:
        assert run(weights=tmp_path / "weights.json", **options) == 0
        submitted = read_questions(job["output"])
        return [[len(question.documents or ()), len(question.snippets or ())] for question in submitted]

    uncut = counts(version=8)
    assert max(map(max, uncut)) > 1
    assert counts() == [[1, 1]] * 3
    assert "Too few snippets reached the cut-off for 3 of them" in capsys.readouterr().out
    assert counts(gold=job["gold.json"], documents=10, snippets=10) == uncut
    assert counts(gold=job["gold.json"], snippets="share=0,maximum=2") == [[1, 2], [1, 2], [1, 1]]
    assert [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()[-2:]] == ["blend, no cut-off", "blend"]


def test_a_corpus_without_the_gold_documents_is_refused(
    run: Callable[..., int], job: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    job["gold.json"].write_text(job["gold.json"].read_text().replace("pubmed/T", "pubmed/9"))
    assert run(gold=job["gold.json"]) == 2
    assert "--gold: the corpus holds none of the 3" in capsys.readouterr().err
    assert Words.calls == 0


def test_a_submission_is_checked_against_the_corpus(
    run: Callable[..., int], job: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    assert run(check=job["output"]) == 0
    assert "the upload would refuse nothing" in capsys.readouterr().out
    job["output"].write_text(job["output"].read_text().replace("pubmed/T1", "pubmed/T9"))
    assert run(check=job["output"]) == 2
    assert "the corpus has no document 'T9'" in capsys.readouterr().out


def test_questions_and_snippets_that_the_gold_cannot_measure_are_said_once(
    run: Callable[..., int], job: dict[str, Path], capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    gold = json.loads(job["gold.json"].read_text())["questions"][:2]
    gold[0]["snippets"][0]["offsetInBeginSection"] = None
    job["gold.json"].write_text(json.dumps({"questions": gold}))
    assert run(gold=job["gold.json"]) == 0
    assert [text for text in caplog.messages if "gold" in text] == [
        "1 of 2 gold snippets have no usable offsets and are left out"
    ]
    assert "Measured on 2 of the 3 questions; the others are not in --gold." in capsys.readouterr().out


def test_limits_are_kept(run: Callable[..., int], job: dict[str, Path]) -> None:
    assert run(documents=1, snippets=2) == 0
    for question in read_questions(job["output"]):
        assert len(question.documents or ()) == 1
        assert 1 <= len(question.snippets or ()) <= 2


def test_a_question_that_finds_nothing_and_one_of_600_words(run: Callable[..., int], job: dict[str, Path]) -> None:
    questions = [{"id": "none", "body": "the of ?"}, {"id": "long", "body": "aspirin blood trial " * 200}]
    job["questions.json"].write_text(json.dumps({"questions": questions}))
    assert run() == 0
    none, long = read_questions(job["output"])
    assert none.documents == ()
    assert len(long.documents or ()) == 3


def not_json(job: dict[str, Path]) -> dict[str, Any]:
    job["questions.json"].write_text('{"questions": [}')
    return {}


def no_body(job: dict[str, Path]) -> dict[str, Any]:
    job["questions.json"].write_text('{"questions": [{"id": "q1"}]}')
    return {}


def no_id(job: dict[str, Path]) -> dict[str, Any]:
    job["questions.json"].write_text('{"questions": [{"body": "why"}]}')
    return {}


def twice(job: dict[str, Path]) -> dict[str, Any]:
    job["questions.json"].write_text(json.dumps({"questions": [{"id": "q1", "body": "why"}] * 2}))
    return {}


def not_utf8(job: dict[str, Path]) -> dict[str, Any]:
    job["corpus.jsonl"].write_bytes(b'{"id": "a", "text": "fine"}\n{"id": "b", "text": "caf\xe9"}\n')
    return {}


def empty_corpus(job: dict[str, Path]) -> dict[str, Any]:
    job["corpus.jsonl"].write_text("\n")
    return {}


def truncated_gzip(job: dict[str, Path]) -> dict[str, Any]:
    path = job["output"].parent / "part.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps({"id": "a", "text": "word " * 999}).encode())[:-20])
    return {"corpus": path}


def malformed_xml(job: dict[str, Path]) -> dict[str, Any]:
    path = job["output"].parent / "bad.xml"
    path.write_text("<PubmedArticleSet>\n<PubmedArticle></Wrong>")
    return {"corpus": path}


def missing_corpus(job: dict[str, Path]) -> dict[str, Any]:
    return {"corpus": job["output"].parent / "nowhere.jsonl"}


def missing_index(job: dict[str, Path]) -> dict[str, Any]:
    return {"corpus": None}


def half_built_index(job: dict[str, Path]) -> dict[str, Any]:
    (job["index"] / "lucene").mkdir(parents=True)
    return {"corpus": None}


def foreign_weights(job: dict[str, Path]) -> dict[str, Any]:
    return {"weights": "rawal-baral-2020"}


def unbounded_weights(job: dict[str, Path]) -> dict[str, Any]:
    path = job["output"].parent / "weights.json"
    path.write_text('{"alpha": {"words": 1}, "alpha_context": 1, "beta_sentences": 1, "w": [1], "context": "fixpoint"}')
    return {"weights": path}


def nan_scores(job: dict[str, Path]) -> dict[str, Any]:
    Words.value = float("nan")
    return {}


def infinite_scores(job: dict[str, Path]) -> dict[str, Any]:
    Words.value = float("inf")
    return {}


def output_below_a_file(job: dict[str, Path]) -> dict[str, Any]:
    return {"output": job["gold.json"] / "submission.json"}


def run_file_below_a_file(job: dict[str, Path]) -> dict[str, Any]:
    return {"run-file": job["gold.json"] / "run.trec"}


def two_submissions(job: dict[str, Path]) -> dict[str, Any]:
    return {"run-file": job["output"].parent / "other.json"}


def output_is_the_gold(job: dict[str, Path]) -> dict[str, Any]:
    return {"gold": job["gold.json"], "output": job["gold.json"]}


def output_is_a_folder(job: dict[str, Path]) -> dict[str, Any]:
    return {"output": job["bundle"]}


def missing_bundle(job: dict[str, Path]) -> dict[str, Any]:
    return {"bundle": "nowhere"}


def unknown_device(job: dict[str, Path]) -> dict[str, Any]:
    return {"device": "toaster", "bundle": "default"}


def unknown_version(job: dict[str, Path]) -> dict[str, Any]:
    return {"gold": job["gold.json"], "version": 4}


def unknown_version_without_gold(job: dict[str, Path]) -> dict[str, Any]:
    return {"version": 7}


def id_for_no_run(job: dict[str, Path]) -> dict[str, Any]:
    job["questions.json"].write_text(json.dumps({"questions": [{"id": "a b", "body": "Is aspirin a drug?"}]}))
    return {"run-file": job["output"].with_suffix(".trec")}


def check_with_a_limit(job: dict[str, Path]) -> dict[str, Any]:
    return {"check": job["gold.json"], "documents": 5}


def gold_without_answers(job: dict[str, Path]) -> dict[str, Any]:
    return {"gold": job["questions.json"]}


def run_file_is_a_folder(job: dict[str, Path]) -> dict[str, Any]:
    folder = job["bundle"].with_suffix(".trec")
    folder.mkdir()
    return {"run-file": folder}


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (not_json, ["questions.json", "line 1, column 16"]),
        (no_body, ["questions.json: question 1 (q1)", "no body"]),
        (no_id, ["questions.json: question 1", "no id"]),
        (twice, ["questions.json: question 2", "repeats the id 'q1'"]),
        (not_utf8, ["corpus.jsonl:2", "0xe9 is not UTF-8"]),
        (empty_corpus, ["corpus.jsonl", "no documents found"]),
        (truncated_gzip, ["part.jsonl.gz", "truncated or damaged"]),
        (malformed_xml, ["bad.xml", "2"]),
        (missing_corpus, ["nowhere.jsonl", "no such file"]),
        (missing_index, ["index", "there is no index folder", "mpir index"]),
        (half_built_index, ["index", "half-built", "mpir index"]),
        (foreign_weights, ["rawal-baral-2020", "relevance, sia, sts", "words"]),
        (unbounded_weights, ["weights.json", "below 1"]),
        (nan_scores, ["'words' returned nan", "expected a finite number"]),
        (infinite_scores, ["'words' returned", "expected a finite number"]),
        (output_below_a_file, ["gold.json: cannot be written, because", "gold.json is not a folder"]),
        (run_file_below_a_file, ["gold.json: cannot be written, because", "gold.json is not a folder"]),
        (two_submissions, ["at most one submission and one run (.trec) are written"]),
        (output_is_the_gold, ["gold.json: is also --gold"]),
        (output_is_a_folder, ["bundle", "is a folder"]),
        (run_file_is_a_folder, ["bundle.trec", "is a folder", "--output"]),
        (missing_bundle, ["'nowhere' not found", "default"]),
        (unknown_device, ["device 'toaster' cannot be used"]),
        (unknown_version, ["the version of the BioASQ measures is 4; choose from"]),
        (unknown_version_without_gold, ["the version of the BioASQ measures is 7; choose from"]),
        (id_for_no_run, ["'a b' is not a valid id in a TREC file"]),
        (check_with_a_limit, ["--check makes no submission, so --documents has no effect"]),
        (gold_without_answers, ["none of the 3 gold questions has documents or snippets"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_mistake_is_one_sentence_and_status_2(
    run: Callable[..., int],
    job: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[dict[str, Path]], dict[str, Any]],
    words: list[str],
) -> None:
    assert run(**spoil(job)) == 2
    message = capsys.readouterr().err.strip()
    assert message.startswith("bioasq: ")
    assert "\n" not in message
    for word in words:
        assert word in message
    assert not job["output"].is_file()
    assert not Words.calls or "words' returned" in message


def test_an_index_of_another_version_is_built_again_or_refused(
    run: Callable[..., int], job: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    manifest = read_json_with_checksum(job["index"] / "manifest.json") | {"anserini": "0.0.1", "mpir": "0.0.0"}
    (job["index"] / "manifest.json").write_text(json.dumps(manifest))
    assert run(corpus=None) == 2
    assert "anserini is '0.0.1'" in capsys.readouterr().err
    assert run() == 0  # with the corpus at hand it is built again


def test_an_index_of_other_files_is_replaced_with_a_word(
    run: Callable[..., int], job: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    assert run() == 0
    assert run() == 0
    assert "not a complete index" not in caplog.text
    with job["corpus.jsonl"].open("a") as stream:
        stream.write('{"id": "T5", "text": "Another cell."}\n')
    assert run() == 0
    assert f"{job['index']}: not a complete index" in caplog.text


def test_a_damaged_bundle_is_named(
    run: Callable[..., int], tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = Path(shutil.copytree(tiny_bundle, tmp_path / "damaged"))
    with open(damaged / "model/model.safetensors", "ab") as stream:
        stream.write(b"x")
    assert run(bundle=damaged) == 2
    assert "model.safetensors: the content has SHA-256" in capsys.readouterr().err


@pytest.mark.slow
def test_a_real_process_with_a_model(tiny_bundle: Path, job: dict[str, Path]) -> None:
    arguments = ["--questions", job["questions.json"], "--corpus", job["corpus.jsonl"], "--gold", job["gold.json"]]
    arguments += ["--bundle", tiny_bundle, "--output", job["output"], "--index", job["index"]]
    finished = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""
    assert "sts alone" in finished.stdout
    assert len(read_questions(job["output"])) == 3


def test_a_hybrid_first_stage_finds_documents_by_vectors_too(
    run: Callable[..., int], job: dict[str, Path], tiny_encoder: Path, tiny_bundle: Path
) -> None:
    pytest.importorskip("faiss")
    assert run(bundle=tiny_bundle, encoder=tiny_encoder, documents=4, mode="hybrid") == 0
    result = {question.id: question.documents for question in read_questions(job["output"])}
    assert all(len(documents or ()) == 4 for documents in result.values())  # BM25 alone finds fewer
    assert (job["index"] / "dense/dense.json").is_file()
    lines = job["output"].with_name("submission.json.scores.jsonl").read_text().splitlines()
    assert all(chr(34) + "dense" + chr(34) in line for line in lines[1:])


def test_no_output_replaces_an_input_or_a_file_of_another_format(
    job: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("notes.txt", "notes.trec"):
        (tmp_path / name).write_text("years of work")
    options = ["--questions", job["questions.json"], "--corpus", job["corpus.jsonl"], "--bundle", job["bundle"]]
    corpus = job["corpus.jsonl"].read_text()
    for option, name, message in (
        ("--output", "corpus.jsonl", "is also --corpus"),
        ("--output", "notes.txt", "was not written by --output"),
        ("--output", "notes.trec", "was not written by --output"),
    ):
        outputs = [option, tmp_path / name]
        assert mpir_main(["bioasq", *map(str, [*options, *outputs])]) == 2
        assert message in capsys.readouterr().err
    assert job["corpus.jsonl"].read_text() == corpus
    assert (tmp_path / "notes.txt").read_text() == "years of work"
