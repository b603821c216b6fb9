// One argument of a workflow, as what it is: text, a number, a choice, a switch, lines, or JSON.

import { texts } from "@/texts";
import { AreaField, ChoiceField, SwitchField, TextField } from "@/ui/Field";
import type { FormField, Wrong } from "./form";

const t = texts.panels.workflow;

interface Props {
  field: FormField;
  value: string;
  wrong: Wrong | undefined;
  onValue: (value: string) => void;
}

export function ArgumentField({ field, value, wrong, onValue }: Props) {
  const label = field.required ? field.name : `${field.name} (${texts.common.optional})`;
  const error = wrong === undefined ? undefined : t.wrong[wrong];
  const common = { label, hint: hintOf(field), error };
  switch (field.kind) {
    case "text":
      return (
        <AreaField
          {...common}
          value={value}
          rows={1}
          className="field-sizing-content max-h-60"
          onValue={onValue}
        />
      );
    case "number":
      return <TextField {...common} value={value} inputMode="numeric" onValue={onValue} />;
    case "lines":
      return <AreaField {...common} value={value} rows={3} onValue={onValue} />;
    case "json":
      return (
        <AreaField
          {...common}
          value={value}
          rows={3}
          spellCheck={false}
          className="font-mono"
          onValue={onValue}
        />
      );
    case "choice":
      return (
        <ChoiceField
          {...common}
          value={value}
          choices={[
            ...(field.required && value !== "" ? [] : [{ value: "", title: t.unset }]),
            ...field.choices.map(one => ({ value: one, title: one })),
          ]}
          onValue={onValue}
        />
      );
    case "switch":
      return (
        <SwitchField
          label={field.name}
          hint={field.description}
          checked={value === "true"}
          onValue={checked => onValue(String(checked))}
        />
      );
  }
}

function hintOf(field: FormField): string | undefined {
  const kind = field.kind === "lines" ? t.linesHint : field.kind === "json" ? t.jsonHint : "";
  const range =
    field.least !== null && field.most !== null ? t.range(String(field.least), String(field.most)) : "";
  return [field.description, kind, range].filter(piece => piece !== "").join(" · ") || undefined;
}
