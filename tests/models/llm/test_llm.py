"""A chat model as a perspective, asked over HTTP from a server in a process of its own."""

import json
import logging
import math
import pickle
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from mpir import NamedModels, Reranker, RunOptions, rerank
from mpir.app.cli import main
from mpir.errors import EndpointError, InputError
from mpir.models.chat import chat_endpoint
from mpir.models.chat.chat_endpoint import KEY, ChatEndpoint
from mpir.models.perspectives import ScoreCache, score_pairs
from mpir.models.perspectives.llm import PASSAGE, LlmPerspective, open_llm, yes_probability
from tests.faults.report import count
from tests.models.query_scores import query_scores

QUERY = "Does aspirin thin the blood?"
TEXTS = ["Aspirin acts on platelets.", "A gene of the cell."]
PAIRS = [(QUERY, text) for text in TEXTS]


def requests_of(url: str, model: str) -> int:
    with urllib.request.urlopen(url.removesuffix("/v1") + "/counts") as response:
        return int(json.load(response).get(model, 0))


def test_probability_of_yes_is_its_share_of_both_words() -> None:
    listed = {"Yes": math.log(0.5), " yes": math.log(0.1), "No": math.log(0.2), "Maybe": math.log(0.05)}
    assert yes_probability(listed) == pytest.approx(0.6 / 0.8)


def test_an_unlisted_word_has_the_lowest_probability_that_is_listed() -> None:
    assert yes_probability({"Yes": math.log(0.9), "Sure": math.log(0.01)}) == pytest.approx(0.9 / 0.91)
    assert yes_probability({"Well": -0.1}) is None
    assert yes_probability({}) is None


def test_score_is_the_probability_from_log_probabilities(chat_url: str) -> None:
    assert query_scores(open_llm(chat_url, "logprobs"), QUERY, TEXTS) == pytest.approx([0.8, 0.1])


def test_without_log_probabilities_the_model_grades(chat_url: str) -> None:
    assert query_scores(open_llm(chat_url, "grades"), QUERY, TEXTS) == pytest.approx([0.75, 0.0])


def test_reasoning_is_switched_off_where_a_model_does_not_answer_at_once(chat_url: str) -> None:
    llm = open_llm(chat_url, "thinking")
    assert query_scores(llm, QUERY, TEXTS) == pytest.approx([0.8, 0.1])
    assert llm.identity["body"] == {"reasoning_effort": "none"}


def test_a_busy_endpoint_is_asked_again(chat_url: str) -> None:
    assert query_scores(open_llm(chat_url, "busy", concurrency=2), QUERY, TEXTS) == pytest.approx([0.8, 0.1])


def test_answers_and_cost_are_counted(chat_url: str) -> None:
    llm = open_llm(chat_url, "logprobs", price=(10, 100))
    query_scores(llm, QUERY, TEXTS)
    assert (llm.usage.answers, llm.usage.prompt_tokens, llm.usage.completion_tokens) == (3, 300, 3)  # with the trial
    assert llm.usage.cost == pytest.approx(300 * 10e-6 + 3 * 100e-6)
    assert str(llm.usage).startswith("3 answers, 300 tokens in, 3 out") and str(llm.usage).endswith("$0.0033")


def test_usage_that_the_endpoint_does_not_tell_counts_as_none(chat_url: str) -> None:
    llm = open_llm(chat_url, "no-usage")
    query_scores(llm, QUERY, TEXTS)
    assert (llm.usage.answers, llm.usage.prompt_tokens, llm.usage.cost) == (3, 0, None)


def test_a_pair_is_asked_once_in_memory_and_on_disk(chat_url: str, tmp_path: Path) -> None:
    llm = open_llm(chat_url, "logprobs")
    with_cache = ScoreCache(tmp_path / "scores")
    scores = score_pairs([llm], [*PAIRS, *PAIRS], cache=with_cache).values
    count = requests_of(chat_url, "logprobs")
    assert (query_scores(llm, QUERY, TEXTS) == scores[:2, 0]).all()
    assert requests_of(chat_url, "logprobs") == count
    fresh = open_llm(chat_url, "logprobs")
    assert (score_pairs([fresh], PAIRS, cache=with_cache).values == scores[:2]).all()
    assert requests_of(chat_url, "logprobs") == count + 1  # its trial


def test_a_long_text_counts_with_its_best_passage(chat_url: str) -> None:
    text = "gene " * (PASSAGE // 5) + "platelets"
    values, in_passages = open_llm(chat_url, "logprobs").score_pairs([(QUERY, text), (QUERY, "gene " * 100)])
    assert values == pytest.approx([0.8, 0.1]) and in_passages.tolist() == [True, False]


def test_a_prose_answer_ends_the_job_and_is_not_cached(chat_url: str, tmp_path: Path) -> None:
    llm, cache = open_llm(chat_url, "late-prose"), ScoreCache(tmp_path / "scores")
    with pytest.raises(EndpointError, match="'late-prose' answers 'Well,'"):
        score_pairs([llm], PAIRS, cache=cache)
    assert not cache.look_up(llm.fingerprint, PAIRS)[2].any()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("prose", r"'prose' answers 'Well,' .*llm\.body"),
        ("gpt-9", "model 'gpt-9' .*logprobs, grades,"),
        ("", "model is .*logprobs"),
        ("broken", r"answered \{'choices': \[\]\}"),
    ],
)
def test_unusable_models_are_one_sentence(chat_url: str, model: str, message: str) -> None:
    with pytest.raises(EndpointError, match=message):
        open_llm(chat_url, model).check()


def test_a_slow_endpoint_is_one_sentence(chat_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_endpoint, "FIRST_WAIT", 0.01)
    with pytest.raises(EndpointError, match=r"within 0\.1 s after 2 tries"):
        open_llm(chat_url, "slow", timeout=0.1).check()


def test_an_endpoint_that_is_down_is_one_sentence() -> None:
    with pytest.raises(EndpointError, match=r"^http://127\.0\.0\.1:9/v1: .*\(Connection refused\)"):
        open_llm("http://127.0.0.1:9/v1", "m").check()


def test_a_redirect_is_not_followed(chat_url: str) -> None:
    with pytest.raises(EndpointError, match=r"redirects to 'http://example\.invalid/'"):
        ChatEndpoint(url=chat_url.replace("/v1", "/moved"), model="m").models()


def test_another_server_is_one_sentence(chat_url: str) -> None:
    with pytest.raises(EndpointError, match=r"answered b'\[\]' .*ends in /v1"):
        open_llm(chat_url.removesuffix("/v1"), "m").check()


@pytest.mark.parametrize("url", ["localhost:1", "ftp://x/v1", "http://", "http://a b/", 3, "http://h:99999/"])
def test_invalid_urls(url: str) -> None:
    with pytest.raises(InputError, match=r"invalid URL .*http://localhost:11434/v1"):
        open_llm(url, "m")


def test_a_key_in_the_url_is_refused_and_not_shown() -> None:
    with pytest.raises(InputError, match=KEY) as raised:
        open_llm("http://user:secret@localhost/v1", "m")
    assert "secret" not in str(raised.value)


def test_the_key_comes_from_the_environment_and_is_never_shown(
    start_chat: Callable[..., object], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with start_chat("right-key") as url:  # type: ignore[attr-defined]
        with pytest.raises(EndpointError, match=r"HTTP 401; none .*\$MPIR_LLM_KEY"):
            open_llm(url, "logprobs").check()
        monkeypatch.setenv(KEY, "wrong-key")
        with pytest.raises(EndpointError, match=r"HTTP 401; that .*\$MPIR_LLM_KEY") as raised:
            open_llm(url, "logprobs").check()
        assert "wrong-key" not in str(raised.value) and raised.value.__cause__ is None
        monkeypatch.setenv(KEY, "right-key")
        llm = open_llm(url, "logprobs")
        assert query_scores(llm, QUERY, TEXTS) == pytest.approx([0.8, 0.1])
        assert b"right-key" not in pickle.dumps(llm) and "right-key" not in repr(vars(llm))
    assert "right-key" not in caplog.text


@pytest.mark.parametrize(
    "options",
    [{"answers": "prose"}, {"concurrency": 0}, {"price": 3}, {"price": (1, -1)}, {"timeout": 0}, {"body": [1]},
     {"instruction": 3}],
)  # fmt: skip
def test_invalid_options(chat_url: str, options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        open_llm(chat_url, "logprobs", **options)


def test_a_pickled_perspective_goes_on(chat_url: str) -> None:
    llm = open_llm(chat_url, "logprobs")
    llm.check()
    assert isinstance(copy := pickle.loads(pickle.dumps(llm)), LlmPerspective)
    assert query_scores(copy, QUERY, TEXTS) == pytest.approx([0.8, 0.1])


def test_a_bundle_may_declare_it(chat_url: str, tmp_path: Path) -> None:
    entry = {"name": "judge", "kind": "llm", "url": chat_url, "model": "logprobs", "level": "sentence"}
    bundle = tmp_path / "mine.json"
    bundle.write_text(json.dumps({"format": 1, "perspectives": [entry]}), encoding="utf-8")
    ranking = Reranker(bundle, run=RunOptions(trust_code=True)).rerank(QUERY, TEXTS[::-1])
    scores = [sentence.scores["judge"] for document in ranking.documents for sentence in document.sentences]
    assert scores == pytest.approx([0.8, 0.1])


def test_command_line_ranks_with_it_and_shows_the_cost(
    chat_url: str, tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps({"id": str(i), "abstract": t}) + "\n" for i, t in enumerate(TEXTS)))
    arguments = ["rerank", QUERY, "--docs", str(path), "--bundle", str(tiny_bundle), "--format", "jsonl"]
    assert main([*arguments, "--llm", f"{chat_url}#logprobs", "--set", "llm.price=1,2"]) == 0
    shown = capsys.readouterr()
    scores = {document["id"]: document["scores"]["llm"] for document in json.loads(shown.out)["documents"]}
    assert scores == pytest.approx({"0": 0.8, "1": 0.1})
    assert "mpir: logprobs: 3 answers, 300 tokens in" in shown.err and "$0.0003" in shown.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "llm.timeout=3"], "--set llm.timeout: needs --llm"),
        (["--llm", "localhost"], "llm: invalid URL 'localhost'"),
        (["--llm", f"{'http://127.0.0.1:9/v1'}#m"], "cannot be reached"),
    ],
)
def test_command_line_says_what_is_wrong(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text('{"id": "1", "abstract": "A gene."}\n')
    assert main(["rerank", "a gene", "--docs", str(path), *options]) == 2
    assert message in capsys.readouterr().err


def test_scores_do_not_depend_on_concurrency(chat_url: str) -> None:
    texts = [f"Text {number} of platelets" if number % 3 else f"Text {number}" for number in range(40)]
    several, single = (
        query_scores(open_llm(chat_url, "logprobs", concurrency=number), QUERY, texts) for number in (16, 1)
    )
    assert np.array_equal(several, single)


def test_the_reranker_takes_it_by_url(chat_url: str, tiny_bundle: Path) -> None:
    reranker = Reranker(tiny_bundle, models=NamedModels(llm=f"{chat_url}#logprobs", instruction="Prefer trials."))
    scores = {document.text: document.scores["llm"] for document in reranker.rerank(QUERY, TEXTS).documents}
    assert scores == pytest.approx(dict(zip(TEXTS, [0.8, 0.1], strict=True)))
    assert Reranker(models=NamedModels(llm=f"{chat_url}#logprobs")).layout.documents[:2] == ("bm25", "document")
    with pytest.raises(InputError, match=r"instruction needs .*llm"):
        Reranker(tiny_bundle, models=NamedModels(instruction="Prefer trials."))


def test_rerank_takes_a_chat_model_and_a_bundle_keeps_it(chat_url: str, tiny_bundle: Path, tmp_path: Path) -> None:
    models = NamedModels(llm=f"{chat_url}#logprobs", instruction="Prefer trials.")
    ranking = rerank(QUERY, TEXTS, bundle=tiny_bundle, models=models)
    scores = {document.index: document.scores["llm"] for document in ranking}
    assert scores == pytest.approx({0: 0.8, 1: 0.1})
    Reranker(tiny_bundle, models=models).save_pretrained(tmp_path / "mine")
    saved = next(
        item
        for item in Reranker(tmp_path / "mine", models=NamedModels(llm=f"{chat_url}#logprobs")).perspectives
        if isinstance(item, LlmPerspective)
    )
    assert (saved.endpoint.url, saved.instruction, saved.level) == (chat_url, "Prefer trials.", "document")


@pytest.mark.parametrize(
    ("top", "usage"),
    [
        ('{"token": "Yes", "logprob": 0.7}', "{}"),
        ('{"token": "Yes", "logprob": false}', "{}"),
        ('{"token": "Yes", "logprob": "-1"}', "{}"),
        ('{"token": "Yes", "logprob": NaN}', "{}"),
        ('{"token": "Yes", "logprob": Infinity}', "{}"),
        ('{"token": "Yes", "logprob": -0.1}', '{"prompt_tokens": 1e400}'),
        ('{"token": "Yes", "logprob": -0.1}', '{"prompt_tokens": -1}'),
        ('{"token": "Yes", "logprob": -0.1}', '{"completion_tokens": true}'),
        ('{"token": "Yes", "logprob": -0.1}', '{"completion_tokens": "12"}'),
        ('{"token": 1, "logprob": -0.1}', "{}"),
        ('{"token": null, "logprob": -0.1}', "{}"),
        ('{"token": ["Yes"], "logprob": -0.1}', "{}"),
        ('{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -0.2}', "{}"),
        ('"Yes"', "{}"),
    ],
)
def test_values_that_cannot_be_are_refused(top: str, usage: str) -> None:
    count("chat answers with impossible values")
    with answering(COMPLETION % (top, usage)) as url, pytest.raises(EndpointError, match="a chat completion"):
        open_llm(url, "m", answers="yes-no").check()


@pytest.mark.parametrize(
    "content",
    [
        "true",
        "3",
        '["Yes"]',
        '{"text": "Yes"}',
        '[{"type": "text", "text": 3}]',
        '[{"type": "text"}]',
        f'"{"a" * 90_000}"',
    ],
)
def test_a_text_that_is_none_or_longer_than_its_tokens_is_refused(content: str) -> None:
    text = '{"choices": [{"message": {"content": %s}}]}' % content  # noqa: UP031  (braces)
    with answering(text) as url, pytest.raises(EndpointError, match="a chat completion"):
        ChatEndpoint(url=url, model="m").complete([], max_tokens=30, logprobs=False, tries=1)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("null", ""),
        ('"Yes \\ud800"', "Yes \ufffd"),
        ('[{"type": "text", "text": "Ye"}, {"type": "thinking"}, {"text": "s"}]', "Yes"),
    ],
)
def test_a_text_in_parts_is_joined(content: str, expected: str) -> None:
    text = '{"choices": [{"message": {"content": %s}}]}' % content  # noqa: UP031  (braces)
    with answering(text) as url:
        completion = ChatEndpoint(url=url, model="m").complete([], max_tokens=30, logprobs=False, tries=1)
    assert completion.text == expected


def test_a_rounded_log_probability_and_infinity_below_are_believed() -> None:
    top = '{"token": "Yes", "logprob": 1e-7}, {"token": "No", "logprob": -Infinity}'
    with answering(COMPLETION % (top, '{"prompt_tokens": 12.0}')) as url:
        assert query_scores(open_llm(url, "m", answers="yes-no"), QUERY, TEXTS) == pytest.approx([1.0, 1.0])


COMPLETION = (
    '{"choices": [{"message": {"content": "Yes"}, "logprobs": {"content": [{"top_logprobs": [%s]}]}}], "usage": %s}'
)


@contextmanager
def answering(text: str) -> Iterator[str]:
    """A server that gives every request this answer; the address of its interface."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_GET  # noqa: N815  (as the library calls it)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
