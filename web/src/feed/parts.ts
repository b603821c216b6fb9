// Live parts, joined as the server joins them: what goes on with the same thing makes it longer.

import type { LivePart } from "./state";

export function joined(parts: readonly LivePart[], part: LivePart): readonly LivePart[] {
  const last = parts.at(-1);
  const longer = last === undefined ? null : goingOn(last, part);
  if (longer !== null) return [...parts.slice(0, -1), longer];
  if (part.type === "tool_call") {
    // The whole call takes the place of the pieces of its input.
    const at = parts.findIndex(one => one.type === "tool_call_delta" && one.call_id === part.call_id);
    if (at >= 0) return parts.with(at, part);
  }
  if (part.type === "tool_call_delta") {
    const at = parts.findLastIndex(one => one.type === "tool_call_delta" && one.call_id === part.call_id);
    const before = parts[at];
    if (before?.type === "tool_call_delta")
      return parts.with(at, { ...before, text: before.text + part.text });
  }
  return [...parts, part];
}

function goingOn(last: LivePart, part: LivePart): LivePart | null {
  if (last.type === "text" && part.type === "text") return { ...last, text: last.text + part.text };
  if (last.type === "reasoning" && part.type === "reasoning") {
    return {
      ...last,
      text: last.text + part.text,
      started_at: last.started_at ?? part.started_at,
      finished_at: part.finished_at,
    };
  }
  return null;
}
