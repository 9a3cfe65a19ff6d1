"""The page as text: it holds its data, loads nothing, and lets nothing in a document become code."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpir import Weights
from mpir.cli import main
from mpir.explain.page import MEDIA, asset, page_with
from mpir.rank.ranking import Ranking

Ranked = Callable[..., tuple[Ranking, dict[str, Any]]]


def test_the_data_has_texts_columns_and_weights_in_the_order_of_the_input(ranked: Ranked) -> None:
    ranking, data = ranked()
    assert [document["id"] for document in data["documents"]] == ["11", "12", "13", "14", "15"]
    assert Weights.from_dict(data["weights"]) == ranking.weights
    assert data["ordering"] == ["agreement"]
    for document in data["documents"]:
        for sentence in document["sentences"]:
            assert document["sections"][sentence["section"]][sentence["begin"] : sentence["end"]].strip()
            assert set(sentence["scores"]) == set(ranking.weights.alpha)


def test_a_page_loads_nothing_and_runs_only_its_own_script(ranked: Ranked) -> None:
    page = page_with(ranked()[1])
    assert not re.findall(r"(?:src|href)=", page.split("<script")[0].replace('href="#', ""))
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'" in page
    (inside,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert json.loads(inside) == json.loads(json.dumps(ranked()[1]))
    assert page.count("</script>") == 2


def test_the_page_s_code_makes_no_markup_of_texts() -> None:
    for name in MEDIA:
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?:", asset(name))
    assert not re.search(r"\son\w+=|\sstyle=", asset("explain.html"))


def test_the_command_writes_it(tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, page = tmp_path / "docs.jsonl", tmp_path / "page.html"
    corpus.write_text('{"id": "a", "abstract": "Aspirin does thin the blood."}\n{"id": "b", "title": "Heart"}\n')
    command = ["rerank", "aspirin", "--docs", str(corpus), "--bundle", str(tiny_bundle), "--html", str(page)]
    assert main(command) == 0
    assert "Aspirin does thin the blood." in page.read_text()
    assert main([*command, "--top-k", "1"]) == 2
    assert "leave --top-k out" in capsys.readouterr().err
    assert main(["rerank", "--html", str(page)]) == 2
    assert "--html shows the ranking of one QUERY" in capsys.readouterr().err
