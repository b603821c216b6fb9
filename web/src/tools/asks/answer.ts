// Giving the answer that an agent waits for. One that somebody else gave first is told as such.

import { useState } from "react";
import { call, newKey } from "@/api/client";
import { Problem, textOf } from "@/api/problem";
import type { ActionCall, Decision } from "@/api/schema";
import { texts } from "@/texts";
import { toast } from "@/ui/view";

export interface Answering {
  busy: boolean;
  decide: (decision: Decision) => void;
  submit: (output: unknown, isError?: boolean) => void;
}

export function useAnswer(ask: Pick<ActionCall, "call_id" | "chat_id">): Answering {
  const [busy, setBusy] = useState(false);
  const send = async (request: () => Promise<unknown>) => {
    setBusy(true);
    try {
      await request();
    } catch (error) {
      const late = error instanceof Problem && error.code === "already_answered";
      toast(late ? texts.tools.alreadyAnswered : textOf(error), late ? "info" : "bad");
      setBusy(false);
    }
  };
  const { call_id, chat_id } = ask;
  return {
    busy,
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
