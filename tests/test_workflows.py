"""The workflows run what is there, and code of others only at a commit that was chosen."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
USES = re.compile(r"uses: (\S+)(?: # (v[\d.]+))?$", re.MULTILINE)


def jobs(path: Path) -> dict[str, Any]:
    import yaml

    return dict(yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_of_others_are_named_by_commit_and_version(path: Path) -> None:
    for action, version in USES.findall(path.read_text(encoding="utf-8")):
        assert action.startswith("./") or (re.search(r"@[0-9a-f]{40}$", action) and version), action


def test_one_action_has_one_commit() -> None:
    actions = {action for path in WORKFLOWS for action, _ in USES.findall(path.read_text(encoding="utf-8"))}
    names = [action.partition("@")[0] for action in actions]
    assert sorted(names) == sorted(set(names))


def test_three_systems_and_three_pythons_rank_the_sample() -> None:
    platforms = jobs(ROOT / ".github/workflows/ci.yml")["platforms"]
    assert {system.partition("-")[0] for system in platforms["strategy"]["matrix"]["os"]} == {
        "ubuntu",
        "macos",
        "windows",
    }
    assert platforms["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    commands = "\n".join(step.get("run", "") for step in platforms["steps"])
    assert all(words in commands for words in ("import mpir", "mpir --version", "mpir rerank"))


def test_only_the_job_that_publishes_may_ask_for_an_identity() -> None:
    permissions = {name: job.get("permissions") for name, job in jobs(ROOT / ".github/workflows/release.yml").items()}
    assert permissions == {"tests": None, "build": None, "publish": {"id-token": "write"}}
