import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpir.errors import InputError, RepeatedIdError
from mpir.files.corpora import corpus_fingerprint, naming_places, read_collection, read_corpus

XML = '<PubmedArticleSet><MedlineCitation><PMID Version="1">{}</PMID><Article/></MedlineCitation></PubmedArticleSet>'


def ids(*paths: Path | str) -> list[str]:
    return [document.id for document in read_corpus(paths)]


def test_reads_a_mix_of_files_and_folders(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "b.jsonl").write_text('{"id": "b"}\n')
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(b'{"id": "a"}\n'))
    (folder / "x.xml.gz").write_bytes(gzip.compress(XML.format(7).encode()))
    (folder / "x.xml.gz.md5").write_text("passed over")
    single = tmp_path / "Z.JSONL"
    single.write_text('{"id": "z"}\n')
    assert ids(single, folder) == ["7", "z", "a", "b"]


def test_hidden_files_and_folders_of_a_folder_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "a"}\n')
    (tmp_path / "._a.jsonl").write_bytes(b"\0\5\26\7")  # what a Mac writes beside it
    (tmp_path / "b.xml").mkdir()
    assert ids(tmp_path) == ["a"]


@pytest.mark.skipif(os.name != "posix", reason="needs links and pipes")
def test_a_file_of_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    """A corpus would otherwise lack a file's documents, and nobody would know."""
    (tmp_path / "a.jsonl").write_text('{"id": "a"}\n')
    link = tmp_path / "pubmed26n0002.xml.gz"
    link.symlink_to(tmp_path / "unmounted" / link.name)
    with pytest.raises(InputError, match=r"pubmed26n0002\.xml\.gz: .*link"):
        read_corpus([tmp_path])
    link.unlink()
    link.symlink_to(link.name)
    with pytest.raises(InputError, match=r"pubmed26n0002\.xml\.gz: .*link"):
        read_corpus([tmp_path])
    link.unlink()
    os.mkfifo(tmp_path / "b.jsonl")
    with pytest.raises(InputError, match=r"b\.jsonl: .*regular file"):
        read_corpus([tmp_path])
    (tmp_path / "b.jsonl").unlink()
    (tmp_path / "notes.md").symlink_to(tmp_path / "nowhere")
    assert ids(tmp_path) == ["a"]


def test_xml_files_update_one_another_across_paths(tmp_path: Path) -> None:
    base, update = tmp_path / "base.xml", tmp_path / "update.xml"
    base.write_text(XML.format(7).replace("<Article/>", "<Article><ArticleTitle>old</ArticleTitle></Article>"))
    update.write_text(XML.format(7).replace("<Article/>", "<Article><ArticleTitle>new</ArticleTitle></Article>"))
    assert [document.title for document in read_corpus([base, update])] == ["new"]


def test_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"id": "s"}\n')))
    assert ids("-") == ["s"]
    assert corpus_fingerprint(["-"]) == {"files": [{"name": "-"}]}


def test_missing_and_unknown_paths_fail_before_reading(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(InputError, match=r"nowhere\.jsonl: no such"):
        read_corpus([tmp_path / "nowhere.jsonl"])
    with pytest.raises(InputError, match=r"notes\.txt: unknown file format"):
        read_corpus([tmp_path / "notes.txt"])
    with pytest.raises(InputError, match="no corpus files"):
        read_corpus([tmp_path])
    with pytest.raises(InputError, match="corpus: no path"):
        read_corpus([])


@pytest.mark.parametrize(("name", "content"), [("c.jsonl", "\n"), ("c.xml", "<PubmedArticleSet/>")])
def test_a_corpus_without_documents(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=f"{name}: no documents"):
        ids(tmp_path)


def test_an_id_that_several_documents_have_is_named_with_its_places(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "1"}\n\n{"pmid": 2, "text": "Two."}\n')
    (tmp_path / "b.xml").write_text(XML.format("2"))
    with gzip.open(tmp_path / "c.jsonl.gz", "wt") as stream:
        stream.write('{"id": "3"}\n{"id": " 2 "}\n')
    positions = {"2": r"a\.jsonl:3 and .*b\.xml, document 1: twice", "3": r"c\.jsonl\.gz:1: twice", "4": "^twice"}
    for identity, message in positions.items():
        with pytest.raises(RepeatedIdError, match=message), naming_places([tmp_path]):
            raise RepeatedIdError(identity, "twice")


def test_what_several_files_have_with_the_same_words_is_once_in_a_collection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    record = "<Article><ArticleTitle>The <i>Heart</i>.</ArticleTitle></Article>"
    files = {
        "p.xml": XML.format(7).replace("<Article/>", record),
        "a.jsonl": '{"id": "7", "title": "the heart", "text": ""}\n{"id": "8", "text": "A cell."}\n',
        "b.jsonl": '{"id": "9", "text": "A cell."}\n{"id": "8", "text": "a  cell"}\n{"id": "8", "text": "Others."}\n',
        "c.jsonl": '{"id": "8", "text": "A cell!"}\n{"id": "c", "text": "x"}\n{"id": "c", "text": "x"}\n',
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    result = [(item.id, item.text.strip()) for item in read_collection([tmp_path])]
    cells = [("8", "A cell."), ("9", "A cell."), ("8", "Others.")]
    assert result == [("7", "The Heart."), *cells, ("c", "x")]
    assert [message.partition(" (")[0] for message in caplog.messages] == ["4 duplicate documents"]
    assert len(ids(tmp_path)) == 9


def test_fingerprint_changes_with_the_files(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "1"}\n')
    before = corpus_fingerprint([tmp_path])
    assert before == corpus_fingerprint([path])
    assert before["files"][0]["name"] == "c.jsonl"
    assert before["files"][0]["bytes"] == 12
    path.write_text('{"id": "12"}\n')
    assert corpus_fingerprint([path]) != before


def test_the_fingerprint_of_a_pipe_takes_nothing_from_it(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe.jsonl")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # so that opening the pipe to write does not wait
    writer = os.open(pipe, os.O_WRONLY)
    os.write(writer, b'{"id": "1"}\n')
    os.close(writer)
    assert "sha256" not in corpus_fingerprint([pipe])["files"][0]
    assert os.read(reader, 100) == b'{"id": "1"}\n'
    os.close(reader)


def test_importing_the_room_loads_nothing_heavy() -> None:
    code = "import sys, mpir.files.corpora; print({'numpy', 'torch', 'jpype', 'spacy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_standard_input_is_not_read_again_for_the_places_of_an_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b'{"id": "s"}\n'))
    monkeypatch.setattr(sys, "stdin", stdin)
    (tmp_path / "a.jsonl").write_text('{"id": "s"}\n')
    with pytest.raises(RepeatedIdError, match=r"^\S*a\.jsonl:1: twice$"), naming_places(["-", tmp_path / "a.jsonl"]):
        raise RepeatedIdError("s", "twice")
    assert stdin.read() == '{"id": "s"}\n'
