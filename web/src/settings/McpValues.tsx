// Values that MCP servers refer to as ${NAME}: stored sealed, never shown.

import { type UseQueryOptions, useQuery } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import type { StoredValue } from "@/api/schema";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Modal } from "@/ui/Modal";
import { Form, Part, Row, Rows } from "./Rows";
import { useChange } from "./useChange";

const t = texts.settings.mcp;
const STALE = [["mcp-values"]] as const;

// biome-ignore lint/suspicious/noExplicitAny: the key's type does not matter here
export function McpValues({ query }: { query: UseQueryOptions<StoredValue[], Error, StoredValue[], any> }) {
  const values = useQuery(query);
  const [adding, setAdding] = useState(false);
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const close = () => {
    setAdding(false);
    setValue("");
  };
  const save = useChange(
    () => call("PUT /mcp-values/{name}", { path: { name: name.trim() }, body: { value } }),
    { stale: STALE, onDone: close, inForm: true },
  );
  const remove = useChange((one: string) => call("DELETE /mcp-values/{name}", { path: { name: one } }), {
    stale: STALE,
  });
  return (
    <Part
      title={t.values}
      action={
        <Button small icon={Plus} onClick={() => setAdding(true)}>
          {t.addValue}
        </Button>
      }
    >
      <Rows read={values} empty={t.noValues}>
        {(values.data ?? []).map(one => (
          <Row key={one.name} name={<code className="font-mono">{one.name}</code>}>
            <IconButton
              icon={Trash2}
              label={`${texts.common.remove} ${one.name}`}
              onClick={() => remove.mutate(one.name)}
            />
          </Row>
        ))}
      </Rows>
      {adding && (
        <Modal title={t.addValue} onClose={close}>
          <Form
            busy={save.isPending}
            error={save.error}
            onCancel={close}
            onSubmit={() => save.mutate(undefined)}
          >
            <TextField label={t.valueName} name="name" value={name} onValue={setName} required data-first />
            <TextField
              label={t.value}
              name="value"
              type="password"
              hint={t.valueHint}
              value={value}
              onValue={setValue}
              required
            />
          </Form>
        </Modal>
      )}
    </Part>
  );
}
