// Requests to the server: JSON answers, and the stream of events of a ranking.

import { byId } from "./elements.mjs";

async function request(path, body, accept = "application/json", signal = null) {
  const headers = new Headers({ "Content-Type": "application/json", Accept: accept });
  if (byId("key").value) headers.set("Authorization", `Bearer ${byId("key").value}`);
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  if (!response.ok) throw new Error((await response.json().catch(() => ({}))).message ?? `the server answers with status ${response.status}.`);
  return response;
}

/** The answer to a request with a JSON body. Throws the server's message where it refuses. */
export const post = async (path, body) => (await request(path, body)).json();

/** An event of a stream: its name and its value. */
function eventOf(block) {
  const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(block);
  return [name, JSON.parse(data)];
}

/** Call `take` with each event of a stream. Throws the server's message, or that the stream broke off. */
export async function stream(path, body, take, signal) {
  const response = await request(path, body, "text/event-stream", signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "", last = "";
  for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
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
