// The files of a message that is being written.

import clsx from "clsx";
import { FileText, LoaderCircle, RotateCcw, X } from "lucide-react";
import { urlOf } from "@/api/client";
import type { FileShown } from "@/api/schema";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";
import { bytes } from "@/ui/format";
import type { Uploads } from "./upload";

const t = texts.composer;

interface Props {
  files: readonly FileShown[];
  onRemove: (id: string) => void;
  uploads: Uploads;
}

export function Attachments({ files, onRemove, uploads }: Props) {
  if (files.length === 0 && uploads.uploads.length === 0) return null;
  return (
    <ul aria-label={t.attachments} className="flex flex-wrap gap-2 px-2 pt-2">
      {files.map(file => (
        <Tile
          key={file.id}
          name={file.name}
          size={file.size}
          picture={
            file.media_type.startsWith("image/")
              ? urlOf("/files/{file_id}/thumbnail", { file_id: file.id }, undefined)
              : null
          }
          onRemove={() => onRemove(file.id)}
        />
      ))}
      {uploads.uploads.map(one => (
        <Tile
          key={one.key}
          name={one.file.name}
          size={one.file.size}
          picture={one.preview}
          state={one.failed === null ? "uploading" : "failed"}
          failed={one.failed}
          onRetry={() => uploads.retry(one.key)}
          onRemove={() => uploads.drop(one.key)}
        />
      ))}
    </ul>
  );
}

interface TileProps {
  name: string;
  size: number;
  picture: string | null;
  state?: "done" | "uploading" | "failed";
  failed?: string | null;
  onRetry?: () => void;
  onRemove: () => void;
}

function Tile({ name, size, picture, state = "done", failed, onRetry, onRemove }: TileProps) {
  return (
    <li
      className={clsx(
        "flex max-w-64 items-center gap-2 rounded-lg border bg-canvas py-1 pr-1 pl-1.5 text-xs",
        state === "failed" && "border-bad",
      )}
    >
      <span className="flex size-9 shrink-0 items-center justify-center overflow-hidden rounded bg-sunken">
        {picture === null ? (
          <FileText aria-hidden className="size-4 text-faint" />
        ) : (
          <img src={picture} alt="" className="size-full object-cover" />
        )}
      </span>
      <span className="min-w-0 flex-1">
        <span className="block truncate">{name}</span>
        <span
          className={clsx("block truncate", failed ? "text-bad" : "text-faint")}
          title={failed ?? undefined}
        >
          {failed ?? (state === "uploading" ? t.uploading : bytes(size))}
        </span>
      </span>
      {state === "uploading" && (
        <LoaderCircle aria-hidden className="size-4 shrink-0 animate-spin text-faint" />
      )}
      {state === "failed" && onRetry && (
        <IconButton small icon={RotateCcw} label={t.retryUpload(name)} onClick={onRetry} />
      )}
      <IconButton small icon={X} label={t.removeFile(name)} onClick={onRemove} />
    </li>
  );
}
