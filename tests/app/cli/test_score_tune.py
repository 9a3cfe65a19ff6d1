"""``mpir score`` and ``mpir tune`` from questions to weights, and their refusals at the command line."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpir.app.cli import main
from mpir.app.cli.tune import log_beside
from mpir.core.columns import Column
from mpir.core.weights import Weights
from mpir.files.weights import read_weights, write_weights
from mpir.reranking.reranker import Reranker
from mpir.tune.dataset import Dataset
from tests.search.engine_server import serving

ORDER = "order"

URL = "http://www.ncbi.nlm.nih.gov/pubmed/"
SUBJECTS = ["heart", "blood", "gene", "cell", "risk", "trial"]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, tiny_bundle: Path) -> Path:
    """A folder with an index, six questions and their scores."""
    folder = tmp_path_factory.mktemp("work")
    with open(folder / "corpus.jsonl", "w") as stream:
        for number, subject in enumerate(SUBJECTS * 3):
            text = f"The {subject} is in a trial of aspirin {'and placebo ' * (number % 4)}. No patients attack."
            stream.write(json.dumps({"id": str(number), "title": f"A {subject}", "abstract": text}) + "\n")
    questions = [
        {
            "id": subject,
            "body": f"Does aspirin risk {subject} patients?",
            "documents": [URL + str(number), URL + "999"],
            "snippets": [
                {
                    "document": URL + str(number),
                    "beginSection": "abstract",
                    "endSection": "abstract",
                    "offsetInBeginSection": 0,
                    "offsetInEndSection": 30,
                    "text": "…",
                }
            ],
        }
        for number, subject in enumerate(SUBJECTS)
    ]
    (folder / "questions.json").write_text(json.dumps({"questions": questions}))
    assert main(["index", str(folder / "corpus.jsonl"), "--index", str(folder / "index")]) == 0
    assert score(folder, tiny_bundle, "scored", "--set", "score.gold_in_index=true") == 0
    return folder


def score(folder: Path, bundle: Path, output: str, *more: str) -> int:
    options = ["--index", str(folder / "index"), "--bundle", str(bundle), "--device", "cpu", "--precision", "fp32"]
    return main(
        ["score", "--questions", str(folder / "questions.json"), "--output", str(folder / output), *options, *more]
    )


def tune(folder: Path, *more: str, scored: str = "scored") -> int:
    quick = ["--method", "random", "--set", "tune.calls=5", "--set", "tune.loops=1", "--set", "tune.folds=2"]
    return main(["tune", str(folder / scored), "--output", str(folder / "weights.json"), *quick, *more])


def test_candidates_come_from_an_engine(work: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("opensearchpy")
    documents = [json.loads(line) for line in (work / "corpus.jsonl").read_text().splitlines()]
    with serving(documents) as engine:
        index = ["--index", engine.address("opensearch"), "--set", "score.gold_in_index=true", "--k", "5"]
        questions = ["--questions", str(work / "questions.json"), "--output", str(tmp_path / "scored")]
        assert main(["score", *questions, *index, "--bundle", str(tiny_bundle), "--device", "cpu"]) == 0
    scored = Dataset.load(tmp_path / "scored")
    assert len(scored.questions) == len(SUBJECTS)


def test_cut_offs_are_tuned_with_the_weights_and_stored_in_them(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--measure", "snippet-f1", "--format", "json", "--output", str(tmp_path / "weights.json")]
    assert tune(work, *options) == 0
    tuned = read_weights(tmp_path / "weights.json").cutoffs
    assert tuned is not None
    printed = json.loads(capsys.readouterr().out)
    assert printed["cutoffs"] == {"snippets": tuned.snippets.to_dict()}
    for extra in (["--set", "tune.cutoffs=false"], ["--version", "8"]):
        assert tune(work, *options, *extra, "--output", str(tmp_path / f"{extra[0]}.json")) == 0
        assert read_weights(tmp_path / f"{extra[0]}.json").cutoffs is None


def test_cut_offs_alone_leave_the_weights_as_they_are(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = Dataset.load(work / "scored").columns.layout
    mine = Weights.equal(layout.sentences, layout.documents)
    write_weights(tmp_path / "mine.json", mine)
    command = ["tune", str(work / "scored"), "--output", str(tmp_path / "weights.json"), "--set", "tune.folds=2"]
    command += ["--method", "cutoffs", "--against", str(tmp_path / "mine.json")]
    assert main([*command, "--measure", "snippet-f1"]) == 0
    tuned = read_weights(tmp_path / "weights.json")
    assert tuned.cutoffs is not None
    assert replace(tuned, cutoffs=None) == mine
    assert f"Cut-off of snippets: {tuned.cutoffs.snippets}." in capsys.readouterr().out
    assert tuned.made_by["cutoffs"]["measure"] == ["snippet-f1", 9]
    assert main([*command, "--measure", "snippet-map"]) == 2
    assert "--method cutoffs needs --measure" in capsys.readouterr().err


def test_scored_questions_say_what_made_them(work: Path, tiny_bundle: Path) -> None:
    scored = Dataset.load(work / "scored")
    reranker = Reranker(tiny_bundle, device="cpu", precision="fp32")
    assert [question.documents for question in scored.questions] == [(str(n),) for n in range(6)]
    assert scored.made_by["perspectives"] == {p.name: p.model_fingerprint for p in reranker.perspectives}
    assert scored.made_by["candidates"] == 100
    assert not (work / "scored.scores.jsonl").exists()


def test_tuned_weights_load_with_their_bundle_only(
    work: Path, tiny_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "plots").mkdir()
    (work / "plots/weights.svg").write_text("<!-- Created with matplotlib -->")  # a picture of an earlier tuning
    assert tune(work, "--format", "json", "--plots", str(work / "plots")) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["written"]
    assert facts["against"] == "equal weights"
    assert {path.stem for path in (work / "plots").iterdir()} == {"best-so-far", "dependence", "shares", "weights"}
    weights = read_weights(work / "weights.json")
    assert Reranker(tiny_bundle, weights=weights, device="cpu", precision="fp32").weights == weights
    values = weights.to_dict()
    values["made_by"]["perspectives"]["sts"] = "another"
    (work / "other.json").write_text(json.dumps(values))
    assert main(["rerank", "aspirin", "--docs", str(work / "corpus.jsonl"), "--bundle", str(tiny_bundle), "--device",
                 "cpu", "--weights", str(work / "other.json")]) == 2  # fmt: skip
    assert "another model for 'sts'" in capsys.readouterr().err
    assert tune(work) == 0  # as after a kill behind the writing
    assert f"{work / 'weights.json'} already has these weights." in capsys.readouterr().out
    assert tune(work, "--seed", "1") == 1
    assert "not shown to be better: not written; kept" in capsys.readouterr().out
    (work / "first").mkdir()
    assert tune(work, "--against", str(work / "weights.json"), "--output", str(work / "first/weights.json")) == 0
    assert f"use the weights {work / 'weights.json'} until more questions show" in capsys.readouterr().out


def test_other_situations_are_tuned_on_too(work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = ["--output", str(tmp_path / "w.json"), "--format", "json"]
    assert tune(work, *output, "--also", str(work / "scored")) in (0, 1)
    single = len(Dataset.load(work / "scored").questions)
    assert json.loads(capsys.readouterr().out)["held_out"]["questions"] == single  # the same ones, counted once
    assert tune(work, *output, "--also", str(work / "nothing")) == 2
    assert "nothing: holds no scored questions" in capsys.readouterr().err


def test_the_log_stays_out_of_a_bundle(tiny_bundle: Path, tmp_path: Path) -> None:
    assert log_beside(tiny_bundle / "weights.json") == tiny_bundle.with_name(f"{tiny_bundle.name}.trials.jsonl")
    assert log_beside(tmp_path / "weights.json") == tmp_path / "weights.json.trials.jsonl"


@pytest.mark.parametrize("more", [[], ["--format", "json"]])
def test_weights_that_were_tuned_for_documents_alone_say_so_where_snippets_are_gold(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    advice = "document-map ignores the order of sentences; for weights that rank both, give --measure document-"
    assert tune(work, "--output", str(tmp_path / "w.json"), *more) == 0
    result = capsys.readouterr()
    assert advice in (result.err if more else result.out)
    scored = Dataset.load(work / "scored")
    replace(scored, questions=tuple(replace(question, snippets=()) for question in scored.questions)).save(
        tmp_path / "scored"
    )
    assert tune(tmp_path, *more) == 0
    assert tune(work, "--output", str(tmp_path / "both.json"), "--measure", "document-sentence-map", *more) in (0, 1)
    assert "ordered" not in "".join(capsys.readouterr())


def test_folds_without_gold_are_refused_before_a_journal_is_opened(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored = Dataset.load(work / "scored")
    first, *alternatives = scored.questions
    bare = (first, *(replace(item, documents=(), snippets=()) for item in alternatives))
    replace(scored, questions=bare).save(tmp_path / "scored")
    assert tune(tmp_path) == 2
    assert "2 have no gold document" in capsys.readouterr().err
    assert not list(tmp_path.glob("*trials*"))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--set", "tune.calls=0"], "calls is 0"),
        (["--set", "tune.folds=7"], "6 questions cannot be held out in 7 folds"),
        (["--measure", "map"], "the measure is 'map'; choose from"),
        (["--set", "tune.context=fixpoint", "--set", "bounds.context=1,1"], "the fixed point exists only below 1"),
        (["--against", "nothing.json"], "no such file"),
        (["--set", "tune.level=5"], "the level of significance is 5.0"),
        (["--set", "tune.tolerance=nan"], "tolerance is nan; expected a finite number"),
        (["--output", "."], ".: is a folder"),
        (["--plots", __file__], "test_score_tune.py is not a folder; choose another"),
        (["--plots", f"{__file__}/pictures"], "test_score_tune.py is not a folder; choose another"),
    ],
)
def test_refusals(
    work: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, more: list[str], message: str
) -> None:
    assert main(["tune", str(work / "scored"), "--output", str(tmp_path / "w.json"), "--method", "random",
                 "--set", "tune.calls=3", "--set", "tune.loops=1", "--set", "tune.folds=2", *more]) == 2  # fmt: skip
    assert message in capsys.readouterr().err
    assert not list(tmp_path.glob("*trials*"))  # refused before a journal is opened


def test_a_refused_run_leaves_the_trials_of_a_killed_one(work: Path, tmp_path: Path) -> None:
    output = ["--output", str(tmp_path / "w.json")]
    assert tune(work, *output) == 0
    log = tmp_path / "w.json.trials.jsonl"
    (tmp_path / "plots").write_text("a file")
    trials = log.read_bytes()
    for refused in (["--set", "tune.folds=100"], ["--set", "tune.level=7"], ["--plots", str(tmp_path / "plots")]):
        assert tune(work, *output, *refused) == 2
    assert log.read_bytes() == trials
    assert tune(work, *output, "--seed", "5") in (0, 1)
    assert tune(work, *output) in (0, 1)  # back to the first settings, whose trials are taken back
    assert log.read_bytes() == trials


def test_weights_without_a_column_stand_against_scores_with_it(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored = Dataset.load(work / "scored")
    columns = scored.columns.with_columns({Column(ORDER, "sentence", "ordering"): np.arange(len(scored.begin))})
    replace(scored, columns=columns).save(tmp_path / "scored")
    capsys.readouterr()
    options = ["--output", str(tmp_path / "w.json"), "--against", "rawal-baral-2020", "--format", "json"]
    assert tune(tmp_path, *options) == 0
    assert json.loads(capsys.readouterr().out)["against"] == "the weights rawal-baral-2020"
    assert read_weights(tmp_path / "w.json").alpha[ORDER] == 0  # document-map does not see it


def test_the_same_columns_twice_and_no_columns_are_refused(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = [str(work / "scored")] * 2
    assert main(["tune", *twice, "--output", str(work / "twice.json")]) == 2
    assert "the perspective 'relevance'" in capsys.readouterr().err
    assert tune(work, scored="index") == 2
    assert "(manifest.json is something else's" in capsys.readouterr().err
    assert tune(work, scored="nothing") == 2
    assert "nothing: holds no scored questions" in capsys.readouterr().err


def test_gold_outside_the_index(
    work: Path, tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = json.loads((work / "questions.json").read_text())["questions"][:1]
    questions[0] |= {"documents": [URL + "999"], "snippets": []}
    (tmp_path / "questions.json").write_text(json.dumps({"questions": questions}))
    options = ["--index", str(work / "index"), "--bundle", str(tiny_bundle), "--output", str(tmp_path / "scored")]
    for extended in ([], ["--set", "score.gold_in_index=true"]):
        assert main(["score", "--questions", str(tmp_path / "questions.json"), *options, *extended]) == 2
        assert "no gold document of the 1" in capsys.readouterr().err


def test_questions_and_judgements_in_trecs_files(
    work: Path, tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """TripClick's topics in both packagings, and qrels in which the fourth document was seen and not clicked."""
    (tmp_path / "topics.head.val.txt").write_text("<top>\n<num> Number: 7\n<title> heart risk\n</top>\n")
    (tmp_path / "topics.tail.val.tsv").write_text("8\tgene in a trial\n9\tcell\n")
    (tmp_path / "qrels").write_text("7 0 0 1\n7 0 3 0\n8 0 2 2\nother 0 1 1\n")
    options = ["--index", str(work / "index"), "--bundle", str(tiny_bundle), "--output", str(tmp_path / "scored")]
    files = [str(tmp_path / name) for name in ("topics.head.val.txt", "topics.tail.val.tsv")]
    assert (
        main(
            [
                "score",
                "--questions",
                *files,
                "--qrels",
                str(tmp_path / "qrels"),
                "--set",
                "score.gold_in_index=true",
                *options,
            ]
        )
        == 0
    )
    result = Dataset.load(tmp_path / "scored").questions
    assert [(item.id, item.body, item.documents) for item in result] == [
        ("7", "heart risk", ("0",)), ("8", "gene in a trial", ("2",))]  # fmt: skip
    (tmp_path / "qrels").write_text("other 0 1 1\n")
    assert main(["score", "--questions", *files, "--qrels", str(tmp_path / "qrels"), *options]) == 2
    assert "topics.tail.val.tsv: none of the 3" in capsys.readouterr().err


def test_a_folder_of_the_users_is_not_replaced(
    work: Path, tiny_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "precious").mkdir()
    (work / "precious" / "thesis.txt").write_text("years of work")
    assert score(work, tiny_bundle, "precious") == 2
    assert "precious: exists and holds no document_of.npy" in capsys.readouterr().err
    assert [path.name for path in (work / "precious").iterdir()] == ["thesis.txt"]
    assert not (work / "precious.scores.jsonl").exists()


def test_questions_without_gold_are_refused_before_they_are_scored(
    work: Path, tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test.json").write_text('{"questions": [{"id": "1", "body": "Does aspirin thin blood?"}]}')
    options = ["--index", str(work / "index"), "--bundle", str(tiny_bundle), "--output", str(tmp_path / "scored")]
    assert main(["score", "--questions", str(tmp_path / "test.json"), *options]) == 2
    assert "test.json: none of the 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (("w.json", "w.json"), "w.json: is also --output, which would be lost; give tune.log another name"),
        (("w.json", "scored/questions.json"), "questions.json: is also SCORED, which would be lost; give tune.log"),
        (("scored/questions.json", "t"), "questions.json: is also SCORED, which would be lost; give --output"),
        (("p/weights.png", "t", "p"), "weights.png: is also --output"),
        (
            ("w.json", "thesis.txt"),
            "thesis.txt: exists and was not written by tune.log, so it is not replaced; remove it or choose",
        ),
    ],
)
def test_tuning_writes_over_nothing(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], paths: tuple[str, ...], message: str
) -> None:
    shutil.copytree(work / "scored", tmp_path / "scored")
    (tmp_path / "thesis.txt").write_text("years of work")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    pairs = zip(("--output=", "--set=tune.log=", "--plots="), paths, strict=False)
    options = [f"{option}{tmp_path / path}" for option, path in pairs]
    quick = ["--method", "random", "--set", "tune.calls=3", "--set", "tune.loops=1", "--set", "tune.folds=2", "--quiet"]
    assert main(["tune", str(tmp_path / "scored"), *options, *quick]) == 2
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_scoring_replaces_no_file_of_another_format(
    work: Path, tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(work / "scored", tmp_path / "scored")
    (tmp_path / "scored/notes.txt").write_text("a week of work")
    assert score(work, tiny_bundle, str(tmp_path / "scored")) == 2
    assert "scored: is not replaced," in capsys.readouterr().err
    assert score(work, tiny_bundle, str(work / "index")) == 2
    assert "index: is also --index" in capsys.readouterr().err


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_parts_are_together_what_one_run_makes(
    work: Path, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (3, 1):
        assert (
            score(work, tiny_bundle, f"part{number}", "--set", "score.gold_in_index=true", "--shard", f"{number}/3")
            == 0
        )
    slurm = {"SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "4"}
    for name, value in slurm.items():
        monkeypatch.setenv(name, value)
    assert score(work, tiny_bundle, "part2", "--set", "score.gold_in_index=true") == 0
    parts = [str(work / f"part{number}") for number in (2, 3, 1)]
    assert main(["merge", *parts, "--output", str(tmp_path / "joined")]) == 0
    assert content_of(tmp_path / "joined") == content_of(work / "scored")
    capsys.readouterr()
    for wrong, message in (
        (parts[:2], "shards are missing: 1/3; make them"),
        ([*parts, parts[0]], "is shard 2, and so is "),
        ([*parts, str(work / "scored")], "is a complete set, not a shard"),
    ):
        assert main(["merge", *wrong, "--output", str(tmp_path / "wrong")]) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "wrong").exists()


def test_a_part_of_another_job_is_refused(
    work: Path, tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, options in ((1, ()), (2, ("--k", "3"))):
        name = f"other{number}"
        assert (
            score(work, tiny_bundle, name, "--set", "score.gold_in_index=true", "--shard", f"{number}/2", *options) == 0
        )
    assert main(["merge", str(work / "other1"), str(work / "other2"), "--output", str(tmp_path / "x")]) == 2
    assert "(they differ in candidates)" in capsys.readouterr().err


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1/0", "a/b", "3", "-1/2", "1/3/5"])
def test_a_shard_that_cannot_be(work: Path, tiny_bundle: Path, shard: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert score(work, tiny_bundle, "never", f"--shard={shard}") == 2
    assert f"shard is '{shard}'" in capsys.readouterr().err
    assert not (work / "never").exists()


def test_more_parts_than_questions(work: Path, tiny_bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert score(work, tiny_bundle, "never", "--set", "score.gold_in_index=true", "--shard", "1/9") == 2
    assert "there are 6 questions for 9 shards" in capsys.readouterr().err


def test_a_bundle_with_a_model_of_choice_is_tuned(work: Path, tiny_bundle: Path, tiny_encoder: Path) -> None:
    model = shutil.copytree(tiny_bundle / "model", work / "judge")
    new = ["bundle", "new", str(work / "mine"), "--bundle", str(tiny_bundle), "--encoder", str(tiny_encoder)]
    assert main([*new, "--model", str(model), "--set", "model.output=2"]) == 0
    assert score(work, work / "mine", "scored-mine", "--set", "score.gold_in_index=true") == 0
    assert (
        tune(work, "--output", str(work / "mine/weights.json"), "--set", "tune.level=0.99", scored="scored-mine") == 0
    )
    tuned = Reranker(work / "mine", device="cpu", precision="fp32").weights
    assert set(tuned.beta) == {"bm25", "judge", tiny_encoder.name}
    assert set(tuned.made_by["perspectives"]) >= {"judge", tiny_encoder.name}
