// Whether a call may run. Shows exactly what will: every field of the input, nothing shortened away.

import { useId, useState } from "react";
import type { ActionCall } from "@/api/schema";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { textIn } from "../input";
import { Card } from "./Ask";
import { useAnswer } from "./answer";
import { Exactly } from "./Exactly";

const t = texts.tools.ask;

export function Approval({ ask }: { ask: ActionCall }) {
  const { busy, decide } = useAnswer(ask);
  const [why, setWhy] = useState<string | null>(null);
  const id = useId();
  const access = ask.name === "request_access";
  return (
    <Card title={access ? t.access(textIn(ask.input, "path")) : t.approval(ask.name)}>
      <Exactly name={ask.name} input={ask.input} />
      {why === null ? (
        <div className="flex flex-wrap gap-2">
          <Button weight="main" busy={busy} onClick={() => decide({ decision: "approve", scope: "once" })}>
            {t.once}
          </Button>
          {!access && (
            <Button disabled={busy} onClick={() => decide({ decision: "approve", scope: "chat" })}>
              {t.always(ask.name)}
            </Button>
          )}
          <Button disabled={busy} weight="danger" onClick={() => setWhy("")}>
            {t.no}
          </Button>
        </div>
      ) : (
        <form
          className="flex flex-col gap-2"
          onSubmit={event => {
            event.preventDefault();
            decide({ decision: "deny", note: why.trim() || null });
          }}
        >
          <label htmlFor={id} className="text-sm">
            {t.because}
          </label>
          <textarea
            id={id}
            // biome-ignore lint/a11y/noAutofocus: the person just asked to write here
            autoFocus
            rows={2}
            value={why}
            onChange={event => setWhy(event.target.value)}
            onKeyDown={event => {
              if (event.key === "Escape") {
                event.preventDefault();
                setWhy(null);
              }
              if (event.key === "Enter" && !event.shiftKey) {
                event.preventDefault();
                event.currentTarget.form?.requestSubmit();
              }
            }}
            className="w-full resize-y rounded-md border border-line-strong/70 bg-canvas px-2.5 py-1.5 text-sm"
          />
          <div className="flex gap-2">
            <Button type="submit" weight="danger" busy={busy}>
              {t.deny}
            </Button>
            <Button onClick={() => setWhy(null)}>{texts.common.cancel}</Button>
          </div>
        </form>
      )}
    </Card>
  );
}
