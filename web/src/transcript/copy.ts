// Copying, and what a message is as text.

import type { LivePart } from "@/feed/state";
import { texts } from "@/texts";
import { toast } from "@/ui/view";

/** Whether it worked; if not, the person is told. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    toast(texts.transcript.cannotCopy, "bad");
    return false;
  }
}

/** What was said, as markdown; calls and reasoning are not said. */
export function textOfParts(parts: readonly LivePart[]): string {
  return parts.flatMap(part => (part.type === "text" ? [part.text] : [])).join("\n\n");
}
