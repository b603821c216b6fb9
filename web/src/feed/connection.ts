// One feed that is kept open: it resumes with the id of the last event, waits longer after each failure, and
// hands events over in batches, one per drawn frame, so that a fast stream never stands in the way of typing.

import { PREFIX, tellSignedOut } from "@/api/client";
import type { Closing } from "./events";
import { SseReader } from "./sse";

/** connecting: for the first time.  live: told everything.  reconnecting: it was, and will be again.
 *  gone: what was watched was deleted, or is not ours.  */
export type Link = "connecting" | "live" | "reconnecting" | "gone";

export interface Told {
  event: string;
  data: unknown;
}

export interface Watched {
  /** Below the API's prefix, without a cursor. */
  path: () => string;
  onEvents: (events: Told[]) => void;
  onLink: (link: Link) => void;
  /** Also while the page is hidden. */
  always?: boolean;
}

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 15_000;
// The server says something at least every 15 seconds.
const SILENCE_MS = 40_000;
// A page that nobody sees gives its connection back after so long: browsers have six for each server.
const HIDDEN_MS = 20_000;

export class Connection {
  cursor: string | null = null;
  private open: AbortController | null = null;
  private failures = 0;
  private stopped = false;
  private restarting = false;
  private was: Link = "connecting";
  private waiting: Told[] = [];
  private flushing = false;
  private wake: (() => void) | null = null;
  private leaving: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly watched: Watched) {}

  start(): void {
    this.stopped = false;
    globalThis.addEventListener?.("online", this.hurry);
    globalThis.document?.addEventListener("visibilitychange", this.hurry);
    void this.run();
  }

  stop(): void {
    this.stopped = true;
    globalThis.removeEventListener?.("online", this.hurry);
    globalThis.document?.removeEventListener("visibilitychange", this.hurry);
    clearTimeout(this.leaving);
    this.flush();
    this.open?.abort();
    this.wake?.();
  }

  /** Begins again without a cursor: what is known is to be told anew. */
  restart(): void {
    this.cursor = null;
    this.waiting = [];
    this.restarting = true;
    this.open?.abort();
  }

  private readonly hurry = (): void => {
    clearTimeout(this.leaving);
    if (!isHidden()) this.wake?.();
    else if (!this.watched.always) this.leaving = setTimeout(() => this.open?.abort(), HIDDEN_MS);
  };

  private async run(): Promise<void> {
    while (!this.stopped) {
      this.restarting = false;
      const ending = await this.connectOnce();
      if (this.stopped) return;
      if (ending === "gone") {
        this.link("gone");
        return;
      }
      this.link(this.was === "connecting" ? "connecting" : "reconnecting");
      if (!this.restarting) await this.pause();
    }
  }

  private async connectOnce(): Promise<"gone" | "again"> {
    const open = new AbortController();
    this.open = open;
    const resume = this.cursor === null ? undefined : { "Last-Event-ID": this.cursor };
    try {
      const response = await fetch(PREFIX + this.watched.path(), {
        headers: { Accept: "text/event-stream", ...resume },
        signal: open.signal,
        cache: "no-store",
      });
      if (response.status === 401) {
        tellSignedOut();
        return "gone";
      }
      if (response.status === 404 || response.status === 403) return "gone";
      if (!response.ok || response.body === null) return "again";
      return await this.readAll(response.body, open);
    } catch {
      return "again";
    }
  }

  private async readAll(body: ReadableStream<Uint8Array>, open: AbortController): Promise<"gone" | "again"> {
    const reader = body
      .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
      .getReader();
    const lines = new SseReader();
    let silence = setTimeout(() => open.abort(), SILENCE_MS);
    let ending: Closing | null = null;
    try {
      while (true) {
        const { done, value } = await reader.read();
        if (done || open.signal.aborted) break;
        clearTimeout(silence);
        silence = setTimeout(() => open.abort(), SILENCE_MS);
        for (const frame of lines.read(value)) {
          if (frame.id) this.cursor = frame.id;
          const data: unknown = JSON.parse(frame.data);
          if (frame.event === "closing") ending = (data as { reason: Closing }).reason;
          if (frame.event === "caught_up") this.reached();
          this.hand({ event: frame.event, data });
        }
      }
    } finally {
      clearTimeout(silence);
    }
    if (ending === "access") tellSignedOut();
    return ending === "deleted" || ending === "access" ? "gone" : "again";
  }

  private reached(): void {
    this.failures = 0;
    this.link("live");
  }

  private link(link: Link): void {
    if (link === this.was) return;
    this.was = link;
    this.watched.onLink(link);
  }

  private pause(): Promise<void> {
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.failures);
    this.failures += 1;
    const asleep = isHidden() && !this.watched.always;
    return new Promise(resolve => {
      const timer = asleep ? undefined : setTimeout(resolve, longest / 2 + Math.random() * (longest / 2));
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  // --- batches ---

  private hand(told: Told): void {
    this.waiting.push(told);
    if (this.flushing) return;
    this.flushing = true;
    // Nothing is drawn for a hidden page, and its timers are held back for minutes.
    if (isHidden()) queueMicrotask(this.flush);
    else requestAnimationFrame(this.flush);
  }

  private readonly flush = (): void => {
    this.flushing = false;
    if (this.waiting.length === 0) return;
    const batch = this.waiting;
    this.waiting = [];
    this.watched.onEvents(batch);
  };
}

function isHidden(): boolean {
  return globalThis.document === undefined || document.visibilityState === "hidden";
}
