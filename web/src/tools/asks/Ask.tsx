// What an agent waits for a person to say, by its kind.

import { TriangleAlert } from "lucide-react";
import { type ReactNode, useRef } from "react";
import type { ActionCall } from "@/api/schema";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { Approval } from "./Approval";
import { useLedTo } from "./focus";
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
        <Card title={t.clientTool(visible(ask.name))}>
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
  const card = useRef<HTMLElement>(null);
  useLedTo(card);
  return (
    <section
      ref={card}
      tabIndex={-1}
      aria-label={title}
      data-testid="ask"
      className={`my-2 flex flex-col gap-3 rounded-lg border border-l-4 bg-raised p-3 ${alarming ? "border-l-bad" : "border-l-warn"}`}
    >
      <h3 className="flex items-center gap-2 break-words font-medium text-sm [overflow-wrap:anywhere]">
        <TriangleAlert aria-hidden className={`size-4 shrink-0 ${alarming ? "text-bad" : "text-warn"}`} />
        {title}
      </h3>
      {children}
    </section>
  );
}
