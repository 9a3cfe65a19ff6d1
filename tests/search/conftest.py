"""A small Lucene index, built once: Java starts once in a process."""

from pathlib import Path

import pytest

from mpir.core.text.types import Document
from mpir.search import LuceneIndex, build_index

DOCUMENTS = [
    Document("1", "BRCA1 in breast cancer", "Mutations of BRCA1 raise the risk of breast cancer."),
    Document("2", "", "Statins lower cholesterol.\nThey inhibit HMG-CoA reductase."),
    Document(
        "3", "Cystic fibrosis 🧬 and CFTR", "A line\r\nwith\ttabs, NUL \x00, emoji 😀👩‍⚕️, é vs é, and \u2028 inside."
    ),
    Document("twin b", "Insulin resistance", "Metformin"),
    Document("twin a", "Insulin resistance", "Metformin"),
    Document("blank", "", ""),
    Document("é/日本 x", "Identifiers may be any text", " leading and trailing space "),
]


@pytest.fixture(scope="session")
def index_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("retrieve") / "index"
    build_index(iter(DOCUMENTS), folder, source={"name": "sample"}, threads=2)
    return folder


@pytest.fixture
def documents() -> list[Document]:
    return DOCUMENTS


@pytest.fixture(scope="session")
def index(index_folder: Path) -> LuceneIndex:
    return LuceneIndex(index_folder)
