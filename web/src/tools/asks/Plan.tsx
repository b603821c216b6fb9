// A plan to accept, or to send back with remarks.

import { useId, useState } from "react";
import type { ActionCall } from "@/api/schema";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { Markdown } from "@/transcript/markdown/Markdown";
import { Button } from "@/ui/Button";
import { readable, textIn } from "../input";
import { Card } from "./Ask";
import { useAnswer } from "./answer";

const t = texts.tools.ask;

export function PlanAsk({ ask }: { ask: ActionCall }) {
  const { busy, submit } = useAnswer(ask);
  const [remarks, setRemarks] = useState("");
  const id = useId();
  return (
    <Card title={t.plan}>
      <div
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="max-h-[28rem] overflow-y-auto rounded-md border bg-canvas px-3 py-1 text-sm"
      >
        <Markdown text={visible(textIn(ask.input, "plan") || readable(ask.input))} />
      </div>
      <form
        className="flex flex-col gap-2"
        onSubmit={event => {
          event.preventDefault();
          if (remarks.trim() !== "") submit({ approved: false, note: remarks.trim() });
        }}
      >
        <label htmlFor={id} className="text-sm">
          {t.remarks}
        </label>
        <textarea
          id={id}
          rows={2}
          value={remarks}
          onChange={event => setRemarks(event.target.value)}
          className="w-full resize-y rounded-md border border-line-strong/70 bg-canvas px-2.5 py-1.5 text-sm"
        />
        <div className="flex flex-wrap gap-2">
          <Button
            weight="main"
            busy={busy}
            disabled={remarks.trim() !== ""}
            onClick={() => submit({ approved: true })}
          >
            {t.accept}
          </Button>
          <Button type="submit" disabled={busy || remarks.trim() === ""}>
            {t.sendBack}
          </Button>
        </div>
      </form>
    </Card>
  );
}
