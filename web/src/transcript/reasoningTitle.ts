// What reasoning is about, for when it is folded. The server gives a title to what is whole; while it streams, a
// first line in bold is one as soon as it is closed.

import type { Reasoning } from "@/api/schema";

const BOLD = /^\s*(?:\*\*|__)([^*_\n]{1,80})(?:\*\*|__)/;

export const reasoningTitle = (part: Reasoning): string | null =>
  part.title ?? BOLD.exec(part.text)?.[1]?.trim() ?? null;
