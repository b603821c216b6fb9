// Copies a text, and says so where it was pressed.

import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";

const SAID_MS = 1500;

/** Whether something was copied just now, and what copies. */
export function useCopy(): [boolean, (text: string) => Promise<void>] {
  const [copied, setCopied] = useState(false);
  const copy = async (text: string) => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SAID_MS);
  };
  return [copied, copy];
}

export function CopyButton({ text, label = texts.common.copy }: { text: string; label?: string }) {
  const [copied, copy] = useCopy();
  return (
    <IconButton
      small
      icon={copied ? Check : Copy}
      label={copied ? texts.common.copied : label}
      onClick={() => void copy(text)}
    />
  );
}
