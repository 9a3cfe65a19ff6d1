"""``mpir index --vectors``: vectors that exist already, with texts from the index of words."""

import json
from pathlib import Path

import numpy as np
import pytest

from mpir.app.cli import main
from mpir.app.cli.first_stage import open_encoder
from mpir.search.dense import read_dense_info

pytest.importorskip("faiss")
pytest.importorskip("pyserini")
CORPUS = [
    {"id": "11", "title": "Aspirin", "abstract": "does aspirin thin blood"},
    {"id": "12", "title": "", "abstract": "heart attack risk of patients"},
    {"id": "13", "title": "", "abstract": "the gene in a cell"},
    {"id": "14", "title": "", "abstract": "a trial"},
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in CORPUS))
    return path


@pytest.fixture
def vectors(bi_encoder_bundle: Path, tmp_path: Path) -> list[str]:
    """Vectors of three of the documents, and of one that the corpus lacks."""
    encoder = open_encoder(str(bi_encoder_bundle))
    texts = [f"{record['title']}\n{record['abstract']}".strip() for record in CORPUS[:3]]
    np.save(tmp_path / "embeds_chunk_0.npy", np.concatenate([encoder.vectors([text])[0] for text in [*texts, "blood"]]))
    (tmp_path / "pmids_chunk_0.json").write_text(json.dumps([record["id"] for record in CORPUS[:3]] + ["99"]))
    files = ["--vectors", str(tmp_path / "embeds_chunk_0.npy"), "--ids", str(tmp_path / "pmids_chunk_0.json")]
    return [*files, "--encoder", str(bi_encoder_bundle)]


@pytest.mark.parametrize("kind", ["Flat", "binary"])
def test_vectors_of_files_are_searched_as_those_that_mpir_makes(
    kind: str, corpus: Path, vectors: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, given, encoder = str(tmp_path / "made"), str(tmp_path / "given"), vectors[-1]
    (tmp_path / "three.jsonl").write_text("\n".join(corpus.read_text().splitlines()[:3]))
    assert main(["index", str(tmp_path / "three.jsonl"), "--index", made, "--dense", "--encoder", encoder]) == 0
    capsys.readouterr()
    assert main(["index", str(corpus), "--index", given, "--kind", kind, *vectors]) == 0
    assert json.loads(capsys.readouterr().out) == {"index": given, "documents": 4, "without_vector": 1}
    assert read_dense_info(tmp_path / "given/dense").source["encoder"] == encoder
    documents = []
    for index in (made, given):
        assert main(["search", "--index", index, "--mode", "hybrid", "--k", "3", "aspirin blood"]) == 0
        documents.append({item["id"]: item for item in json.loads(capsys.readouterr().out)["documents"]})
    expected, actual = documents
    assert actual.keys() == expected.keys() == {"11", "12", "13"}
    for name, document in actual.items():
        assert (document["title"], document["abstract"]) == (expected[name]["title"], expected[name]["abstract"])
        assert document["scores"]["dense"] == pytest.approx(expected[name]["scores"]["dense"], abs=2e-3)


def test_vectors_are_added_to_an_index_without_its_corpus(
    corpus: Path, vectors: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = str(tmp_path / "index")
    assert main(["index", "--index", index, *vectors]) == 2
    assert f"{index}: there is no" in capsys.readouterr().err
    assert main(["index", str(corpus), "--index", index]) == 0
    assert main(["index", "--index", index, *vectors]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["without_vector"] == 1
    assert main(["index", str(corpus), "--index", index, "--update"]) == 2
    assert f"{index}: its vectors came from" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vectors", "a.npy"], "--vectors needs the ids of the vectors; add --ids"),
        (["--ids", "a.json"], "--ids names the ids of --vectors; add the files of vectors"),
        (["--vectors", "a.npy", "--ids", "a.json", "--dense"], "--dense is for encoding documents; leave it out"),
        (["--vectors", "a.npy", "--ids", "a.json", "--update"], "--update is for encoding documents; leave it out"),
    ],
)
def test_mistakes_are_one_sentence(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", "--index", str(tmp_path / "index"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "index").exists()
