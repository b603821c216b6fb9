// The connection against a server of this test's own, over real HTTP.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Connection, type Link, type Told } from "./connection";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let handlers: Handler[];
let seen: IncomingMessage[];

beforeEach(async () => {
  handlers = [];
  seen = [];
  server = createServer((request, response) => {
    seen.push(request);
    const handler = handlers.shift() ?? ((_, last) => last.writeHead(404).end());
    handler(request, response);
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const real = fetch;
  vi.stubGlobal("fetch", (url: string, init?: RequestInit) => real(`http://127.0.0.1:${port}${url}`, init));
});

afterEach(async () => {
  vi.unstubAllGlobals();
  server.closeAllConnections();
  await new Promise(resolve => server.close(resolve));
});

const told =
  (...frames: string[]): Handler =>
  (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(frames.join(""));
  };
const frame = (event: string, id: string, data: unknown = {}) =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;

async function watch(): Promise<{ events: Told[]; links: Link[] }> {
  const events: Told[] = [];
  const links: Link[] = [];
  await new Promise<void>(resolve => {
    const connection = new Connection({
      path: () => "/feed",
      onEvents: batch => events.push(...batch),
      onLink: link => {
        links.push(link);
        if (link !== "gone") return;
        connection.stop();
        resolve();
      },
      always: true,
    });
    connection.start();
  });
  return { events, links };
}

it("resumes with the last id it saw, and ends when there is nothing any more", async () => {
  handlers = [
    told(frame("chat", "1"), frame("caught_up", "2"), frame("part", "3")),
    (_, response) => response.destroy(),
    told(frame("part", "4"), frame("caught_up", "5")),
  ];
  const { events, links } = await watch();
  expect(events.map(one => one.event)).toEqual(["chat", "caught_up", "part", "part", "caught_up"]);
  expect(seen.map(request => request.headers["last-event-id"])).toEqual([undefined, "3", "3", "5"]);
  expect(links).toEqual(["live", "reconnecting", "live", "reconnecting", "gone"]);
});

it("does not come back to what was deleted", async () => {
  handlers = [told(frame("caught_up", "1"), 'event: closing\ndata: {"reason": "deleted"}\n\n')];
  const { links } = await watch();
  expect(seen).toHaveLength(1);
  expect(links).toEqual(["live", "gone"]);
});
