"""The evaluations on tiny data: baselines by hand, sentences of other questions, and the table of all figures."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpir
from mpir.core.checksum import fingerprint
from mpir.core.text import Document, Question, Snippet
from mpir.errors import InputError
from mpir.files.read import read_json
from mpir.models.encoder import Encoder
from mpir.reranking.prepare import prepare

ROOT = Path(__file__).parents[2]
EXACTLY = ["--device", "cpu", "--precision", "fp32", "--set", "cache.folder=none"]
SAMPLE = Path(mpir.__file__).parent / "sample"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda name: runpy.run_path(str(ROOT / f"experiments/{name}.py"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The sample's questions, the first half as 5B and the others as `train`."""
    questions = read_json(SAMPLE / "questions.json")["questions"]
    half = len(questions) // 2
    (tmp_path / "bioasq").mkdir()
    (tmp_path / "pubmed").mkdir()
    (tmp_path / "bioasq/training.json").write_text(json.dumps({"questions": questions}))
    (tmp_path / "bioasq/5B1_golden.json").write_text(json.dumps({"questions": questions[:half]}))
    names = [question["id"] for question in questions]
    (tmp_path / "bioasq/splits.json").write_text(json.dumps({"train": names[half:], "dev": names[:half], "test": []}))
    (tmp_path / "pubmed/abstracts.jsonl").write_bytes((SAMPLE / "documents.jsonl").read_bytes())
    return tmp_path


def test_free_baselines_by_hand(script: Any) -> None:
    free = script("common/baselines")
    level = free["free_scores"](np.array([3.0, 1.0]), np.array([5.0, 5.0]))
    assert level["BM25 + start, z-scores"] == pytest.approx([1.0, -1.0])  # what is level adds nothing
    both = free["free_scores"](np.array([3.0, 1.0]), np.array([9.0, 5.0]))
    assert both["BM25 + start, RRF"] == pytest.approx([2 / 61, 2 / 62])
    scores = free["free_scores"](np.array([0.0, 4.0, 2.0]), np.array([0.9, 0.3, 0.3]))
    assert list(scores) == list(free["FREE"])
    by_hand = np.array([-2, 2, 0]) / np.sqrt(8 / 3) + np.array([2, -1, -1]) / np.sqrt(2)
    assert scores["BM25 + start, z-scores"] == pytest.approx(by_hand)


def test_cosines_are_kept_and_the_same(script: Any, tiny_checkpoint: Path, tmp_path: Path) -> None:
    start = script("common/baselines")["Start"]
    plain, cached = start(tiny_checkpoint), start(tiny_checkpoint, tmp_path / "vectors")
    queries, texts = ["aspirin", "the gene"], ["does aspirin thin blood", "gene cell . " * 40, "aspirin"]
    first = cached.cosines(queries, texts)
    assert first == pytest.approx(plain.cosines(queries, texts), abs=2e-3)
    assert cached.cosines(queries, texts) == pytest.approx(first)
    assert first[0, 2] == pytest.approx(1.0, abs=1e-2)
    lists = cached.of_lists(queries, [[texts[2], texts[1]], [texts[0]]])
    assert lists[0] == pytest.approx(first[0, [2, 1]], abs=2e-3)
    assert lists[1] == pytest.approx(first[1, [0]], abs=2e-3)


def test_a_sentence_that_is_gold_for_both_is_no_negative(script: Any, tiny_checkpoint: Path) -> None:
    topics, free = script("common/other_topics"), script("common/baselines")
    shared = "Aspirin does thin the blood of all patients."
    snippet = Snippet(
        document="1", begin_section="abstract", end_section="abstract", begin=0, end=len(shared), text=shared
    )
    question = Question("q1", "does aspirin thin blood", documents=(), snippets=(snippet,))
    shared_text = "The gene is in the cell, and aspirin is not."
    texts = [shared, shared_text, f"{shared} Yes."]
    result = topics["sets"]([question], texts, free["Start"](tiny_checkpoint).cosines([question.body], texts))
    assert [test.name for test in result] == ["other topics, BM25", "other topics, vectors"]
    for test in result:
        assert test.qrels == {"q1": {"0": 1}}
        assert test.candidates == {"q1": [0, 1]}


def test_what_likely_answers_the_question_is_no_negative_where_topics_are_to_be_apart(
    script: Any, tiny_checkpoint: Path
) -> None:
    topics, free = script("common/other_topics"), script("common/baselines")

    def asked(name: str, body: str, text: str) -> Question:
        return Question(
            name,
            body,
            snippets=(
                Snippet(
                    document=name, begin_section="abstract", end_section="abstract", begin=0, end=len(text), text=text
                ),
            ),
        )

    own_answer = "Aspirin does thin the blood of all patients."
    mine = asked("q1", "does aspirin thin blood", own_answer)
    same = asked("q2", "does aspirin thin blood", "The gene of this cell is not known.")
    second = asked("q3", "which gene is in the cell", "The gene is in the cell, and aspirin is not.")
    everyone = [mine, same, second]
    texts = [text for question in everyone for text in topics["gold_sentences"](question)]
    start = free["Start"](tiny_checkpoint)
    near = {"same": 0.999, "alike": 0.999}  # a tiny random encoder finds all texts much alike
    asks = start.cosines([mine.body, second.body], [question.body for question in everyone])
    barred = topics["likely_answers"]([mine, second], everyone, asks, texts, start.vectors(texts)[0], **near)
    assert barred == [{0, 1}, {2}]
    for test in topics["sets"]([mine], texts, start.cosines([mine.body], texts), barred[:1]):
        assert test.candidates == {"q1": [0, 2]}
        assert test.qrels == {"q1": {"0": 1}}


def test_passages_of_a_page_by_hand(script: Any) -> None:
    cut = script("common/passages")["passages"](["a " * 120, "b " * 130, "c " * 10], 1)
    assert [text.split()[0] + text.split()[-1] for text, _ in cut] == ["aa", "ab", "bc"]
    assert [len(text.split()) for text, _ in cut] == [100, 100, 60]
    assert [right for _, right in cut] == [False, True, True]  # 0, 80 and 50 words of the second answer


def test_fragments_are_no_gold_sentences_by_words(script: Any) -> None:
    text = "Tau binds to all microtubules"
    document = Document("1", f"{text}. B", "Nothing was measured in these mice. Tau binds")
    question = Question(
        "q",
        "what binds",
        snippets=(
            Snippet(document="1", begin_section="abstract", end_section="abstract", begin=0, end=0, text=f"{text}."),
        ),
    )
    result = prepare("what binds", [document], limit=None, splitting="abstract")
    assert [s.text for s in result.sentences] == [f"{text}.", "B", "Nothing was measured in these mice.", "Tau binds"]
    relevant = script("ranking/sentences")["relevant"]
    assert relevant(question, result).tolist() == [True, False, False, True]
    assert relevant(question, result, words=True).tolist() == [True, False, False, False]


def test_titles_of_candidates_by_hand(script: Any) -> None:
    """Of three abstracts with salt one has no title; whose candidates are relevant, all or none, is no question."""
    heads = ["Salt", " ", "Sweat ", "Tears"]
    pool = [Document(str(i), head, "salt " * (i < 3) + "water") for i, head in enumerate(heads)]
    questions = [
        Question(f"q{i}", "what of salt", documents=gold) for i, gold in enumerate([("2", "9"), ("1",), ("0", "2")])
    ]
    test = script("ranking/evaluation")["titles"](questions, pool, 3)
    assert test.queries == {"q0": "what of salt"}
    assert {test.documents[number].text for number in test.candidates["q0"]} == {"Salt", "Sweat"}
    assert test.qrels == {"q0": {"2": 1}}


def test_a_paper_is_pieced_together_by_hand(script: Any) -> None:
    gold = "a gold answer of more than eight words stands here"
    pool = [Document(str(i), "", f"salt {gold if i == 1 else ''} {'sweat ' * (60 - i)}") for i in range(3)]
    question = Question(
        "q",
        "what of salt",
        documents=("1",),
        snippets=(Snippet(document="1", begin_section="abstract", end_section="abstract", begin=0, end=0, text=gold),),
    )
    unanswered = Question("none", "what of it", documents=("2",), snippets=())
    test = script("common/passages")["pieced_papers"]([question, unanswered], pool, 1)
    assert test.queries == {"q": "what of salt"} and test.candidates == {"q": list(range(len(test.documents)))}
    words = [document.text.split() for document in test.documents]
    assert [len(passage) for passage in words] == [100, 90]
    assert sorted(word for passage in words for word in passage) == sorted(
        " ".join(document.text for document in pool).split()
    )
    relevant = [sum(word in gold.split() for word in passage) >= 8 for passage in words]
    assert list(test.qrels["q"].values()) == list(map(int, relevant)) and any(relevant)


def test_a_page_has_right_and_wrong_passages(script: Any, tmp_path: Path) -> None:
    def write(pages: dict[str, list[int]]) -> None:
        rows = [
            {"url": url, "qid": f"{url}-{i}", "question": f"q{i}", "answer": f"{url} " * words}
            for url, answers in pages.items()
            for i, words in enumerate(answers)
        ]
        (tmp_path / "medquad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    write({"long": [700, 700], "short": [300, 300], "one": [1500], "endless": [3000, 3000]})
    read_medquad = script("common/passages")["read_medquad"]
    test = read_medquad(tmp_path)
    assert [name.split("-")[0] for name in test.queries] == ["long"]
    ((name, places),) = test.candidates.items()
    assert places == list(range(14)) and sum(test.qrels[name].values()) == 7
    (tmp_path / "medquad.jsonl").write_text('{"url": "u", "qid": "1", "question": "q"}\n')
    with pytest.raises(InputError, match=r"medquad\.jsonl:1: 'answer' is missing"):
        read_medquad(tmp_path)


def test_pubmedqa_asks_for_the_conclusion_of_test_questions(script: Any, tmp_path: Path) -> None:
    item = {
        "QUESTION": "Does aspirin help?",
        "LABELS": ["BACKGROUND", "RESULTS", "PATIENTS AND METHODS"],
        "CONTEXTS": ["Aspirin is old.", "It helped six of ten.", "Ten were treated. Six were men."],
        "LONG_ANSWER": "It helps. Use it.",
    }
    (tmp_path / "ori_pqal.json").write_text(json.dumps({"1": item, "2": item, "3": item | {"LABELS": ["RESULTS"] * 3}}))
    (tmp_path / "test_ground_truth.json").write_text('{"2": "yes", "3": "no"}')
    read_pubmedqa = script("common/pubmedqa")["read_pubmedqa"]
    test = read_pubmedqa(tmp_path)
    assert test.queries == {"2": "Does aspirin help?"}
    texts = ["It helps.", "Use it.", "Aspirin is old.", "Ten were treated.", "Six were men."]
    assert [document.text for document in test.documents] == texts
    assert test.qrels == {"2": {"2/0": 1, "2/1": 1}}
    assert test.candidates == {"2": [0, 1, 2, 3, 4]}
    (tmp_path / "ori_pqal.json").write_text(json.dumps({"1": {"QUESTION": "q", "LABELS": [], "CONTEXTS": []}}))
    with pytest.raises(InputError, match=r"ori_pqal\.json: 1: 'LONG_ANSWER' is missing"):
        read_pubmedqa(tmp_path)


def test_passages_are_a_collection_of_d(
    script: Any,
    tmp_path: Path,
    *,
    tiny_bundle: Path,
    tiny_checkpoint: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [
        {"url": "page", "qid": word, "question": f"does {word} work", "answer": f"the {word} . " * 200}
        for word in ("aspirin", "gene")
    ]
    (tmp_path / "medquad").mkdir()
    (tmp_path / "medquad/medquad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["--data", tmp_path, "--bundle", tiny_bundle, "--start", tiny_checkpoint, "--only", "d"]
    options += ["--sets", "medquad", *EXACTLY]
    monkeypatch.setattr(sys, "argv", ["evaluation.py", *map(str, options)])
    assert script("ranking/evaluation")["main"]() == 0
    table = capsys.readouterr().out
    assert "d MedQuAD: 1 questions" in table
    assert float(table.split("| BM25 ")[1].split("|")[1]) == 1.0  # each half of the page repeats its own word


def test_over_the_same_candidates_the_free_sum_is_itself_where_all_documents_are_candidates(
    script: Any, tmp_path: Path, *, tiny_bundle: Path, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["aspirin thins blood .", "the gene is in a cell .", "aspirin is a risk .", "blood of the heart ."]
    (tmp_path / "med").mkdir()
    (tmp_path / "med/MED.ALL").write_text("".join(f".I {i}\n.W\n{text}\n" for i, text in enumerate(texts, 1)))
    (tmp_path / "med/MED.QRY").write_text(".I 1\n.W\ndoes aspirin thin blood\n.I 2\n.W\nthe cell .\n")
    (tmp_path / "med/MED.REL").write_text("1 1 1\n1 4 1\n2 2 1\n")
    options = ["--data", tmp_path, "--bundle", tiny_bundle, "--start", tiny_checkpoint, "--only", "d", "--sets", "med"]
    options += [*EXACTLY, "--json", tmp_path / "figures.json"]
    monkeypatch.setattr(sys, "argv", ["evaluation.py", *map(str, options)])
    assert script("ranking/evaluation")["main"]() == 0
    values = read_json(tmp_path / "figures.json")["values"]["d MED"]
    assert values["BM25 + start, z-scores, same candidates"] == values["BM25 + start, z-scores"]
    assert len(values["blend"]) == 2


def test_no_mixture_reads_what_passages_are_measured_on() -> None:
    mixtures = list((ROOT / "experiments/mixtures").glob("*.json"))
    assert mixtures
    read = {path.name for path in mixtures if "medquad" in path.read_text()}
    assert read == {"documents.json", "documents-teacher.json"}  # the reader's card says so


def test_everything_in_one_table(
    script: Any,
    data: Path,
    *,
    tiny_bundle: Path,
    tiny_checkpoint: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["--data", data, "--bundle", tiny_bundle, "--start", tiny_checkpoint, "--only", "a", "b", "c", "f", "g"]
    options += [*EXACTLY, "--limit", 3, "--json", data / "figures.json"]
    monkeypatch.setattr(sys, "argv", ["evaluation.py", *map(str, options)])
    assert script("ranking/evaluation")["main"]() == 0
    figures = read_json(data / "figures.json")
    assert (figures["cascade"], str(tiny_checkpoint) in json.dumps(figures)) == ("all", False)
    assert figures["start"] == fingerprint(Encoder(tiny_checkpoint).identity["checkpoint"])
    means = figures["means"]
    assert list(means) == ["a", "b BM25", "b vectors", "c documents", "c snippets", "f BM25", "f vectors", "g titles"]
    systems = {"BM25", "start encoder", "BM25 + start, z-scores", "BM25 + start, RRF", "relevance alone", "blend"}
    for values in means.values():
        assert systems <= set(values)
        assert all(0 <= value <= 1 for value in values.values())
    assert "the best of them" in capsys.readouterr().out
    compared = ["compare_bundles.py", data / "figures.json", data / "figures.json", "--systems", "blend"]
    monkeypatch.setattr(sys, "argv", list(map(str, compared)))
    assert script("ranking/compare_bundles")["main"]() == 0
    rows = [
        line.split("|")
        for line in capsys.readouterr().out.splitlines()
        if line[:3] in ("| a", "| b", "| c", "| f", "| g")
    ]
    assert [tuple(row[i].strip() for i in (1, 4, 6)) for row in rows] == [(name, "+0.0000", "1.0000") for name in means]


def test_the_difference_of_two_bundles_by_hand(script: Any) -> None:
    first = {"a": {"blend": [0.0] * 20, "x": [1.0]}, "b": {"blend": [0.5, 0.25]}, "d": {"blend": [1.0]}}
    second = {"a": {"blend": [0.5] * 20}, "b": {"blend": [0.25, 0.5]}}
    a, b = script("ranking/compare_bundles")["differences"](first, second, "blend")
    assert a[:4] == ["a", "0.0000", "0.5000", "+0.5000"] and a[4] == "+0.5000 to +0.5000" and float(a[5]) < 0.001
    assert b[:4] == ["b", "0.3750", "0.3750", "+0.0000"] and b[5] == "1.0000"
    with pytest.raises(InputError, match="x: no evaluation"):
        script("ranking/compare_bundles")["differences"](first, second, "x")


def test_bundles_that_were_measured_otherwise_are_not_compared(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"split": "dev", "limit": 60, "depth": 20, "head": 20, "seed": 1, "values": {}}
    base = settings | {"cascade": "all", "start": "0123"}
    changed = {"limit": base | {"limit": 9}, "cascade": base | {"cascade": "auto"}, "start": base | {"start": "4"}}
    for name, written in {"one": base, **changed, "old": settings}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(written))
    for second, said in (
        ("limit", "limit is 9, and 60 in"),
        ("cascade", "cascade is auto, and all in"),
        ("start", "start is 4, and 0123 in"),
        ("old", "old.json: has no cascade; write it anew with evaluation.py --json"),
    ):
        files = [str(tmp_path / f"{name}.json") for name in ("one", second)]
        monkeypatch.setattr(sys, "argv", ["compare_bundles.py", *files])
        assert script("ranking/compare_bundles")["main"]() == 2
        assert said in capsys.readouterr().err


def test_a_system_is_tested_against_bm25_and_the_best_free_one(script: Any) -> None:
    low, high = np.zeros(40), np.ones(40)
    free = {"BM25": low, "start encoder": high, "BM25 + start, z-scores": low, "BM25 + start, RRF": low}
    rows = {row[0]: row[3:] for row in script("ranking/evaluation")["table"]({**free, "blend": high, "other": low})}
    assert rows["start encoder"][0] == "the best of them"
    assert rows["BM25"] == ["", ""]
    assert rows["blend"] == ["1.0000", "0.0000"]
    assert rows["other"] == ["0.0000", "1.0000"]


def test_gold_sentences_are_not_ranked_where_a_cascade_leaves_some_out(
    script: Any,
    data: Path,
    *,
    tiny_bundle: Path,
    tiny_checkpoint: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = [
        "--data",
        data,
        "--bundle",
        tiny_bundle,
        "--device",
        "cpu",
        "--set",
        "cache.folder=none",
        "--cascade",
        "auto",
    ]
    for name, options_of in (
        ("ranking/sentences", []),
        ("ranking/evaluation", ["--only", "c", "a", "--start", tiny_checkpoint]),
    ):
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, [*options, *options_of])])
        assert script(name)["main"]() == 2
        out, said = capsys.readouterr()
        assert "--cascade auto: the evaluation counts every gold sentence" in said
        assert not out  # nothing was measured before
