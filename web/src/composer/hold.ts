// A queued message that is being edited: held, so that it is not sent meanwhile, and held on to while it is.

import { useEffect, useRef, useState } from "react";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import type { Content } from "@/transcript/edit";
import { toast } from "@/ui/view";

/** A hold lapses after two minutes. */
const RENEWED_AFTER_MS = 45_000;

export interface Held {
  editing: boolean;
  begin: () => Promise<void>;
  /** Null: leaves it as it was. */
  end: (content: Content | null) => Promise<void>;
}

export function useHold(chatId: string, itemId: string): Held {
  const [token, setToken] = useState<string | null>(null);
  const held = useRef<string | null>(null);
  held.current = token;
  const path = { chat_id: chatId, item_id: itemId };
  const change = (body: { content?: Content; held?: boolean; hold_token?: string }) =>
    call("PATCH /chats/{chat_id}/queue/{item_id}", { path, body });
  const renew = useRef(change);
  renew.current = change;
  useEffect(() => {
    if (token === null) return;
    const timer = setInterval(() => {
      renew.current({ held: true, hold_token: token }).catch((error: unknown) => {
        toast(textOf(error), "attention");
        setToken(null);
      });
    }, RENEWED_AFTER_MS);
    return () => clearInterval(timer);
  }, [token]);
  // Whoever goes elsewhere lets go.
  useEffect(
    () => () => {
      if (held.current !== null)
        renew.current({ held: false, hold_token: held.current }).catch(() => undefined);
    },
    [],
  );
  const begin = async () => {
    try {
      setToken((await change({ held: true })).hold_token);
    } catch (error) {
      toast(textOf(error), "bad");
    }
  };
  const end = async (content: Content | null) => {
    if (token === null) return;
    try {
      held.current = null;
      await change({ ...(content !== null && { content }), held: false, hold_token: token });
      setToken(null);
    } catch (error) {
      held.current = token;
      toast(textOf(error), "bad");
      if (content === null) setToken(null);
    }
  };
  return { editing: token !== null, begin, end };
}
