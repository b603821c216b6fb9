// The calls of an agent one below the other. Of many only the last ones are shown; those before are counted, and
// what waits for a person is never hidden.

import { ChevronDown, ChevronUp } from "lucide-react";
import { useState } from "react";
import { useChat } from "@/feed/hooks";
import { texts } from "@/texts";
import { CallLine } from "@/tools/CallLine";
import { Boundary } from "@/ui/Boundary";
import { Reasoning } from "./Reasoning";
import { foldedOf, isCall, type Line } from "./rows";

export function Steps({ chatId, lines }: { chatId: string; lines: readonly Line[] }) {
  const [open, setOpen] = useState(false);
  const action = useChat(state => state.chat?.action ?? null);
  const results = useChat(state => state.results);
  const asked = new Set(action?.calls.map(call => call.call_id));
  const folded = open ? 0 : foldedOf(lines);
  const stays = (line: Line) =>
    isCall(line.part) &&
    (asked.has(line.part.call_id) || results.get(line.part.call_id)?.outcome === "uncertain");
  const shown = lines.filter((line, index) => index >= folded || stays(line));
  const many = foldedOf(lines) > 0;
  return (
    <div className="my-1.5 flex flex-col">
      {many && (
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="flex min-h-7 items-center gap-2 rounded-md px-1.5 text-left text-faint text-sm hover:bg-hover hover:text-text"
        >
          {open ? (
            <ChevronUp aria-hidden className="size-4 shrink-0" />
          ) : (
            <ChevronDown aria-hidden className="size-4 shrink-0" />
          )}
          <span className="truncate">
            {open
              ? texts.transcript.fewerSteps
              : texts.transcript.moreSteps(lines.length - shown.length, counted(lines.slice(0, folded)))}
          </span>
        </button>
      )}
      {shown.map(line => (
        <Boundary small key={line.key} attempt={line.part}>
          {isCall(line.part) ? (
            <CallLine chatId={chatId} call={line.part} />
          ) : line.part.type === "reasoning" ? (
            <Reasoning part={line.part} live={line.live} />
          ) : null}
        </Boundary>
      ))}
    </div>
  );
}

/** What the folded calls were: "read_file 5, execute 2". */
export function counted(lines: readonly Line[]): string {
  const counts = new Map<string, number>();
  for (const { part } of lines) if (isCall(part)) counts.set(part.name, (counts.get(part.name) ?? 0) + 1);
  const most = [...counts].sort((one, other) => other[1] - one[1]).slice(0, 4);
  return most.map(([name, count]) => (count > 1 ? `${name} ${count}×` : name)).join(", ");
}
