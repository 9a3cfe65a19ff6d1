"""TREC's topics in every form of the biomedical tracks. The topics are written by us."""

from pathlib import Path

import pytest

from mpir.errors import InputError
from mpir.files.corpora.queries import read_queries

COVID = """<?xml version="1.0"?>
<topics task="COVIDSearch 2020" batch="1">
<topic number="1"><query>virus origin</query><question>where does the virus  come
from</question><narrative>any</narrative></topic>
<topic number="2"><query>masks</query><question>do <i>masks</i> help</question></topic></topics>
"""
FORMS = {
    "covid": (COVID, [("1", "where does the virus come from"), ("2", "do masks help")]),
    "clinical decision support": (
        '<topics><topic number="7" type="test"><note>admit</note><description>A man, sent home.</description>'
        "<summary>A man with chest pain.</summary></topic></topics>",
        [("7", "A man with chest pain.")],
    ),
    "precision medicine": (
        '<topics task="2017"><topic number="1"><disease>Liposarcoma</disease><gene>CDK4 Amplification</gene>'
        "<demographic>38-year-old male</demographic><other>None</other></topic></topics>",
        [("1", "Liposarcoma, CDK4 Amplification, 38-year-old male")],
    ),
    "precision medicine 2020": (
        '<topics><topic number="1"><disease>melanoma</disease><gene>BRAF (V600E)</gene>'
        "<treatment>Dabrafenib</treatment></topic></topics>",
        [("1", "melanoma, BRAF (V600E), Dabrafenib")],
    ),
    "misinformation": (
        "<topics>\n<topic>\n<number>101</number><query>brace tendon</query>"
        "<description>Does a brace heal a tendon?</description><stance>unhelpful</stance></topic></topics>",
        [("101", "Does a brace heal a tendon?")],
    ),
    "misinformation 2022": (
        "<topics><topic><number>151</number><question>Is a cough helped by honey?</question>"
        "<query>honey cough</query><background>Honey is sweet.</background></topic></topics>",
        [("151", "Is a cough helped by honey?")],
    ),
    "clinical trials": (
        '<topics task="2021 TREC Clinical Trials"><topic number="1">\nPatient is a 45-year-old man.\n</topic></topics>',
        [("1", "Patient is a 45-year-old man.")],
    ),
    "clinical trials 2023": (
        '<topics><topic number="1" template="glaucoma"><field name="diagnosis">keratoconus</field>'
        '<field name="age"></field><field name="eye pressure">high</field></topic></topics>',
        [("1", "diagnosis: keratoconus; eye pressure: high")],
    ),
    "genomics": (
        '<?xml version="1.0" encoding="UTF-8"?><TOPICS><TOPIC><ID>1</ID><TITLE>Ferroportin</TITLE>'
        "<NEED>Which genes regulate it?</NEED></TOPIC></TOPICS>",
        [("1", "Ferroportin")],
    ),
    "sgml": (
        "<top>\n<num> Number: 301\n<title> zinc for colds\n<desc> Description:\nDoes zinc\nshorten a cold?\n"
        "<narr> Narrative:\nOnly trials.\n</top>\n",
        [("301", "Does zinc shorten a cold?")],
    ),
    "sgml with keywords alone": (
        "<top>\n<num> Number: 302\n<title> Topic: zinc colds\n<desc> Description:\n\n<narr> Narrative:\nAny.\n</top>\n",
        [("302", "zinc colds")],
    ),
    "sgml of a patient": (
        "<top><num>Number: OH1<title>a man of 60<desc>Description:\nwhich drugs may he take</top>",
        [("OH1", "which drugs may he take")],
    ),
    "sgml in capitals": ("<TOP><NUM>5</NUM><TITLE>zinc &lt; iron</TITLE></TOP>", [("5", "zinc &lt; iron")]),
    "sgml within a root": ("<topics><top><num>5<title>zinc</top></topics>", [("5", "zinc")]),
}


@pytest.mark.parametrize("name", ["topics.xml", "topics.txt", "topics"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form(tmp_path: Path, form: str, name: str) -> None:
    text, expected = FORMS[form]
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(read_queries(tmp_path / name)) == expected


BIOGEN = '[{"id": "116", "topic": "hepatitis", "question": "Is it curable?", "narrative": "A patient asks."}]'
SYNERGY = '{"questions": [{"id": "5e", "body": "Which test is used?", "documents": [7], "snippets": "later"}]}'


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("biogen.json", BIOGEN, [("116", "Is it curable?")]),
        ("biogen.txt", f'{{"topics": {BIOGEN}}}', [("116", "Is it curable?")]),
        ("synergy.json", SYNERGY, [("5e", "Which test is used?")]),
        ("BioASQ-task13bPhaseA-testset1", SYNERGY, [("5e", "Which test is used?")]),
        (
            "queries.jsonl",
            '{"_id": "PLAIN-2", "text": "Do statins help?", "metadata": {}}\n',
            [("PLAIN-2", "Do statins help?")],
        ),
    ],
)
def test_json_of_every_source(tmp_path: Path, name: str, text: str, expected: list[tuple[str, str]]) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(read_queries(tmp_path / name)) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "t.xml",
            '<topics><topic number="1"><idea>x</idea></topic></topics>',
            r"topic 1: .*\(got idea",
        ),
        ("t.xml", "<topics><topic><query>x</query></topic></topics>", "topic 1: .*no number"),
        ("t.xml", '<topics><topic number="1"/></topics>', "topic 1: .*no text"),
        ("t.xml", COVID.replace('"2"', '"1"'), r"topic 2: duplicate .*\b1\b"),
        ("t.xml", COVID[:-30], r"t\.xml: malformed XML"),
        ("t.xml", "<topics></topics>", r"t\.xml: no topics"),
        ("t.json", '{"runs": []}', r't\.json: .*no "questions"'),
        ("t.json", '[{"id": 1}]', "question 1: .*id is 1 .*missing"),
        ("t.json", '[{"id": true, "body": "x"}]', "id is True"),
        (
            "t.json",
            '{"topics": [{"id": 1, "topic": "a"}, {"id": "1", "topic": "b"}]}',
            "question 2: duplicate id '1'",
        ),
        ("t.json", '{"questions": []}', r"t\.json: no queries"),
    ],
)
def test_what_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        list(read_queries(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "7\twhy salt, and how\n8\ttears\n"),
        ("a.txt", "7\twhy salt, and how\n8\ttears\n"),
        ("b.tsv", "qid\tquery\n7\twhy salt, and how\n8\ttears\n"),
        ("b.txt", "Topic ID\tlevel\tQuestion\n7\thigh\twhy salt, and how\n8\t\ttears\n"),
        ("a.csv", 'question,id\n"why salt, and how",7\n\ntears,8\n'),
        ("c.csv", "\ufeffid;query\n7;why salt, and how\n8;tears\n"),
    ],
)
def test_tables_of_queries_are_read_by_their_header_or_as_id_and_text(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(read_queries(tmp_path / name)) == [("7", "why salt, and how"), ("8", "tears")]


def test_a_table_without_known_columns_or_cells_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("first,second\n7,salt\n")
    with pytest.raises(InputError, match=r"a\.csv: no topics"):
        list(read_queries(tmp_path / "a.csv"))
    (tmp_path / "c.csv").write_text('id,query\n\n7,"salt\n8,tears\n9,sweat\n')
    with pytest.raises(InputError, match=r"c\.csv:3: .*table row"):
        list(read_queries(tmp_path / "c.csv"))
    (tmp_path / "b.csv").write_text("id,query\n7\n")
    with pytest.raises(InputError, match=r"b\.csv:2: .*no text"):
        list(read_queries(tmp_path / "b.csv"))
