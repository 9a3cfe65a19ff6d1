"""A few records behind the stand-in, and settings that lead there without pauses."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mpir.core.text.types import Document
from mpir.search.pubmed import Settings
from tests.search.pubmed.stand_in import Server, serving

DRUGS = ("nintedanib", "pirfenidone", "sildenafil", "placebo", "steroid")


TYPES = ([], ["Clinical Trial"])


def records() -> list[Document]:
    """Forty records on pulmonary fibrosis, a preprint, and one on something else."""
    documents = [
        Document(
            str(1000 + number),
            f"Trial {number} of {DRUGS[number % 5]}",
            f"Background: {DRUGS[number % 5]} is a drug. It slowed idiopathic pulmonary fibrosis in {number} patients.",
            metadata={
                "year": str(2000 + number % 20),
                "doi": f"10.1000/{number}",
                "types": ["Clinical Trial"] * (number % 2),
            },
        )
        for number in range(40)
    ]
    preprint = Document("PPR7", "A preprint on nintedanib", "Nintedanib slowed pulmonary fibrosis in mice.")
    return [*documents, preprint, Document("2000", "Coffee", "Espresso does not make the heartbeat irregular.")]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("NCBI_API_KEY", "NCBI_EMAIL", "MPIR_EUTILS", "MPIR_EUROPEPMC", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(records(), ipf=["idiopathic pulmonary fibrosis"]) as started:
        yield started


@pytest.fixture
def settings(server: Server, tmp_path: Path) -> Callable[..., Settings]:
    """Settings for the stand-in: hundreds of requests a second, and pauses of milliseconds."""

    def make(**chosen: object) -> Settings:
        quick = {"timeout": 0.4, "back_off": 0.002, "rate": 5000.0, "cache": tmp_path / "answers"}
        urls = {"eutils": server.url, "europepmc": f"{server.url}/rest"}
        return Settings.from_environment(**{**urls, **quick, **chosen})

    return make
