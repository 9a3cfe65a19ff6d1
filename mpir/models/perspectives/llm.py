"""A chat model as a perspective, which judges each (query, text) pair over an OpenAI-compatible interface.

The score is the probability of "Yes" against "No" as the first token of the answer (Nogueira et al. 2020, for chat
models). If an endpoint returns no log-probabilities, the model grades the text from 0 to 4, and the score is a
quarter of the grade. Lists of texts are never ranked in one request, because a score must depend on its pair alone to
be cached, blended and tuned.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.checksum import fingerprint
from mpir.core.columns import Level
from mpir.core.text.types import Pair
from mpir.errors import EndpointError, InputError, format_names, format_value
from mpir.models.chat.chat_endpoint import TRIES, ChatEndpoint, Completion, StatusError, unknown_model
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.lru_cache import LruCache
from mpir.models.perspectives.registration import Loading, register
from mpir.types import F64, Bool
from mpir.validation import check_choice, real_number, whole_number

if TYPE_CHECKING:
    from mpir.models.perspectives.cache import ScoreCache

CONCURRENCY = 8
PASSAGE, STEP = 12_000, 8_000
"""Characters of a passage (about 3,000 tokens, because Ollama silently cuts prompts of more than 4,096), and characters
from the start of one passage to the start of the next."""
SYSTEM = "You judge whether a text is relevant to a query of a biomedical search engine."
PROMPTS = {
    "yes-no": "Query: {query}\n\nText: {text}\n\nDoes the text help to answer the query? Reply with Yes or No only.",
    "grade": (
        "Query: {query}\n\nText: {text}\n\nHow well does the text answer the query? 0: another topic; 1: the same "
        "topic, but no answer; 2: a hint; 3: a partial answer; 4: a full answer. Reply with the digit only."
    ),
}
ANSWERS = ("auto", *PROMPTS)
HIGHEST_GRADE = 4
GRADES = {str(grade): grade / HIGHEST_GRADE for grade in range(HIGHEST_GRADE + 1)}
TOKENS = {"yes-no": 1, "grade": 4}
"""Maximum tokens of an answer: several for a grade, because some models begin with white space."""
TRIAL = ("Does aspirin thin the blood?", "Aspirin inhibits the aggregation of platelets.")
BODIES: tuple[dict[str, Any], ...] = (
    {},
    {"reasoning_effort": "none"},
    {"chat_template_kwargs": {"enable_thinking": False}},
)
"""Request fields to try until a model answers without reasoning: none; for Ollama; for vLLM and llama.cpp."""


@dataclass(slots=True, kw_only=True)
class Usage:
    """Counts and costs of requests; `price` is in dollars per million input and output tokens."""

    price: tuple[float, float] | None = None
    answers: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "_lock"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in {**state, "_lock": threading.Lock()}.items():
            setattr(self, name, value)

    def add(self, completion: Completion) -> None:
        """Count an answer."""
        with self._lock:
            self.answers += 1
            self.prompt_tokens += completion.prompt_tokens
            self.completion_tokens += completion.completion_tokens

    @property
    def cost(self) -> float | None:
        """The cost in dollars; None without a price."""
        if self.price is None:
            return None
        return (self.price[0] * self.prompt_tokens + self.price[1] * self.completion_tokens) / 1e6

    def __str__(self) -> str:
        """Return the counts and the cost on one line."""
        cost = "" if self.cost is None else f", ${self.cost:.4f}"
        tokens = f"{self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out"
        return f"{self.answers:,} answers, {tokens}, {self.seconds:.1f} s{cost}"


class LlmPerspective(Perspective):
    """A chat model's judgement of each document, from 0 to 1."""

    name = "llm"
    pairs_per_save = 64

    def __init__(
        self,
        endpoint: ChatEndpoint,
        *,
        instruction: str = "",
        answers: str = "auto",
        concurrency: int = CONCURRENCY,
        price: tuple[float, float] | None = None,
        level: Level = "document",
    ) -> None:
        """Read a chat model.

        `instruction` is a sentence for the model about the task. `answers` is "yes-no" (log-probabilities), "grade", or
        "auto" for the first form that the endpoint supports, determined by a trial request on first use.
        `concurrency` is the maximum number of simultaneous requests.

        Raises:
            InputError: an invalid option.
        """
        check_choice("llm: answers", answers, ANSWERS)
        if not isinstance(instruction, str):
            raise InputError(f"llm: instruction is {format_value(instruction)} (expected a string).")
        self.endpoint, self.instruction, self.answers, self.level = endpoint, instruction, answers, level
        self.concurrency = whole_number("llm: concurrency", concurrency, maximum=1000)
        self.usage = Usage(price=_checked_price(price))
        self._known: LruCache[float] = LruCache(_entry_bytes)

    @property
    def declaration(self) -> dict[str, Any]:
        """The bundle entry of this perspective; the API key stays in the environment."""
        options = {"instruction": self.instruction, "body": dict(self.endpoint.body)}
        named = {key: value for key, value in options.items() if value}
        endpoint = {"url": self.endpoint.url, "model": self.endpoint.model, "answers": self.answers}
        return {"name": self.name, "kind": "llm", "level": self.level, **endpoint, **named}

    def check(self) -> None:
        """Send a trial request to determine the form of answers, before anything is scored.

        Raises:
            EndpointError: the endpoint is down, has no such model or rejects the key, or the model answers with
                neither Yes or No nor a grade.
        """
        _ = self._answering

    @cached_property
    def _answering(self) -> tuple[str, ChatEndpoint]:
        """Return the form of answers, and the endpoint with the request fields for it."""
        names = self.endpoint.models()
        if names and not {self.endpoint.model, f"{self.endpoint.model}:latest"} & set(names):
            raise unknown_model(self.endpoint.url, self.endpoint.model, names)
        last = ""
        for mode in PROMPTS if self.answers == "auto" else (self.answers,):
            for body in BODIES:
                endpoint = replace(self.endpoint, body={**body, **self.endpoint.body})
                try:
                    completion = self._complete(endpoint, mode, TRIAL, tries=2)
                except StatusError as error:
                    if error.status not in (400, 422) or (mode, body) == ("grade", {}):
                        raise
                    continue
                if _score(mode, completion) is not None:
                    return mode, endpoint
                last = completion.text or last
        raise self._prose_error(last)

    def _prose_error(self, text: str) -> EndpointError:
        expected = "Yes or No with log-probabilities" if self.answers == "yes-no" else "Yes, No or a grade from 0 to 4"
        return EndpointError(
            f"{self.endpoint.url}: the model {format_value(self.endpoint.model)} answers {format_value(text)} "
            f"(expected {expected}). Name a model that follows instructions, or switch its reasoning off by llm.body."
        )

    def score_pairs(
        self, pairs: Sequence[Pair], *, cache: ScoreCache | None = None, progress: bool = False
    ) -> tuple[F64, Bool]:
        """Return scores (N,) of pairs, and flags (N,) of those read in passages and scored by the best passage.

        Raises:
            EndpointError: a request failed, or an answer has no score. Earlier answers are kept in memory.
        """
        passages = [(query, list(_passages(text))) for query, text in pairs]
        requests = dict.fromkeys((query, text) for query, texts in passages for text in texts)
        scores = self._score_all(list(requests), progress)
        values = [max(scores[query, text] for text in texts) for query, texts in passages]
        return np.array(values, np.float64), np.array([len(texts) > 1 for _, texts in passages], bool)

    def _score_all(self, pairs: Sequence[Pair], progress: bool) -> dict[Pair, float]:
        keys = {pair: "\0".join(pair) for pair in pairs}
        known = self._known.look_up(keys.values())
        missing = [pair for pair in pairs if keys[pair] not in known]
        if missing:
            known |= self._ask_all({keys[pair]: pair for pair in missing}, progress)
        return {pair: known[key] for pair, key in keys.items()}

    def _ask_all(self, pairs: Mapping[str, Pair], progress: bool) -> dict[str, float]:
        """Return scores by key, with several requests at a time; the first error cancels waiting ones."""
        self.check()
        begin, stopped, scores = time.perf_counter(), threading.Event(), {}
        with ThreadPoolExecutor(self.concurrency, "mpir-llm") as pool:
            futures: dict[str, Future[float]] = {key: pool.submit(self._ask, p, stopped) for key, p in pairs.items()}
            try:
                for key, future in tqdm(futures.items(), desc="asking", unit="text", disable=not progress):
                    raise_if_cancelled()
                    scores[key] = future.result()
            except BaseException:  # cancel the waiting requests on any failure, including an interrupt
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            finally:
                self._known.store(scores)
                self.usage.seconds += time.perf_counter() - begin
        return scores

    def _ask(self, pair: Pair, stopped: threading.Event) -> float:
        mode, endpoint = self._answering
        completion = self._complete(endpoint, mode, pair, stopped=stopped)
        value = _score(mode, completion)
        if value is None:
            raise self._prose_error(completion.text)
        return value

    def _complete(
        self,
        endpoint: ChatEndpoint,
        mode: str,
        pair: Pair,
        *,
        tries: int = TRIES,
        stopped: threading.Event | None = None,
    ) -> Completion:
        head, _, tail = PROMPTS[mode].partition("{text}")
        prompt = head.replace("{query}", pair[0]) + pair[1] + tail
        messages = [
            {"role": "system", "content": f"{SYSTEM} {self.instruction}".strip()},
            {"role": "user", "content": prompt},
        ]
        completion = endpoint.complete(
            messages, max_tokens=TOKENS[mode], logprobs=mode == "yes-no", tries=tries, stopped=stopped
        )
        self.usage.add(completion)
        return completion

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model, the prompt, the endpoint, and the form of answers."""
        mode, endpoint = self._answering
        return {
            "name": self.name,
            "llm": self.endpoint.model,
            "answers": mode,
            "prompt": fingerprint([SYSTEM, self.instruction, PROMPTS[mode], TOKENS[mode], PASSAGE, STEP]),
            "body": dict(endpoint.body),
            "settings": {"url": self.endpoint.url},
        }


def _entry_bytes(key: str, _: float) -> int:
    return 100 + len(key)


def _score(mode: str, completion: Completion) -> float | None:
    """Return the score of an answer, or None for an answer without one."""
    if mode == "grade":
        return GRADES.get(completion.text.strip())
    return yes_probability(completion.first_token)


def yes_probability(log_probabilities: Mapping[str, float]) -> float | None:
    """Return the probability of "yes" against "no", from the log-probabilities of an answer's likeliest first tokens.

    Forms of a word that differ in case and white space count together. An unlisted word has the lowest listed
    log-probability, which is its upper bound. Return None if neither word is listed.
    """
    mass = {"yes": 0.0, "no": 0.0}
    for token, value in log_probabilities.items():
        word = token.strip().lower()
        if word in mass and not math.isnan(value):
            mass[word] += math.exp(min(value, 0.0))
    if not any(mass.values()):
        return None
    lowest = math.exp(min(log_probabilities.values()))
    yes, no = (mass[word] or lowest for word in ("yes", "no"))
    return yes / (yes + no)


def _passages(text: str) -> Iterator[str]:
    """Split a text longer than PASSAGE characters into overlapping passages."""
    for start in range(0, max(1, len(text) - (PASSAGE - STEP)), STEP):
        yield text[start : start + PASSAGE]


def _checked_price(price: Any) -> tuple[float, float] | None:
    if price is None:
        return None
    if not isinstance(price, tuple | list) or len(price) != 2:
        raise InputError(f"llm: price is {format_value(price)} (expected dollars for a million tokens, in and out).")
    first, second = (
        real_number("llm: price", value, "a number of at least 0", lambda number: number >= 0) for value in price
    )
    return first, second


def choose_model(endpoint: ChatEndpoint) -> ChatEndpoint:
    """Return the endpoint with its only model, if none is named.

    Raises:
        EndpointError: the endpoint has several models, or lists none.
    """
    if endpoint.model:
        return endpoint
    names = endpoint.models() or []
    if len(names) != 1:
        listed = f"one of {format_names(names)}" if names else "its name, as the server lists none"
        raise EndpointError(f"{endpoint.url}: no model is named (expected {listed}). Name one, as in URL#NAME.")
    return replace(endpoint, model=names[0])


def open_llm(
    url: str, model: str = "", *, timeout: float | None = None, with_key: bool = True, **options: Any
) -> LlmPerspective:
    """Return the perspective of a chat model by URL and name; without a name, the endpoint's only model.

    Args:
        url: such as ``http://localhost:11434/v1``.
        model: its name at the endpoint.
        timeout: maximum seconds for an answer (default: 60).
        with_key: whether the endpoint gets the key in ``$MPIR_LLM_KEY``.
        options: ``body`` (further fields of each request), and those of `LlmPerspective`.

    Raises:
        InputError: an invalid option.
        EndpointError: the trial request fails (see `LlmPerspective.check`).
    """
    body = options.pop("body", None) or {}
    if not isinstance(body, Mapping):
        raise InputError(f"llm: body is {format_value(body)} (expected an object of further fields of a request).")
    limits = {} if timeout is None else {"timeout": real_number("llm: timeout", timeout, "seconds above 0", _positive)}
    endpoint = choose_model(ChatEndpoint(url=url, model=model or "", body=body, with_key=with_key, **limits))
    return LlmPerspective(endpoint, **options)


def _positive(value: float) -> bool:
    return value > 0


@register("llm")
def load_llm(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``url``, ``model``, and the options of `open_llm`."""
    return open_llm(**options, with_key=str(options["url"]).rstrip("/") in loading.addresses)
