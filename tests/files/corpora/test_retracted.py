"""A retracted paper says so: read from every format, shown in tables and pages, and written to exports."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import Document, Perspective, Reranker
from mpir.app.explain.page import page_data
from mpir.files.corpora import read_corpus
from mpir.files.corpora.bibliography import RETRACTED, Bibliography
from mpir.reranking.render.markup import to_markdown
from mpir.reranking.render.tables import document_table
from mpir.search.pubmed.europepmc import _read_page

TEXT = "Forty skaters drank lemonade."
XML = (
    "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>7</PMID><Article><ArticleTitle>Lemonade</ArticleTitle>"
    "<PublicationTypeList><PublicationType>{type}</PublicationType></PublicationTypeList></Article>"
    '<CommentsCorrectionsList><CommentsCorrections RefType="{notice}"><RefSource>Ice. 2020;1:2</RefSource>'
    "</CommentsCorrections></CommentsCorrectionsList></MedlineCitation></PubmedArticle></PubmedArticleSet>"
)
RECORDS = {
    "type.xml": (XML.format(type=RETRACTED, notice="ErratumIn"), True),
    "notice.xml": (XML.format(type="Journal Article", notice="RetractionIn"), True),
    "notice-of-another.xml": (XML.format(type="Retraction of Publication", notice="RetractionOf"), False),
    "a.nbib": (f"PMID- 7\nTI  - Lemonade\nAB  - {TEXT}\nPT  - {RETRACTED}\n", True),
    "b.nbib": (f"PMID- 7\nTI  - Lemonade\nAB  - {TEXT}\nPT  - Journal Article\nRIN - Ice. 2020;1:2\n", True),
    "c.nbib": (f"PMID- 7\nTI  - Lemonade\nAB  - {TEXT}\nROF - Ice. 2020;1:2\n", False),
    "a.ris": (f"TY  - JOUR\nTI  - RETRACTED: Lemonade\nAB  - {TEXT}\nER  - \n", True),
    "b.ris": (f"TY  - JOUR\nTI  - Lemonade\nAB  - {TEXT}\nM3  - Retracted Article\nER  - \n", True),
    "c.ris": (f"TY  - JOUR\nTI  - Retracted papers in ice sports: a survey\nAB  - {TEXT}\nER  - \n", False),
    "withdrawn.ris": (f"TY  - JOUR\nTI  - WITHDRAWN: Lemonade\nAB  - {TEXT}\nER  - \n", False),
    **{
        f"behind{number}.ris": (f"TY  - JOUR\nTI  - {title}\nAB  - {TEXT}\nER  - \n", is_retracted)
        for number, (title, is_retracted) in enumerate(
            [
                ("Lemonade (Retracted article. See vol. 33, pg. 9, 2017)", True),
                ("Lemonade (Retracted Article. See vol. 33(2), pg. 9, 2017)", True),
                ("Lemonade [retracted]", True),
                ("Lemonade. (Retracted in: Ice. 2020;1:2)", True),
                ("RETRACTED ARTICLE: Lemonade", True),
                ("RETRACTED - Lemonade", True),
                ("【Retracted】Lemonade", True),
                ("Lemonade (Retraction of vol 5, pg 1, 2015)", False),
                ("Retraction note to: Lemonade", False),
                ("A paper on lemonade (retracted and republished)", False),
                ("Why (retracted) papers are cited", False),
            ]
        )
    },
    "a.ciw": (f"FN Clarivate\nPT J\nTI Lemonade\nDT Article; Retracted Publication\nAB {TEXT}\nER\n", True),
    "several.ris": (f"TY  - JOUR\nTI  - Lemonade\nAB  - {TEXT}\nM3  - Article; Retracted\nER  - \n", True),
    "not.csv": (f"Title,Abstract,Retracted\nLemonade,{TEXT},FALSE\n", False),
    "crossref.json": (
        json.dumps([{"DOI": "10.1/a", "title": "Lemonade", "abstract": TEXT, "updated-by": [{"type": "retraction"}]}]),
        True,
    ),
    "crossref-notice.json": (
        json.dumps([{"DOI": "10.1/a", "title": "Lemonade", "abstract": TEXT, "update-to": [{"type": "retraction"}]}]),
        False,
    ),
    "d.ris": (f"TY  - JOUR\nTI  - [Retracted] Lemonade\nAB  - {TEXT}\nER  - \n", True),
    "a.csv": (f"Title,Abstract,Publication Type\nLemonade,{TEXT},{RETRACTED}\n", True),
    "a.jsonl": (json.dumps({"id": "W1", "title": "Lemonade", "abstract": TEXT, "is_retracted": True}), True),
    "b.jsonl": (json.dumps({"id": "W1", "title": "Lemonade", "abstract": TEXT, "is_retracted": False}), False),
}


@pytest.mark.parametrize("name", RECORDS)
def test_retracted_papers_are_known_in_every_format(tmp_path: Path, name: str) -> None:
    text, is_retracted = RECORDS[name]
    (tmp_path / name).write_text(text)
    (document,) = read_corpus([tmp_path / name])
    assert Bibliography.of(document.metadata).is_retracted is is_retracted


@pytest.mark.parametrize(("kind", "is_retracted"), [("Retraction in", True), ("Erratum in", False)])
def test_europe_pmcs_comments_name_a_retraction(kind: str, is_retracted: bool) -> None:
    comments = {"commentCorrection": [{"type": kind, "source": "MED"}]}
    record = {"id": "7", "pmid": "7", "title": "Lemonade", "commentCorrectionList": comments}
    answer = {"hitCount": 1, "resultList": {"result": [record]}}
    (document,) = _read_page(json.dumps(answer).encode()).documents.values()
    assert Bibliography.of(document.metadata).is_retracted is is_retracted


class Length(Perspective):
    """The number of characters."""

    name = "length"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([len(sentence) for _, sentence in pairs], float)


def test_a_retracted_paper_says_so_on_page_table_and_export() -> None:
    documents = [
        Document("7", "Lemonade", TEXT, metadata={"types": ["Clinical Trial", RETRACTED]}),
        Document("8", "RETRACTED: Tea", "Skaters drank tea.", metadata={"types": [RETRACTED]}),
        Document("9", "Milk", "Skaters drank milk.", metadata={"types": ["Clinical Trial"]}),
    ]
    ranking = Reranker(perspectives=[Length()]).rerank("skaters", documents)
    for shown in (document_table(ranking, None), to_markdown(ranking), ranking.to_html()):
        assert [text in shown for text in ("RETRACTED: Lemonade", "RETRACTED: RETRACTED", "RETRACTED: Milk")] == [
            True,
            False,
            False,
        ]
    records = {item["id"]: item["record"] for item in page_data(ranking, documents)["documents"]}
    assert [RETRACTED in records[name]["types"] for name in "789"] == [True, True, False]  # text_pane.mjs marks it
    for exported in (ranking.to_ris(), ranking.to_nbib(), ranking.to_csv()):
        assert exported.count(RETRACTED) == 2
