// A workspace is made from a template: what it asks for, what it runs, and its output while it is made.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { call } from "@/api/client";
import { templatesQuery, workspaceBuildQuery, workspacesQuery } from "@/api/queries";
import type { TemplateShown } from "@/api/schema";
import { markedText } from "@/text/marks";
import { texts } from "@/texts";
import { AskedInput } from "@/tools/AskedInput";
import { contentOf, fieldsOf, givenFirst } from "@/tools/mcpFields";
import { Button } from "@/ui/Button";
import { ChoiceField, TextField } from "@/ui/Field";
import { Modal } from "@/ui/Modal";
import { ScrolledText } from "@/ui/ScrolledText";
import { toast } from "@/ui/view";
import { Form, Lead } from "./Rows";
import { TemplateCommands, useTemplateTrust } from "./TemplateCommands";
import { useChange } from "./useChange";

const t = texts.settings.templates;

interface Props {
  onClose: () => void;
  /** The new workspace is there. */
  onMade: (workspaceId: string) => void;
  first?: string | undefined;
}

export function NewFromTemplate({ onClose, onMade, first }: Props) {
  const listed = useQuery(templatesQuery);
  const usable = (listed.data ?? []).filter(one => one.error === null);
  const [wanted, setWanted] = useState<string | null>(first ?? null);
  const [buildId, setBuildId] = useState<string | null>(null);
  const template = usable.find(one => one.name === wanted) ?? usable[0];
  return (
    <Modal title={t.make} onClose={onClose}>
      <div className="flex flex-col gap-4">
        {buildId !== null ? (
          <Building buildId={buildId} onMade={onMade} onClose={onClose} onBack={() => setBuildId(null)} />
        ) : template === undefined ? (
          <Lead>{listed.isPending ? texts.common.loading : t.empty}</Lead>
        ) : (
          <>
            <ChoiceField
              label={t.template}
              value={template.name}
              choices={usable.map(one => ({ value: one.name, title: one.name }))}
              hint={markedText(template.description)}
              onValue={setWanted}
            />
            <TemplateForm key={template.name} template={template} onCancel={onClose} onBuild={setBuildId} />
          </>
        )}
      </div>
    </Modal>
  );
}

interface FormProps {
  template: TemplateShown;
  onCancel: () => void;
  onBuild: (buildId: string) => void;
}

function TemplateForm({ template, onCancel, onBuild }: FormProps) {
  const fields = fieldsOf(template.parameters);
  const [name, setName] = useState("");
  const [given, setGiven] = useState(() => givenFirst(template.parameters));
  const trust = useTemplateTrust(template);
  const make = useChange(
    async () => {
      if (trust.isNeeded) await trust.decide("trust");
      return await call("POST /workspace-builds", {
        body: {
          template: template.name,
          name: name.trim() || null,
          parameters: contentOf(fields, given) as Record<string, never>,
        },
      });
    },
    { stale: [templatesQuery.queryKey], onDone: build => onBuild(build.id), inForm: true },
  );
  return (
    <Form
      busy={make.isPending}
      error={make.error}
      save={trust.isNeeded ? t.trustAndMake : t.create}
      onCancel={onCancel}
      onSubmit={() => make.mutate(undefined)}
    >
      <TextField
        label={t.name}
        name="name"
        hint={t.nameHint}
        placeholder={template.name}
        value={name}
        onValue={setName}
        maxLength={100}
        data-first
      />
      {fields.map(field => (
        <AskedInput
          key={field.name}
          field={field}
          value={given[field.name]}
          onValue={value => setGiven({ ...given, [field.name]: value })}
        />
      ))}
      <TemplateCommands template={template} />
    </Form>
  );
}

interface BuildingProps extends Pick<Props, "onMade" | "onClose"> {
  buildId: string;
  onBack: () => void;
}

function Building({ buildId, onMade, onClose, onBack }: BuildingProps) {
  const build = useQuery(workspaceBuildQuery(buildId)).data;
  const workspaces = useQuery(workspacesQuery);
  const told = useRef(false);
  const made = build?.workspace_id ?? null;
  const { refetch } = workspaces;
  useEffect(() => {
    if (made === null || told.current) return;
    told.current = true;
    void refetch().then(() => {
      toast(t.made, "good");
      onClose();
      onMade(made);
    });
  }, [made, onMade, onClose, refetch]);
  return (
    <>
      <p role="status" className="text-sm">
        {build?.state === "failed" ? t.failed : t.making}
      </p>
      {(build?.error ?? build?.output) && (
        <ScrolledText className="max-h-72 rounded bg-sunken p-2 font-mono text-xs">
          {markedText(build.error ?? build.output ?? "")}
        </ScrolledText>
      )}
      {build?.state === "failed" && (
        <div className="flex justify-end">
          <Button onClick={onBack}>{t.back}</Button>
        </div>
      )}
    </>
  );
}
