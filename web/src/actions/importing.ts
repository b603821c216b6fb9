// A chat from a file that was exported as JSON. The file goes to the server as it is: it may be large.

import { FileUp } from "lucide-react";
import { newKey, request } from "@/api/client";
import type { Chat } from "@/api/schema";
import { know } from "@/chats/store";
import { texts } from "@/texts";
import { toast } from "@/ui/view";
import type { Action } from "./registry";

const t = texts.actions;
/** The server's limit. */
const MOST_BYTES = 50 * 1024 * 1024;

export const importChat: Action = {
  id: "chat.import",
  title: t.importChat,
  section: "general",
  icon: FileUp,
  run: async ({ navigate }) => {
    const file = await picked();
    if (file === null) return;
    if (file.size > MOST_BYTES) return toast(t.importTooLarge, "bad");
    const response = await request("POST /chats/import", { body: file, once: newKey() });
    const chat = (await response.json()) as Chat;
    know(chat);
    toast(response.status === 201 ? t.imported : t.importedBefore, "good");
    navigate(`/chats/${chat.id}`);
  },
};

/** The file that a person picks; null: none. */
function picked(): Promise<File | null> {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = ".json,application/json";
  input.hidden = true;
  return new Promise<File | null>(resolve => {
    input.addEventListener("change", () => resolve(input.files?.[0] ?? null));
    input.addEventListener("cancel", () => resolve(null));
    // In the page, so that browsers keep it until somebody has picked.
    document.body.append(input);
    input.click();
  }).finally(() => input.remove());
}
