// Adding and changing an MCP server. Secrets go in and are never shown.

import { useState } from "react";
import { call } from "@/api/client";
import type { ServerShown } from "@/api/schema";
import { texts } from "@/texts";
import { AreaField, ChoiceField, SwitchField, TextField } from "@/ui/Field";
import { Modal } from "@/ui/Modal";
import { pairsIn, wordsIn } from "./mcpWords";
import { Form } from "./Rows";
import { useChange } from "./useChange";

const t = texts.settings.mcp;
const STALE = [["mcp-servers"]] as const;
const POLICIES = ["auto", "ask", "allow", "deny"] as const;

interface FormProps {
  server: ServerShown | null;
  admin: boolean;
  onClose: () => void;
}

export function McpForm({ server, admin, onClose }: FormProps) {
  const [name, setName] = useState(server?.name ?? "");
  const [program, setProgram] = useState(
    server?.url || [server?.command ?? "", ...(server?.args ?? [])].join("\n"),
  );
  const [secrets, setSecrets] = useState("");
  const [approval, setApproval] = useState<string>(server?.approval ?? "");
  const [enabled, setEnabled] = useState(server?.enabled ?? true);
  const [trusted, setTrusted] = useState(server?.trusted ?? false);
  const [shared, setShared] = useState(server ? server.origin === "all" : admin);
  const save = useChange(
    () => {
      const words = wordsIn(program);
      const isAddress = /^https?:\/\//.test(words[0] ?? "");
      const given = pairsIn(secrets);
      const body = {
        command: isAddress ? "" : (words[0] ?? ""),
        args: isAddress ? [] : words.slice(1),
        url: isAddress ? (words[0] ?? "") : "",
        enabled,
        trusted,
        approval: (approval || null) as (typeof POLICIES)[number] | null,
        ...(Object.keys(given).length > 0 && (isAddress ? { headers: given } : { env: given })),
      };
      return server === null
        ? call("POST /mcp-servers", { body: { name: name.trim(), shared, ...body } })
        : call("PATCH /mcp-servers/{server_id}", { path: { server_id: server.id }, body });
    },
    { stale: STALE, onDone: onClose, inForm: true },
  );
  const known = [...(server?.env ?? []), ...(server?.headers ?? [])];
  return (
    <Modal title={server ? t.edit(server.name) : t.add} onClose={onClose}>
      <Form
        busy={save.isPending}
        error={save.error}
        onCancel={onClose}
        onSubmit={() => save.mutate(undefined)}
      >
        {server === null && (
          <TextField
            label={t.name}
            name="name"
            hint={t.nameHint}
            value={name}
            onValue={setName}
            maxLength={40}
            required
            data-first
          />
        )}
        <AreaField label={t.program} hint={t.programHint} value={program} onValue={setProgram} rows={4} />
        <AreaField
          label={t.secrets}
          hint={known.length > 0 ? t.secretsKept(known) : t.secretsHint}
          value={secrets}
          onValue={setSecrets}
          rows={2}
        />
        <ChoiceField
          label={t.approval}
          value={approval}
          choices={[
            { value: "", title: t.approvals.none },
            ...POLICIES.map(one => ({ value: one, title: t.approvals[one] })),
          ]}
          onValue={setApproval}
        />
        <SwitchField label={t.enabled} checked={enabled} onValue={setEnabled} />
        <SwitchField label={t.trusted} hint={t.trustedHint} checked={trusted} onValue={setTrusted} />
        {admin && server === null && <SwitchField label={t.shared} checked={shared} onValue={setShared} />}
      </Form>
    </Modal>
  );
}
