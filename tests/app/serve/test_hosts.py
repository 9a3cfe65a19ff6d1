"""Which hosts and origins a server answers, what it loads, and where it may listen without a key."""

import http.client
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mpir.app.cli import main
from tests.app.serve.running import Server, starting

JSON = {"Content-Type": "application/json"}
BODY = b'{"query": "does aspirin thin blood", "documents": ["Aspirin does thin the blood."]}'
SCORE_BODY = b'{"text_1": "does aspirin thin blood", "text_2": ["Aspirin does thin the blood."]}'
STATE_PATHS = ("/health", "/ready", "/metrics", "/info", "/models", "/v1/models")
GET_PATHS = (*STATE_PATHS, "/docs", "/openapi.json", "/explain", "/explain/explain.mjs", "/nothing")
POST_PATHS = (
    "/rerank",
    "/v1/rerank",
    "/v2/rerank",
    "/reranking",
    "/v1/reranking",
    "/score",
    "/v1/score",
    "/search",
    "/explain/ranking",
    "/explain/documents",
)
KEY = {"MPIR_API_KEY": "secret"}
NO_KEY = "set $MPIR_API_KEY to a key that clients send, or give --insecure to answer everybody."


def exchange(
    server: Server, method: str, path: str, headers: dict[str, str], body: bytes = b""
) -> tuple[int, str, str]:
    """The status, the Location and the text of an answer to a request with exactly these headers."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return response.status, response.getheader("Location", ""), response.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("host", ["attacker.example", "localhost.attacker.example:80", "127.0.0.1@a.example", "[::1"])
def test_a_foreign_host_is_refused_on_every_path(server: Server, host: str) -> None:
    for method, paths, body in (("GET", GET_PATHS, b""), ("POST", POST_PATHS, BODY)):
        for path in paths:
            status, _, text = exchange(server, method, path, {**JSON, "Host": host}, body)
            assert (path, status) == (path, 403)
            assert "name it as an allowed host" in text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1:80", "[::1]:8000"])
def test_the_names_of_this_machine_are_allowed(server: Server, host: str) -> None:
    assert exchange(server, "POST", "/rerank", {**JSON, "Host": host}, BODY)[0] == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://attacker.example", 403),
        ("null", 403),
        ("https://localhost.attacker.example", 403),
        ("file://localhost", 403),
        ("http://localhost:8000", 200),
        ("https://127.0.0.1", 200),
    ],
)
def test_an_origin_is_an_allowed_host(server: Server, origin: str, status: int) -> None:
    assert exchange(server, "POST", "/rerank", {**JSON, "Origin": origin}, BODY)[0] == status


@pytest.mark.parametrize("path", POST_PATHS)
@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
def test_a_body_that_is_not_json_by_its_type_is_refused(server: Server, path: str, media: str) -> None:
    status, _, text = exchange(server, "POST", path, {"Content-Type": media} if media else {}, BODY)
    assert status == 415
    assert "send the header Content-Type: application/json" in text


@pytest.mark.parametrize("media", ["application/json; charset=utf-8", "Application/JSON", "application/cloud+json"])
def test_a_type_of_json_is_taken(server: Server, media: str) -> None:
    assert exchange(server, "POST", "/rerank", {"Content-Type": media}, BODY)[0] == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_path_redirects(server: Server, method: str) -> None:
    for path in (*GET_PATHS, *POST_PATHS, "/docs/oauth2-redirect", "/redoc", "//attacker.example"):
        body = SCORE_BODY if "score" in path else BODY
        status, location, _ = exchange(server, method, f"{path}/", JSON, body)
        takes_slash = 200 if method == "POST" else 405
        assert (path, status, location) == (path, takes_slash if "rerank" in path or "score" in path else 404, "")


def test_every_page_loads_nothing_from_elsewhere(server: Server) -> None:
    for path in ("/docs", "/explain"):
        page = server.get(path)
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert not re.search(r"""(src|href)\s*=\s*["']?\s*(https?:)?//""", page.text)


def test_the_reference_shows_every_path_and_field(server: Server) -> None:
    page = server.get("/docs").text
    for text in ("/v2/rerank", "/search", "/metrics", "return_documents", "415", "Content-Type"):
        assert text in page


@pytest.fixture(scope="module")
def named(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server without a key that goes by two more names."""
    with starting(tiny_bundle, tmp_path_factory) as start:
        yield start(
            "--set", "serve.warmup=false", "--allowed-host", "search.example", "--allowed-host", "Other.example"
        )


@pytest.mark.parametrize(
    ("host", "status"), [("search.example", 200), ("OTHER.example:80", 200), ("third.example", 403)]
)
def test_more_hosts_can_be_allowed(named: Server, host: str, status: int) -> None:
    assert exchange(named, "GET", "/health", {"Host": host, "Origin": f"http://{host}"})[0] == status


@pytest.mark.slow
@pytest.mark.parametrize(("options", "status"), [((), 200), (("--allowed-host", "search.example"), 403)])
def test_with_a_key_hosts_are_checked_only_where_they_are_named(
    start_server: Callable[..., Server], options: tuple[str, ...], status: int
) -> None:
    server = start_server("--set", "serve.warmup=false", *options, environment=KEY)
    assert exchange(server, "GET", "/health", {"Host": "any.example"})[0] == status
    assert exchange(server, "GET", "/health", {"Host": "search.example"})[0] == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_are_not_served_without_a_key(
    host: str, tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MPIR_API_KEY", raising=False)
    assert main(["serve", "--port", "0", "--host", host, "--bundle", str(tiny_bundle)]) == 2
    said = capsys.readouterr().err
    assert said == f"mpir: --host {host} is reachable from other machines, and no key is set; {NO_KEY}\n"


@pytest.mark.slow
@pytest.mark.parametrize(("options", "environment"), [((), KEY), (("--insecure",), None)])
def test_other_machines_are_served_with_a_key_or_where_that_is_said(
    start_server: Callable[..., Server], options: tuple[str, ...], environment: dict[str, str] | None
) -> None:
    server = start_server("--set", "serve.warmup=false", "--host", "0.0.0.0", *options, environment=environment)
    assert exchange(server, "GET", "/health", {})[0] == 200


@pytest.mark.parametrize("name", ["http://a.example", "a.example:80", "", "*", "a b"])
def test_an_allowed_host_is_a_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "0", "--allowed-host", name]) == 2
    assert f"allowed hosts: invalid host {name!r}" in capsys.readouterr().err
