// Files on their way into a message: pasted, dropped or picked, then uploaded one by one.

import { useCallback, useRef, useState } from "react";
import { PREFIX, tellSignedOut } from "@/api/client";
import { Problem, problemOf, textOf } from "@/api/problem";
import type { FileShown } from "@/api/schema";
import { texts } from "@/texts";
import { bytes } from "@/ui/format";

export const ACCEPTED =
  "image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,.md,.json,.csv,.log";
/** Of one message. */
export const MOST_FILES = 20;

/** Why a file cannot be attached, before it is sent anywhere; null: it can. Pure. */
export function refusal(
  file: Pick<File, "type" | "name" | "size">,
  limits: { maxBytes: number | null; model: string | null; inputs: readonly string[] | null },
): string | null {
  const { maxBytes, model, inputs } = limits;
  if (file.size === 0) return texts.composer.emptyFile(file.name);
  if (maxBytes !== null && file.size > maxBytes) {
    return texts.composer.tooLarge(file.name, bytes(file.size), bytes(maxBytes));
  }
  if (file.type.startsWith("image/") && !/^image\/(png|jpeg|gif|webp)$/.test(file.type)) {
    return texts.composer.badImage(file.name);
  }
  if (/^(audio|video)\//.test(file.type) || /zip|x-tar|msdownload|officedocument/.test(file.type)) {
    return texts.composer.badKind(file.name);
  }
  const kind = file.type.startsWith("image/") ? "image" : file.type === "application/pdf" ? "pdf" : null;
  if (kind !== null && inputs !== null && !inputs.includes(kind)) {
    return texts.composer.modelTakesNo(model ?? "", kind === "image" ? "images" : "PDF files");
  }
  return null;
}

export interface Upload {
  key: number;
  file: File;
  /** A picture of it, while it is in this page's memory. */
  preview: string | null;
  failed: string | null;
}

export interface Uploads {
  uploads: readonly Upload[];
  add: (files: readonly File[]) => void;
  retry: (key: number) => void;
  drop: (key: number) => void;
}

/** `onDone`: one is on the server now. */
export function useUploads(onDone: (file: FileShown) => void): Uploads {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const count = useRef(0);
  const running = useRef(new Map<number, AbortController>());
  const change = useCallback(
    (key: number, part: Partial<Upload>) =>
      setUploads(all => all.map(one => (one.key === key ? { ...one, ...part } : one))),
    [],
  );
  const drop = useCallback((key: number) => {
    running.current.get(key)?.abort();
    setUploads(all => {
      const gone = all.find(one => one.key === key);
      if (gone?.preview) URL.revokeObjectURL(gone.preview);
      return all.filter(one => one.key !== key);
    });
  }, []);
  const start = useCallback(
    async (key: number, file: File) => {
      const abort = new AbortController();
      running.current.set(key, abort);
      try {
        const kept = await upload(file, abort.signal);
        drop(key);
        onDone(kept);
      } catch (error) {
        if (!abort.signal.aborted) change(key, { failed: textOf(error) });
      } finally {
        running.current.delete(key);
      }
    },
    [change, drop, onDone],
  );
  const add = useCallback(
    (files: readonly File[]) => {
      for (const file of files) {
        count.current += 1;
        const key = count.current;
        const preview = file.type.startsWith("image/") ? URL.createObjectURL(file) : null;
        setUploads(all => [...all, { key, file, preview, failed: null }]);
        void start(key, file);
      }
    },
    [start],
  );
  const retry = useCallback(
    (key: number) => {
      const found = uploads.find(one => one.key === key);
      if (found === undefined) return;
      change(key, { failed: null });
      void start(key, found.file);
    },
    [uploads, change, start],
  );
  return { uploads, add, retry, drop };
}

export async function upload(file: File, signal: AbortSignal): Promise<FileShown> {
  const form = new FormData();
  form.append("file", file, file.name || "pasted.png");
  let response: Response;
  try {
    response = await fetch(`${PREFIX}/files`, { method: "POST", body: form, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Problem({ status: 0, code: "unreachable", detail: texts.problems.unreachable });
  }
  if (response.status === 401) tellSignedOut();
  if (!response.ok) throw await problemOf(response);
  return (await response.json()) as FileShown;
}
