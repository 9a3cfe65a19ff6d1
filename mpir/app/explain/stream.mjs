// Requests to the server: JSON answers, and the stream of events of a ranking.

import { byId } from "./elements.mjs";

const headersOf = (accept) => ({
  "Content-Type": "application/json", Accept: accept,
  ...(byId("key").value ? { Authorization: `Bearer ${byId("key").value}` } : {}),
});

async function request(path, body, { accept = "application/json", signal } = {}) {
  const response = await fetch(path, { method: "POST", headers: headersOf(accept), body: JSON.stringify(body), signal });
  if (!response.ok) throw new Error((await response.json().catch(() => ({}))).message ?? `the server answers with status ${response.status}.`);
  return response;
}

/** The answer to a request with a JSON body. Throws the server's message where it refuses. */
export const post = async (path, body) => (await request(path, body)).json();

/** An event of a stream: its name and its value. */
function eventOf(block) {
  const fields = Object.fromEntries(block.split("\n").map((text) => [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 2)]));
  return [fields.event, JSON.parse(fields.data)];
}

/** Call `take` with each event of a stream. Throws the server's message, or that the stream broke off. */
export async function stream(path, body, take, signal) {
  const response = await request(path, body, { accept: "text/event-stream", signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "", last = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const [name, content] of blocks.map(eventOf)) {
      if (name === "failed") throw new Error(content.message);
      last = name;
      take(name, content);
    }
  }
  if (last !== "ranking") throw new Error("the connection to the server broke off.");
}
