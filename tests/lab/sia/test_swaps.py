"""Scores 3 and 1: entities, vectors and swaps."""

import json
import pickle
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest

from mpir.errors import ArtefactError, InputError, OutputError
from mpir.lab.sia.entities import SpacyEntities, TermEntities, entity_finder
from mpir.lab.sia.rows import SiaRow
from mpir.lab.sia.swaps import swap_rows
from mpir.lab.sia.vectors import FILE, MADE_BY, Neighbours, train_vectors
from tests.damage import check_flips

from .conftest import GROUPS, write_lines

FULL = SiaRow(
    query="What does insulin lower?",
    sentence="Insulin lowers sugar.",
    sia_score=4,
    method="combined",
    source_ids=("a",),
    seed=1,
)
PART = SiaRow(
    query="What does insulin lower?",
    sentence="Insulin is a hormone.",
    sia_score=2,
    method="partial",
    source_ids=("a",),
    seed=1,
)
HORMONES, SUGARS = (set(group.split()) for group in GROUPS)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A real spaCy pipeline, saved and loaded from disk."""
    import spacy

    nlp = spacy.blank("en")
    patterns = [{"label": "ENTITY", "pattern": [{"LOWER": word}]} for word in ("insulin", "sugar", "hormone")]
    nlp.add_pipe("entity_ruler").add_patterns([*patterns, {"label": "ENTITY", "pattern": "vitamin K"}])
    folder = tmp_path_factory.mktemp("pipeline") / "en_test"
    nlp.to_disk(folder)
    return str(folder)


def test_spacy_entities_are_spans_of_the_text(pipeline: str) -> None:
    text = "Sugar and vitamin K here."
    (spans,) = SpacyEntities(pipeline).find([text])
    assert [text[begin:end] for begin, end in spans] == ["Sugar", "vitamin K"]


def test_a_missing_scispacy_model_names_the_install_line() -> None:
    with pytest.raises(InputError, match=r"install https://\S+/en_core_sci_sm-0\.5\.4\.tar\.gz"):
        entity_finder("scispacy:en_core_sci_sm")


def test_a_folder_never_stands_in_for_a_missing_package(
    pipeline: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(pipeline, tmp_path / "en_core_sci_sm")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="install it with"):
        entity_finder("scispacy:en_core_sci_sm")
    assert entity_finder("scispacy:./en_core_sci_sm").identity["scispacy"] == "./en_core_sci_sm"


def test_a_pipeline_without_entities_is_refused(tmp_path: Path) -> None:
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(InputError, match="finds no entities"):
        SpacyEntities(str(tmp_path / "blank"))


def test_an_unknown_finder_is_named() -> None:
    with pytest.raises(InputError, match="'nltk' is"):
        entity_finder("nltk")


def test_terms_are_the_rarer_words() -> None:
    corpus = ["Patients with fever were treated.", "Patients were treated.", "Patients treated with statin therapy."]
    text = "Patients with familial hypercholesterolaemia were treated."
    finder = TermEntities()
    finder.count(corpus)
    (spans,) = finder.find([text])
    assert [text[begin:end] for begin, end in spans] == ["familial", "hypercholesterolaemia"]
    assert list(finder.find(["It is of the", ""])) == [[], []]


def test_neighbours_are_near_words_but_not_forms_of_the_word(vectors: Path) -> None:
    neighbours = Neighbours(vectors)
    assert len(neighbours.of("sugar")) == 5
    assert set(neighbours.of("Sugar")) <= SUGARS - {"sugar"}
    assert neighbours.of("zebra") == ()


def test_a_3_keeps_the_answer_and_loses_one_entity_that_was_asked_for(pipeline: str, vectors: Path) -> None:
    rows, counts = swap_rows([(FULL, "sugar")], SpacyEntities(pipeline), Neighbours(vectors), 1.0, seed=1)
    (row,) = rows
    first, *remainder = row.sentence.split()
    assert remainder == ["lowers", "sugar."]
    assert first.lower() in HORMONES - {"insulin"} and first[0].isupper()
    assert (row.sia_score, row.method, row.query, row.source_ids) == (3, "swap-combined", FULL.query, ("a",))
    assert counts == {"words replaced": 1}


def test_a_3_loses_nothing_that_was_not_asked_for(pipeline: str, vectors: Path) -> None:
    second = SiaRow(
        query="What rises in fasting?",
        sentence="Insulin lowers sugar.",
        sia_score=4,
        method="combined",
        source_ids=("a",),
        seed=1,
    )
    rows, counts = swap_rows([(second, "sugar")], SpacyEntities(pipeline), Neighbours(vectors), 1.0, seed=1)
    assert (rows, counts) == ([], {"no entity chosen": 1})


def test_a_1_may_lose_every_entity(pipeline: str, vectors: Path) -> None:
    rows, _ = swap_rows([(PART, "sugar")], SpacyEntities(pipeline), Neighbours(vectors), 1.0, seed=1)
    (row,) = rows
    words = row.sentence.lower().strip(".").split()
    assert {words[0], words[3]} <= HORMONES and words[0] != "insulin" and words[3] != "hormone"
    assert (row.sia_score, row.method) == (1, "swap-partial")


def test_what_could_not_be_swapped_is_counted(pipeline: str, vectors: Path) -> None:
    vitamin = SiaRow(
        query="Which vitamin?",
        sentence="It is vitamin K here.",
        sia_score=2,
        method="partial",
        source_ids=("v",),
        seed=1,
    )
    empty = SiaRow(query="Which?", sentence="It is this.", sia_score=2, method="partial", source_ids=("n",), seed=1)
    all_answer = SiaRow(query="Which?", sentence="Sugar.", sia_score=4, method="combined", source_ids=("s",), seed=1)
    inputs = [(vitamin, ""), (empty, ""), (all_answer, "sugar")]
    rows, counts = swap_rows(inputs, SpacyEntities(pipeline), Neighbours(vectors), 1.0, seed=1)
    assert rows == []
    assert counts == {"words kept: no vector": 2, "nothing replaced": 1, "no entity chosen": 2}


def test_the_probability_chooses(pipeline: str, vectors: Path) -> None:
    inputs = [
        (
            SiaRow(
                query="Q?",
                sentence="Insulin is a hormone.",
                sia_score=2,
                method="partial",
                source_ids=(str(n),),
                seed=1,
            ),
            "",
        )
        for n in range(400)
    ]
    _, counts = swap_rows(inputs, SpacyEntities(pipeline), Neighbours(vectors), 0.25, seed=1)
    assert 150 < counts["words replaced"] < 250  # of 800 entities


def test_training_is_the_same_for_a_seed_and_says_what_made_it(tmp_path: Path) -> None:
    texts = ["Insulin lowers sugar. Glucagon raises sugar."] * 20
    corpus = write_lines(tmp_path / "c.jsonl", [{"id": str(n), "text": text} for n, text in enumerate(texts)])
    for name in ("one", "two"):
        train_vectors([corpus], tmp_path / name, size=8, min_count=2, epochs=2, seed=5)
    item, two = Neighbours(tmp_path / "one"), Neighbours(tmp_path / "two")
    assert item.of("insulin") == two.of("insulin") != ()
    created = json.loads((tmp_path / "one" / MADE_BY).read_text())
    assert (created["sentences"], created["words"], created["vocabulary"]) == (40, 120, 5)
    assert created["corpus"]["files"][0]["name"] == "c.jsonl"
    assert created["settings"]["seed"] == 5

    def read() -> Any:
        return Neighbours(tmp_path / "one").of("insulin")

    assert check_flips([tmp_path / "one" / FILE], read, number=20) == 20
    check_flips([tmp_path / "one" / MADE_BY], read, number=20)


def test_vectors_on_a_full_disk_leave_nothing(tmp_path: Path) -> None:
    texts = [f"word{n % 50} beside word{n % 49}." for n in range(200)]
    corpus = write_lines(tmp_path / "c.jsonl", [{"id": str(n), "text": text} for n, text in enumerate(texts)])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))  # writing beyond it fails as on a full disk
    try:
        with pytest.raises(OutputError, match=r"vectors: .*written"):
            train_vectors([corpus], tmp_path / "vectors", min_count=2, epochs=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["c.jsonl"]


def test_a_corpus_without_frequent_words_is_refused(tmp_path: Path) -> None:
    corpus = write_lines(tmp_path / "c.jsonl", [{"id": "1", "text": "Every word once."}])
    with pytest.raises(InputError, match="word occurs 5 times"):
        train_vectors([corpus], tmp_path / "vectors")


def test_vectors_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"missing\.bin: .*data vectors"):
        Neighbours(tmp_path / "missing.bin")
    (tmp_path / "bad.txt").write_text("this is no vector file")
    with pytest.raises(ArtefactError, match=r"bad\.txt: .*word vectors"):
        Neighbours(tmp_path / "bad.txt")


def test_pickled_vectors_are_refused(tmp_path: Path) -> None:
    """gensim's own format runs whatever code the file names."""

    class Malice:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "it ran",)

    (tmp_path / "vectors.kv").write_bytes(pickle.dumps(Malice()))
    with pytest.raises(ArtefactError, match=r"vectors\.kv: .*word2vec"):
        Neighbours(tmp_path / "vectors.kv")
    assert not (tmp_path / "it ran").exists()
