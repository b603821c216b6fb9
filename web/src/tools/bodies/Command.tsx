// A command and what it printed; processes that run in the background.

import { texts } from "@/texts";
import { commandIn, fieldsOf, listIn, readable, textIn } from "../input";
import { Box, Output, terminal } from "../Output";
import { isOver } from "../state";
import type { BodyProps } from "./body";
import { Generic } from "./Generic";

const t = texts.tools;

export function Command({ chatId, view }: BodyProps) {
  const command = commandIn(view.input);
  const cwd = textIn(view.input, "cwd");
  const answer = fieldsOf(view.output);
  const printed = typeof answer.output === "string" ? answer.output : null;
  const note = textIn(answer, "note");
  return (
    <div className="flex flex-col gap-1.5">
      {command !== "" && <Box text={cwd === "" || cwd === "." ? `$ ${command}` : `${cwd} $ ${command}`} />}
      {isOver(view.state) &&
        (printed === null ? (
          <Output chatId={chatId} callId={view.id} output={view.output} truncated={view.truncated} />
        ) : printed === "" ? (
          <p className="text-faint text-xs">{t.printedNothing}</p>
        ) : (
          <Box text={printed} draw={terminal} />
        ))}
      <Facts answer={answer} />
      {note !== "" && <p className="text-soft text-xs">{note}</p>}
    </div>
  );
}

function Facts({ answer }: { answer: Readonly<Record<string, unknown>> }) {
  const facts = [
    textIn(answer, "status"),
    textIn(answer, "exit_code") && t.exit(textIn(answer, "exit_code")),
    textIn(answer, "signal"),
    textIn(answer, "process_id"),
  ].filter(Boolean);
  return facts.length === 0 ? null : <p className="tabular text-faint text-xs">{facts.join(" · ")}</p>;
}

export function ProcessList({ chatId, view }: BodyProps) {
  const processes = listIn(view.output, "processes");
  if (view.state !== "succeeded") return <Generic chatId={chatId} view={view} />;
  if (processes.length === 0) return <p className="text-faint text-xs">{t.noProcesses}</p>;
  return (
    <ul className="flex flex-col gap-1 text-xs">
      {processes.map(process => (
        <li key={textIn(process, "process_id") || readable(process)} className="flex min-w-0 gap-2">
          <code className="shrink-0 font-mono text-faint">{textIn(process, "process_id")}</code>
          <span className="shrink-0 text-soft">{textIn(process, "status")}</span>
          <code className="truncate font-mono">{textIn(process, "command")}</code>
        </li>
      ))}
    </ul>
  );
}
