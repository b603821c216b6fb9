// A summary of the conversation, a file that is shown, a workflow.

import { openPanel } from "@/panels/actions";
import { openRun } from "@/panels/workflow/view";
import { texts } from "@/texts";
import { FileTile } from "@/transcript/Files";
import { Markdown } from "@/transcript/markdown/Markdown";
import { Button } from "@/ui/Button";
import { tokens } from "@/ui/format";
import { fieldsOf, readable, textIn } from "../input";
import type { BodyProps } from "./body";
import { Answer, Where } from "./Files";
import { Generic } from "./Generic";

const t = texts.tools;

export function Summary({ view }: BodyProps) {
  const answer = fieldsOf(view.output);
  const [used, percent] = [answer.context_tokens, answer.usage_percent];
  return (
    <div className="flex flex-col gap-1 text-sm">
      {typeof used === "number" && typeof percent === "number" && (
        <p className="text-faint text-xs">{t.summarised(tokens(used), percent)}</p>
      )}
      <Markdown text={textIn(answer, "summary") || readable(view.output)} />
    </div>
  );
}

export function Attached({ chatId, view }: BodyProps) {
  const { file_id, media_type, name, size } = fieldsOf(view.output);
  const whole =
    typeof file_id === "string" &&
    typeof media_type === "string" &&
    typeof name === "string" &&
    typeof size === "number";
  if (!whole) {
    return (
      <div className="flex flex-col gap-1">
        <Where path={textIn(view.input, "path")} />
        <Answer chatId={chatId} view={view} />
      </div>
    );
  }
  return <FileTile file={{ type: "file", file_id, media_type, name, size }} />;
}

/** The run is in the workflow panel, while it goes on and afterwards. */
export function Workflow({ chatId, view }: BodyProps) {
  const run = textIn(view.output, "run_id");
  return (
    <div className="flex flex-col items-start gap-2">
      <Button small onClick={() => (run === "" ? openPanel("workflow") : openRun(run))}>
        {t.openWorkflow}
      </Button>
      <div className="w-full">
        <Generic chatId={chatId} view={view} />
      </div>
    </div>
  );
}
