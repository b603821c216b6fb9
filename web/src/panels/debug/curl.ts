// An attempt as a command for a terminal. Secrets were removed before it was stored: where one belongs there is
// a variable to set. Pure.

import type { DebugAttempt } from "@/api/schema";

const REMOVED = "[redacted]";
const KEY = "$API_KEY";

export function curlOf(attempt: Pick<DebugAttempt, "method" | "url" | "request_headers" | "request_body">) {
  const lines = [`curl -N -X ${quoted(attempt.method)} ${quoted(attempt.url)}`];
  for (const [name, value] of Object.entries(attempt.request_headers)) {
    lines.push(`-H ${header(name, value)}`);
  }
  if (attempt.request_body !== null) lines.push(`--data-raw ${quoted(attempt.request_body)}`);
  return lines.join(" \\\n  ");
}

function header(name: string, value: string): string {
  if (value !== REMOVED) return quoted(`${name}: ${value}`);
  const scheme = name.toLowerCase() === "authorization" ? "Bearer " : "";
  return `${quoted(`${name}: ${scheme}`)}"${KEY}"`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
