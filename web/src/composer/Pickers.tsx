// Model and effort; for a chat that is not there yet also its workspace and agent.

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import clsx from "clsx";
import {
  Bot,
  ChevronDown,
  FolderOpen,
  FolderPlus,
  Gauge,
  type LucideIcon,
  Plus,
  Sparkle,
} from "lucide-react";
import { useState } from "react";
import {
  agentsQuery,
  modesQuery,
  templatesQuery,
  useModels,
  workspaceAgentsQuery,
  workspacesQuery,
} from "@/api/queries";
import type { Chat, WorkspaceAgent } from "@/api/schema";
import { texts } from "@/texts";
import { Menu, MenuItem, MenuLine, MenuTitle } from "@/ui/Menu";
import { show } from "@/ui/view";
import { TrustAgent } from "./TrustAgent";

const t = texts.composer;

export interface Choice {
  model: string | null;
  effort: string | null;
}

/** Tools that the model's provider runs itself; null: as the model is configured. */
export type ProviderTools = Chat["provider_tools"];

interface ModelPickerProps extends Choice {
  onChoice: (choice: Choice) => void;
  tools: ProviderTools;
  onTools: (tools: ProviderTools) => void;
}

export function ModelPicker({ model, effort, onChoice, tools, onTools }: ModelPickerProps) {
  const navigate = useNavigate();
  const models = useModels().data ?? [];
  const current = models.find(one => (model === null ? one.default : one.name === model));
  const efforts = current?.efforts ?? [];
  const shown = [model ?? current?.name ?? t.defaultModel, effort].filter(Boolean).join(" · ");
  return (
    <Menu align="start" trigger={<Trigger icon={Sparkle} label={t.model} text={shown} />}>
      <MenuTitle>{t.model}</MenuTitle>
      {models.map(one => (
        <MenuItem
          key={one.name}
          checked={one === current}
          hint={`${one.provider} · ${one.model}`}
          onSelect={() => {
            const kept = effort !== null && one.efforts.includes(effort) ? effort : null;
            onChoice({ model: one.default ? null : one.name, effort: kept });
          }}
        >
          {one.name}
        </MenuItem>
      ))}
      {models.every(one => !one.default) && (
        <MenuItem
          icon={Plus}
          onSelect={() => void navigate({ to: "/settings/$section", params: { section: "models" } })}
        >
          {t.addModel}
        </MenuItem>
      )}
      {efforts.length > 0 && (
        <>
          <MenuLine />
          <MenuTitle>{t.effort}</MenuTitle>
          <MenuItem checked={effort === null} onSelect={() => onChoice({ model, effort: null })}>
            {t.defaultEffort}
          </MenuItem>
          {efforts.map(one => (
            <MenuItem key={one} checked={one === effort} onSelect={() => onChoice({ model, effort: one })}>
              {one}
            </MenuItem>
          ))}
        </>
      )}
      {current !== undefined && current.can_run.length > 0 && (
        <>
          <MenuLine />
          <MenuTitle>{t.providerTools}</MenuTitle>
          {current.can_run.map(one => (
            <MenuItem
              key={one}
              checked={(tools ?? current.provider_tools).includes(one)}
              hint={t.providerToolHints[one]}
              onSelect={() => onTools(switched(tools ?? current.provider_tools, one))}
            >
              {t.providerToolNames[one]}
            </MenuItem>
          ))}
        </>
      )}
    </Menu>
  );
}

/** With this one on if it was off, and off if it was on. */
export function switched<T>(all: readonly T[], one: T): T[] {
  return all.includes(one) ? all.filter(each => each !== one) : [...all, one];
}

/** What the agent may do. */
export function ModePicker(props: {
  mode: string;
  onMode: (mode: string) => void;
  writes: Writes;
  onWrites: (writes: Writes) => void;
}) {
  const { mode, onMode, writes, onWrites } = props;
  const modes = useQuery(modesQuery).data ?? [];
  const text = writes === "review" ? t.reviewed(mode) : mode;
  return (
    <Menu align="start" trigger={<Trigger icon={Gauge} label={t.mode} text={text} />}>
      <MenuTitle>{t.mode}</MenuTitle>
      {modes.map(one => (
        <MenuItem
          key={one.name}
          checked={one.name === mode}
          hint={
            Object.hasOwn(t.modeHints, one.name)
              ? t.modeHints[one.name as keyof typeof t.modeHints]
              : one.instructions
          }
          onSelect={() => onMode(one.name)}
        >
          {one.name}
        </MenuItem>
      ))}
      <MenuLine />
      <MenuTitle>{t.writes}</MenuTitle>
      <MenuItem checked={writes === "direct"} onSelect={() => onWrites("direct")}>
        {t.writesDirect}
      </MenuItem>
      <MenuItem checked={writes === "review"} onSelect={() => onWrites("review")}>
        {t.writesReview}
      </MenuItem>
    </Menu>
  );
}

export type Writes = "direct" | "review";

/** The mode after this one, and round again. */
export function nextMode(modes: readonly { name: string }[], mode: string): string {
  const at = modes.findIndex(one => one.name === mode);
  return modes[(at + 1) % Math.max(modes.length, 1)]?.name ?? mode;
}

interface PickProps {
  value: string | null;
  onValue: (value: string | null) => void;
}

/** Also where there is none yet: how else would one find out that an agent can work in a directory? */
export function WorkspacePicker({ value, onValue }: PickProps) {
  const navigate = useNavigate();
  const hasTemplates = (useQuery(templatesQuery).data ?? []).length > 0;
  const workspaces = (useQuery(workspacesQuery).data ?? []).filter(one => one.kind === "directory");
  const chosen = workspaces.find(one => one.id === value);
  return (
    <Menu
      align="start"
      trigger={
        <Trigger
          icon={FolderOpen}
          label={t.workspace}
          text={chosen?.name ?? t.noWorkspace}
          unset={chosen === undefined}
        />
      }
    >
      <MenuTitle>{t.workspace}</MenuTitle>
      <MenuItem checked={chosen === undefined} onSelect={() => onValue(null)}>
        {t.noWorkspace}
      </MenuItem>
      {workspaces.map(one => (
        <MenuItem key={one.id} checked={one === chosen} hint={one.path} onSelect={() => onValue(one.id)}>
          {one.name}
        </MenuItem>
      ))}
      <MenuLine />
      <MenuItem
        icon={FolderPlus}
        onSelect={() => void navigate({ to: "/settings/$section", params: { section: "workspaces" } })}
      >
        {t.addWorkspace}
      </MenuItem>
      {hasTemplates && (
        <MenuItem
          icon={FolderPlus}
          // Not in here: a form within the form of the message would be sent as a page, which is forbidden.
          onSelect={() => show({ kind: "from_template", onMade: onValue })}
        >
          {t.fromTemplate}
        </MenuItem>
      )}
    </Menu>
  );
}

/** The server's agents, and those of the workspace; one that nobody has trusted is read first. */
export function AgentPicker({ value, onValue, workspaceId }: PickProps & { workspaceId: string | null }) {
  const [reading, setReading] = useState<WorkspaceAgent | null>(null);
  const known = useQuery(agentsQuery).data ?? [];
  const found = useQuery({ ...workspaceAgentsQuery(workspaceId ?? ""), enabled: workspaceId !== null });
  const ours = (found.data ?? []).filter(one => one.error === null && one.hidden_by === null);
  const names = new Set(ours.map(one => one.name));
  const others = known.filter(one => !names.has(one.name));
  if (ours.length + others.length === 0) return null;
  const chosen = [...ours.filter(one => one.trusted), ...others].find(one => one.name === value);
  return (
    <>
      <Menu align="start" trigger={<Trigger icon={Bot} label={t.agent} text={chosen?.name ?? t.noAgent} />}>
        <MenuTitle>{t.agent}</MenuTitle>
        <MenuItem checked={chosen === undefined} onSelect={() => onValue(null)}>
          {t.noAgent}
        </MenuItem>
        {others.map(one => (
          <MenuItem
            key={one.id}
            checked={one === chosen}
            hint={one.description}
            onSelect={() => onValue(one.name)}
          >
            {one.name}
          </MenuItem>
        ))}
        {ours.length > 0 && <MenuTitle>{t.workspace}</MenuTitle>}
        {ours.map(one => (
          <MenuItem
            key={one.path}
            checked={one === chosen}
            hint={one.trusted ? one.description : one.agent_id === null ? t.trust.new : t.trust.changed}
            onSelect={() => (one.trusted ? onValue(one.name) : setReading(one))}
          >
            {one.name}
          </MenuItem>
        ))}
      </Menu>
      {reading !== null && workspaceId !== null && (
        <TrustAgent
          workspaceId={workspaceId}
          agent={reading}
          onClose={() => setReading(null)}
          onTrusted={() => {
            onValue(reading.name);
            setReading(null);
          }}
        />
      )}
    </>
  );
}

/** What opens a picker, with what is chosen. Radix hands it a ref and handlers. */
interface TriggerProps {
  icon: LucideIcon;
  label: string;
  text: string;
  /** Nothing is chosen: the icon is enough where there is little room. */
  unset?: boolean;
}

function Trigger({ icon: Icon, label, text, unset = false, ...rest }: TriggerProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-label={`${label}: ${text}`}
      className="flex h-8 max-sm:h-10 min-w-0 items-center gap-1 rounded-md px-2 text-soft text-xs hover:bg-hover hover:text-text"
    >
      <Icon aria-hidden className="size-3.5 shrink-0" />
      <span className={clsx("max-w-32 truncate", unset && "max-sm:hidden")}>{text}</span>
      <ChevronDown aria-hidden className="size-3 shrink-0 opacity-60" />
    </button>
  );
}
