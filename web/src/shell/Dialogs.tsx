// The dialogs of the page; one at a time.

import { lazy, Suspense, useState } from "react";
import { change } from "@/actions/chat";
import { textOf } from "@/api/problem";
import { Palette } from "@/palette/Palette";
import { Shortcuts } from "@/palette/Shortcuts";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";
import { Modal } from "@/ui/Modal";
import { type Dialog, show, toast, useView } from "@/ui/view";

const close = () => show(null);
const ApprovalRules = lazy(async () => ({
  default: (await import("@/settings/ApprovalRules")).ApprovalRules,
}));

const FileDialog = lazy(async () => ({ default: (await import("@/code/FileDialog")).FileDialog }));

const NewFromTemplate = lazy(async () => ({
  default: (await import("@/settings/NewFromTemplate")).NewFromTemplate,
}));

export function Dialogs() {
  const dialog = useView(view => view.dialog);
  switch (dialog?.kind) {
    case undefined:
      return null;
    case "palette":
      return <Palette onClose={close} />;
    case "shortcuts":
      return <Shortcuts onClose={close} />;
    case "confirm":
      return <Confirm dialog={dialog} />;
    case "approvals":
      return (
        <Suspense>
          <ApprovalRules chatId={dialog.chatId} onClose={close} />
        </Suspense>
      );
    case "file":
      return (
        <Suspense>
          <FileDialog chatId={dialog.chatId} path={dialog.path} line={dialog.line} onClose={close} />
        </Suspense>
      );
    case "rename":
      return <Rename dialog={dialog} />;
    case "from_template":
      return (
        <Suspense>
          <NewFromTemplate {...dialog} onClose={close} />
        </Suspense>
      );
  }
}

/** Does something and closes; what goes wrong is told. */
async function thenClose(run: () => unknown): Promise<void> {
  try {
    await run();
    close();
  } catch (error) {
    toast(textOf(error), "bad");
  }
}

function Confirm({ dialog }: { dialog: Extract<Dialog, { kind: "confirm" }> }) {
  return (
    <Modal title={dialog.confirm} onClose={close}>
      <p className="mb-4 break-words text-sm">{dialog.text}</p>
      <div className="flex justify-end gap-2">
        {/* Enter, pressed once too often, does no harm. */}
        <Button data-first onClick={close}>
          {texts.common.cancel}
        </Button>
        <Button weight="danger" onClick={() => void thenClose(dialog.run)}>
          {dialog.confirm}
        </Button>
      </div>
    </Modal>
  );
}

function Rename({ dialog }: { dialog: Extract<Dialog, { kind: "rename" }> }) {
  const [title, setTitle] = useState(dialog.title);
  const submit = () => thenClose(() => change({ id: dialog.chatId }, { title: title.trim() }));
  return (
    <Modal title={texts.shell.rename} onClose={close}>
      <form
        className="flex flex-col gap-4"
        onSubmit={event => {
          event.preventDefault();
          void submit();
        }}
      >
        <TextField
          label={texts.shell.titleLabel}
          value={title}
          onValue={setTitle}
          maxLength={80}
          required
          data-first
        />
        <div className="flex justify-end gap-2">
          <Button onClick={close}>{texts.common.cancel}</Button>
          <Button weight="main" type="submit" disabled={title.trim() === ""}>
            {texts.common.save}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
