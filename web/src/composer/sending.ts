// A message on its way to the server. The same message sent again after a lost answer is the same request: it
// is not said twice.

import { useRef } from "react";
import { newKey } from "@/api/client";
import { Problem, textOf } from "@/api/problem";
import { toast } from "@/ui/view";

/** Sends under a key that stays until what is sent is another, or has arrived. */
export function useOnce(): (what: string, send: (once: string) => Promise<void>) => Promise<boolean> {
  const kept = useRef<{ what: string; key: string } | null>(null);
  return async (what, send) => {
    if (kept.current?.what !== what) kept.current = { what, key: newKey() };
    try {
      await send(kept.current.key);
      kept.current = null;
      return true;
    } catch (error) {
      // Of what was refused nothing happened: another try is another request.
      if (error instanceof Problem && !error.unreachable) kept.current = null;
      toast(textOf(error), "bad");
      return false;
    }
  };
}
