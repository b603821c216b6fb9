// What a person wrote, as it is sent: text and the files beside it. Pure.

import type { SendMessage } from "@/api/schema";
import type { LivePart } from "@/feed/state";

export type Content = SendMessage["content"];

/** A new text with the files of before. */
export function contentOf(parts: readonly LivePart[], text: string): Content {
  const files = parts.flatMap(part => (part.type === "file" ? [part.file_id] : []));
  return content(text, files);
}

export function content(text: string, fileIds: readonly string[]): Content {
  if (fileIds.length === 0) return text;
  const files = fileIds.map(file_id => ({ type: "file" as const, file_id }));
  return text.trim() === "" ? files : [{ type: "text" as const, text }, ...files];
}
