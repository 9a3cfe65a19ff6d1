"""The sample reports are what their README says, and their judgements agree with the annotator."""

import re
from pathlib import Path

import pytest

import mpir
from mpir.app.cli import main
from mpir.core.text.split import sentences
from mpir.files.corpora.jsonl import read_jsonl
from mpir.files.corpora.trec import read_qrels
from mpir.files.read import read_json_lines
from mpir.lab.annotate import Lexicon, NegEx, annotate
from mpir.lab.annotate.negation_perspective import NegationPerspective
from tests.models.query_scores import query_scores

FOLDER = Path(mpir.__file__).parent / "sample/radiology"
REPORTS = {document.id: document for document in read_jsonl(FOLDER / "reports.jsonl")}
QUERIES = {record["id"]: record["query"] for _, record in read_json_lines(FOLDER / "queries.jsonl")}


def test_there_are_sixty_reports_and_sixteen_queries() -> None:
    assert len(REPORTS) == 60
    assert len(QUERIES) == 16
    assert sum(query.startswith("no ") for query in QUERIES.values()) == 8


def test_judgements_name_reports_that_affirm_or_deny_the_finding() -> None:
    lexicon, negation = Lexicon.load(FOLDER / "chest-xray.tsv"), NegEx.load("negation", "hedges", "radiology")
    said: dict[str, set[tuple[str, str]]] = {}
    for name, report in REPORTS.items():
        result = annotate(sentences(report, splitting="report"), lexicon, negation=negation)
        said[name] = {(mention.concept, mention.status) for several in result for mention in several}
    for query, judged in read_qrels(FOLDER / "qrels.txt").items():
        concept = QUERIES[query].removeprefix("no ")
        status = "negated" if QUERIES[query].startswith("no ") else "affirmed"
        right = [name for name in judged if (concept, status) in said[name]]
        assert len(right) >= 0.9 * len(judged), (query, sorted(set(judged) - set(right)))


def test_a_normal_heart_denies_a_large_one_with_the_triggers_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    lexicon = Lexicon.load(FOLDER / "chest-xray.tsv")
    with pytest.raises(SystemExit):
        main(["annotate", "--help"])
    (lists,) = re.findall(r"--lexicon chest-xray.tsv --set lexicon.triggers=(\S+)", capsys.readouterr().out)
    perspective = NegationPerspective(lexicon, negation=NegEx.load(*lists.split(",")))
    texts = ["The heart is enlarged.", "Heart size normal.", "Heart size is within normal limits.", "Lungs are clear."]
    assert query_scores(perspective, "cardiomegaly", texts).tolist() == [1.0, -1.0, -1.0, 0.0]
