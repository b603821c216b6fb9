// Tokens for programs that act as this person; a secret is shown once.

import { useQuery } from "@tanstack/react-query";
import { Ban, LogOut, Plus } from "lucide-react";
import { useState } from "react";
import { signOut } from "@/actions/general";
import { call } from "@/api/client";
import { useSession } from "@/api/queries";
import type { CreateToken, TokenShown } from "@/api/schema";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { moment } from "@/ui/format";
import { Modal } from "@/ui/Modal";
import { useNow } from "@/ui/now";
import { show } from "@/ui/view";
import { Form, Lead, Mark, Part, Row, Rows, Shown } from "./Rows";
import { useChange } from "./useChange";

const t = texts.settings.tokens;
const TOKENS = ["tokens"] as const;
const SCOPES = ["chats:read", "chats:write", "admin"] as const;

export function Tokens() {
  const now = useNow();
  const tokens = useQuery({
    queryKey: TOKENS,
    queryFn: async ({ signal }) => (await call("GET /tokens", { signal, query: { limit: 200 } })).items,
  });
  const [adding, setAdding] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const shown = (tokens.data ?? []).filter(token => token.revoked_at === null && !isOver(token, now));
  return (
    <>
      <Lead>{t.lead}</Lead>
      {secret !== null && <Shown label={t.secret} value={secret} />}
      <Part
        title={t.programs}
        action={
          <Button small icon={Plus} onClick={() => setAdding(true)}>
            {t.add}
          </Button>
        }
      >
        <Rows read={tokens} empty={t.empty}>
          {shown
            .filter(token => token.kind === "api")
            .map(token => (
              <TokenRow key={token.id} token={token} />
            ))}
        </Rows>
        {adding && (
          <TokenForm
            onClose={() => setAdding(false)}
            onMade={made => {
              setAdding(false);
              setSecret(made);
            }}
          />
        )}
      </Part>
      <Part title={t.browsers}>
        <Rows read={tokens} empty={t.noBrowsers}>
          {shown
            .filter(token => token.kind === "session")
            .sort((one, other) => Number(other.current) - Number(one.current))
            .map(token => (
              <SessionRow key={token.id} token={token} />
            ))}
        </Rows>
      </Part>
    </>
  );
}

const useRevoke = () =>
  useChange((id: string) => call("DELETE /tokens/{token_id}", { path: { token_id: id } }), {
    stale: [TOKENS],
  });

function TokenRow({ token }: { token: TokenShown }) {
  const revoke = useRevoke();
  return (
    <Row
      name={token.name}
      marks={token.current && <Mark look="good">{t.thisOne}</Mark>}
      detail={[
        token.scopes.join(", "),
        t.created(moment(token.created_at)),
        token.last_used_at ? t.used(moment(token.last_used_at)) : t.neverUsed,
        token.expires_at && t.until(moment(token.expires_at)),
      ]
        .filter(Boolean)
        .join(" · ")}
    >
      <IconButton
        icon={Ban}
        label={`${t.revoke} ${token.name}`}
        onClick={() =>
          show({
            kind: "confirm",
            text: t.revokeSure(token.name),
            confirm: t.revoke,
            run: () => revoke.mutateAsync(token.id),
          })
        }
      />
    </Row>
  );
}

/** A browser: what it is called, where it signed in, when it was last here, and whether it is this one. */
function SessionRow({ token }: { token: TokenShown }) {
  const revoke = useRevoke();
  const end = async () => {
    if (token.current) await signOut();
    else await revoke.mutateAsync(token.id);
  };
  return (
    <Row
      name={token.name}
      marks={token.current && <Mark look="good">{t.thisOne}</Mark>}
      detail={[
        token.address && t.from(token.address),
        t.signedIn(moment(token.created_at)),
        token.last_used_at && t.used(moment(token.last_used_at)),
      ]
        .filter(Boolean)
        .join(" · ")}
    >
      <IconButton
        icon={LogOut}
        label={t.signOut(token.name)}
        onClick={() =>
          show({
            kind: "confirm",
            text: token.current ? t.signOutThisSure : t.signOutSure(token.name),
            confirm: t.signOutTitle,
            run: end,
          })
        }
      />
    </Row>
  );
}

function isOver(token: TokenShown, now: Date): boolean {
  return token.expires_at !== null && Date.parse(token.expires_at) <= now.getTime();
}

function TokenForm({ onClose, onMade }: { onClose: () => void; onMade: (secret: string) => void }) {
  const mine = useSession().data?.scopes ?? [];
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly string[]>(["chats:read", "chats:write"]);
  const [until, setUntil] = useState("");
  const save = useChange(
    () => {
      const body: CreateToken = {
        name: name.trim(),
        scopes: SCOPES.filter(scope => scopes.includes(scope)),
        expires_at: until === "" ? null : new Date(`${until}T23:59:59`).toISOString(),
      };
      return call("POST /tokens", { body });
    },
    { stale: [TOKENS], onDone: answer => onMade(answer.secret) },
  );
  const toggle = (scope: string) =>
    setScopes(scopes.includes(scope) ? scopes.filter(one => one !== scope) : [...scopes, scope]);
  return (
    <Modal title={t.add} onClose={onClose}>
      <Form
        busy={save.isPending}
        error={save.error}
        onCancel={onClose}
        onSubmit={() => save.mutate(undefined)}
      >
        <TextField label={t.name} value={name} onValue={setName} maxLength={100} required data-first />
        <fieldset className="flex flex-col gap-1">
          <legend className="mb-1 font-medium text-sm">{t.scopes}</legend>
          {SCOPES.filter(scope => mine.includes(scope)).map(scope => (
            <label key={scope} className="flex min-h-8 items-center gap-2 text-sm">
              <input
                type="checkbox"
                className="size-4 accent-accent"
                checked={scopes.includes(scope)}
                onChange={() => toggle(scope)}
              />
              {scope}
            </label>
          ))}
        </fieldset>
        <TextField label={t.expires} hint={t.expiresHint} type="date" value={until} onValue={setUntil} />
      </Form>
    </Modal>
  );
}
