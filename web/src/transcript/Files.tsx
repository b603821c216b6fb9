// Files in a message: pictures as thumbnails, anything else by its name. Nothing opens by itself.

import clsx from "clsx";
import { Download, FileText, ImageOff, RotateCcw } from "lucide-react";
import { useState } from "react";
import { urlOf } from "@/api/client";
import type { File as FilePart } from "@/api/schema";
import { texts } from "@/texts";
import { bytes } from "@/ui/format";
import { Lightbox } from "./Lightbox";

const t = texts.transcript;

export function FileGrid({ files }: { files: readonly FilePart[] }) {
  return (
    <div className={clsx("my-1 grid gap-2", files.length > 1 ? "grid-cols-2" : "grid-cols-1")}>
      {files.map((file, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same file may be there twice
        <FileTile key={index} file={file} among={files} />
      ))}
    </div>
  );
}

const isPicture = (file: FilePart): boolean => file.media_type.startsWith("image/");

/** `among`: the files that it is shown with. */
export function FileTile({ file, among = [file] }: { file: FilePart; among?: readonly FilePart[] }) {
  const [open, setOpen] = useState(false);
  const pictures = among.filter(isPicture);
  const url = urlOf("/files/{file_id}", { file_id: file.file_id }, undefined);
  return (
    <figure className="w-fit max-w-full overflow-hidden rounded-lg border bg-raised">
      {isPicture(file) && (
        <>
          <Thumbnail file={file} onOpen={() => setOpen(true)} />
          {open && <Lightbox files={pictures} at={pictures.indexOf(file)} onClose={() => setOpen(false)} />}
        </>
      )}
      <figcaption className="flex max-w-72 items-center gap-2 px-2 py-1 text-xs">
        <FileText aria-hidden className="size-4 shrink-0 text-faint" />
        <span className="min-w-0 flex-1 truncate">{file.name}</span>
        <span className="shrink-0 text-faint">{bytes(file.size)}</span>
        <a
          href={url}
          download={file.name}
          aria-label={t.download(file.name)}
          className="shrink-0 rounded p-1 hover:bg-hover"
        >
          <Download aria-hidden className="size-3.5" />
        </a>
      </figcaption>
    </figure>
  );
}

function Thumbnail({ file, onOpen }: { file: FilePart; onOpen: () => void }) {
  const [state, setState] = useState<"loading" | "shown" | "broken">("loading");
  const [attempt, setAttempt] = useState(0);
  const url = urlOf("/files/{file_id}/thumbnail", { file_id: file.file_id }, { again: attempt || null });
  if (state === "broken") {
    return (
      <button
        type="button"
        onClick={() => {
          setAttempt(attempt + 1);
          setState("loading");
        }}
        className="flex h-32 w-60 max-w-full flex-col items-center justify-center gap-1 bg-sunken text-faint text-xs"
      >
        <ImageOff aria-hidden className="size-5" />
        <span className="flex items-center gap-1">
          <RotateCcw aria-hidden className="size-3" /> {texts.problems.tryAgain}
        </span>
      </button>
    );
  }
  return (
    // The room is taken from the beginning: nothing jumps when the picture comes.
    <button
      type="button"
      onClick={onOpen}
      aria-label={t.openPicture(file.name)}
      className={clsx(
        "flex h-48 w-60 max-w-full cursor-zoom-in items-center justify-center bg-sunken",
        state === "loading" && "animate-pulse",
      )}
    >
      <img
        src={url}
        alt={file.name}
        onLoad={() => setState("shown")}
        onError={() => setState("broken")}
        className={clsx("max-h-full max-w-full object-contain", state === "loading" && "opacity-0")}
      />
    </button>
  );
}
