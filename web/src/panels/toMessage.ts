// From a panel to a place in the conversation.

import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import { draw } from "@/ui/view";

export function useToMessage(chatId: string): (messageId: string) => void {
  const navigate = useNavigate();
  return useCallback(
    messageId => {
      // On a phone the panel covers the conversation.
      draw(null);
      void navigate({ to: "/chats/$chatId", params: { chatId }, hash: messageId });
    },
    [navigate, chatId],
  );
}
