// What a person was asked, and what they answered; what the agent plans, and how far it is.

import clsx from "clsx";
import { Circle, CircleCheck, CircleDot } from "lucide-react";
import { texts } from "@/texts";
import { Markdown } from "@/transcript/markdown/Markdown";
import { fieldsOf, listIn, readable, textIn } from "../input";
import { isOver } from "../state";
import type { BodyProps } from "./body";
import { Generic } from "./Generic";

const t = texts.tools;

export function Questions({ chatId, view }: BodyProps) {
  const questions = listIn(view.input, "questions");
  const answers = fieldsOf(fieldsOf(view.output).answers);
  if (questions.length === 0) return <Generic chatId={chatId} view={view} />;
  return (
    <dl className="flex flex-col gap-2 text-sm">
      {questions.map((question, index) => {
        const id = textIn(question, "id") || String(index);
        const answer = answers[id];
        return (
          <div key={id}>
            <dt className="text-soft">{textIn(question, "text")}</dt>
            <dd className="font-medium">
              {answer === undefined
                ? isOver(view.state)
                  ? fieldsOf(view.output).skipped === true
                    ? t.skipped
                    : readable(view.output)
                  : t.notAnswered
                : Array.isArray(answer)
                  ? answer.join(", ")
                  : readable(answer)}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

export function Plan({ view }: BodyProps) {
  const answer = fieldsOf(view.output);
  // Answers of earlier versions had other names.
  const remarks = textIn(answer, "note") || textIn(answer, "remarks");
  const approved = answer.approved === true || answer.accepted === true;
  return (
    <div className="flex flex-col gap-2 text-sm">
      <div className="rounded-md border bg-canvas px-3 py-1">
        <Markdown text={textIn(view.input, "plan")} />
      </div>
      {isOver(view.state) && (
        <p className={approved ? "text-good" : "text-soft"}>
          {approved ? t.planAccepted : remarks ? t.planSentBack(remarks) : readable(view.output)}
        </p>
      )}
    </div>
  );
}

const STATUS = {
  completed: { icon: CircleCheck, look: "text-good" },
  in_progress: { icon: CircleDot, look: "text-accent-text" },
  pending: { icon: Circle, look: "text-faint" },
};

export function Todo({ view }: BodyProps) {
  return (
    <ul className="flex flex-col gap-1 text-sm">
      {listIn(view.input, "items").map((item, index) => {
        const status = textIn(item, "status");
        const known = status === "completed" || status === "in_progress" ? status : "pending";
        const { icon: Icon, look } = STATUS[known];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: items have no other name
          <li key={index} className="flex items-start gap-2">
            <Icon role="img" aria-label={t.todo[known]} className={clsx("mt-0.5 size-4 shrink-0", look)} />
            <span className={clsx(known === "completed" && "text-faint line-through")}>
              {textIn(item, "text")}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
