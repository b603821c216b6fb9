// A model: the name that chats call it by, and what it is at its provider.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import type { ModelConfigShown, PutModel } from "@/api/schema";
import { texts } from "@/texts";
import { ChoiceField, SwitchField, TextField } from "@/ui/Field";
import { Modal } from "@/ui/Modal";
import { PROVIDERS, STALE } from "./Models";
import { Form } from "./Rows";
import { useChange } from "./useChange";

const t = texts.settings.models;
const MAX_OUTPUT = 32_000;

export function ModelForm({ config, onClose }: { config: ModelConfigShown | null; onClose: () => void }) {
  const providers = useQuery({
    queryKey: PROVIDERS,
    queryFn: async ({ signal }) => (await call("GET /providers", { signal, query: { limit: 200 } })).items,
  });
  const [name, setName] = useState(config?.name ?? "");
  const [chosen, setProvider] = useState(config?.provider ?? "");
  const [model, setModel] = useState(config?.model ?? "");
  const [limit, setLimit] = useState(String(config?.context_limit ?? ""));
  const [output, setOutput] = useState(String(config?.max_output ?? MAX_OUTPUT));
  const [efforts, setEfforts] = useState(config?.efforts.join(", ") ?? "");
  const [enabled, setEnabled] = useState(config?.enabled ?? true);
  const names = (providers.data ?? []).map(one => one.name);
  const provider = chosen || names[0] || "";
  const save = useChange(
    () => {
      const body: PutModel = {
        ...kept(config),
        provider,
        model: model.trim(),
        context_limit: limit === "" ? null : Number(limit),
        max_output: Number(output) || MAX_OUTPUT,
        efforts: words(efforts),
        enabled,
      };
      return call("PUT /model-configs/{name}", { path: { name: name.trim() }, body });
    },
    { stale: STALE, onDone: onClose },
  );
  return (
    <Modal title={config ? t.editModel(config.name) : t.addModel} onClose={onClose}>
      <Form busy={save.isPending} onCancel={onClose} onSubmit={() => save.mutate(undefined)}>
        <TextField
          label={t.name}
          hint={t.nameHint}
          value={name}
          onValue={setName}
          disabled={config !== null}
          maxLength={64}
          required
          data-first
        />
        <ChoiceField
          label={t.provider}
          value={provider}
          choices={[...new Set([...names, provider])].filter(Boolean).map(value => ({ value, title: value }))}
          onValue={setProvider}
        />
        <TextField
          label={t.model}
          hint={t.modelHint}
          value={model}
          onValue={setModel}
          maxLength={200}
          required
        />
        <div className="grid grid-cols-2 items-end gap-4">
          <TextField label={t.contextLimit} type="number" min={1} value={limit} onValue={setLimit} />
          <TextField label={t.maxOutput} type="number" min={1} value={output} onValue={setOutput} />
        </div>
        <TextField label={t.efforts} hint={t.effortsHint} value={efforts} onValue={setEfforts} />
        <SwitchField label={t.enabled} checked={enabled} onValue={setEnabled} />
      </Form>
    </Modal>
  );
}

/** What this form does not show stays as it is. */
function kept(config: ModelConfigShown | null): Partial<PutModel> {
  if (config === null) return {};
  const { name: _, origin: __, ...rest } = config;
  return rest;
}

/** What was written with commas between. */
export function words(text: string): string[] {
  return text
    .split(",")
    .map(word => word.trim())
    .filter(word => word !== "");
}
