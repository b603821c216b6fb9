// Copies a text, and says so where it was pressed.

import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";

const SAID_MS = 1500;

export function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SAID_MS);
  };
  return (
    <IconButton
      small
      icon={copied ? Check : Copy}
      label={copied ? texts.common.copied : texts.common.copy}
      onClick={() => void copy()}
    />
  );
}
