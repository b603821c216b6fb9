// People who may sign in: admins invite, suspend and restore them.

import { useQuery } from "@tanstack/react-query";
import { Link2, Plus } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useSession } from "@/api/queries";
import type { User } from "@/api/schema";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { ChoiceField, TextField } from "@/ui/Field";
import { Modal } from "@/ui/Modal";
import { show } from "@/ui/view";
import { Form, Lead, Mark, Part, Row, Rows, Shown } from "./Rows";
import { useChange } from "./useChange";

const t = texts.settings.users;
const USERS = ["users"] as const;

export function Users() {
  const me = useSession().data?.user.id;
  const users = useQuery({
    queryKey: USERS,
    queryFn: async ({ signal }) => (await call("GET /users", { signal, query: { limit: 200 } })).items,
  });
  const [adding, setAdding] = useState(false);
  const [token, setToken] = useState<string | null>(null);
  const link = useChange((id: string) => call("POST /users/{user_id}/sign-in", { path: { user_id: id } }), {
    stale: [],
    onDone: answer => setToken(answer.sign_in_token),
  });
  return (
    <>
      <Lead>{t.lead}</Lead>
      {token !== null && <Shown label={t.link} value={`${location.origin}/login#token=${token}`} />}
      <Part
        title={t.list}
        action={
          <Button small icon={Plus} onClick={() => setAdding(true)}>
            {t.add}
          </Button>
        }
      >
        <Rows read={users} empty="">
          {(users.data ?? []).map(user => (
            <Row
              key={user.id}
              name={user.name}
              faded={user.suspended_at !== null}
              marks={
                <>
                  <Mark>{t.roles[user.role]}</Mark>
                  {user.id === me && <Mark look="good">{t.you}</Mark>}
                  {user.suspended_at !== null && <Mark look="bad">{t.suspended}</Mark>}
                </>
              }
            >
              {user.suspended_at === null && (
                <IconButton
                  icon={Link2}
                  label={`${t.newLink}: ${user.name}`}
                  onClick={() => link.mutate(user.id)}
                />
              )}
              {user.id !== me && <Suspension user={user} />}
            </Row>
          ))}
        </Rows>
        {adding && (
          <UserForm
            onClose={() => setAdding(false)}
            onMade={made => {
              setAdding(false);
              setToken(made);
            }}
          />
        )}
      </Part>
    </>
  );
}

function Suspension({ user }: { user: User }) {
  const change = useChange(
    (suspended: boolean) =>
      call("PATCH /users/{user_id}", { path: { user_id: user.id }, body: { suspended } }),
    { stale: [USERS] },
  );
  if (user.suspended_at !== null) {
    return (
      <Button small busy={change.isPending} onClick={() => change.mutate(false)}>
        {t.restore}
      </Button>
    );
  }
  return (
    <Button
      small
      weight="danger"
      onClick={() =>
        show({
          kind: "confirm",
          text: t.suspendSure(user.name),
          confirm: t.suspend,
          run: () => change.mutateAsync(true),
        })
      }
    >
      {t.suspend}
    </Button>
  );
}

function UserForm({ onClose, onMade }: { onClose: () => void; onMade: (token: string) => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState("member");
  const save = useChange(
    () => call("POST /users", { body: { name: name.trim(), role: role === "admin" ? "admin" : "member" } }),
    { stale: [USERS], onDone: answer => onMade(answer.sign_in_token) },
  );
  const choices = (["member", "admin"] as const).map(value => ({ value, title: t.roles[value] }));
  return (
    <Modal title={t.add} onClose={onClose}>
      <Form
        busy={save.isPending}
        error={save.error}
        onCancel={onClose}
        onSubmit={() => save.mutate(undefined)}
      >
        <TextField label={t.name} value={name} onValue={setName} maxLength={100} required data-first />
        <ChoiceField label={t.role} value={role} choices={choices} onValue={setRole} />
      </Form>
    </Modal>
  );
}
