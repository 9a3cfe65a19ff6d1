"""Files with an MD5 beside them, as NLM publishes them."""

import hashlib
from pathlib import Path

import pytest

from mpir.app.cli import main
from mpir.errors import InputError
from mpir.files.corpora.corpus import corpus_fingerprint, read_corpus

RECORD = (
    '<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID Version="1">{}</PMID><Article><ArticleTitle>A gene'
    "</ArticleTitle></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "baseline"
    folder.mkdir()
    for number in (1, 2):
        file = folder / f"pubmed26n{number:04d}.xml"
        file.write_text(RECORD.format(number))
        digest = hashlib.md5(file.read_bytes()).hexdigest()
        Path(f"{file}.md5").write_text(
            f"MD5({file.name})= {digest}\n" if number == 1 else f"{digest.upper()}  {file.name}"
        )
    return folder


def test_whole_files_are_read(folder: Path) -> None:
    assert len(corpus_fingerprint([folder])["files"]) == 2
    assert {document.id for document in read_corpus([folder])} == {"1", "2"}


def test_an_incomplete_file_is_named_before_anything_is_indexed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus_fingerprint([folder])
    (folder / "pubmed26n0002.xml").write_text(RECORD.format(3))
    with pytest.raises(InputError, match=r"pubmed26n0002\.xml: .*\(MD5 \w{32}, .*\w{32}\)"):
        corpus_fingerprint([folder])
    assert main(["index", str(folder), "--index", str(tmp_path / "index")]) == 2
    assert "pubmed26n0002.xml: is incomplete or damaged" in capsys.readouterr().err
    assert not (tmp_path / "index").exists()


def test_something_else_beside_a_file(folder: Path) -> None:
    (folder / "pubmed26n0001.xml.md5").write_text("<html>not found</html>")
    with pytest.raises(InputError, match=r"0001\.xml\.md5: .*'<html>not found</html>'"):
        corpus_fingerprint([folder])
