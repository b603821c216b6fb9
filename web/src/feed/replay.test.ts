// Recorded feeds of the real server, replayed. Those in fixtures/ are here always; tests/e2e records others and
// names their directory in HOLDFAST_FEEDS.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Message } from "@/api/schema";
import type { FeedEvent } from "./events";
import { reduce, reduceAll } from "./reducer";
import { type ChatState, EMPTY } from "./state";

interface Recording {
  name: string;
  connections: FeedEvent[][];
  messages: Message[];
  status: string;
}

const directories = [join(import.meta.dirname, "fixtures"), process.env.HOLDFAST_FEEDS].filter(
  one => one !== undefined,
);
const recordings = directories.flatMap(directory =>
  readdirSync(directory)
    .filter(name => name.endsWith(".feed.json"))
    .map(name => JSON.parse(readFileSync(join(directory, name), "utf8")) as Recording),
);

describe.each(recordings)("$name", ({ connections, messages, status }) => {
  const events = connections.flat();

  it("ends with what REST tells", () => {
    const state = reduceAll(EMPTY, events);
    expect(state.messages).toEqual(messages);
    expect(state.chat?.status).toBe(status);
    expect(state.preview).toBeNull();
  });

  it("shows text that only grows until it is committed, and never beside its message", () => {
    let state: ChatState = EMPTY;
    for (const event of events) {
      const next = reduce(state, event);
      if (event.event === "part") {
        expect(next.preview?.n).toBe(event.data.n);
        const before = state.preview?.attempt === next.preview?.attempt ? textOf(state) : "";
        expect(textOf(next).startsWith(before)).toBe(true);
      }
      if (event.event === "message" && event.data.replaces) expect(next.preview).toBeNull();
      state = next;
    }
  });

  it("keeps every message that did not change the same object", () => {
    let state: ChatState = EMPTY;
    for (const event of events) {
      const next = reduce(state, event);
      for (const [index, message] of state.messages.entries()) expect(next.messages[index]).toBe(message);
      state = next;
    }
  });

  it("says in its messages what it showed before", () => {
    let state: ChatState = EMPTY;
    for (const event of events) {
      if (event.event === "message" && event.data.replaces && state.preview !== null) {
        const said = event.data.message.parts.map(part => (part.type === "text" ? part.text : "")).join("");
        expect(said.startsWith(textOf(state))).toBe(true);
      }
      state = reduce(state, event);
    }
  });
});

function textOf(state: ChatState): string {
  return state.preview?.parts.map(part => (part.type === "text" ? part.text : "")).join("") ?? "";
}
