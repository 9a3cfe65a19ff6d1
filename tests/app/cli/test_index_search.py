"""``mpir index`` and ``mpir search``: from a corpus to hits, in a pipe and at a terminal."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpir.app.cli import main, make_parser
from mpir.errors import ArtefactError, InputError, MpirError

RECORDS = [
    {"pmid": "1", "title": "BRCA1 in breast cancer", "abstract": "Mutations raise the risk."},
    {"id": "2", "text": "Statins lower cholesterol — always."},
]


WRITE = """
import sys
with open(sys.argv[1], "w") as stream:
    stream.write('{"id": "1", "text": "Aspirin."}\\n')
"""


def mpir(*arguments: object) -> int:
    parsed = make_parser().parse_args([str(argument) for argument in arguments])
    return int(parsed.run(parsed))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return path


@pytest.fixture
def folder(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert mpir("index", corpus, "--index", tmp_path / "index") == 0
    report = json.loads(capsys.readouterr().out)
    assert report == {"index": str(tmp_path / "index"), "documents": 2, "kept": False}
    return tmp_path / "index"


def pipe(monkeypatch: pytest.MonkeyPatch, text: str | bytes) -> None:
    content = text if isinstance(text, bytes) else text.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_verification_prints_what_it_verified_or_ends_with_one_sentence(
    folder: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", "--verify", "--index", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"{folder}: segments_*: 1 file verified" in lines[0] + lines[-2]
    assert lines[-1].endswith("CheckIndex: no problems")
    file = next((folder / "lucene").glob("*.fdt"))
    file.write_bytes(file.read_bytes()[::-1])
    assert main(["index", "--verify", "--index", str(folder)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"mpir: {folder}: is damaged (lucene/{file.name} has changed since it was built); build")
    for arguments, message in (
        ([corpus, "--verify"], r"--verify .*PATH .*corpus\.jsonl"),
        ([], "PATH is missing"),
    ):
        with pytest.raises(InputError, match=message):
            mpir("index", *arguments, "--index", folder)


def test_a_change_of_equal_size_and_time_makes_the_index_anew(
    corpus: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = corpus.stat()
    corpus.write_text(corpus.read_text().replace("Statins", "Fibrate"))
    os.utime(corpus, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (corpus.stat().st_size, corpus.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert mpir("index", corpus, "--index", folder) == 0
    assert json.loads(capsys.readouterr().out)["kept"] is False
    assert mpir("search", "--index", folder, "fibrate") == 0
    assert [item["id"] for item in json.loads(capsys.readouterr().out)["documents"]] == ["2"]
    os.utime(corpus)  # a copy, say: the content is the same
    assert mpir("index", corpus, "--index", folder) == 0
    assert json.loads(capsys.readouterr().out)["kept"] is True


def test_an_index_is_kept_until_the_corpus_changes(
    corpus: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mpir("index", corpus, "--index", folder) == 0
    assert json.loads(capsys.readouterr().out)["kept"] is True
    with corpus.open("a") as stream:
        stream.write('{"id": "3", "text": "A third."}\n')
    assert mpir("index", corpus, "--index", folder, "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert mpir("search", "--index", folder, "third") == 0
    assert [item["id"] for item in json.loads(capsys.readouterr().out)["documents"]] == ["3"]


def test_a_named_pipe_is_read_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(pipe := tmp_path / "pipe.jsonl")
    writer = subprocess.Popen([sys.executable, "-c", WRITE, str(pipe)])
    try:
        command = [sys.executable, "-m", "mpir", "index", str(pipe), "--index", str(tmp_path / "index")]
        report = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    finally:
        writer.kill()
        writer.wait()
    assert json.loads(report)["documents"] == 1


def test_other_stop_words_are_another_index(corpus: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for stop_words, retained in (("none", False), ("none", True), ("english", False)):
        assert mpir("index", corpus, "--index", folder, "--set", f"index.stop_words={stop_words}") == 0
        assert json.loads(capsys.readouterr().out)["kept"] is retained
        assert mpir("search", "--index", folder, "the in") == 0
        result = json.loads(capsys.readouterr().out)["documents"]
        assert [item["id"] for item in result] == (["1"] if stop_words == "none" else [])


def test_a_damaged_index_is_built_again(
    corpus: Path, folder: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    stored = next((folder / "lucene").glob("*.fdt"))
    complete = stored.read_bytes()
    for damage in (bytes([complete[0] ^ 1]) + complete[1:], complete[:-1], b""):
        stored = next((folder / "lucene").glob("*.fdt"))
        stored.write_bytes(damage)
        assert mpir("index", corpus, "--index", folder) == 0
        assert json.loads(capsys.readouterr().out)["kept"] is False
        assert f"{folder}: is damaged (lucene/{stored.name}" in caplog.text
        assert mpir("search", "--index", folder, "cholesterol") == 0
        assert json.loads(capsys.readouterr().out)["documents"]


def test_a_pipe_in_and_out(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pipe(monkeypatch, 'brca1 risk\n\n{"id": "q7", "body": "statins"}\n{"id": null, "query": "the"}\n')
    assert mpir("search", "--index", folder, "--k", 1) == 0
    first, second, third = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["id"], first["query"]) == ("1", "brca1 risk")
    assert first["documents"][0].pop("score") > 0
    assert first["documents"] == [{"id": "1", "title": RECORDS[0]["title"], "abstract": RECORDS[0]["abstract"]}]
    assert (second["id"], [result["abstract"] for result in second["documents"]]) == ("q7", [RECORDS[1]["text"]])
    assert (third["id"], third["documents"]) == ("4", [])


def test_all_queries_of_a_file(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """TripClick's topics, whose numbers are kept."""
    topics = tmp_path / "topics.head.val.txt"
    topics.write_text("<top>\n<num> Number: 70\n<title> statins\n</top>\n<top> <num> 71 <title> brca1 </top>\n")
    assert mpir("search", "--index", folder, "--queries", topics) == 0
    result = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(item["id"], item["query"], item["documents"][0]["id"]) for item in result] == [
        ("70", "statins", "2"),
        ("71", "brca1", "1"),
    ]
    with pytest.raises(InputError, match=r"--queries .*QUERY"):
        mpir("search", "--index", folder, "--queries", topics, "more")


@pytest.mark.parametrize("start", ["", "\ufeff", "\n  "])
def test_bioasqs_test_file_as_it_is_named(
    start: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "BioASQ-task13bPhaseA-testset1"
    questions = [{"id": "q7", "body": "Do statins lower cholesterol?", "type": "yesno"}]
    path.write_text(start + json.dumps({"questions": questions}, indent=1), "utf-8")
    assert mpir("search", "--index", folder, "--queries", path) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["id"], [item["id"] for item in result["documents"]]) == ("q7", ["2"])


def test_a_terminal_shows_a_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert mpir("search", "--index", folder, "breast cancer", "zyxwv") == 0
    shown = capsys.readouterr().out
    assert "BRCA1 in breast cancer" in shown
    assert "zyxwv\n(nothing found)" in shown
    assert mpir("search", "--index", folder, "--format", "jsonl", "breast") == 0
    assert json.loads(capsys.readouterr().out)["id"] == "1"


def test_an_id_that_two_documents_have_is_named_with_its_lines(corpus: Path, tmp_path: Path) -> None:
    with corpus.open("a") as stream:
        stream.write('{"id": "1", "text": "Again."}\n')
    with pytest.raises(InputError, match=r"corpus\.jsonl:1 .*corpus\.jsonl:3: .*id '1'"):
        mpir("index", corpus, "--index", tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_exports_that_overlap_are_one_index(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = tmp_path / "later.jsonl"
    later.write_text(json.dumps(RECORDS[1] | {"id": "3"}) + "\n" + corpus.read_text())
    assert mpir("index", corpus, later, "--index", tmp_path / "index") == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 3
    later.write_text(json.dumps(RECORDS[1] | {"text": "Statins lower cholesterol — often."}))
    with pytest.raises(InputError, match=r"corpus\.jsonl:2 .*later\.jsonl:1: .*id '2'"):
        mpir("index", corpus, later, "--index", tmp_path / "index")


def test_a_corpus_from_standard_input_is_always_indexed_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for count in (2, 1):
        pipe(monkeypatch, "".join(json.dumps(record) + "\n" for record in RECORDS[:count]))
        assert mpir("index", "-", "--index", tmp_path / "index") == 0
        assert json.loads(capsys.readouterr().out)["documents"] == count


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "q"}', 'input:1: "query" is missing'),
        ('{"query": 5}', 'input:1: "query" is 5'),
        ("{broken", "input:1: .*valid JSON"),
        (b"p53 \xff", "input:1: byte 0xff"),
    ],
)
def test_queries_that_are_none_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, line: str | bytes, message: str
) -> None:
    pipe(monkeypatch, line)
    with pytest.raises(InputError, match=message):
        mpir("search", "--index", folder)


def test_a_bad_corpus_leaves_no_index(corpus: Path, tmp_path: Path) -> None:
    corpus.write_text(corpus.read_text() + '{"id": "2", "text": "again"}\n')
    with pytest.raises(InputError, match="'2'"):
        mpir("index", corpus, "--index", tmp_path / "index")
    corpus.write_text("")
    with pytest.raises(InputError, match=r"corpus\.jsonl"):
        mpir("index", corpus, "--index", tmp_path / "index")
    with pytest.raises(ArtefactError, match=r"/index: .*no index"):
        mpir("search", "--index", tmp_path / "index", "p53")


@pytest.mark.parametrize("options", [["--encoder", "{tiny}"], ["--encoder", "{bundle}", "--kind", "X"]])
def test_what_makes_no_vectors_is_refused_before_the_index_is_built(
    corpus: Path, tmp_path: Path, tiny_bundle: Path, bi_encoder_bundle: Path, options: list[str]
) -> None:
    pytest.importorskip("faiss")
    named = [option.format(tiny=tiny_bundle, bundle=bi_encoder_bundle) for option in options]
    with pytest.raises(MpirError, match=r"no bi-encoder|'X'"):
        mpir("index", corpus, "--index", tmp_path / "index", "--dense", *named)
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("options", [["--encoder", "x"], ["--shard", "1/2"]])
def test_how_vectors_are_made_is_refused_where_none_are(corpus: Path, tmp_path: Path, options: list[str]) -> None:
    with pytest.raises(InputError, match=f"^{options[0]} .*--dense"):
        mpir("index", corpus, "--index", tmp_path / "index", *options)
    assert not (tmp_path / "index").exists()


def test_questions_with_one_id_are_refused(folder: Path, tmp_path: Path) -> None:
    query_text = tmp_path / "q.jsonl"
    query_text.write_text('{"id": 1, "query": "statins"}\n\n{"id": "1", "query": "brca1"}\n')
    with pytest.raises(InputError, match=r"q\.jsonl:3: duplicate id '1'"):
        mpir("search", "--index", folder, "--queries", query_text)


@pytest.mark.parametrize(("name", "text"), [("q.jsonl", "\n"), ("q.json", '{"questions": []}'), ("q.tsv", "\n")])
def test_a_file_without_questions_is_refused(folder: Path, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=f"{name}: no (queries|topics)"):
        mpir("search", "--index", folder, "--queries", tmp_path / name)


def test_lines_of_id_and_text_in_a_text_file(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "q.txt").write_text("1\tstatins\n")
    assert mpir("search", "--index", folder, "--queries", tmp_path / "q.txt", "--format", "trec") == 0
    assert capsys.readouterr().out.startswith("1 Q0 2 1 ")


def test_a_search_expands_its_query(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--set", "rm3.terms=5", "--set", "bm25.question_words=false"]
    assert mpir("search", "--index", folder, "which list of statins", *words, "--format", "jsonl") == 0
    assert [document["id"] for document in json.loads(capsys.readouterr().out)["documents"]] == ["2"]
    with pytest.raises(InputError, match=r"rm3: weight is 2\.0"):
        mpir("search", "--index", folder, "statins", "--set", "rm3.weight=2")


def test_an_update_of_pubmed_replaces_adds_and_deletes(
    corpus: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = "<MedlineCitation><PMID>{}</PMID><Article><ArticleTitle>{}</ArticleTitle></Article></MedlineCitation>"
    records = record.format(1, "BRCA2 in ovarian cancer") + record.format(3, "Aspirin")
    first, second = tmp_path / "pubmed26n1335.xml", tmp_path / "pubmed26n1336.xml"
    first.write_text(f"<PubmedArticleSet>{records}</PubmedArticleSet>")
    deletion = "<DeleteCitation><PMID>2</PMID><PMID>9</PMID></DeleteCitation>"
    second.write_text(f"<PubmedArticleSet>{record.format(4, 'Warfarin')}{deletion}</PubmedArticleSet>")
    assert mpir("index", first, "--update", "--index", folder) == 0
    assert json.loads(capsys.readouterr().out) == {"index": str(folder), "documents": 3, "kept": False}
    assert mpir("index", first, second, "--update", "--index", folder) == 0
    assert json.loads(capsys.readouterr().out) == {"index": str(folder), "documents": 3, "kept": False}
    assert mpir("index", second, "--update", "--index", folder) == 0
    assert json.loads(capsys.readouterr().out)["kept"]
    assert mpir("search", "cancer cholesterol aspirin warfarin", "--index", folder) == 0
    hits = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    titles = {document["id"]: document["title"] for hit in hits for document in hit["documents"]}
    assert titles == {"1": "BRCA2 in ovarian cancer", "3": "Aspirin", "4": "Warfarin"}
    assert mpir("index", corpus, "--index", folder) == 0  # the former corpus is another one
    assert not json.loads(capsys.readouterr().out)["kept"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shard", "1/2"], "--shard is for building; an update keeps it as it is, so leave it out."),
        (["--dense"], "has no vectors to update; leave --dense and --encoder out."),
    ],
)
def test_options_that_an_update_does_not_have(corpus: Path, folder: Path, options: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        mpir("index", corpus, "--update", "--index", folder, *options)
    assert message in str(error.value)
    with pytest.raises(ArtefactError, match=r"-nowhere: .*no index"):
        mpir("index", corpus, "--update", "--index", f"{folder}-nowhere")
