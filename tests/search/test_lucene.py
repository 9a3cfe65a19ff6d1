import json
import math
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mpir.core.text.query import report_field_search
from mpir.core.text.terms import StopWords, stop_words_of
from mpir.core.text.types import Document
from mpir.errors import ArtefactError, InputError
from mpir.files.checksum import read_json_with_checksum
from mpir.search import LuceneIndex, build_index, index_matches, read_info
from mpir.search.lucene.java import java_class
from mpir.search.lucene.verify import verify_index
from mpir.search.memory import Rm3
from tests import damage
from tests.damage import check_flips


def ids(documents: list[Document]) -> list[str]:
    return [document.id for document in documents]


def test_search_finds_stems_best_first(index: LuceneIndex) -> None:
    result = index.search("mutated BRCA1 and cholesterol")
    assert ids(result) == ["1", "2"]
    scores = [document.score or 0 for document in result]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


def test_a_score_is_lucenes_bm25(tmp_path: Path) -> None:
    build_index([Document("a", "", "gene gene protein"), Document("b", "", "protein")], tmp_path / "index")
    with LuceneIndex(tmp_path / "index", k1=1.2, b=0.75) as index:
        (result,) = index.search("gene")
    idf = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2 / (2 + 1.2 * (1 - 0.75 + 0.75 * 3 / 2))
    assert result.score == pytest.approx(expected, abs=1e-4)


def test_texts_come_back_exactly(index: LuceneIndex, documents: list[Document]) -> None:
    assert [index.document(document.id) for document in documents] == documents
    (result,) = index.search("CFTR")
    assert replace(result, score=None) == documents[2]


def test_half_a_surrogate_pair_becomes_the_replacement_character_in_its_place(tmp_path: Path) -> None:
    build_index([Document("1", "p53 \ud83d here", "\udc00 😀 \ud800")], tmp_path / "index")
    with LuceneIndex(tmp_path / "index") as index:
        (result,) = index.search("p53 \ud800")
        assert (result.title, result.abstract) == ("p53 \ufffd here", "\ufffd 😀 \ufffd")


def test_words_of_printed_pages_and_markup_are_found_whole_and_come_back_as_given(tmp_path: Path) -> None:
    page = Document("page", "Signiﬁcant<sub>2</sub>", "<p>An eﬀec-\ntive drug against &beta;-amyloid</p>")
    build_index([page, Document("plain", "", "nothing of it, span or p")], tmp_path / "index")
    with LuceneIndex(tmp_path / "index") as index:
        for query in ("effective", "signiﬁcant2", "eﬀec-\ntive", "β"):
            assert ids(index.search(query)) == ids(index.search_batch([query])[0]) == ["page"]
            assert index.scores_of(query, ["plain", "page"])[1] > 0
        assert ids(index.search("p")) == ["plain"]
        assert index.document("page") == page


def test_equal_scores_are_ordered_by_id(index: LuceneIndex) -> None:
    assert ids(index.search("metformin")) == ["twin a", "twin b"]
    assert ids(index.search("metformin", k=1)) == ["twin a"]


@pytest.mark.parametrize("query", ["", "   ", "the of and", "?! … —", "\x00", "\ud800", "zyxwv"])
def test_a_query_without_known_terms_finds_nothing(index: LuceneIndex, query: str) -> None:
    assert index.search(query) == []


def test_query_syntax_is_plain_text(index: LuceneIndex) -> None:
    assert ids(index.search('title:"BRCA1" AND (*:* OR -breast')) == ["1"]


def test_long_queries_work(index: LuceneIndex) -> None:
    words = " ".join(f"word{number}" for number in range(5000))
    assert ids(index.search(f"{words} BRCA1")) == ["1"]
    assert ids(index.search("BRCA1 " * 600)) == ["1"]


def test_a_batch_is_its_queries_in_order(index: LuceneIndex) -> None:
    queries = ["BRCA1", "", "metformin", "cholesterol"] * 40
    assert index.search_batch(queries, 2, threads=2) == [index.search(query, 2) for query in queries]
    assert index.search_batch([]) == []


def test_k1_and_b_count(index_folder: Path, index: LuceneIndex) -> None:
    with LuceneIndex(index_folder, k1=0.0, b=0.0) as second:
        assert second.search("BRCA1")[0].score != index.search("BRCA1")[0].score


@pytest.mark.parametrize(
    ("k1", "b"), [(-1, 0.4), (math.nan, 0.4), (math.inf, 0.4), (1e300, 0.4), (0.9, 1.1), (0.9, math.nan)]
)
def test_parameters_out_of_bounds_are_refused(index_folder: Path, k1: float, b: float) -> None:
    with pytest.raises(InputError, match=r"(k1|b) is .*\b0 to"):
        LuceneIndex(index_folder, k1=k1, b=b)


def test_what_is_asked_for_must_exist(index: LuceneIndex) -> None:
    with pytest.raises(InputError, match=r"document .*id '404'"):
        index.document("404")
    with pytest.raises(InputError, match="k is 0"):
        index.search("BRCA1", 0)


def test_a_missing_or_half_built_folder_is_refused(tmp_path: Path, index_folder: Path) -> None:
    with pytest.raises(ArtefactError, match=r"missing: .*no index"):
        LuceneIndex(tmp_path / "missing")
    shutil.copytree(index_folder, tmp_path / "half")
    (tmp_path / "half" / "manifest.json").unlink()
    with pytest.raises(ArtefactError, match=r"half: .*no manifest\.json"):
        LuceneIndex(tmp_path / "half")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("format", 99, "format is 99"),
        ("anserini", "0.1", "its anserini is '0.1'"),
        ("analyzer", "none", "analyzer is 'none'"),
        ("documents", 3, r"\b7 documents, .*manifest .*\b3;"),
        ("documents", None, "/index: .*manifest lacks"),
    ],
)
def test_another_versions_index_is_refused(
    tmp_path: Path, index_folder: Path, name: str, value: object, message: str
) -> None:
    folder = shutil.copytree(index_folder, tmp_path / "index")
    manifest = read_json_with_checksum(folder / "manifest.json")
    (folder / "manifest.json").write_text(json.dumps({**manifest, name: value}))
    with pytest.raises(ArtefactError, match=message):
        LuceneIndex(folder)


def without_hashes(index_folder: Path, folder: Path) -> Path:
    """A copy of an index as an old version wrote it: nothing but Lucene's own check tells damage."""
    shutil.copytree(index_folder, folder)
    manifest = read_json_with_checksum(folder / "manifest.json")
    (folder / "manifest.json").write_text(json.dumps({**manifest, "files": {}}))
    return folder


def test_damage_is_one_sentence(tmp_path: Path, index_folder: Path) -> None:
    folder = without_hashes(index_folder, tmp_path / "index")
    segments = next((folder / "lucene").glob("segments_*"))
    segments.write_bytes(b"x" * segments.stat().st_size)
    with pytest.raises(ArtefactError, match=r"index: .*cannot read") as caught:
        LuceneIndex(folder)
    assert "\n" not in str(caught.value)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(ArtefactError, match=r"/index: .*\(.*manifest\.json"):
        LuceneIndex(folder)


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (
            "*.fdt",
            lambda content: content[:-1],
            r"\(lucene/.*fdt has \d+ bytes",
        ),
        ("*.tim", None, r"\(lucene/.*tim is missing"),
    ],
)
def test_a_file_of_another_size_is_noticed_when_an_index_is_opened(
    tmp_path: Path, index_folder: Path, file: str, change: Callable[[bytes], bytes] | None, message: str
) -> None:
    folder = shutil.copytree(index_folder, tmp_path / "index")
    damaged = next((folder / "lucene").glob(file))
    damaged.write_bytes(change(damaged.read_bytes())) if change else damaged.unlink()
    with pytest.raises(ArtefactError, match=message):
        LuceneIndex(folder)


def test_bytes_that_flip_are_one_sentence_or_harmless(tmp_path: Path, index_folder: Path) -> None:
    """Whatever byte of an index without hashes flips: it is read, or refused in one sentence with the remedy."""
    folder, positions = without_hashes(index_folder, tmp_path / "index"), random.Random(1)
    refused = 0
    for path in sorted(path for path in (folder / "lucene").iterdir() if path.stat().st_size):
        complete = path.read_bytes()
        for choice in positions.choices(range(len(complete)), k=6):
            path.write_bytes(complete[:choice] + bytes([complete[choice] ^ 64]) + complete[choice + 1 :])
            try:
                with LuceneIndex(folder) as index:
                    index.search("BRCA1")
                    index.search_batch(["BRCA1", "metformin"])
                    index.document("1")
            except ArtefactError as error:
                refused += 1
                assert "Lucene cannot read the index" in str(error)
                assert "build it again" in str(error)
                assert len(str(error).splitlines()) == 1
        path.write_bytes(complete)
    assert refused > 20


def test_every_changed_byte_is_refused_or_changes_nothing(tmp_path: Path, index_folder: Path) -> None:
    folder = shutil.copytree(index_folder, tmp_path / "index")

    def read() -> Any:
        with LuceneIndex(folder) as index:
            return index.info.documents, index.info.stop_words, index.search("BRCA1 metformin"), index.document("1")

    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    refused = [check_flips([file], read, number=10, seed=number) for number, file in enumerate(files)]
    assert sum(refused) > 100
    assert check_flips([folder / "manifest.json"], read) > 80


def test_verification_has_a_line_for_each_kind_of_file_and_names_a_damaged_one(
    tmp_path: Path, index_folder: Path
) -> None:
    folder = shutil.copytree(index_folder, tmp_path / "index")
    lines = list(verify_index(folder))
    variants = {line.split(": ")[1] for line in lines}
    assert {"*.fdt", "*.tim", "segments_*", "Lucene's CheckIndex"} <= variants
    assert lines[-1] == f"{folder}/lucene: Lucene's CheckIndex: no problems"
    names, expected = ({path.name for path in position.rglob("*")} for position in (folder, index_folder))
    assert names == expected  # not even a lock is left
    file = next((folder / "lucene").glob("*.tim"))
    damage.write(file, file.read_bytes()[:-1] + b"?")
    with pytest.raises(ArtefactError, match=r"index: .*\(lucene/\S+\.tim has changed"):
        list(verify_index(folder))


def test_lucenes_own_check_tells_damage_where_no_hashes_are_listed(tmp_path: Path, index_folder: Path) -> None:
    folder = without_hashes(index_folder, tmp_path / "index")
    assert "its manifest, from an old version, lists no files" in next(verify_index(folder))
    file = next((folder / "lucene").glob("*.tim"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)
    with pytest.raises(ArtefactError, match=r"index: .*Lucene's CheckIndex"):
        list(verify_index(folder))


REPORTS = [Document("yes", "", "An effusion is seen."), Document("no", "", "No effusion is seen.")]


@pytest.mark.parametrize(("stop_words", "no", "the_verb"), [("not-no", ["no"], []), ("none", ["no"], ["no", "yes"])])
def test_stop_words_are_a_choice(tmp_path: Path, stop_words: StopWords, no: list[str], the_verb: list[str]) -> None:
    info = build_index(REPORTS, tmp_path / "index", stop_words=stop_words)
    assert (info.stop_words, read_info(tmp_path / "index")) == (stop_words, info)
    with LuceneIndex(tmp_path / "index") as index:
        assert ids(index.search("NO")) == no
        assert sorted(ids(index.search("is"))) == the_verb
        assert ids(index.search("no effusions"))[0] == "no"
        first, second = index.scores_of("no effusion", ["yes", "no"])
        assert second > first > 0
        assert index.identity["stop_words"] == stop_words
    assert index_matches(tmp_path / "index", {}, stop_words=stop_words)
    assert not index_matches(tmp_path / "index", {})


def test_the_usual_stop_words_are_lucenes_own_and_leave_no_out(tmp_path: Path) -> None:
    build_index(REPORTS, tmp_path / "index")
    with LuceneIndex(tmp_path / "index") as index:
        assert index.search("no") == index.search("is") == []
        assert len({round(score, 4) for score in index.scores_of("no effusion", ["yes", "no"])}) == 1
        assert "stop_words" not in index.identity
    words = java_class("org.apache.lucene.analysis.en.EnglishAnalyzer").ENGLISH_STOP_WORDS_SET
    assert stop_words_of("english") == set(map(str, words))


def test_stop_words_that_are_no_choice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="stop_words is 'german'"):
        build_index(REPORTS, tmp_path / "index", stop_words="german")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_searching_loads_no_torch_and_prints_nothing_of_its_own(index_folder: Path) -> None:
    program = (
        "import sys; from mpir.search import LuceneIndex\n"
        "assert 'jpype' not in sys.modules\n"
        f"print([document.id for document in LuceneIndex({str(index_folder)!r}).search('BRCA1')])\n"
        "assert not {'torch', 'transformers', 'pyserini.search'} & set(sys.modules)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ
    )
    assert (finished.stdout, finished.stderr) == ("['1']\n", "")


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("nurs*[tiab]", {"a", "b"}),
        ("nursing*[tiab] AND tear[tiab]", {"a", "b", "d"}),
        ("colo?r.ti,ab.", {"c", "d"}),
        ("(tears OR thrombolys*) NOT (nurs* OR colour)", {"a", "d"}),
        ("asthma[tiab]", set()),
    ],
)
@pytest.mark.parametrize("rm3", [None, Rm3()])
def test_a_search_in_field_syntax_is_read_as_its_words(
    tmp_path: Path, search: str, found: set[str], rm3: Rm3 | None
) -> None:
    texts = {"a": "Nurses gave thrombolysis.", "b": "Nursing of wounds.", "c": "Her colour.", "d": "Color of tears."}
    build_index([Document(name, "", text) for name, text in texts.items()], tmp_path / "index")
    with LuceneIndex(tmp_path / "index", rm3=rm3) as index:
        assert set(ids(index.search(search))) >= found
        if rm3 is None:
            assert set(ids(index.search(search))) == found
        assert index.search_batch(["wounds", search])[1] == index.search(search)
        scores = index.scores_of(search, list(texts))
        assert {name for name, score in zip(texts, scores, strict=True) if score} >= found


def test_what_not_excludes_is_not_searched_for_and_a_message_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    report_field_search.cache_clear()
    build_index([Document("1", "Asthma in adults"), Document("2", "Children and children")], tmp_path / "index")
    with LuceneIndex(tmp_path / "index") as index:
        assert ids(index.search("asthma[tiab] NOT children[tiab]")) == ["1"]
    assert "in a database's field syntax" in caplog.text


def test_greek_letters_and_their_names_are_one_term(tmp_path: Path) -> None:
    texts = ["α-synuclein", "alpha-synuclein", r"$\alpha$-synuclein", "synuclein and TNFα", "synuclein"]
    build_index([Document(str(number), "", text) for number, text in enumerate(texts)], tmp_path / "index")
    with LuceneIndex(tmp_path / "index") as index:
        for query in ("α-synuclein", "Alpha-synuclein", r"$\alpha$-synuclein"):
            (first, *_), together = index.search(query), index.search_batch([query, "synuclein"])[0]
            scores = {document.id: document.score or 0 for document in together}
            assert [scores[name] for name in "012"] == pytest.approx([first.score] * 3, abs=1e-5)
            assert scores["0"] > scores["4"]
            assert index.scores_of(query, ["1", "4"]) == pytest.approx([scores["1"], scores["4"]], abs=1e-5)
        assert ids(index.search("tnfalpha")) == ["3"]
