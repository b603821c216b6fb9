// One field of a form that a stranger's schema describes.

import { markedText } from "@/text/marks";
import { ChoiceField, SwitchField, TextField } from "@/ui/Field";
import type { AskedField } from "./mcpFields";

interface AskedProps {
  field: AskedField;
  value: string | boolean | undefined;
  onValue: (value: string | boolean) => void;
}

export function AskedInput({ field, value, onValue }: AskedProps) {
  const label = markedText(field.title);
  if (field.kind === "boolean") {
    return <SwitchField label={label} checked={value === true} onValue={onValue} />;
  }
  const text = typeof value === "string" ? value : "";
  if (field.choices.length > 0) {
    return (
      <ChoiceField
        label={label}
        value={text}
        choices={["", ...field.choices].map(one => ({ value: one, title: markedText(one) }))}
        onValue={onValue}
      />
    );
  }
  return (
    <TextField
      label={label}
      hint={field.hint && markedText(field.hint)}
      value={text}
      onValue={onValue}
      required={field.required}
    />
  );
}
