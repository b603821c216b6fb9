// Named agents: instructions, a model and tools under a name.

import { useQuery } from "@tanstack/react-query";
import { Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { agentsQuery, useModels, useSession } from "@/api/queries";
import type { NamedAgent } from "@/api/schema";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { AreaField, ChoiceField, SwitchField, TextField } from "@/ui/Field";
import { Modal } from "@/ui/Modal";
import { show } from "@/ui/view";
import { Form, Lead, Mark, Part, Row, Rows } from "./Rows";
import { ToolsField } from "./ToolsField";
import { useChange } from "./useChange";

const t = texts.settings.agents;
const STALE = [agentsQuery.queryKey];

export function Agents() {
  const agents = useQuery(agentsQuery);
  const me = useSession().data;
  const [editing, setEditing] = useState<NamedAgent | "new" | null>(null);
  const remove = useChange((id: string) => call("DELETE /agents/{agent_id}", { path: { agent_id: id } }), {
    stale: STALE,
  });
  const mine = (agent: NamedAgent) =>
    agent.owner_id === me?.user.id || (me?.scopes.includes("admin") ?? false);
  return (
    <>
      <Lead>{t.lead}</Lead>
      <Part
        title={t.list}
        action={
          <Button small icon={Plus} onClick={() => setEditing("new")}>
            {t.add}
          </Button>
        }
      >
        <Rows read={agents} empty={t.empty}>
          {(agents.data ?? []).map(agent => (
            <Row
              key={agent.id}
              name={agent.name}
              marks={agent.published && <Mark>{t.publishedMark}</Mark>}
              detail={agent.description || agent.instructions.slice(0, 120)}
            >
              {mine(agent) && (
                <>
                  <IconButton
                    icon={Pencil}
                    label={`${texts.common.edit} ${agent.name}`}
                    onClick={() => setEditing(agent)}
                  />
                  <IconButton
                    icon={Trash2}
                    label={`${texts.common.remove} ${agent.name}`}
                    onClick={() =>
                      show({
                        kind: "confirm",
                        text: t.deleteSure(agent.name),
                        confirm: texts.common.remove,
                        run: () => remove.mutateAsync(agent.id),
                      })
                    }
                  />
                </>
              )}
            </Row>
          ))}
        </Rows>
        {editing && <AgentForm agent={editing === "new" ? null : editing} onClose={() => setEditing(null)} />}
      </Part>
    </>
  );
}

function AgentForm({ agent, onClose }: { agent: NamedAgent | null; onClose: () => void }) {
  const models = useModels();
  const admin = useSession().data?.scopes.includes("admin") ?? false;
  const [name, setName] = useState(agent?.name ?? "");
  const [description, setDescription] = useState(agent?.description ?? "");
  const [instructions, setInstructions] = useState(agent?.instructions ?? "");
  const [model, setModel] = useState(agent?.model ?? "");
  const [tools, setTools] = useState<readonly string[] | null>(agent?.tools ?? null);
  const [published, setPublished] = useState(agent?.published ?? false);
  const save = useChange(
    () => {
      const body = {
        name: name.trim(),
        description: description.trim(),
        instructions,
        model: model || null,
        tools: tools === null ? null : [...tools],
        ...(published !== (agent?.published ?? false) && { published }),
      };
      return agent === null
        ? call("POST /agents", { body })
        : call("PATCH /agents/{agent_id}", { path: { agent_id: agent.id }, body });
    },
    { stale: STALE, onDone: onClose },
  );
  const choices = [
    { value: "", title: texts.composer.defaultModel },
    ...(models.data ?? []).map(one => ({ value: one.name, title: one.name })),
  ];
  return (
    <Modal title={agent ? t.edit(agent.name) : t.add} onClose={onClose}>
      <Form
        busy={save.isPending}
        error={save.error}
        onCancel={onClose}
        onSubmit={() => save.mutate(undefined)}
      >
        <TextField label={t.name} value={name} onValue={setName} maxLength={64} required data-first />
        <TextField
          label={t.description}
          hint={t.descriptionHint}
          value={description}
          onValue={setDescription}
        />
        <AreaField label={t.instructions} value={instructions} onValue={setInstructions} rows={8} />
        <ChoiceField label={t.model} value={model} choices={choices} onValue={setModel} />
        <ToolsField value={tools} onValue={setTools} />
        {admin && <SwitchField label={t.published} checked={published} onValue={setPublished} />}
      </Form>
    </Modal>
  );
}
