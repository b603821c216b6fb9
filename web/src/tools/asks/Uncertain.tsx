// A call of which nobody knows whether it took effect, because the server stopped while it ran.

import { useState } from "react";
import type { ActionCall, Decision } from "@/api/schema";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { Card } from "./Ask";
import { useAnswer } from "./answer";
import { Exactly, hiddenLines } from "./Exactly";

const t = texts.tools.ask;

type Asked = Pick<ActionCall, "call_id" | "chat_id" | "name" | "input">;

/** `told`: the model was told already; what is said now reaches it as a notice. */
export function Uncertain({ ask, told = false }: { ask: Asked; told?: boolean }) {
  const { busy, early, decide } = useAnswer(ask);
  const [open, setOpen] = useState(false);
  // What would run again must have been seen.
  const unseen = !open && hiddenLines(ask.name, ask.input) > 0;
  const choice = (decision: Decision["decision"], title: string) => (
    <Button
      key={decision}
      disabled={busy || (decision === "retry" && unseen)}
      onClick={() => decide({ decision })}
    >
      {title}
    </Button>
  );
  return (
    <Card title={t.uncertain(visible(ask.name))} alarming>
      <p className="text-soft text-sm">{told ? t.uncertainTold : t.uncertainHint}</p>
      <Exactly name={ask.name} input={ask.input} open={open} onOpen={() => setOpen(true)} />
      <div className="flex flex-wrap gap-2">
        {choice("retry", t.runAgain)}
        {choice("done", t.wasDone)}
        {choice("skip", t.skip)}
      </div>
      {early && (
        <p role="status" className="text-soft text-sm">
          {t.tooEarly}
        </p>
      )}
    </Card>
  );
}
