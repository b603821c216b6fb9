// A model: the name that chats call it by, and what it is at its provider.

import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { call } from "@/api/client";
import { sentence, textOf } from "@/api/problem";
import type { ModelConfigShown, ModelPrice, OfferedModel, PutModel } from "@/api/schema";
import { texts } from "@/texts";
import { ChoiceField, SwitchField, TextField } from "@/ui/Field";
import { Modal } from "@/ui/Modal";
import { PROVIDERS, STALE } from "./Models";
import { priceText } from "./price";
import { Form } from "./Rows";
import { useChange } from "./useChange";

const t = texts.settings.models;
const MAX_OUTPUT = 32_000;

interface Props {
  config: ModelConfigShown | null;
  /** Whose model is added, to begin with. */
  of?: string;
  onClose: () => void;
}

export function ModelForm({ config, of = "", onClose }: Props) {
  const providers = useQuery({
    queryKey: PROVIDERS,
    queryFn: async ({ signal }) => (await call("GET /providers", { signal, query: { limit: 200 } })).items,
  });
  const [name, setName] = useState(config?.name ?? "");
  const [chosen, setProvider] = useState(config?.provider ?? of);
  const [model, setModel] = useState(config?.model ?? "");
  const [limit, setLimit] = useState(String(config?.context_limit ?? ""));
  const [output, setOutput] = useState(String(config?.max_output ?? MAX_OUTPUT));
  const [efforts, setEfforts] = useState(config?.efforts.join(", ") ?? "");
  // Null: nobody said. Then it stays as it was, or as the provider's list has it.
  const [images, setImages] = useState<boolean | null>(null);
  const [chain, setChain] = useState(config?.chain ?? false);
  const [search, setSearch] = useState(config?.provider_tools.includes("web_search") ?? false);
  const [enabled, setEnabled] = useState(config?.enabled ?? true);
  const names = (providers.data ?? []).map(one => one.name);
  const provider = chosen || names[0] || "";
  const offered = useQuery({
    queryKey: ["offered-models", provider],
    queryFn: async ({ signal }) =>
      (
        await call("GET /providers/{name}/models", {
          path: { name: provider },
          query: { limit: 200 },
          signal,
        })
      ).items,
    enabled: provider !== "",
    retry: false,
    staleTime: 60_000,
  });
  const canChain = providers.data?.find(one => one.name === provider)?.api === "responses";
  const list = useId();
  const known = offered.data?.find(one => one.model === model.trim());
  const takesImages = images ?? imagesOf(config, known);
  /** One of the provider's list brings what is known about it. */
  const choose = (id: string) => {
    setModel(id);
    const one = offered.data?.find(each => each.model === id.trim());
    if (one === undefined || config !== null) return;
    setLimit(String(one.context_limit ?? ""));
    setOutput(String(Math.min(one.max_output ?? MAX_OUTPUT, MAX_OUTPUT)));
    setEfforts(one.efforts.join(", "));
    setImages(null);
    if (name === "") setName(nameFor(id));
  };
  const save = useChange(
    () => {
      const body: PutModel = {
        ...kept(config),
        provider,
        model: model.trim(),
        context_limit: limit === "" ? null : Number(limit),
        max_output: Number(output) || MAX_OUTPUT,
        efforts: words(efforts),
        inputs: images === null && config !== null ? config.inputs : inputsOf(config, known, takesImages),
        chain: chain && canChain,
        provider_tools: providerTools(config, search),
        enabled,
      };
      return call("PUT /model-configs/{name}", { path: { name: name.trim() }, body });
    },
    { stale: STALE, onDone: onClose, inForm: true },
  );
  return (
    <Modal title={config ? t.editModel(config.name) : t.addModel} onClose={onClose}>
      <Form
        busy={save.isPending}
        error={save.error}
        onCancel={onClose}
        onSubmit={() => save.mutate(undefined)}
      >
        <ChoiceField
          label={t.provider}
          name="provider"
          value={provider}
          choices={[...new Set([...names, provider])].filter(Boolean).map(value => ({ value, title: value }))}
          onValue={setProvider}
        />
        <TextField
          label={t.model}
          name="model"
          hint={modelHint(offered, known?.price ?? null)}
          value={model}
          onValue={choose}
          maxLength={200}
          list={list}
          required
          data-first
        />
        <datalist id={list}>
          {(offered.data ?? []).map(one => (
            <option key={one.model} value={one.model} label={one.title ?? undefined} />
          ))}
        </datalist>
        <TextField
          label={t.name}
          name="name"
          hint={t.nameHint}
          value={name}
          onValue={setName}
          disabled={config !== null}
          maxLength={64}
          required
        />
        <div className="grid grid-cols-2 items-end gap-4">
          <TextField
            label={t.contextLimit}
            name="context_limit"
            type="number"
            min={1}
            value={limit}
            onValue={setLimit}
          />
          <TextField
            label={t.maxOutput}
            name="max_output"
            type="number"
            min={1}
            value={output}
            onValue={setOutput}
          />
        </div>
        <TextField
          label={t.efforts}
          name="efforts"
          hint={t.effortsHint}
          value={efforts}
          onValue={setEfforts}
        />
        <SwitchField label={t.images} hint={t.imagesHint} checked={takesImages} onValue={setImages} />
        <SwitchField label={t.webSearch} hint={t.webSearchHint} checked={search} onValue={setSearch} />
        {canChain && <SwitchField label={t.chain} hint={t.chainHint} checked={chain} onValue={setChain} />}
        <SwitchField label={t.enabled} checked={enabled} onValue={setEnabled} />
      </Form>
    </Modal>
  );
}

/** The search switched on or off, the other tools as they are. */
function providerTools(config: ModelConfigShown | null, search: boolean): PutModel["provider_tools"] {
  const others = (config?.provider_tools ?? []).filter(one => one !== "web_search");
  return search ? [...others, "web_search"] : others;
}

/** What the list says about the model, or why there is none. */
function modelHint(offered: { data: OfferedModel[] | undefined; error: unknown }, price: ModelPrice | null) {
  if (price !== null) return priceText(price);
  if (offered.error) return t.noModelList(sentence(textOf(offered.error)));
  return offered.data ? t.modelListHint(offered.data.length) : t.modelHint;
}

/** A name that chats can call it by: the model's own, without its maker and without signs that names lack. */
const nameFor = (model: string): string =>
  (model.split("/").at(-1) ?? "")
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 64);

/** On unless it is known that the model does not take them. */
function imagesOf(config: ModelConfigShown | null, known: OfferedModel | undefined): boolean {
  const inputs = config?.inputs.length ? config.inputs : (known?.inputs ?? []);
  return inputs.length === 0 || inputs.includes("image");
}

/** Images switched on or off, the rest as it is. */
function inputsOf(
  config: ModelConfigShown | null,
  known: OfferedModel | undefined,
  images: boolean,
): PutModel["inputs"] {
  const before = config?.inputs.length ? config.inputs : (known?.inputs ?? []);
  const others = new Set(["text", ...before.filter(one => one !== "image")] as const);
  return images ? [...others, "image"] : [...others];
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
