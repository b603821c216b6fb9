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
import { toast } from "@/ui/view";
import { NewFromTemplate } from "./NewFromTemplate";
import { Lead, Mark, Part, Row, Rows } from "./Rows";
import { commandsOf, TemplateCommands, useTemplateTrust } from "./TemplateCommands";

const t = texts.settings.templates;

export function Templates() {
  const templates = useQuery(templatesQuery);
  const navigate = useNavigate();
  const [reading, setReading] = useState<string | null>(null);
  const [making, setMaking] = useState<string | null>(null);
  const shown = templates.data ?? [];
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
                  <IconButton
                    icon={FolderPlus}
                    label={t.makeFrom(one.name)}
                    onClick={() => setMaking(one.name)}
                  />
                </>
              )}
            </Row>
          ))}
        </Rows>
      </Part>
      {read && <ReadTemplate template={read} onClose={() => setReading(null)} />}
      {making !== null && (
        <NewFromTemplate
          first={making}
          onClose={() => setMaking(null)}
          onMade={() => {
            setMaking(null);
            toast(t.made, "good");
            void navigate({ to: "/settings/$section", params: { section: "workspaces" } });
          }}
        />
      )}
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
