// Giving the answer that an agent waits for. One that somebody else gave first is told as such; one that comes
// too early is given again when its time has come.

import { useState } from "react";
import { call, newKey } from "@/api/client";
import { Problem, textOf } from "@/api/problem";
import type { ActionCall, Decision } from "@/api/schema";
import { texts } from "@/texts";
import { toast } from "@/ui/view";

/** Clocks differ: the moment may have passed here and not there. */
const SHORTEST_WAIT_MS = 500;
/** Longer than this is not waited for; the server says what to do. */
const LONGEST_WAIT_MS = 60_000;

export interface Answering {
  busy: boolean;
  /** The answer waits for the moment from which on it counts. */
  early: boolean;
  decide: (decision: Decision) => void;
  submit: (output: unknown, isError?: boolean) => void;
}

export function useAnswer(ask: Pick<ActionCall, "call_id" | "chat_id">): Answering {
  const [state, setState] = useState<"open" | "early" | "busy">("open");
  const send = async (request: () => Promise<unknown>) => {
    setState("busy");
    try {
      await request();
    } catch (error) {
      const wait = waitOf(error, Date.now());
      if (wait !== null) {
        setState("early");
        setTimeout(() => void send(request), wait);
        return;
      }
      const late = error instanceof Problem && error.code === "already_answered";
      toast(late ? texts.tools.alreadyAnswered : textOf(error), late ? "info" : "bad");
      setState("open");
    }
  };
  const { call_id, chat_id } = ask;
  return {
    busy: state !== "open",
    early: state === "early",
    decide: body =>
      void send(() =>
        call("POST /chats/{chat_id}/calls/{call_id}/decision", {
          path: { chat_id, call_id },
          body,
          once: newKey(),
        }),
      ),
    submit: (output, isError = false) =>
      void send(() =>
        call("POST /chats/{chat_id}/tool-results", {
          path: { chat_id },
          body: { results: [{ call_id, output, is_error: isError }] },
          once: newKey(),
        }),
      ),
  };
}

/** How long an answer is too early by, if that is why it was refused. */
export function waitOf(error: unknown, now: number): number | null {
  if (!(error instanceof Problem) || error.code !== "wrong_state") return null;
  const { not_before } = (error.data ?? {}) as { not_before?: string };
  if (not_before === undefined) return null;
  const wait = Math.max(Date.parse(not_before) - now, SHORTEST_WAIT_MS);
  return wait <= LONGEST_WAIT_MS ? wait : null;
}
