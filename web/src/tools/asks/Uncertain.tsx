// A call of which nobody knows whether it took effect, because the server stopped while it ran.

import type { ActionCall, Decision } from "@/api/schema";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { Card } from "./Ask";
import { useAnswer } from "./answer";
import { Exactly } from "./Exactly";

const t = texts.tools.ask;

type Asked = Pick<ActionCall, "call_id" | "chat_id" | "name" | "input">;

/** `told`: the model was told already; what is said now reaches it as a notice. */
export function Uncertain({ ask, told = false }: { ask: Asked; told?: boolean }) {
  const { busy, early, decide } = useAnswer(ask);
  const choice = (decision: Decision["decision"], title: string) => (
    <Button key={decision} disabled={busy} onClick={() => decide({ decision })}>
      {title}
    </Button>
  );
  return (
    <Card title={t.uncertain(ask.name)} alarming>
      <p className="text-soft text-sm">{told ? t.uncertainTold : t.uncertainHint}</p>
      <Exactly name={ask.name} input={ask.input} />
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
