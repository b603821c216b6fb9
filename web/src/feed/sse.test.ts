import { expect, it } from "vitest";
import { SseReader } from "./sse";

const FEED =
  'retry: 1000\n\nevent: chat\nid: 1.a\ndata: {"a": 1}\n\n: still here\n\nevent: part\ndata: one\ndata: two\n\n';
const EXPECTED = [
  { event: "chat", id: "1.a", data: '{"a": 1}' },
  { event: "part", id: null, data: "one\ntwo" },
];

it("reads events however they are cut", () => {
  for (let size = 1; size <= FEED.length; size += 1) {
    const reader = new SseReader();
    const frames = [];
    for (let at = 0; at < FEED.length; at += size) frames.push(...reader.read(FEED.slice(at, at + size)));
    expect(frames).toEqual(EXPECTED);
  }
});
