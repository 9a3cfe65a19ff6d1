"""The clients' environments: $MPIR_URL is a running server (see run.py); without it, these tests are skipped."""

import os

import pytest

QUERY = "Which gene is mutated in cystic fibrosis?"
TEXTS = [
    "Many a gene is mutated in pancreatic cancer. KRAS is the most frequent.",
    "Cystic fibrosis is caused by mutations of CFTR, a chloride channel. Carriers are healthy.",
    "Aspirin thins the blood.",
]


@pytest.fixture(scope="session")
def url() -> str:
    result = os.environ.get("MPIR_URL")
    if not result:
        pytest.skip("no server for the clients; run make clients")
    return result
