"""How many faults were tried, by kind, and how many did harm: the table that `make faults` ends with."""

from collections import Counter
from collections.abc import Iterator

import pytest

_tried: Counter[str] = Counter()
_failed: Counter[str] = Counter()
_nodes: dict[str, set[str]] = {}
_current: list[str] = []


def count(name: str, number: int = 1) -> None:
    """Record that so many faults of this name were tried by the test that runs."""
    _tried[name] += number
    for node in _current:
        _nodes.setdefault(node, set()).add(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Know which test runs, so that its failure stands beside what it counted."""
    _current[:] = [item.nodeid]
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count a test by its file where it counted nothing itself."""
    if report.when != "call" and not report.failed:
        return
    names = _nodes.get(report.nodeid)
    if not names:
        names = {report.nodeid.partition("::")[0].removeprefix("tests/")}
        _tried.update(names)
    if report.failed:
        _failed.update(names)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table."""
    terminalreporter.write_line(f"\n{'fault':50} {'tried':>8} {'failed':>8}")
    for name, number in sorted(_tried.items()):
        terminalreporter.write_line(f"{name:50} {number:>8,} {_failed[name]:>8,}")
