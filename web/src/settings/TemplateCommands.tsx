// What a template runs, and the person's word on it where its content is not the configuration's.

import { call } from "@/api/client";
import { templatesQuery } from "@/api/queries";
import type { TemplateShown } from "@/api/schema";
import { markedText } from "@/text/marks";
import { texts } from "@/texts";
import { ScrolledText } from "@/ui/ScrolledText";
import { useChange } from "./useChange";

const t = texts.settings.templates;

/** All of it as one reads it. */
export function commandsOf(template: TemplateShown): string {
  const services = template.services.map(one => `${one.command}  # ${t.service} ${one.name}`);
  return [template.setup, template.check, ...services].filter(part => part !== "").join("\n");
}

export function useTemplateTrust(template: TemplateShown) {
  const change = useChange(
    (decision: "trust" | "refuse") =>
      call("POST /templates/trust", {
        body: { template: template.name, hash: template.hash ?? "", decision },
      }),
    { stale: [templatesQuery.queryKey] },
  );
  return {
    isNeeded: template.state !== "trusted" && commandsOf(template) !== "",
    isPending: change.isPending,
    decide: change.mutateAsync,
  };
}

export function TemplateCommands({ template }: { template: TemplateShown }) {
  const commands = commandsOf(template);
  if (commands === "") return <p className="text-faint text-sm">{t.runsNothing}</p>;
  return (
    <section className="flex flex-col gap-1">
      <h3 className="font-medium text-sm">{t.runs}</h3>
      {template.address !== null && (
        <p className="break-all text-faint text-xs">{markedText(t.from(template.address))}</p>
      )}
      <ScrolledText className="max-h-48 rounded bg-sunken p-2 font-mono text-xs">
        {markedText(commands)}
      </ScrolledText>
    </section>
  );
}
