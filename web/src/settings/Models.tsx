// Providers and models: admins change them, everybody sees which there are.

import { useQuery } from "@tanstack/react-query";
import { Pencil, Plus, Trash2, Zap } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import { modelsQuery, useModels, useSession } from "@/api/queries";
import type { ModelConfigShown, ModelShown, ProviderShown } from "@/api/schema";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { tokens } from "@/ui/format";
import { tip } from "@/ui/Tips";
import { show, toast } from "@/ui/view";
import { ModelForm } from "./ModelForm";
import { ProviderForm } from "./ProviderForm";
import { priceText } from "./price";
import { Lead, Mark, Part, Row, Rows } from "./Rows";
import { useChange } from "./useChange";

const t = texts.settings.models;

/** The provider that answers where none is configured: its kind, and its name. */
const DEMO = "demo";

export const PROVIDERS = ["providers"] as const;
export const CONFIGS = ["model-configs"] as const;
export const STALE = [PROVIDERS, CONFIGS, modelsQuery.queryKey, ["settings"]];

export function Models() {
  const admin = useSession().data?.scopes.includes("admin") ?? false;
  return (
    <>
      <Lead>{t.lead}</Lead>
      {admin ? (
        <>
          <Providers />
          <Configs />
        </>
      ) : (
        <ReadOnly />
      )}
    </>
  );
}

function ReadOnly() {
  const models = useModels();
  return (
    <Part title={t.models}>
      <Rows read={models} empty={t.empty}>
        {(models.data ?? []).map(model => (
          <Row
            key={model.name}
            name={model.name}
            marks={model.default && <Mark look="good">{t.default}</Mark>}
            detail={[model.provider, model.model, ...factsOf(model)].join(" · ")}
          />
        ))}
      </Rows>
      <p className="text-faint text-xs">{texts.settings.adminOnly}</p>
    </Part>
  );
}

function Providers() {
  const providers = useQuery({
    queryKey: PROVIDERS,
    queryFn: async ({ signal }) => (await call("GET /providers", { signal, query: { limit: 200 } })).items,
  });
  const [editing, setEditing] = useState<ProviderShown | "new" | null>(null);
  const [added, setAdded] = useState<string | null>(null);
  const remove = useChange((name: string) => call("DELETE /providers/{name}", { path: { name } }), {
    stale: STALE,
  });
  return (
    <Part
      title={t.providers}
      action={
        <Button small icon={Plus} onClick={() => setEditing("new")}>
          {t.addProvider}
        </Button>
      }
    >
      <Rows read={providers} empty={t.empty}>
        {(providers.data ?? []).map(provider => (
          <Row
            key={provider.name}
            name={provider.name}
            faded={!provider.enabled}
            marks={
              <>
                {!provider.enabled && <Mark>{t.disabled}</Mark>}
                <Origin origin={provider.origin} />
                <Mark look={provider.has_key ? "good" : "plain"}>
                  {provider.has_key ? t.hasKey : provider.kind === DEMO ? t.needsNoKey : t.noKey}
                </Mark>
              </>
            }
            detail={[provider.kind, provider.base_url].filter(Boolean).join(" · ")}
          >
            {provider.origin === "database" && (
              <>
                <IconButton
                  icon={Pencil}
                  label={`${texts.common.edit} ${provider.name}`}
                  onClick={() => setEditing(provider)}
                />
                <IconButton
                  icon={Trash2}
                  label={`${texts.common.remove} ${provider.name}`}
                  onClick={() => confirmed(provider.name, () => remove.mutateAsync(provider.name))}
                />
              </>
            )}
          </Row>
        ))}
      </Rows>
      {editing && (
        <ProviderForm
          provider={editing === "new" ? null : editing}
          onSaved={name => {
            setEditing(null);
            if (editing === "new") void withoutModels(name).then(bare => bare && setAdded(name));
          }}
          onClose={() => setEditing(null)}
        />
      )}
      {added !== null && <ModelForm config={null} of={added} onClose={() => setAdded(null)} />}
    </Part>
  );
}

/** A provider alone answers nothing: its first model is added next, where it did not get one by itself. */
async function withoutModels(provider: string): Promise<boolean> {
  try {
    const { items } = await call("GET /model-configs", { query: { limit: 200 } });
    return items.every(config => config.provider !== provider);
  } catch (error) {
    toast(textOf(error), "bad");
    return false;
  }
}

/** What the model takes and costs, as far as it is known. */
function factsOf(model: ModelShown | undefined): string[] {
  if (model === undefined) return [];
  return [
    t.takes(model.inputs.map(one => t.inputs[one] ?? one).join(", ")),
    ...(model.price !== null ? [priceText(model.price)] : model.provider === DEMO ? [] : [t.priceUnknown]),
  ];
}

function Configs() {
  const models = useModels();
  const configs = useQuery({
    queryKey: CONFIGS,
    queryFn: async ({ signal }) =>
      (await call("GET /model-configs", { signal, query: { limit: 200 } })).items,
  });
  const [editing, setEditing] = useState<ModelConfigShown | "new" | null>(null);
  const remove = useChange((name: string) => call("DELETE /model-configs/{name}", { path: { name } }), {
    stale: STALE,
  });
  return (
    <Part
      title={t.models}
      action={
        <Button small icon={Plus} onClick={() => setEditing("new")}>
          {t.addModel}
        </Button>
      }
    >
      <Rows read={configs} empty={t.empty}>
        {(configs.data ?? []).map(config => (
          <Row
            key={config.name}
            name={config.name}
            faded={!config.enabled}
            marks={
              <>
                {!config.enabled && <Mark>{t.disabled}</Mark>}
                <Origin
                  origin={
                    config.origin === "built_in" && config.provider !== DEMO ? "automatic" : config.origin
                  }
                />
              </>
            }
            detail={[
              config.provider,
              config.model,
              config.context_limit && `${tokens(config.context_limit)} tokens`,
              ...factsOf(models.data?.find(one => one.name === config.name)),
            ]
              .filter(Boolean)
              .join(" · ")}
          >
            <Trial name={config.name} />
            {config.origin === "database" && (
              <>
                <IconButton
                  icon={Pencil}
                  label={`${texts.common.edit} ${config.name}`}
                  onClick={() => setEditing(config)}
                />
                <IconButton
                  icon={Trash2}
                  label={`${texts.common.remove} ${config.name}`}
                  onClick={() => confirmed(config.name, () => remove.mutateAsync(config.name))}
                />
              </>
            )}
          </Row>
        ))}
      </Rows>
      {editing && <ModelForm config={editing === "new" ? null : editing} onClose={() => setEditing(null)} />}
    </Part>
  );
}

/** Who defined it. What does not come from this page is changed elsewhere. */
function Origin({ origin }: { origin: ProviderShown["origin"] | "automatic" }) {
  return (
    <span {...tip(t.originHints[origin])}>
      <Mark>{t.origins[origin]}</Mark>
    </span>
  );
}

/** A short call to the model, and what came of it. */
function Trial({ name }: { name: string }) {
  const trial = useChange(() => call("POST /model-configs/{name}/test", { path: { name } }), { stale: [] });
  return (
    <div className="flex items-center gap-2">
      {trial.data && (
        <span role="status" className={trial.data.ok ? "text-good text-xs" : "max-w-72 text-bad text-xs"}>
          {trial.data.ok ? t.answered(trial.data.message) : trial.data.message}
        </span>
      )}
      <Button small icon={Zap} busy={trial.isPending} onClick={() => trial.mutate(undefined)}>
        {trial.isPending ? t.testing : t.test}
      </Button>
    </div>
  );
}

function confirmed(name: string, run: () => Promise<unknown>): void {
  show({ kind: "confirm", text: t.deleteSure(name), confirm: texts.common.remove, run });
}
