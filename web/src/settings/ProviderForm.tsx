// A provider: what it is, where, and its key, which goes in and never comes out.

import { useState } from "react";
import { call } from "@/api/client";
import type { ProviderShown } from "@/api/schema";
import { texts } from "@/texts";
import { ChoiceField, SwitchField, TextField } from "@/ui/Field";
import { Modal } from "@/ui/Modal";
import { STALE } from "./Models";
import { Form } from "./Rows";
import { useChange } from "./useChange";

const t = texts.settings.models;
const KINDS = [
  "anthropic",
  "openai",
  "deepseek",
  "openrouter",
  "groq",
  "mistral",
  "google",
  "azure",
  "pydantic-ai",
  "ollama",
  "vllm",
  "llamacpp",
  "demo",
];

const OTHER_FORMATS = new Set(["anthropic", "google", "pydantic-ai", "demo"]);
const speaksOpenAI = (kind: string): boolean => !OTHER_FORMATS.has(kind);

interface Props {
  provider: ProviderShown | null;
  onSaved: (name: string) => void;
  onClose: () => void;
}

export function ProviderForm({ provider, onSaved, onClose }: Props) {
  const [name, setName] = useState(provider?.name ?? "");
  const [kind, setKind] = useState(provider?.kind ?? "anthropic");
  const [baseUrl, setBaseUrl] = useState(provider?.base_url ?? "");
  const [api, setApi] = useState<"chat" | "responses">(provider?.api === "responses" ? "responses" : "chat");
  const [version, setVersion] = useState(provider?.api_version ?? "");
  const [key, setKey] = useState("");
  const [enabled, setEnabled] = useState(provider?.enabled ?? true);
  const save = useChange(
    () =>
      call("PUT /providers/{name}", {
        path: { name: name.trim() },
        body: {
          kind,
          base_url: baseUrl.trim() || null,
          api: speaksOpenAI(kind) ? api : "chat",
          api_version: version.trim() || null,
          api_key: key.trim() || null,
          enabled,
        },
      }),
    { stale: STALE, onDone: () => onSaved(name.trim()), inForm: true },
  );
  return (
    <Modal title={provider ? t.editProvider(provider.name) : t.addProvider} onClose={onClose}>
      <Form
        busy={save.isPending}
        error={save.error}
        onCancel={onClose}
        onSubmit={() => save.mutate(undefined)}
      >
        <TextField
          label={t.name}
          name="name"
          value={name}
          onValue={setName}
          disabled={provider !== null}
          maxLength={64}
          required
          data-first
        />
        <ChoiceField
          label={t.kind}
          name="kind"
          value={kind}
          choices={[...new Set([...KINDS, kind])].map(value => ({ value, title: value }))}
          onValue={setKind}
        />
        <TextField
          label={t.baseUrl}
          name="base_url"
          hint={t.baseUrlHint}
          type="url"
          value={baseUrl}
          onValue={setBaseUrl}
        />
        {speaksOpenAI(kind) && (
          <ChoiceField
            label={t.api}
            name="api"
            value={api}
            choices={[
              { value: "chat", title: t.apiChat },
              { value: "responses", title: t.apiResponses },
            ]}
            onValue={value => setApi(value === "responses" ? "responses" : "chat")}
          />
        )}
        {kind === "azure" && (
          <TextField
            label={t.apiVersion}
            name="api_version"
            hint={t.apiVersionHint}
            value={version}
            onValue={setVersion}
            maxLength={40}
          />
        )}
        <TextField
          label={t.apiKey}
          name="api_key"
          hint={provider?.has_key ? t.apiKeyKept : t.apiKeyHint}
          type="password"
          autoComplete="new-password"
          value={key}
          onValue={setKey}
        />
        <SwitchField label={t.enabled} checked={enabled} onValue={setEnabled} />
      </Form>
    </Modal>
  );
}
