"""The page's modules in node: they count, filter and save as Python does."""

import csv
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mpir import Document, Reranker
from mpir.app.explain.page import page_data
from mpir.evaluate.screening import DecisionRanker
from mpir.evaluate.stopping import stopping_test
from mpir.files.corpora.bibliography import Bibliography
from mpir.reranking.ranking import Ranking
from tests.app.explain.conftest import QUERY, Arbitrary
from tests.app.explain.test_page import in_node

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node")
Ranked = Callable[..., tuple[Ranking, dict[str, Any]]]


def test_the_page_stops_as_python_does() -> None:
    rng = np.random.default_rng(1)
    cases = [(rng.random(int(rng.integers(1, 60))) < rng.random() / 2, int(rng.integers(60, 300))) for _ in range(40)]
    cases.append((np.ones(60, bool), 60))
    expected = [stopping_test(decisions, candidates).p for decisions, candidates in cases]
    values = json.dumps([[decisions.tolist(), candidates] for decisions, candidates in cases])
    code = f"console.log(JSON.stringify({values}.map(([decisions, n]) => stoppingTest(decisions, n))))"
    assert json.loads(in_node("stoppingTest", code, "stopping")) == pytest.approx(expected, abs=1e-9)


def test_the_page_learns_from_decisions_as_python_does() -> None:
    titles = ["Iron in heart-failure, β-blockers", "", "Ìron 10 mg by vein", "A dialysis in children", "–"]
    documents = [Document(str(i), title, f"{title} in trial {i % 7} of iron") for i, title in enumerate(titles * 8)]
    rng = np.random.default_rng(0)
    before, read = rng.normal(size=40).round(3), rng.permutation(40)[:24]
    relevant = rng.random(24) < 0.3
    expected = DecisionRanker(documents, before).scores(read, relevant)
    decisions = json.dumps(list(zip(read.tolist(), relevant.tolist(), strict=True)))
    sections = json.dumps([{"sections": document.sections} for document in documents])
    code = f"console.log(JSON.stringify(learned(vectorsOf({sections}), {before.tolist()}, {decisions})))"
    scores = json.loads(in_node("learned, vectorsOf", code, "learning"))
    assert scores == pytest.approx(expected, abs=1e-6)
    assert np.argsort(scores).tolist() == np.argsort(expected).tolist()


def test_the_page_orders_anew_after_every_ten_decisions() -> None:
    texts = ["iron and heart"] * 5 + ["dialysis of kidneys"] * 10 + ["iron for hearts", "heart iron"]
    sections = json.dumps([{"sections": {"title": "", "abstract": text}} for text in texts])
    decisions = json.dumps([[i, i < 5] for i in range(12)])
    names = "orderLearned, vectorsOf"
    start = f"const vectors = vectorsOf({sections}), order = [...vectors.rows.keys()];"
    code = f"{start} const of = (n) => orderLearned(order, vectors, order.map((i) => -i), {decisions}.slice(0, n));"
    orders = json.loads(in_node(names, f"{code} console.log(JSON.stringify([of(9), of(10), of(12)]))", "learning"))
    assert orders[0] == list(range(17))
    assert orders[1] == [*range(10), 16, 15, *range(10, 15)]
    assert orders[2] == orders[1]


FILTERS = [
    ('"iron deficiency"', "a"),
    ("iron deficiency", "ab"),
    ("-dialysis", "ac"),
    ("iron -dialysis", "a"),
    ("dialysis OR children", "bc"),
    ('"iron deficiency" OR type:review', "ab"),
    ("year:2015", "a"),
    ("year:2015-2018", "ab"),
    ("year:2017-", "bc"),
    ("2015-2018", "ab"),
    ("-year:2015", "bc"),
    ('type:"clinical trial"', "a"),
    ("is:retracted", "c"),
    ("is:included", "a"),
    ("is:undecided", "bc"),
    ("grade:none", "bc"),
    ("author:curie", "b"),
    ("id-c", "c"),
    ("OR", "abc"),
    ('"', "abc"),
]


@pytest.mark.parametrize(("text", "left"), FILTERS)
def test_the_filter_takes_quotes_minus_or_years_and_types(text: str, left: str) -> None:
    documents = [
        {"id": "id-a", "sections": {"title": "Iron  deficiency", "abstract": "In adults."},
         "record": {"year": 2015, "types": ["Clinical Trial"]}},
        {"id": "id-b", "sections": {"title": "Deficiency of iron", "abstract": "On dialysis."},
         "record": {"year": 2018, "types": ["Review"], "authors": ["Curie, M."]}},
        {"id": "id-c", "sections": {"title": "Copper", "abstract": "In children."},
         "record": {"year": 2020, "retracted": True}},
    ]  # fmt: skip
    code = f"const all = {json.dumps(documents)}, grades = [2, null, null]; console.log("
    code += f"all.filter((d, i) => passes(d, grades[i], {json.dumps(text)})).map(({{ id }}) => id[3]).join(''))"
    assert in_node("passes", code, "filter").strip() == left


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ('iron -"heart: failure" year:2015- type:review OR author:curie is:included grade:none https://a.b/c', []),
        ("since:x year:201", ["year:201", "since:x"]),
        ("-is:odd grade:9 iron", ["is:odd", "grade:9"]),
        ("mesh:iron 10:30 doi:10.1000/a", ["mesh:iron"]),
    ],
)
def test_a_filter_that_is_not_understood_says_so(text: str, odd: list[str]) -> None:
    code = f"console.log(JSON.stringify(misunderstood({json.dumps(text)})))"
    assert json.loads(in_node("misunderstood", code, "filter")) == odd


def references() -> list[Document]:
    known = Bibliography(
        year=2015, date="2015-03", journal="Annals, of \"x\"", authors=("Curie, M.", "Bohr, N."), types=("Review",),
        pages="11-19", volume="4", issue="2", pmid="7", doi="10.1000/a", keywords=("=iron", "gene"), url="https://a.b/c",
        language=("eng",), issn="1234-5678",
    ).metadata()  # fmt: skip
    return [
        Document("7", "Gene therapy", "Adults were enrolled. Results are awaited.", score=9.5, metadata=known),
        Document("x", "+Cells", "Mutations of CFTR cause cystic fibrosis.\nCarriers are well.", score=7.25),
        Document("y", "RETRACTED: CFTR in mice", "CFTR was not mutated in cystic fibrosis.", score=7.0),
        Document("z", "CFTR", "Which gene is mutated in cystic fibrosis is unknown.", score=6.0),
    ]


def test_saved_references_and_tables_are_those_of_the_command_line() -> None:
    documents = references()
    of_documents = Arbitrary("document")  # the name of the column of the ids
    of_documents.level = "document"
    ranking = Reranker(perspectives=[Arbitrary("relevance"), of_documents]).rerank(QUERY, documents)
    data = json.dumps(page_data(ranking, documents))
    start = f"import {{ blend, rankOf }} from BLEND; const data = {data}, b = blend(data, data.weights);"
    start += "const o = rankOf(data, b);"
    code = start + "process.stdout.write(JSON.stringify([ris(data, o, b, new Map()), csv(data, o, b, new Map())]));"
    code = code.replace("BLEND", f'"{module_uri()}"')
    saved_ris, saved_csv = json.loads(in_node("ris, csv", code, "exports"))
    assert saved_ris == ranking.to_ris()
    expected = [line.split(",") for line in ranking.to_csv().splitlines()]
    rows = [line.split(",") for line in saved_csv.splitlines()]
    own = {"decision", "grade", "note"}
    columns = [number for number, head in enumerate(rows[0]) if head not in own]
    assert [rows[0][number] for number in columns] == expected[0]
    assert len(rows) == len(expected)
    tables = [list(csv.DictReader(io.StringIO(text[1:]))) for text in (saved_csv, ranking.to_csv())]
    assert [row["document"] for row in tables[0]] == [document.id for document in ranking]
    assert [row["document score"] for row in tables[0]] == [row["document score"] for row in tables[1]]
    for name in ("type of study", "retracted", "best sentence says"):
        cells = [[row[name] for row in table] for table in tables]
        assert cells[0] == cells[1]
        assert any(cells[0]) and not all(cells[0])


def test_a_saved_table_keeps_a_column_of_the_source_beside_a_score_of_its_name() -> None:
    documents = [
        replace(document, metadata={**document.metadata, "source_fields": {"relevance": f"high for {document.id}"}})
        for document in references()
    ]
    ranking = Reranker(perspectives=[Arbitrary("relevance")]).rerank(QUERY, documents)
    data = json.dumps(page_data(ranking, documents))
    start = f'import {{ blend, rankOf }} from "{module_uri()}"; const data = {data}, b = blend(data, data.weights);'
    code = f"{start} process.stdout.write(csv(data, rankOf(data, b), b, new Map()));"
    tables = [ranking.to_csv(), in_node("csv", code, "exports")]
    for rows in [list(csv.DictReader(io.StringIO(text[1:]))) for text in tables]:
        assert [row["relevance (source)"] for row in rows] == [f"high for {document.id}" for document in ranking]
        assert all(float(row["relevance"]) < 2 for row in rows)


def module_uri() -> str:
    """The address of the module that blends."""
    import mpir

    return f"{mpir.__path__[0]}/app/explain/blend.mjs"


DECISIONS = """
const items = new Map();
const storage = { getItem: (key) => items.get(key) ?? null, setItem: (key, value) => items.set(key, value) };
const make = (query = "q", store = storage) => new Decisions({ query, key: "k", ids: ["1", "2", "3"], storage: store });
"""


def decided(code: str) -> Any:
    """What a script says that has decisions on three documents."""
    return json.loads(
        in_node("Decisions", f"{DECISIONS} console.log(JSON.stringify((() => {{ {code} }})()))", "decisions")
    )


def test_decisions_are_kept_and_taken_back() -> None:
    code = """const one = make(); one.set("1", { grade: 2 }); one.set("3", { grade: 0 }); one.set("1", { grade: 1 });
      one.set("1", { note: "check" }); const again = make(); again.restore(); const counts = again.counts();
      one.undo(); one.undo(); const last = [again.note("1"), one.grade("1"), one.sequence()];
      return [counts, ...last, one.undo(), one.undo(), one.undo()];"""
    counts = {"included": 0, "maybe": 1, "excluded": 1, "decided": 2, "left": 1, "total": 3}
    assert decided(code) == [counts, "check", 2, [True, False], "3", "1", None]


def test_a_store_that_is_full_or_forbidden_is_said_and_loses_nothing() -> None:
    full = "{ getItem: () => null, setItem: () => { throw new DOMException('x', 'QuotaExceededError'); } }"
    code = f"""const one = make("q", {full}), two = make("q", null);
      one.set("1", {{ grade: 2 }}); two.set("1", {{ grade: 2 }});
      return [one.problem, one.grade("1"), two.problem, two.grade("1")];"""
    problem, grade, forbidden, other = decided(code)
    assert "cannot store your grades (QuotaExceededError); export them" in problem
    assert "keeps nothing" in forbidden
    assert (grade, other) == (2, 2)


def test_the_later_of_two_pages_decisions_counts() -> None:
    code = """const one = make(); one.set("1", { grade: 2 }, 100); return [
      one.merge([{ id: "1", grade: 0, time: 50 }, { id: "2", grade: 1, time: 50 }, { id: "9", grade: 1, time: 60 }]),
      one.grade("1"), one.merge([{ id: "1", grade: 0, time: 200 }]), one.grade("1"), one.list().map(({ id }) => id)];"""
    assert decided(code) == [1, 2, 1, 0, ["1", "2"]]


def test_import_names_what_does_not_fit() -> None:
    def line(**values: Any) -> str:
        return json.dumps({"query": "q", **values})

    texts = [
        line(id="1", grade=2) + "\n" + line(id="9", grade=1),
        json.dumps({"query": "another", "id": "1", "grade": 2}),
        line(id="1", grade=2) + "\nTitle,Grade",
        line(documents=[{"id": "2", "title": "A", "grade": 3}, {"id": "3", "title": "B"}]),
        "",
    ]
    each = "const one = make(); return [one.read(text, 'f.jsonl'), one.counts().decided];"
    code = f"return {json.dumps(texts)}.map((text) => {{ {each} }});"
    fits, other, broken, graded, empty = decided(code)
    assert fits == [{"changed": 1, "gone": ["9"], "others": 0, "read": 1}, 1]
    assert other[0]["error"].startswith("f.jsonl: its grades are of other") and other[1] == 0
    assert broken[0]["error"].startswith("f.jsonl:2: not a grade")
    assert broken[1] == 0
    assert graded == [{"changed": 1, "gone": [], "others": 0, "read": 1}, 1]
    assert empty[0]["error"].startswith("f.jsonl: it has no grades")
