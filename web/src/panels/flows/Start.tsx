// One flow: what it does, its graph, its arguments as a form or as JSON; and the button that runs it.

import { useQuery } from "@tanstack/react-query";
import { ArrowLeft, Play } from "lucide-react";
import { type FormEvent, lazy, Suspense, useState } from "react";
import { call, newKey } from "@/api/client";
import { textOf } from "@/api/problem";
import type { FlowShown } from "@/api/schema";
import { ArgumentField } from "@/panels/workflow/ArgumentField";
import { argsOf, fieldsOf, readJson, type Values, valuesOf } from "@/panels/workflow/form";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { AreaField, SwitchField } from "@/ui/Field";
import { flowQuery } from "./queries";
import { showFlow } from "./view";

const Graph = lazy(() => import("./Graph"));
const t = texts.panels.flows;

export function Start({ name, workspaceId }: { name: string; workspaceId: string | null }) {
  const flow = useQuery(flowQuery(name, workspaceId));
  return (
    <div className="flex flex-col">
      <header className="flex h-11 shrink-0 items-center gap-1 border-line border-b px-2">
        <IconButton icon={ArrowLeft} label={t.back} onClick={() => showFlow({ at: "library" })} />
        <h2 className="min-w-0 flex-1 truncate font-medium text-sm">{name}</h2>
      </header>
      {flow.error && <p className="p-3 text-bad text-sm">{textOf(flow.error)}</p>}
      {flow.data && <Filling flow={flow.data} workspaceId={workspaceId} />}
    </div>
  );
}

function Filling({ flow, workspaceId }: { flow: FlowShown; workspaceId: string | null }) {
  const fields = fieldsOf(flow.args);
  const [values, setValues] = useState<Values>(() => valuesOf(fields ?? [], undefined));
  const [json, setJson] = useState("");
  const [fresh, setFresh] = useState(false);
  const [tried, setTried] = useState(false);
  const [starting, setStarting] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const filled = argsOf(fields ?? [], values);
  const typed = readJson(json);
  const run = async (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (fields === null ? typed.wrong !== null : Object.keys(filled.wrong).length > 0) return;
    setStarting(true);
    setProblem(null);
    try {
      const args = fields === null ? typed.args : filled.args;
      const body = { name: flow.name, workspace_id: workspaceId, fresh, ...(args !== undefined && { args }) };
      const started = await call("POST /flow-runs", { body, once: newKey() });
      showFlow({ at: "run", id: started.id });
    } catch (error) {
      setProblem(textOf(error));
      setStarting(false);
    }
  };
  return (
    <form onSubmit={event => void run(event)} className="flex flex-col gap-4 p-3">
      <p className="text-pretty text-soft text-sm">{flow.description}</p>
      {fields === null ? (
        <AreaField
          label={texts.panels.workflow.arguments}
          hint={texts.panels.workflow.anyArguments}
          error={tried && typed.wrong !== null ? typed.wrong : undefined}
          value={json}
          rows={4}
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
      <SwitchField
        label={texts.panels.workflow.fresh}
        hint={t.freshHint}
        checked={fresh}
        onValue={setFresh}
      />
      {problem && (
        <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad text-sm">
          {problem}
        </p>
      )}
      <div>
        <Button type="submit" weight="main" icon={Play} busy={starting}>
          {texts.panels.workflow.run}
        </Button>
      </div>
      {flow.graph && (
        <Suspense fallback={null}>
          <Graph graph={flow.graph} steps={{}} chosen={null} onChoose={() => undefined} />
        </Suspense>
      )}
    </form>
  );
}
