// A picture in full: next and previous by arrow keys, zoom by + and -, Escape closes.

import { ChevronLeft, ChevronRight, Download, X, ZoomIn, ZoomOut } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { urlOf } from "@/api/client";
import type { File as FilePart } from "@/api/schema";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";
import { Modal } from "@/ui/Modal";

const t = texts.transcript;
const STEPS = [1, 1.5, 2, 3, 4];

interface Props {
  files: readonly FilePart[];
  at: number;
  onClose: () => void;
}

export function Lightbox({ files, at: first, onClose }: Props) {
  const [at, setAt] = useState(first);
  const [step, setStep] = useState(0);
  const file = files[at];
  if (file === undefined) return null;
  const go = (by: 1 | -1) => {
    setAt((at + by + files.length) % files.length);
    setStep(0);
  };
  const zoom = (by: 1 | -1) => setStep(Math.min(STEPS.length - 1, Math.max(0, step + by)));
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event;
    if (key === "ArrowRight") go(1);
    else if (key === "ArrowLeft") go(-1);
    else if (key === "+" || key === "=") zoom(1);
    else if (key === "-") zoom(-1);
    else if (key === "0") setStep(0);
    else return;
    event.preventDefault();
  };
  const url = urlOf("/files/{file_id}", { file_id: file.file_id }, undefined);
  return (
    <Modal title={file.name} bare full onClose={onClose}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys of the dialog, wherever the focus is in it */}
      <div onKeyDown={onKeyDown} className="flex h-[92dvh] flex-col">
        <div className="flex items-center gap-1 border-b p-1.5 text-sm">
          <span className="min-w-0 flex-1 truncate px-2">
            {file.name}
            {files.length > 1 && (
              <span className="text-faint">{` ${t.pictureOf(at + 1, files.length)}`}</span>
            )}
          </span>
          {files.length > 1 && (
            <>
              <IconButton
                icon={ChevronLeft}
                label={t.previousPicture}
                keys="arrowleft"
                onClick={() => go(-1)}
              />
              <IconButton icon={ChevronRight} label={t.nextPicture} keys="arrowright" onClick={() => go(1)} />
            </>
          )}
          <IconButton
            icon={ZoomOut}
            label={t.zoomOut}
            keys="-"
            disabled={step === 0}
            onClick={() => zoom(-1)}
          />
          <IconButton
            icon={ZoomIn}
            label={t.zoomIn}
            keys="+"
            disabled={step === STEPS.length - 1}
            onClick={() => zoom(1)}
          />
          <a
            href={url}
            download={file.name}
            aria-label={t.download(file.name)}
            className="inline-flex size-8 items-center justify-center rounded-md text-soft hover:bg-hover max-sm:size-10"
          >
            <Download aria-hidden className="size-4" />
          </a>
          <IconButton data-first icon={X} label={texts.common.close} keys="escape" onClick={onClose} />
        </div>
        <div
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          tabIndex={0}
          className="min-h-0 flex-1 overflow-auto bg-sunken"
        >
          <div
            className="flex min-h-full min-w-full items-center justify-center"
            style={{ width: `${(STEPS[step] ?? 1) * 100}%` }}
          >
            <img
              key={file.file_id}
              src={url}
              alt={file.name}
              data-zoom={STEPS[step]}
              className="max-w-full"
            />
          </div>
        </div>
      </div>
    </Modal>
  );
}
