"""`mpir rerank` and `mpir bundle`: usable in a pipe, readable at a terminal, one sentence for a mistake."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import mpir
from mpir.app.cli import main
from mpir.core.weights import Weights
from mpir.files.weights import write_weights
from mpir.models.bundles.bundle import seal
from mpir.reranking.stages import READ, READ_ON

SAMPLE = Path(mpir.__file__).parent / "sample/documents.jsonl"

DOCUMENTS = [
    {"id": "a", "title": "Heart", "abstract": "A heart attack is a risk.", "score": 2.0},
    {"id": "b", "title": "", "abstract": "Aspirin does thin the blood.", "score": 1.0},
]
LINE = json.dumps({"id": "q7", "query": "does aspirin thin blood", "documents": DOCUMENTS})


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a text on standard input."""

    def put(text: str) -> None:
        stream = SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False)
        monkeypatch.setattr(sys, "stdin", stream)

    return put


def test_json_lines_in_json_lines_out(
    pipe: Callable[[str], None], tiny_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe(f"{LINE}\n\n{LINE}\n")
    assert main(["rerank", "--bundle", str(tiny_bundle), "--top-k", "1", "--format", "jsonl"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == second
    assert first["id"] == "q7"
    (document,) = first["documents"]
    assert set(document["sentences"][0]["scores"]) == {"relevance", "sts", "sia"}


def test_a_trec_run(pipe: Callable[[str], None], tiny_bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe(LINE)
    assert main(["rerank", "--bundle", str(tiny_bundle), "--format", "trec"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert sorted(line[2] for line in lines) == ["a", "b"]
    assert [line[:2] + line[3:4] for line in lines] == [["q7", "Q0", "1"], ["q7", "Q0", "2"]]


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (
            {"id": "q 2"},
            "standard input:2: 'q 2' is not a valid id in a TREC file; expected an id without white space.",
        ),
        ({"documents": [{"id": "a b", "text": "x"}]}, "standard input:2: 'a b' is not a valid id"),
    ],
)
def test_an_id_that_no_trec_run_can_have_is_named_by_its_line(
    pipe: Callable[[str], None],
    tiny_bundle: Path,
    capsys: pytest.CaptureFixture[str],
    odd: dict[str, object],
    message: str,
) -> None:
    pipe(f"{LINE}\n{json.dumps({**json.loads(LINE), **odd})}\n")
    assert main(["rerank", "--bundle", str(tiny_bundle), "--format", "trec"]) == 2
    assert message in capsys.readouterr().err


def test_a_query_and_a_corpus_explained(tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = tmp_path / "docs.jsonl"
    corpus.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    arguments = ["rerank", "does aspirin thin blood", "--docs", str(corpus), "--bundle", str(tiny_bundle), "--explain"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "best sentence" in printed
    assert "is ranked 1 of 2" in printed


def test_exports_of_one_search_are_merged(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pubmed-x-set.txt").write_text("PMID- 7\nTI  - Salt in sweat.\nAB  - It is high.\n")
    (tmp_path / "scopus.csv").write_text(
        "Title,Abstract,DOI\nSalt in Sweat,It is high,10.1/1\nOther,It is low.,10.1/2\n"
    )
    (tmp_path / "embase.ris").write_text("TY  - JOUR\nTI  - OTHER\nAB  - It is low. (c) 2001.\nDO  - 10.1/2\nER  - \n")
    assert main(["rerank", "sweat", "--docs", str(tmp_path), "--bundle", str(tiny_bundle), "--format", "jsonl"]) == 0
    printed = capsys.readouterr()
    assert "2 of 4 documents are duplicates" in printed.err
    assert {document["id"] for document in json.loads(printed.out)["documents"]} == {"10.1/2", "7"}


def test_bundle_show_prints_the_card(tiny_bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", "show", str(tiny_bundle)]) == 0
    assert capsys.readouterr().out.startswith("# tiny\n")


def test_bundle_show_refuses_what_rerank_would(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle"))
    write_weights(bundle / "weights.json", Weights.equal(["relevance", "another"]))
    seal(bundle)
    assert main(["bundle", "show", str(bundle)]) == 2
    shown = capsys.readouterr().err
    assert main(["rerank", "aspirin", "--docs", str(SAMPLE), "--bundle", str(bundle)]) == 2
    assert capsys.readouterr().err == shown
    assert "the weights are for the perspectives" in shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no query"),
        ("{", "standard input:1: not valid JSON"),
        ('{"query": "q"}', 'expected "query" (a string) and "documents" (a list)'),
        ('{"query": "q", "documents": [1]}', "standard input:1: docs[0] is of type int"),
        (
            '\n{"query": "q", "documents": [{"id": "a", "text": "", "score": "7"}]}',
            "standard input:2: docs[0] (id 'a') has the score",
        ),
    ],
)
def test_a_mistake_in_the_pipe(
    pipe: Callable[[str], None], tiny_bundle: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    pipe(text)
    assert main(["rerank", "--bundle", str(tiny_bundle)]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error


def test_a_null_id_is_no_id(pipe: Callable[[str], None], tiny_bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe('\n{"id": null, "query": "does aspirin thin blood", "documents": ["aspirin"]}')
    assert main(["rerank", "--format", "jsonl", "--bundle", str(tiny_bundle)]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "2"


def test_two_documents_of_one_id_are_named_with_their_lines(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = tmp_path / "docs.jsonl"
    documents.write_text('{"id": "a", "text": "One."}\n{"id": "b", "text": "Two."}\n{"id": "a", "text": "Three."}\n')
    assert main(["rerank", "one", "--docs", str(documents), "--bundle", str(tiny_bundle)]) == 2
    said = capsys.readouterr().err
    assert "docs.jsonl:1 and " in said
    assert "docs.jsonl:3: docs[2] and docs[0] both have the id 'a'" in said


def test_documents_without_a_query(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rerank", "--docs", str(tmp_path / "docs.jsonl")]) == 2
    assert "--docs names the documents" in capsys.readouterr().err


def test_the_best_sentences_of_all_documents(
    tiny_bundle: Path, pipe: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    pipe(LINE)
    assert main(["rerank", "--bundle", str(tiny_bundle), "--sentences", "2"]) == 0
    query, _, heads, _, *rows = capsys.readouterr().out.strip().splitlines()
    assert query == "does aspirin thin blood"
    assert heads.split() == ["rank", "blended", "score", "document", "place", "sentence"]
    ranking = mpir.Reranker(tiny_bundle).rerank(query, DOCUMENTS)
    assert len(rows) == 2
    for row, best in zip(rows, ranking.sentences, strict=False):
        assert row.split()[2:5] == [best.document, best.section, f"{best.begin}-{best.end}"]
        assert row.endswith(best.text)
    assert ranking.sentence_table(1).splitlines()[-1].split() == rows[0].split()
    with pytest.raises(SystemExit, match="2"):
        main(["rerank", "--bundle", str(tiny_bundle), "--sentences", "0"])
    assert "--sentences" in capsys.readouterr().err


@pytest.mark.parametrize(
    "forms",
    [["--format", "jsonl", "--explain"], ["--format", "trec", "--sentences", "1"], ["--sentences", "1", "--explain"]],
)
def test_one_form_of_output_at_a_time(forms: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rerank", "aspirin", *forms]) == 2
    assert "give one of them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("form", "beginning"),
    [
        ("table", "does aspirin thin blood\n\nrank "),
        ("json", '{\n "id": "q7"'),
        ("jsonl", '{"id": "q7"'),
        ("csv", "\ufeffrank,document,title,"),
        ("trec", "q7 Q0 "),
        ("ris", "TY  - JOUR\nKW  - mpir rank 0001\n"),
        ("nbib", "PMID- \nOT  - mpir rank 0001\n"),
        ("html", "<!doctype html>"),
        ("md", "## does aspirin thin blood\n"),
    ],
)
def test_every_format_is_written_to_a_pipe(
    form: str, beginning: str, pipe: Callable[[str], None], tiny_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe(LINE)
    assert main(["rerank", "--bundle", str(tiny_bundle), "--format", form]) == 0
    assert capsys.readouterr().out.startswith(beginning)
    pipe(f"{LINE}\n{LINE}")
    assert main(["rerank", "--bundle", str(tiny_bundle), "--format", form]) == (2 if form in ("json", "html") else 0)
    if form in ("json", "html"):
        assert f"--format {form} shows the ranking of" in capsys.readouterr().err


def test_a_table_is_the_default_and_several_queries_share_one_spreadsheet(
    pipe: Callable[[str], None], tiny_bundle: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pipe(LINE + "\n" + LINE.replace("q7", "q8"))
    assert main(["rerank", "--bundle", str(tiny_bundle), "--output", str(tmp_path / "table.csv")]) == 0
    assert capsys.readouterr().out.count("does aspirin thin blood\n\nrank ") == 2
    with (tmp_path / "table.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["query id"], row["rank"]) for row in rows] == [("q7", "1"), ("q7", "2"), ("q8", "1"), ("q8", "2")]


def test_truncated_words_count_for_bm25(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [{"id": "1", "title": "Nurses gave thrombolysis."}, {"id": "2", "title": "Tears are salty."}]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    options = ["--docs", str(tmp_path / "in.jsonl"), "--set", "cache.folder=none", "--format", "json"]
    assert main(["rerank", "thrombolys*[tiab] AND nurs*[tiab]", *options]) == 0
    bm25 = {d["id"]: d["scores"]["bm25"] for d in json.loads(capsys.readouterr().out)["documents"]}
    assert bm25["1"] > bm25["2"] == 0


def test_what_not_excludes_may_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [{"id": "1", "title": "Asthma of adults."}, {"id": "2", "title": "Asthma of a child."}]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    docs = [
        "--docs",
        str(tmp_path / "in.jsonl"),
        "--set",
        "filter.exclude_not=true",
        "--set",
        "cache.folder=none",
        "--format",
        "trec",
    ]
    assert main(["rerank", "asthma[ti] NOT child*[ti]", *docs]) == 0
    printed = capsys.readouterr()
    assert [line.split()[2] for line in printed.out.splitlines()] == ["1"]
    assert "left out 1 excluded by NOT; 1 documents" in printed.err
    assert main(["rerank", "asthma", *docs]) == 2
    assert "filter.exclude_not: the query excludes nothing" in capsys.readouterr().err


def test_years_and_types_choose_the_documents(
    tiny_bundle: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    records = [f"TY  - JOUR\nTI  - Aspirin {year}\nPY  - {year}\nER  - \n" for year in (2010, 2020)]
    (tmp_path / "library.ris").write_text("\n".join(records))
    command = [
        "rerank",
        "aspirin",
        "--docs",
        str(tmp_path / "library.ris"),
        "--bundle",
        str(tiny_bundle),
        "--format",
        "jsonl",
    ]
    assert main([*command, "--set", "filter.from=2015"]) == 0
    printed = capsys.readouterr()
    assert [document["title"] for document in json.loads(printed.out)["documents"]] == ["Aspirin 2020"]
    assert "left out 1 of other years; 1 documents" in printed.err
    assert main([*command, "--set", "filter.to=2005"]) == 2
    assert "(2 of other years)" in capsys.readouterr().err
    assert main(["rerank", "--set", "filter.from=2015"]) == 2
    assert "--set filter.from: needs --docs" in capsys.readouterr().err


@pytest.mark.parametrize("probability", ["2", "half"])
def test_a_probability_that_cannot_be_is_refused(probability: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["rerank", "aspirin", "--docs", "none.jsonl", "--set", f"output.min_probability={probability}"])
    assert "expected a number from 0 to 1" in capsys.readouterr().err


def test_a_threshold_without_a_calibration_is_refused(
    pipe: Callable[[str], None], tiny_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe(LINE)
    assert main(["rerank", "--bundle", str(tiny_bundle), "--set", "output.min_probability=0.5"]) == 2
    assert "its models have no calibration" in capsys.readouterr().err


def test_a_query_that_is_not_utf8(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["rerank", os.fsdecode(b"caf\xe9")])
    assert r"'caf\udce9' is not UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["search", "--index", "none"], ["rerank", "--docs", "none.jsonl"]])
def test_a_blank_query_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--", " "])
    assert "the query is blank" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("command", [["bundle", "show"], ["rerank", "--format", "trec"]])
def test_a_disk_that_is_full(tiny_bundle: Path, command: list[str]) -> None:
    target = [str(tiny_bundle)] if command[0] == "bundle" else ["--bundle", str(tiny_bundle)]
    with open("/dev/full", "w", encoding="utf-8") as full:
        finished = subprocess.run(
            [sys.executable, "-m", "mpir", *command, *target],
            input=LINE,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert finished.stderr == "mpir: standard output: No space left on device\n"
    assert finished.returncode == 2


def test_a_query_without_documents(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rerank", "a query"]) == 2
    assert "name them with --docs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--device", "cpu,toaster"], "device 'toaster' cannot be used"),
        (["--device", "hpu"], "device 'hpu' cannot be used (No module named 'torch.hpu'); choose auto, cpu"),
        (["--set", "batch.tokens=9"], "tokens_per_batch is 9, too small for one pair, which may have 64 tokens"),
    ],
)
def test_impossible_hardware(
    pipe: Callable[[str], None],
    tiny_bundle: Path,
    capsys: pytest.CaptureFixture[str],
    option: list[str],
    message: str,
) -> None:
    pipe(LINE)
    assert main(["rerank", "--bundle", str(tiny_bundle), *option]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error(tiny_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_text(f"{LINE}\n" * 200)
    command = (
        f"{sys.executable} -m mpir rerank --format jsonl --bundle {tiny_bundle} < {tmp_path / 'many.jsonl'} | head -n 1"
    )
    finished = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert json.loads(finished.stdout)["id"] == "q7"
    assert finished.stderr == ""
    assert finished.returncode == 0


@pytest.mark.parametrize(
    ("options", "unread", "in_part"), [([], 2, READ - READ_ON), (["--cascade", "first"], 0, READ + 2)]
)
def test_a_long_list_is_read_in_stages(
    pipe: Callable[[str], None], capsys: pytest.CaptureFixture[str], *, options: list[str], unread: int, in_part: int
) -> None:
    documents = [{"id": str(i), "abstract": "Salt is lost. " * (i % 4 + 1)} for i in range(READ + 2)]
    pipe(json.dumps({"query": "Is salt lost?", "documents": documents}))
    assert main(["rerank", "--format", "jsonl", "--device", "cpu", *options]) == 0
    result = json.loads(capsys.readouterr().out)
    ranked = result["documents"]
    assert result["left_out"] == sum(document["left_out"] for document in ranked) == unread
    assert sum(document["in_part"] for document in ranked) == in_part
    assert all(bool(document["sentences"]) != document["left_out"] for document in ranked)


def test_a_bundle_without_exits_is_read_whole(
    pipe: Callable[[str], None], tiny_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = [{"id": str(i), "abstract": "Aspirin is a risk."} for i in range(62)]
    pipe(json.dumps({"query": "aspirin", "documents": documents}))
    assert main(["rerank", "--format", "jsonl", "--bundle", str(tiny_bundle)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [len(document["sentences"]) for document in result["documents"]] == [1] * 62
    assert not any(document["left_out"] or document["in_part"] for document in result["documents"])


def test_another_cascade_is_refused(
    pipe: Callable[[str], None], tiny_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe(LINE)
    with pytest.raises(SystemExit) as ended:
        main(["rerank", "--bundle", str(tiny_bundle), "--cascade", "0.5"])
    assert ended.value.code == 2
    assert "--cascade: invalid choice: '0.5' (choose from" in capsys.readouterr().err


def test_a_second_run_takes_its_scores_from_the_cache(
    pipe: Callable[[str], None], tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "scores"
    printed = []
    for options in (
        ["--set", "cache.folder=none"],
        ["--set", f"cache.folder={folder}"],
        ["--set", f"cache.folder={folder}", "--set", "cache.limit=1000000"],
    ):
        pipe(LINE)
        assert main(["rerank", "--format", "jsonl", "--bundle", str(tiny_bundle), *options]) == 0
        printed.append(capsys.readouterr().out)
        assert folder.exists() == (f"cache.folder={folder}" in options)
    assert printed[0] == printed[1] == printed[2]


def test_a_cache_that_was_asked_for_and_cannot_be_used(
    pipe: Callable[[str], None], tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    pipe(LINE)
    assert main(["rerank", "--bundle", str(tiny_bundle), "--set", f"cache.folder={tmp_path / 'file'}"]) == 2
    assert f"{tmp_path / 'file'}: cannot be used" in capsys.readouterr().err
    pipe(LINE)
    assert main(["rerank", "--bundle", str(tiny_bundle), "--set", "cache.limit=10"]) == 2
    assert "limit in bytes is 10" in capsys.readouterr().err


def test_work_goes_on_where_the_default_cache_cannot_be_written(
    pipe: Callable[[str], None],
    tiny_bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MPIR_CACHE", str(tmp_path / "file"))
    pipe(LINE)
    assert main(["rerank", "--bundle", str(tiny_bundle)]) == 0
    assert "a score cache" in caplog.text


@pytest.mark.parametrize("option", ["lexicon.partial=0.6", "lexicon.triggers=hedges"])
def test_what_a_lexicon_is_searched_by_is_not_ignored_without_one(
    tiny_bundle: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    command = [
        "rerank",
        "no effusion",
        "--docs",
        str(SAMPLE),
        "--bundle",
        str(tiny_bundle),
        "--set",
        "cache.folder=none",
        "--set",
        option,
    ]
    assert main(command) == 2
    assert f"{option.partition('=')[0]}: needs --lexicon" in capsys.readouterr().err


def test_a_lexicon_tells_yes_from_no(tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports, lexicon = tmp_path / "reports.jsonl", tmp_path / "lexicon.tsv"
    texts = {"yes": "Clear.Pleural effusion.", "no": "Clear.There is no effusion.", "other": "Clear."}
    reports.write_text("".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in texts.items()))
    lexicon.write_text("pleural effusion\teffusion*\npleural effusion\tpleural effusion\n")
    options = [
        "--docs",
        str(reports),
        "--bundle",
        str(tiny_bundle),
        "--lexicon",
        str(lexicon),
        "--set",
        "cache.folder=none",
    ]
    for query, best in (("no pleural effusion", "no"), ("pleural effusion", "yes")):
        assert main(["rerank", query, *options, "--format", "jsonl", "--set", "beta.negation=100"]) == 0
        output = capsys.readouterr()
        ranked = json.loads(output.out)["documents"]
        assert [(item["id"], item["scores"]["negation"]) for item in ranked][::2] == [
            (best, 1.0),
            ("yes" if best == "no" else "no", -1.0),
        ]
        assert len(ranked[0]["sentences"]) == 2  # split as a report
        assert "not for clinical use" in output.err
    assert main(["rerank", "no pleural effusion", *options, "--explain", "--set", "beta.negation=100"]) == 0
    assert 'Negation adds +100.0000 to its score: pleural effusion: negated by "no".' in capsys.readouterr().out
    assert main(["rerank", "aspirin", *options, "--explain"]) == 0
    assert "nothing of the lexicon" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["html", "csv", "ris", "nbib", "md", "json", "jsonl", "trec"])
def test_only_what_the_option_wrote_is_replaced(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(DOCUMENTS[0]))
    (tmp_path / "a.tsv").write_text("blood\tblood\n")
    command = ["rerank", "blood", "--docs", str(tmp_path / "a.jsonl"), "--bundle", str(tiny_bundle)]
    for _ in range(2):
        assert main([*command, "--output", str(tmp_path / f"new.{form}")]) == 0
    for content in (
        "a thesis",
        "<!doctype html><title>My page</title>",
        "rank,document\n",
        "TY  - JOUR\nTI  - A",
        "PMID- 7\nTI  - A",
    ):
        target = tmp_path / f"other.{form}"
        target.write_text(content)
        assert main([*command, "--output", str(target)]) == 2
        assert f"other.{form}: exists and was not" in capsys.readouterr().err
        assert target.read_text() == content
    lexicon = str((tmp_path / "a.tsv").rename(tmp_path / f"lexicon.{form}"))
    assert main([*command, "--output", lexicon, "--lexicon", lexicon]) == 2
    assert f"lexicon.{form}: is also --lexicon," in capsys.readouterr().err
