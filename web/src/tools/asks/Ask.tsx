// What an agent waits for a person to say, by its kind.

import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { ActionCall } from "@/api/schema";
import { texts } from "@/texts";
import { Approval } from "./Approval";
import { PlanAsk } from "./Plan";
import { QuestionForm } from "./Questions";
import { Uncertain } from "./Uncertain";

const t = texts.tools.ask;

export function Ask({ ask }: { ask: ActionCall }) {
  switch (ask.kind) {
    case "approval":
      return <Approval ask={ask} />;
    case "uncertain":
      return <Uncertain ask={ask} />;
    case "question":
      return <QuestionForm ask={ask} />;
    case "plan":
      return <PlanAsk ask={ask} />;
    case "client_tool":
      return (
        <Card title={t.clientTool(ask.name)}>
          <p className="text-soft text-sm">{t.clientToolHint}</p>
        </Card>
      );
  }
}

export function Card({
  title,
  alarming = false,
  children,
}: {
  title: string;
  alarming?: boolean;
  children: ReactNode;
}) {
  return (
    <section
      aria-label={title}
      data-testid="ask"
      className={`my-2 flex flex-col gap-3 rounded-lg border-2 bg-raised p-3 ${alarming ? "border-bad" : "border-warn"}`}
    >
      <h3 className="flex items-center gap-2 font-medium text-sm">
        <TriangleAlert aria-hidden className={`size-4 shrink-0 ${alarming ? "text-bad" : "text-warn"}`} />
        {title}
      </h3>
      {children}
    </section>
  );
}
