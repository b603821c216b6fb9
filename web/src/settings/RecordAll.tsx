// The switch for the debug record of all chats of a person: in Settings and in the panel of the record.

import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { settingsQuery } from "@/api/queries";
import { texts } from "@/texts";
import { SwitchField } from "@/ui/Field";
import { useChange } from "./useChange";

const t = texts.panels.debug;

export function RecordAll({ hint }: { hint?: string }) {
  const settings = useQuery(settingsQuery).data;
  const change = useChange((debug: boolean) => call("PATCH /settings", { body: { debug: debug || null } }), {
    stale: [settingsQuery.queryKey],
  });
  return (
    <SwitchField
      label={t.forAll}
      hint={hint}
      checked={settings?.user.debug === true}
      disabled={settings === undefined}
      onValue={value => change.mutate(value)}
    />
  );
}
