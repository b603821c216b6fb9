// One workflow: what it does, its arguments as a form or as JSON, its script; and the button that runs it.

import { useQuery } from "@tanstack/react-query";
import { ArrowLeft, Play } from "lucide-react";
import { type FormEvent, useState } from "react";
import { call, newKey } from "@/api/client";
import { Problem, textOf } from "@/api/problem";
import type { WorkflowShown } from "@/api/schema";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { AreaField, SwitchField, TextField } from "@/ui/Field";
import { tokens } from "@/ui/format";
import { ArgumentField } from "./ArgumentField";
import { argsOf, fieldsOf, readJson, type Values, valuesOf } from "./form";
import { workflowQuery } from "./queries";
import { Script } from "./Script";
import { showWorkflow } from "./view";

const t = texts.panels.workflow;

interface Props {
  name: string;
  /** What it was given before. */
  args: unknown;
  workspaceId: string | null;
}

export function Start({ name, args, workspaceId }: Props) {
  const workflow = useQuery(workflowQuery(name, workspaceId));
  return (
    <div className="flex flex-col">
      <header className="flex h-11 shrink-0 items-center gap-1 border-line border-b px-2">
        <IconButton icon={ArrowLeft} label={t.back} onClick={() => showWorkflow({ at: "library" })} />
        <h2 className="min-w-0 flex-1 truncate font-medium text-sm">{name}</h2>
      </header>
      {workflow.error && <p className="p-3 text-bad text-sm">{textOf(workflow.error)}</p>}
      {workflow.data && <Filling workflow={workflow.data} before={args} workspaceId={workspaceId} />}
    </div>
  );
}

interface FillingProps {
  workflow: WorkflowShown;
  before: unknown;
  workspaceId: string | null;
}

function Filling({ workflow, before, workspaceId }: FillingProps) {
  const fields = fieldsOf(workflow.args);
  const [asJson, setAsJson] = useState(fields === null);
  const [values, setValues] = useState<Values>(() => valuesOf(fields ?? [], before));
  const [json, setJson] = useState(() => (before == null ? "" : JSON.stringify(before, null, 2)));
  const [budget, setBudget] = useState("");
  const [fresh, setFresh] = useState(false);
  const [reuse, setReuse] = useState(false);
  const [tried, setTried] = useState(false);
  const [starting, setStarting] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);

  const filled = argsOf(fields ?? [], values);
  const typed = readJson(json);
  const switchTo = (toJson: boolean) => {
    if (toJson) setJson(Object.keys(filled.args).length === 0 ? "" : JSON.stringify(filled.args, null, 2));
    else if (typed.wrong === null) setValues(valuesOf(fields ?? [], typed.args));
    setAsJson(toJson);
  };
  const run = async (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (asJson ? typed.wrong !== null : Object.keys(filled.wrong).length > 0) return;
    setStarting(true);
    setProblem(null);
    try {
      const args = asJson ? typed.args : filled.args;
      const body = {
        name: workflow.name,
        workspace_id: workspaceId,
        fresh,
        reuse: reuse && !fresh,
        ...(args !== undefined && { args }),
        ...(budget.trim() !== "" && { budget: Number(budget) }),
      };
      const started = await call("POST /workflow-runs", { body, once: newKey() });
      showWorkflow({ at: "run", id: started.id });
    } catch (error) {
      setProblem(error instanceof Problem ? textOf(error) : String(error));
      setStarting(false);
    }
  };
  return (
    <form onSubmit={event => void run(event)} className="flex flex-col gap-4 p-3">
      <p className="text-pretty text-soft text-sm">{workflow.description}</p>
      {workflow.phases.length > 0 && (
        <ol className="flex flex-wrap gap-1" aria-label={t.phases}>
          {workflow.phases.map(phase => (
            <li
              key={phase.title}
              title={phase.detail ?? undefined}
              className="rounded-full bg-sunken px-2 py-0.5 text-soft text-xs"
            >
              {phase.title}
            </li>
          ))}
        </ol>
      )}
      {fields !== null && (
        <div className="flex justify-end">
          <Button small weight="quiet" onClick={() => switchTo(!asJson)}>
            {asJson ? t.asForm : t.asJson}
          </Button>
        </div>
      )}
      {asJson || fields === null ? (
        <AreaField
          label={t.arguments}
          hint={workflow.args === null ? t.anyArguments : t.jsonHint}
          error={tried && typed.wrong !== null ? typed.wrong : undefined}
          value={json}
          rows={6}
          spellCheck={false}
          className="font-mono"
          onValue={setJson}
        />
      ) : (
        fields.map(field => (
          <ArgumentField
            key={field.name}
            field={field}
            value={values[field.name] ?? ""}
            wrong={tried ? filled.wrong[field.name] : undefined}
            onValue={value => setValues(before => ({ ...before, [field.name]: value }))}
          />
        ))
      )}
      <TextField
        label={t.budget}
        hint={workflow.budget === null ? t.budgetHint : t.budgetOf(tokens(workflow.budget))}
        inputMode="numeric"
        value={budget}
        onValue={value => setBudget(value.replace(/\D/g, ""))}
      />
      <SwitchField label={t.fresh} hint={t.freshHint} checked={fresh} onValue={setFresh} />
      {!fresh && <SwitchField label={t.reuse} hint={t.reuseHint} checked={reuse} onValue={setReuse} />}
      {problem && (
        <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad text-sm">
          {problem}
        </p>
      )}
      <div>
        <Button type="submit" weight="main" icon={Play} busy={starting}>
          {t.run}
        </Button>
      </div>
      {workflow.script !== null && <Script text={workflow.script} language={workflow.language ?? ""} />}
    </form>
  );
}
