// One step of a run: what became of it and why, its chat, its result; an approval is answered here.

import { Link } from "@tanstack/react-router";
import { Check, RotateCcw, X } from "lucide-react";
import { useState } from "react";
import { call, newKey } from "@/api/client";
import { textOf } from "@/api/problem";
import type { FlowRunData, FlowStepShown, GraphStep } from "@/api/schema";
import { Value } from "@/panels/Value";
import { ArgumentField } from "@/panels/workflow/ArgumentField";
import { argsOf, fieldsOf, type Values, valuesOf } from "@/panels/workflow/form";
import { openRun } from "@/panels/workflow/view";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { AreaField } from "@/ui/Field";
import { exactMoment } from "@/ui/format";
import { draw, toast } from "@/ui/view";
import { mayRetry } from "./flowRun";
import { State } from "./State";

const t = texts.panels.flows;
const NOTE = "note";

interface Props {
  run: FlowRunData;
  step: GraphStep;
  shown: FlowStepShown;
  onAgain: () => void;
}

export function StepDetails({ run, step, shown, onAgain }: Props) {
  const retry = async () => {
    try {
      await call("POST /flow-runs/{flow_run_id}/steps/{step_id}/retry", {
        path: { flow_run_id: run.id, step_id: step.id },
        once: newKey(),
      });
      onAgain();
    } catch (error) {
      toast(textOf(error), "bad");
    }
  };
  return (
    <section
      aria-label={step.title ?? step.id}
      className="flex flex-col gap-2 rounded-md border border-line p-3"
    >
      <h3 className="flex items-center gap-2 font-medium text-sm">
        <State state={shown.state} />
        <span className="min-w-0 flex-1 truncate">{step.title ?? step.id}</span>
        {mayRetry(run, shown) && (
          <Button small icon={RotateCcw} onClick={() => void retry()}>
            {t.retry}
          </Button>
        )}
      </h3>
      <p className="flex flex-wrap gap-x-3 gap-y-1 text-soft text-xs">
        <span>{t.kinds[step.kind]}</span>
        <span>{t.states[shown.state]}</span>
        {shown.attempt > 1 && <span>{t.attempt(shown.attempt)}</span>}
        {shown.reused && <span>{t.reused}</span>}
        {shown.deadline_at && <span>{t.until(exactMoment(shown.deadline_at))}</span>}
        {shown.chat_id && (
          <Link
            to="/chats/$chatId"
            params={{ chatId: shown.chat_id }}
            onClick={() => draw(null)}
            className="text-accent-text underline underline-offset-2"
          >
            {t.chat}
          </Link>
        )}
        {shown.workflow_run_id && (
          <button
            type="button"
            className="text-accent-text underline underline-offset-2"
            onClick={() => openRun(shown.workflow_run_id ?? "")}
          >
            {t.workflowRun}
          </button>
        )}
      </p>
      {shown.detail && <p className="break-words text-sm">{shown.detail}</p>}
      {step.kind === "approval" && shown.state === "waiting" && (
        <Approval key={shown.attempt} run={run} step={step} shown={shown} />
      )}
      {shown.output !== null && shown.output !== undefined && <Value title={t.result} value={shown.output} />}
    </section>
  );
}

function Approval({ run, step, shown }: { run: FlowRunData; step: GraphStep; shown: FlowStepShown }) {
  const fields = fieldsOf(step.form) ?? [];
  const [values, setValues] = useState<Values>(() => valuesOf(fields, undefined));
  const [written, setNote] = useState("");
  // A form may ask for a note itself: then that one counts, also where no answer is sent.
  const asked = fields.some(field => field.name === NOTE);
  const note = (asked ? values[NOTE] : written) ?? "";
  const [tried, setTried] = useState(false);
  const [doing, setDoing] = useState<"approve" | "deny" | null>(null);
  const filled = argsOf(fields, values);
  const decide = async (decision: "approve" | "deny") => {
    setTried(true);
    if (decision === "approve" && Object.keys(filled.wrong).length > 0) return;
    setDoing(decision);
    try {
      await call("POST /flow-runs/{flow_run_id}/steps/{step_id}/decision", {
        path: { flow_run_id: run.id, step_id: step.id },
        body: {
          decision,
          ...(note.trim() !== "" && { note: note.trim() }),
          ...(fields.length > 0 && decision === "approve" && { answer: filled.args }),
        },
        once: newKey(),
      });
    } catch (error) {
      toast(textOf(error), "bad");
    } finally {
      setDoing(null);
    }
  };
  return (
    <div className="flex flex-col gap-2 rounded-md bg-warn-soft p-3">
      <p className="whitespace-pre-wrap break-words text-sm">{shown.text}</p>
      {fields.map(field => (
        <ArgumentField
          key={field.name}
          field={field}
          value={values[field.name] ?? ""}
          wrong={tried ? filled.wrong[field.name] : undefined}
          onValue={value => setValues(before => ({ ...before, [field.name]: value }))}
        />
      ))}
      {!asked && <AreaField label={t.note} value={written} rows={1} onValue={setNote} />}
      <div className="flex gap-2">
        <Button weight="main" icon={Check} busy={doing === "approve"} onClick={() => void decide("approve")}>
          {t.approve}
        </Button>
        <Button icon={X} busy={doing === "deny"} onClick={() => void decide("deny")}>
          {t.deny}
        </Button>
      </div>
    </div>
  );
}
