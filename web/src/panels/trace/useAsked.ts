// Which calls of the chat a person is asked about, by the ids of their spans.

import { useMemo } from "react";
import { useChat } from "@/feed/hooks";
import type { Asked } from "./layout";

export function useAsked(): Asked {
  const action = useChat(state => state.chat?.action ?? null);
  return useMemo(() => new Set(action?.calls.map(call => `call-${call.call_id}`)), [action]);
}
