"""A chat model's HTTP interface in a process of its own, for tests: it answers as its mode says.

Mode is the model's name in the request, such as "logprobs" or "prose"; "yes" in the text makes it relevant.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import log
from threading import Lock

MODELS = ["logprobs", "grades", "prose", "thinking", "busy", "slow", "late-prose", "no-usage", "broken"]
lock, counts = Lock(), {}


def answer(body):
    """Status and body for a chat completion."""
    model, prompt = body["model"], body["messages"][-1]["content"]
    with lock:
        counts[model] = number = counts.get(model, 0) + 1
    if prompt.startswith("Write a passage"):
        return 200, {
            "choices": [{"message": {"role": "assistant", "content": "" if model == "prose" else "gene gene"}}]
        }
    is_relevant = "platelets" in prompt
    wants_grade = "digit" in prompt
    if model == "busy" and number % 2:
        return 429, {"error": {"message": "too many requests"}}
    if model == "slow":
        time.sleep(3)
    if model == "broken":
        return 200, {"choices": []}
    thinks = model == "thinking" and body.get("reasoning_effort") != "none"
    is_prose = model == "prose" or (model == "late-prose" and number > 1)
    text = "Well," if is_prose else "<think>" if thinks else "Yes" if is_relevant else "No"
    if wants_grade and text in ("Yes", "No"):
        text = "3" if is_relevant else "0"
    choice = {"message": {"role": "assistant", "content": text}}
    if body.get("logprobs") and model != "grades":
        share = 0.8 if is_relevant else 0.1
        listed = [("Yes", share * 0.9), (" yes", share * 0.1), ("No", 1 - share)]
        entries = [(text, 0.9)] if text not in ("Yes", "No") else listed
        top = [{"token": token, "logprob": log(value)} for token, value in entries]
        choice["logprobs"] = {"content": [{"token": text, "logprob": -0.1, "top_logprobs": top}]}
    usage = {} if model == "no-usage" else {"usage": {"prompt_tokens": 100, "completion_tokens": 1}}
    return 200, {"choices": [choice], **usage}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.refused():
            return
        if self.path == "/counts":
            self.send(200, counts)
        elif self.path == "/moved/models":
            self.send(302, {}, Location="http://example.invalid/")
        else:
            self.send(200, {"data": [{"id": name} for name in MODELS]} if self.path == "/v1/models" else [])

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.refused():
            self.send(*answer(body))

    def refused(self):
        """Whether the key is wrong, which is then said."""
        key = sys.argv[1] if len(sys.argv) > 1 else ""
        if not key or self.headers.get("Authorization") == f"Bearer {key}":
            return False
        self.send(401, {"error": {"message": f"wrong key {self.headers.get('Authorization')}"}})
        return True

    def send(self, status, value, **headers):
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Length": len(data), "Retry-After": "0", **headers}.items():
            self.send_header(name, str(text))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
