"""Triples from judgements: nothing judged is a negative, and the file is the same whatever was interrupted."""

import json
import runpy
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from mpir.app.cli import main as cli
from mpir.app.cli.first_stage import open_dense
from mpir.errors import InputError
from mpir.files.corpora.text_store import Texts
from mpir.lab.train import sample_triples, triple_candidates
from mpir.lab.train.clicks import triples_of
from mpir.lab.train.triple_candidates import TripleSettings
from mpir.lab.train.triples import TripleFile

SCRIPT = Path(__file__).parents[2] / "data_scripts/triples.py"
CANDIDATES = [f"d{i}" for i in range(10)]
JUDGED = {"d2": 1, "d5": 0, "elsewhere": 2}


def collection(folder: Path, queries: int = 40) -> list[str]:
    """A run and clicks, made up: query n has n % 7 + 5 candidates, of which the third was clicked."""
    run = [f"q{q} Q0 d{q}-{i} {i + 1} {9 - i} x\n" for q in range(queries) for i in range(q % 7 + 5)]
    qrels = [f"q{q} 0 d{q}-2 1\nq{q} 0 d{q}-1 0\n" for q in range(queries)]
    (folder / "run").write_text("".join(run))
    (folder / "qrels").write_text("".join(qrels))
    return ["--run", str(folder / "run"), "--qrels", str(folder / "qrels")]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


def negatives(triples: Sequence[tuple[int, str, str]], positive: str) -> set[str]:
    return {negative for _, positive_of, negative in triples if positive_of == positive}


def test_the_relevant_pool_is_out_whatever_its_grade() -> None:
    result = triples_of("q", CANDIDATES, JUDGED, seed=1)
    assert negatives(result, "d2") == negatives(result, "elsewhere") == set(CANDIDATES) - {"d2", "d5"}
    retained = triples_of("q", CANDIDATES, JUDGED, seed=1, keep_judged=True)
    assert negatives(retained, "d2") == set(CANDIDATES) - {"d2"}


def test_unfiltered_negatives_are_everything_but_the_positive() -> None:
    result = triples_of("q", CANDIDATES, JUDGED, seed=1, recipe="unfiltered")
    assert negatives(result, "d2") == set(CANDIDATES) - {"d2"}
    assert negatives(result, "elsewhere") == set(CANDIDATES)


def test_a_sample_is_without_replacement_and_by_the_seed_and_the_query_alone() -> None:
    result = triples_of("q", CANDIDATES, JUDGED, seed=1, negatives=3)
    assert len(result) == 6
    assert all(len(negatives(result, positive)) == 3 for positive in ("d2", "elsewhere"))
    assert result == triples_of("q", CANDIDATES, JUDGED, seed=1, negatives=3)
    assert result != triples_of("q", CANDIDATES, JUDGED, seed=2, negatives=3)
    assert [number for number, _, _ in result] != [
        number for number, _, _ in triples_of("p", CANDIDATES, JUDGED, seed=1)
    ]


def test_the_collections_own_recipe_takes_what_stands_above_a_click() -> None:
    result = triples_of("q", CANDIDATES, JUDGED, seed=1, recipe="above-click")
    assert negatives(result, "d2") == {"d0", "d1"}
    assert negatives(result, "elsewhere") == set()  # no candidate


def test_an_interrupted_run_ends_in_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = collection(tmp_path)
    script = runpy.run_path(str(SCRIPT))
    monkeypatch.setattr(triple_candidates, "QUERIES_PER_CHUNK", 7)
    output = tmp_path / "triples.tsv"

    def make() -> bytes:
        monkeypatch.setattr(sys, "argv", ["x", *options, "--output", str(output), "--set", "negatives.most=2"])
        assert script["main"]() == 0
        return output.read_bytes()

    complete = make()
    assert not list(tmp_path.glob("*.parts"))
    merge = sample_triples.heapq.merge
    monkeypatch.setattr(sample_triples.heapq, "merge", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    monkeypatch.setattr(sys, "argv", ["x", *options, "--output", str(output), "--set", "negatives.most=2"])
    output.unlink()
    assert script["main"]() == 130
    shards = sorted((tmp_path / "triples.tsv.parts").glob("*.tsv"))
    assert len(shards) == 6
    shards[3].unlink()  # as if it had been interrupted before this one
    monkeypatch.setattr(sample_triples.heapq, "merge", merge)
    assert make() == complete
    rows = [line.split("\t") for line in complete.decode().splitlines()]
    assert len(rows) == 40 * 2
    assert all(positive.endswith("-2") and not negative.endswith(("-1", "-2")) for _, positive, negative in rows)
    assert [query for query, _, _ in rows] != sorted(query for query, _, _ in rows)  # shuffled


def test_so_many_are_kept_and_they_are_the_first_of_all(tmp_path: Path) -> None:
    options = collection(tmp_path)
    for number in ("1000", "5"):
        finished = run(*options, "--output", str(tmp_path / number), "--limit", number)
        assert finished.returncode == 0, finished.stderr
    few, all_of_them = ((tmp_path / name).read_text().splitlines() for name in ("5", "1000"))
    assert few == all_of_them[:5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "negatives.most=0"], "negatives.most is 0"),
        (["--qrels", "{folder}/none"], "no document has a grade above 0; expected judgements"),
        (["--qrels", "{folder}/other"], "no triples found; do candidates and judgements have the same ids"),
        (["--set", "negatives.skip=-1"], "negatives.skip is -1"),
        (["--seed", "-1"], "--seed: '-1' is given"),
        (["--exclude", "{folder}/kept.tsv"], "exclude needs questions; give them"),
        (
            ["--exclude", "{folder}/kept.tsv", "--questions", "{folder}/asked.tsv"],
            "question 'q1': 'Does aspirin thin blood?' is kept for evaluation and may not be trained on",
        ),
        (
            ["--exclude", "{folder}/judged.tsv", "--questions", "{folder}/asked.tsv"],
            "question 'q3': 'a held-out question' is kept for evaluation and may not be trained on",
        ),
        (["--run", "{folder}/twice"], r"twice:3: the lines of query a are not adjacent; sort the run by query"),
    ],
)
def test_what_is_refused(options: list[str], message: str, tmp_path: Path) -> None:
    usual = collection(tmp_path)
    (tmp_path / "none").write_text("q1 0 d1 0\n")
    (tmp_path / "other").write_text("else 0 d1 1\n")
    (tmp_path / "twice").write_text("a Q0 d 1 2 x\nb Q0 d 1 2 x\na Q0 e 2 1 x\n")
    (tmp_path / "kept.tsv").write_text("e7\tdoes aspirin thin blood\n")
    (tmp_path / "judged.tsv").write_text("q3\ta held-out question\n")
    (tmp_path / "asked.tsv").write_text("q0\ta gene\nq1\tDoes aspirin thin blood?\n")
    output = tmp_path / "triples.tsv"
    finished = run(*usual, *(option.format(folder=tmp_path) for option in options), "--output", str(output))
    assert finished.returncode == 2
    assert message in finished.stderr
    assert not output.exists()
    if "--seed" in options:
        assert not list(tmp_path.glob("*.parts"))


def test_parts_of_other_settings_are_not_taken_up(tmp_path: Path) -> None:
    options = [*collection(tmp_path), "--output", str(tmp_path / "t")]
    assert run(*options, "--qrels", str(tmp_path / "missing")).returncode == 2
    (tmp_path / "t.parts").mkdir()
    (tmp_path / "t.parts/manifest.json").write_text('{"settings": "others"}')
    finished = run(*options)
    assert finished.returncode == 2
    assert "t.parts: holds parts of other" in finished.stderr
    (tmp_path / "t.parts/manifest.json").rename(tmp_path / "t.parts/000000.tsv")  # parts of nobody knows what
    finished = run(*options)
    assert finished.returncode == 2
    assert "t.parts: holds parts of other" in finished.stderr


def interrupted(monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    """Make the parts, and stop before they are merged."""
    script = runpy.run_path(str(SCRIPT))
    with monkeypatch.context() as patch:
        patch.setattr(sample_triples.heapq, "merge", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert script["main"](options) == 130


def test_parts_of_judgements_that_have_changed_are_not_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*collection(tmp_path), "--output", str(tmp_path / "t")]
    interrupted(monkeypatch, *options)
    (tmp_path / "qrels").write_text((tmp_path / "qrels").read_text().replace("d7-2 1", "d7-3 1"))
    assert runpy.run_path(str(SCRIPT))["main"](options) == 2
    assert "t.parts: holds parts of other" in capsys.readouterr().err


WORDS = ("heart", "gene", "aspirin", "blood")


@pytest.fixture
def searched(tmp_path: Path) -> Path:
    """A corpus of twelve documents, three of each word, two questions, and a gold document of each."""
    documents = [{"id": f"{word}{i}", "text": f"{word} {'trial ' * i}"} for word in WORDS for i in range(3)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    questions = [
        {"id": f"{word}?", "body": f"{word} of what", "type": "list", "documents": [f"http://x/{word}1"]}
        for word in WORDS[:2]
    ]
    (tmp_path / "questions.json").write_text(json.dumps({"questions": questions}))
    return tmp_path


def searches(folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> list[list[str]]:
    """The triples that the script makes, called in this process."""
    arguments = ["x", "--questions", str(folder / "questions.json"), "--output", str(folder / "t.tsv"), *options]
    monkeypatch.setattr(sys, "argv", arguments)
    assert runpy.run_path(str(SCRIPT))["main"]() == 0
    return [line.split("\t") for line in (folder / "t.tsv").read_text().splitlines()]


def test_negatives_at_random(searched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--random", "--overwrite", "--corpus", str(searched / "docs.jsonl"), "--set", "negatives.most=4"]
    result = searches(searched, monkeypatch, *options)
    assert [sorted(row[:2] for row in result)] == [[["gene?", "gene1"]] * 4 + [["heart?", "heart1"]] * 4]
    assert all(positive != negative for _, positive, negative in result)
    assert len({tuple(row) for row in result}) == 8
    assert searches(searched, monkeypatch, *options) == result
    assert searches(searched, monkeypatch, *options, "--seed", "2") != result
    everything = searches(searched, monkeypatch, *options[:4], "--set", "negatives.most=50")
    assert {negative for query, _, negative in everything if query == "gene?"} == {
        f"{word}{i}" for word in WORDS for i in range(3)
    } - {"gene1"}


def test_parts_of_a_corpus_that_has_changed_are_not_taken_up(
    searched: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = searched / "docs.jsonl"
    options = ["--questions", str(searched / "questions.json"), "--output", str(searched / "t.tsv")]
    options += ["--random", "--corpus", str(corpus)]
    interrupted(monkeypatch, *options)
    corpus.write_text(corpus.read_text() + '{"id": "new", "text": "a new trial"}\n')
    assert runpy.run_path(str(SCRIPT))["main"](options) == 2
    assert "t.tsv.parts: holds parts of other" in capsys.readouterr().err


def test_negatives_of_a_search_by_words_and_by_vectors(
    searched: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss")
    index = str(searched / "index")
    made_by = ["--dense", "--encoder", str(tiny_encoder), "--quiet"]
    assert cli(["index", str(searched / "docs.jsonl"), "--index", index, *made_by]) == 0
    by_words = searches(searched, monkeypatch, "--index", index, "--set", "negatives.most=9")
    assert sorted(by_words) == [[f"{word}?", f"{word}1", f"{word}{i}"] for word in ("gene", "heart") for i in (0, 2)]
    with closing(open_dense(index, None)) as vectors:
        nearest = [document.id for document in vectors.search("gene of what", 5)]
    nearest_5 = ["--mode", "dense", "--k", "5", "--set", "negatives.skip=2", "--overwrite"]
    by_vectors = searches(searched, monkeypatch, "--index", index, *nearest_5)
    assert {row[2] for row in by_vectors if row[0] == "gene?"} == set(nearest[2:]) - {"gene1"}


def test_a_judged_question_without_a_text(searched: Path) -> None:
    texts, settings = Texts.of_queries(searched / "questions.json"), TripleSettings(output=searched / "t.tsv")
    with pytest.raises(InputError, match=r"questions\.json: .*'blood\?'"):
        triple_candidates.search(settings, None, texts, ["gene?", "blood?"])


@pytest.fixture
def incomplete(searched: Path) -> Path:
    """The corpus with documents without a text, and gold documents that are blank or of another corpus."""
    with (searched / "docs.jsonl").open("a") as stream:
        stream.writelines(json.dumps({"id": f"blank{i}", "text": " "}) + "\n" for i in range(3))
    gold = {"gene": ["gene1", "blank0", "elsewhere"], "heart": ["elsewhere", "blank1"], "blood": ["blood2"]}
    questions = [
        {"id": f"{word}?", "body": f"{word} of what", "documents": [f"http://x/{name}" for name in names]}
        for word, names in gold.items()
    ]
    (searched / "questions.json").write_text(json.dumps({"questions": questions}))
    return searched


def trainable(folder: Path) -> int:
    """The triples, which training reads and refuses where one has no text."""
    return TripleFile(folder / "t.tsv", questions=folder / "questions.json", corpus=[folder / "docs.jsonl"]).count


def test_documents_without_a_text_are_left_out_of_random_triples(
    incomplete: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--random", "--corpus", str(incomplete / "docs.jsonl"), "--set", "negatives.most=50"]
    rows = searches(incomplete, monkeypatch, *options)
    assert {(question, positive) for question, positive, _ in rows} == {("gene?", "gene1"), ("blood?", "blood2")}
    assert trainable(incomplete) == len(rows) == 2 * 11
    message = capsys.readouterr().out
    assert "docs.jsonl: has no text for 4 of 6 relevant documents and of 6 candidates," in message
    assert "22 triples of 2 judged questions" in message


def test_what_is_left_out_is_told_by_a_run_that_goes_on_too(
    incomplete: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--questions", str(incomplete / "questions.json"), "--output", str(incomplete / "t.tsv")]
    options += ["--random", "--corpus", str(incomplete / "docs.jsonl")]
    interrupted(monkeypatch, *options)
    assert runpy.run_path(str(SCRIPT))["main"](options) == 0
    assert "for 4 of 6 relevant documents and of 6 candidates" in capsys.readouterr().out


def test_documents_without_a_text_are_left_out_of_searched_triples(
    incomplete: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    index = str(incomplete / "index")
    assert cli(["index", str(incomplete / "docs.jsonl"), "--index", index, "--quiet"]) == 0
    rows = searches(incomplete, monkeypatch, "--index", index)
    assert {row[1] for row in rows} == {"gene1", "blood2"}
    assert trainable(incomplete) == len(rows)
    assert "index: has no text for 4 of 6 relevant documents and of 0 candidates" in capsys.readouterr().out


def test_a_runs_candidates_are_looked_up_in_a_corpus(
    incomplete: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked = ("blank2", "unknown", "gene0", "heart0")
    run = "".join(f"gene? Q0 {name} {rank} {9 - rank} x\n" for rank, name in enumerate(ranked, 1))
    (incomplete / "run").write_text(run)
    rows = searches(
        incomplete, monkeypatch, "--run", str(incomplete / "run"), "--corpus", str(incomplete / "docs.jsonl")
    )
    assert sorted(rows) == [["gene?", "gene1", "gene0"], ["gene?", "gene1", "heart0"]]
    assert "and of 2 candidates" in capsys.readouterr().out


def test_relevant_documents_of_which_none_has_a_text_are_refused(
    incomplete: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (incomplete / "qrels").write_text("heart? 0 blank0 1\nheart? 0 elsewhere 1\n")
    options = ["--random", "--corpus", incomplete / "docs.jsonl", "--qrels", incomplete / "qrels"]
    options += ["--output", incomplete / "t.tsv"]
    assert runpy.run_path(str(SCRIPT))["main"]([str(option) for option in options]) == 2
    assert "docs.jsonl: has no text for any of the 2" in capsys.readouterr().err
    assert not list(incomplete.glob("t.tsv*"))
