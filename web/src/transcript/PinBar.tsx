// The pinned messages of a chat, to jump to.

import { Pin as PinIcon, PinOff } from "lucide-react";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";
import { pinsOf, togglePin, usePins } from "./pins";

const t = texts.transcript;

export function PinBar({ chatId, onJump }: { chatId: string; onJump: (messageId: string) => void }) {
  const pins = usePins(state => pinsOf(state.pins, chatId));
  if (pins.length === 0) return null;
  return (
    <nav aria-label={t.pinned} className="flex shrink-0 gap-1 overflow-x-auto border-b px-3 py-1">
      <PinIcon aria-hidden className="mt-1.5 size-4 shrink-0 text-faint" />
      {pins.map(pin => (
        <span key={pin.messageId} className="flex shrink-0 items-center rounded-md bg-sunken">
          <button
            type="button"
            aria-label={t.jumpToPinned(pin.text)}
            onClick={() => onJump(pin.messageId)}
            className="max-w-56 truncate px-2 py-1 text-xs hover:underline"
          >
            {pin.text || t.pinnedStep}
          </button>
          <IconButton small icon={PinOff} label={t.unpin} onClick={() => togglePin(chatId, pin)} />
        </span>
      ))}
    </nav>
  );
}
