// Directories on the server that agents work in.

import { useQuery } from "@tanstack/react-query";
import { Plus, ShieldQuestion, Trash2 } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { settingsQuery, workspacesQuery } from "@/api/queries";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Modal } from "@/ui/Modal";
import { show } from "@/ui/view";
import { Form, Lead, Mark, Part, Row, Rows } from "./Rows";
import { TrustDialog } from "./TrustDialog";
import { useChange } from "./useChange";

const t = texts.settings.workspaces;
const STALE = [workspacesQuery.queryKey];

export function Workspaces() {
  const workspaces = useQuery(workspacesQuery);
  const [adding, setAdding] = useState(false);
  const [trusting, setTrusting] = useState<{ id: string; name: string } | null>(null);
  const remove = useChange(
    (id: string) => call("DELETE /workspaces/{workspace_id}", { path: { workspace_id: id } }),
    { stale: STALE },
  );
  return (
    <>
      <Lead>{t.lead}</Lead>
      <Part
        title={t.list}
        action={
          <Button small icon={Plus} onClick={() => setAdding(true)}>
            {t.add}
          </Button>
        }
      >
        <Rows read={workspaces} empty={t.empty}>
          {(workspaces.data ?? []).map(one => (
            <Row
              key={one.id}
              name={one.name}
              marks={one.kind === "worktree" && <Mark>{t.worktree}</Mark>}
              detail={<span className="font-mono">{one.path}</span>}
            >
              <IconButton
                icon={ShieldQuestion}
                label={`${texts.settings.trust.open} ${one.name}`}
                onClick={() => setTrusting(one)}
              />
              <IconButton
                icon={Trash2}
                label={`${texts.common.remove} ${one.name}`}
                onClick={() =>
                  show({
                    kind: "confirm",
                    text: t.deleteSure(one.name),
                    confirm: texts.common.remove,
                    run: () => remove.mutateAsync(one.id),
                  })
                }
              />
            </Row>
          ))}
        </Rows>
        {trusting && (
          <TrustDialog workspaceId={trusting.id} name={trusting.name} onClose={() => setTrusting(null)} />
        )}
        {adding && <WorkspaceForm onClose={() => setAdding(false)} />}
      </Part>
    </>
  );
}

function WorkspaceForm({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [path, setPath] = useState("");
  const save = useChange(() => call("POST /workspaces", { body: { name: name.trim(), path: path.trim() } }), {
    stale: STALE,
    onDone: onClose,
    inForm: true,
  });
  const roots = useQuery(settingsQuery).data?.workspace_roots ?? [];
  return (
    <Modal title={t.add} onClose={onClose}>
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
          maxLength={100}
          required
          data-first
        />
        <TextField
          label={t.path}
          name="path"
          hint={t.pathHint(roots)}
          placeholder={roots[0] && `${roots[0]}/…`}
          value={path}
          onValue={setPath}
          required
          className="font-mono"
        />
      </Form>
    </Modal>
  );
}
