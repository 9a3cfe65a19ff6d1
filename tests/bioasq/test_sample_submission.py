"""What the main job answers on the sample with the default bundle in fp32, held against what it answered before.

A change of the default bundle or its weights changes the answers: then write the file anew from the submission of

    mpir bioasq --precision fp32 --k 5 --snippets 10 --output submission.json

and say so in the change. Any other change leaves them as they are.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXPECTED = json.loads((Path(__file__).parent / "sample_submission.json").read_text(encoding="utf-8"))


def test_the_main_job_answers_as_before(tmp_path: Path) -> None:
    output = tmp_path / "submission.json"
    options = ["--precision", "fp32", "--k", "5", "--snippets", "10", "--set", "cache.folder=none", "--quiet"]
    options += ["--output", str(output)]
    subprocess.run([sys.executable, str(ROOT / "experiments/bioasq.py"), *options], check=True, capture_output=True)
    result = {item["id"]: item for item in json.loads(output.read_text(encoding="utf-8"))["questions"]}
    assert set(result) == set(EXPECTED)
    for name, expected in EXPECTED.items():
        snippets = [
            [_id(item["document"]), item["beginSection"], item["offsetInBeginSection"], item["offsetInEndSection"]]
            for item in result[name]["snippets"][:3]
        ]
        assert [_id(url) for url in result[name]["documents"]] == expected["documents"], name
        assert snippets == expected["snippets"], name


def _id(url: str) -> str:
    return url.rsplit("/", 1)[-1]
