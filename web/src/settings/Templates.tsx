// The templates that new workspaces are made from: what they are, what they run, and what is wrong with one.

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { FileText, FolderPlus } from "lucide-react";
import { useState } from "react";
import { templatesQuery } from "@/api/queries";
import type { TemplateShown } from "@/api/schema";
import { markedText } from "@/text/marks";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { Modal } from "@/ui/Modal";
import { show } from "@/ui/view";
import { Example, Lead, Mark, Part, Row, Rows } from "./Rows";
import { commandsOf, TemplateCommands, useTemplateTrust } from "./TemplateCommands";

const t = texts.settings.templates;
const EXAMPLE = `[templates]
roots = ["/srv/templates", "https://github.com/example/templates.git"]`;

export function Templates() {
  const templates = useQuery(templatesQuery);
  const navigate = useNavigate();
  const [reading, setReading] = useState<string | null>(null);
  const shown = templates.data ?? [];
  const toWorkspaces = () => void navigate({ to: "/settings/$section", params: { section: "workspaces" } });
  const read = shown.find(one => one.name === reading);
  return (
    <>
      <Lead>{t.lead}</Lead>
      <Part title={t.list}>
        <Rows read={templates} empty={t.empty}>
          {shown.map(one => (
            <Row
              key={`${one.name} ${one.error}`}
              name={markedText(one.name)}
              faded={one.error !== null}
              marks={
                one.error !== null ? (
                  <Mark look="bad">{t.broken}</Mark>
                ) : (
                  one.state !== "trusted" &&
                  commandsOf(one) !== "" && <Mark look="bad">{texts.settings.trust.states[one.state]}</Mark>
                )
              }
              detail={markedText(one.error ?? one.description)}
            >
              {one.error === null && (
                <>
                  <IconButton icon={FileText} label={t.read(one.name)} onClick={() => setReading(one.name)} />
                  <Button
                    small
                    icon={FolderPlus}
                    aria-label={t.makeFrom(one.name)}
                    onClick={() => show({ kind: "from_template", first: one.name, onMade: toWorkspaces })}
                  >
                    {t.use}
                  </Button>
                </>
              )}
            </Row>
          ))}
        </Rows>
      </Part>
      {shown.length === 0 && !templates.isPending && <Example lead={t.example} text={EXAMPLE} />}
      {read && <ReadTemplate template={read} onClose={() => setReading(null)} />}
    </>
  );
}

function ReadTemplate({ template, onClose }: { template: TemplateShown; onClose: () => void }) {
  const trust = useTemplateTrust(template);
  return (
    <Modal title={t.read(template.name)} onClose={onClose}>
      <div className="flex flex-col gap-4">
        {template.description && <Lead>{markedText(template.description)}</Lead>}
        <TemplateCommands template={template} />
        {template.hash !== null && commandsOf(template) !== "" && (
          <div className="flex gap-2">
            <Button
              small
              weight="main"
              disabled={trust.isPending || template.state === "trusted"}
              onClick={() => void trust.decide("trust")}
            >
              {texts.settings.trust.trust}
            </Button>
            <Button
              small
              disabled={trust.isPending || template.state === "refused"}
              onClick={() => void trust.decide("refuse")}
            >
              {texts.settings.trust.refuse}
            </Button>
          </div>
        )}
      </div>
    </Modal>
  );
}
