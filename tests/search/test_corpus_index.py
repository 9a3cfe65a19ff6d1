"""Indexes of PubMed's files: what an interrupted build keeps, and that its result is that of an uninterrupted one."""

import subprocess
import sys
from pathlib import Path

import pytest

import mpir
from mpir.app.cli import main
from mpir.core.text.terms import StopWords
from mpir.core.text.types import Document
from mpir.errors import InputError, OutputError
from mpir.files.corpora import corpus_fingerprint, pubmed, read_collection
from mpir.search import LuceneIndex, build_index, index_files, index_matches, read_info
from mpir.search.lucene import build_files
from mpir.search.lucene.verify import verify_index

SAMPLE = [*read_collection([Path(mpir.__file__).parent / "sample/documents.jsonl"])]
QUERIES = ("cancer treatment", "gene expression in mice", "patients", "revised")
KILLED = """
import importlib, os, signal, sys
from pathlib import Path
from mpir.files.corpora import corpus_fingerprint
from mpir.search import index_files
from mpir.search.lucene import build_files

build_files.GROUP_SECONDS = 0.0
module, name = sys.argv[3].split(":")
module, calls = importlib.import_module(module), int(sys.argv[4])
original = getattr(module, name)

def killing(*arguments, **named):
    global calls
    calls -= 1
    if not calls:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*arguments, **named)

setattr(module, name, killing)
paths = [sys.argv[1]]
index_files(paths, Path(sys.argv[2]), source=corpus_fingerprint(paths), threads=1)
"""


@pytest.fixture(autouse=True)
def one_file_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_files, "GROUP_SECONDS", 0.0)


def citation(number: int, document: Document) -> str:
    return (
        f'<PubmedArticle><MedlineCitation><PMID Version="1">{number}</PMID><Article><ArticleTitle>'
        f"{document.title.translate(ESCAPES)}</ArticleTitle><Abstract><AbstractText>"
        f"{document.abstract.translate(ESCAPES)}</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>"
    )


ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;"})


def write(folder: Path, number: int, *records: str, deleted: tuple[int, ...] = ()) -> None:
    gone = "".join(f'<PMID Version="1">{pmid}</PMID>' for pmid in deleted)
    content = f"<PubmedArticleSet>{''.join(records)}<DeleteCitation>{gone}</DeleteCitation></PubmedArticleSet>"
    folder.mkdir(exist_ok=True)
    (folder / f"pubmed26n{number:04}.xml").write_text(content, encoding="utf-8")


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    """Four files of 20 records, in which later ones replace 5 of the one before and delete 2 of the first."""
    folder = tmp_path / "baseline"
    for file in range(4):
        new = [citation(20 * file + row, SAMPLE[20 * file + row]) for row in range(20)]
        revised = [citation(20 * file - row, Document("", "Revised", f"by {file}")) for row in range(1, 6) if file]
        write(folder, file + 1, *revised, *new, deleted=(2 * file, 2 * file + 1) if file else ())
    return folder


@pytest.fixture
def expected(baseline: Path, tmp_path: Path) -> Path:
    build_index(read_collection([baseline]), tmp_path / "expected", threads=1)
    return tmp_path / "expected"


def files_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are parsed from now on."""
    names, original = list[str](), pubmed._read_file

    def noting(path: str | Path) -> object:
        names.append(Path(path).name)
        return original(path)

    monkeypatch.setattr(pubmed, "_read_file", noting)
    return names


def assert_equal(first: Path, second: Path) -> None:
    assert read_info(first).documents == read_info(second).documents
    with LuceneIndex(first) as index, LuceneIndex(second) as other:
        assert len(index) == len(other)
        for query in QUERIES:
            assert index.search(query, 50) == other.search(query, 50)


@pytest.mark.slow
def test_groups_make_the_index_of_one_build(baseline: Path, expected: Path, tmp_path: Path) -> None:
    info = index_files([baseline], tmp_path / "index", source=corpus_fingerprint([baseline]), threads=1)
    assert info.documents == 80 - 6
    assert_equal(tmp_path / "index", expected)
    assert any("verified" in line for line in verify_index(tmp_path / "index"))
    assert index_matches(tmp_path / "index", corpus_fingerprint([baseline]))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["baseline", "expected", "index"]


def test_progress_shows_the_files_and_records_left(
    baseline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index_files([baseline], tmp_path / "index", threads=1, progress=True)
    shown = capsys.readouterr().err
    assert "Indexing, 4 files left" in shown
    assert "Indexing, 0 files left: 100%" in shown
    assert "74/74" in shown


@pytest.mark.slow
def test_a_killed_build_resumes_after_its_last_group(
    baseline: Path, expected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = {
        "mpir.files.corpora.pubmed:_read_file": 1,  # the last file is not read yet
        "mpir.search.lucene.build_files:write_lucene": 2,  # the last file is finished
        "mpir.search.lucene.build_files:write_json_with_checksum": 1,  # the third is written, not marked as finished
        "mpir.search.lucene.build_files:join_indexes": 1,
        "mpir.search.lucene.build:describe": 1,
    }
    groups = []
    for function, calls in moments.items():
        command = [sys.executable, "-c", KILLED, str(baseline), str(tmp_path / "index"), function, str(calls)]
        assert subprocess.run(command, check=False).returncode == -9
        groups.append(len(list((tmp_path / "index.part").glob(f"*/{build_files.STATE}"))))
    assert groups == [0, 1, 1, 4, 4]
    names = files_read(monkeypatch)
    index_files([baseline], tmp_path / "index", threads=1)
    assert names == []
    assert_equal(tmp_path / "index", expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["baseline", "expected", "index"]


@pytest.mark.slow
def test_groups_left_beside_a_finished_index_go(baseline: Path, expected: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    command = [sys.executable, "-c", KILLED, str(baseline), str(index), "shutil:rmtree", "3"]
    assert subprocess.run(command, check=False).returncode == -9
    assert len(list((tmp_path / "index.part").glob("*"))) == 4
    assert_equal(index, expected)
    assert main(["index", str(baseline), "--index", str(index), "--quiet"]) == 0
    assert not (tmp_path / "index.part").exists()


def test_a_finished_index_keeps_a_strange_folder_beside_it(baseline: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert main(["index", str(baseline), "--index", str(tmp_path / "index"), "--quiet"]) == 0
        (tmp_path / "index.part").mkdir(exist_ok=True)
        (tmp_path / "index.part/thesis.txt").write_text("years of work")
    assert (tmp_path / "index.part/thesis.txt").exists()


def interrupted(files: int, baseline: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt a build after this many files."""
    original, left = pubmed._read_file, files

    def interrupt(path: str | Path) -> object:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return original(path)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(pubmed, "_read_file", interrupt)
        index_files([baseline], index, threads=1)


def test_files_that_changed_and_all_before_them_are_read_again(
    baseline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(3, baseline, tmp_path / "index", monkeypatch)
    write(baseline, 3, citation(41, Document("", "Revised", "again")))
    names = files_read(monkeypatch)
    index_files([baseline], tmp_path / "index", threads=1)
    assert names == ["pubmed26n0003.xml", "pubmed26n0002.xml", "pubmed26n0001.xml"]
    build_index(read_collection([baseline]), tmp_path / "expected", threads=1)
    assert_equal(tmp_path / "index", tmp_path / "expected")


@pytest.mark.parametrize("change", ["settings", "update", "damage"])
def test_other_settings_a_later_file_or_damage_start_anew(
    baseline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    interrupted(2, baseline, tmp_path / "index", monkeypatch)
    if change == "update":
        write(baseline, 5, citation(1, SAMPLE[1]))
    elif change == "damage":
        next((tmp_path / "index.part/000000").glob("_*")).write_text("damaged")
    names = files_read(monkeypatch)
    stop_words: StopWords = "none" if change == "settings" else "english"
    index_files([baseline], tmp_path / "index", threads=1, stop_words=stop_words)
    assert len(names) == (5 if change == "update" else 4)
    build_index(read_collection([baseline]), tmp_path / "expected", threads=1, stop_words=stop_words)
    assert_equal(tmp_path / "index", tmp_path / "expected")


def test_a_repaired_file_costs_no_later_file(baseline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = baseline / "pubmed26n0001.xml"
    content = first.read_text()
    first.write_text(content[:-100])
    with pytest.raises(InputError, match=r"pubmed26n0001\.xml"):
        index_files([baseline], tmp_path / "index", threads=1)
    assert not (tmp_path / "index").exists()
    first.write_text(content)
    names = files_read(monkeypatch)
    assert index_files([baseline], tmp_path / "index", threads=1).documents == 80 - 6
    assert names == ["pubmed26n0001.xml"]


def test_an_error_in_the_first_group_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path / "baseline", 1)
    with pytest.raises(InputError, match=r"/index: .*no documents"):
        index_files([tmp_path / "baseline"], tmp_path / "index", threads=1)
    assert [path.name for path in tmp_path.iterdir()] == ["baseline"]


def test_a_full_disk_costs_no_finished_group(
    baseline: Path, expected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (
        "from mpir.search.lucene import build_files; build_files.GROUP_SECONDS = 0.0; from mpir.app.cli import main; "
    )
    script += f"raise SystemExit(main(['index', '{baseline}', '--index', '{tmp_path / 'index'}', '--workers', '1']))"
    command = ["bash", "-c", f'ulimit -f 20; exec {sys.executable} -c "$0"', script]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert f"{tmp_path / 'index'}: Lucene could not" in finished.stderr
    assert "free space" in finished.stderr
    groups = len(list((tmp_path / "index.part").glob(f"*/{build_files.STATE}")))
    names = files_read(monkeypatch)
    index_files([baseline], tmp_path / "index", threads=1)
    assert len(names) == 4 - groups < 4
    assert_equal(tmp_path / "index", expected)


def test_a_folder_with_other_files_is_not_removed(baseline: Path, tmp_path: Path) -> None:
    (tmp_path / "index.part").mkdir()
    (tmp_path / "index.part/thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match=r"index\.part: .*also contains thesis\.txt"):
        index_files([baseline], tmp_path / "index", threads=1)
    assert (tmp_path / "index.part/thesis.txt").read_text() == "years of work"
