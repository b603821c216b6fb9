// A file of the chat's directory, to be read: with the numbers of its lines, at the line that was named.

import { useQuery } from "@tanstack/react-query";
import { Copy, GitCompare } from "lucide-react";
import { call } from "@/api/client";
import { sentence, textOf } from "@/api/problem";
import { openPanel } from "@/panels/actions";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { copy } from "@/transcript/copy";
import { Button } from "@/ui/Button";
import { bytes } from "@/ui/format";
import { Modal } from "@/ui/Modal";
import { toast } from "@/ui/view";
import { languageOf } from "./language";
import { NumberedLines } from "./NumberedLines";

const t = texts.file;

interface Props {
  chatId: string;
  path: string;
  line: number | null;
  onClose: () => void;
}

export function FileDialog({ chatId, path, line, onClose }: Props) {
  const file = useQuery({
    queryKey: ["file", chatId, path],
    queryFn: ({ signal }) =>
      call("GET /chats/{chat_id}/file", { path: { chat_id: chatId }, query: { path }, signal }),
    // Agents change files: it is read anew whenever it is opened.
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const shown = file.data;
  const copyPath = async () => {
    if (await copy(path)) toast(texts.tools.pathCopied(path), "good");
  };
  return (
    <Modal title={visible(shown?.path ?? path)} reading onClose={onClose}>
      <div className="flex flex-wrap items-center gap-2 pb-3 text-soft text-xs">
        <span className="flex-1">
          {shown && [bytes(shown.size), t.readOnly].join(" · ")}
          {shown?.truncated && ` · ${t.truncated}`}
        </span>
        <Button small icon={Copy} onClick={() => void copyPath()}>
          {t.copyPath}
        </Button>
        <Button
          small
          icon={GitCompare}
          onClick={() => {
            onClose();
            openPanel("changes");
          }}
        >
          {t.showChanges}
        </Button>
      </div>
      {file.error && (
        <p role="alert" className="text-bad text-sm">
          {sentence(textOf(file.error))}
        </p>
      )}
      {file.isPending && <p className="text-faint text-sm">{texts.common.loading}</p>}
      {shown &&
        (shown.binary || shown.text === "" ? (
          <p className="text-soft text-sm">{shown.binary ? t.binary : t.empty}</p>
        ) : (
          <NumberedLines
            text={shown.text}
            language={languageOf(shown.path)}
            label={t.lines}
            line={line}
            takesFocus
            className="h-[65dvh] rounded-md border border-line"
          />
        ))}
    </Modal>
  );
}
