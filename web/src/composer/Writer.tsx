// Where a person writes: the text with its files, what is suggested, and the keys that send. Who uses it says
// what sending means.

import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { ArrowUp, ChevronDown, CircleStop, CornerDownRight, ListPlus, Paperclip, Zap } from "lucide-react";
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { settingsQuery, useModels } from "@/api/queries";
import type { FileShown } from "@/api/schema";
import { texts } from "@/texts";
import { leadAfterSending } from "@/tools/asks/focus";
import { Button, IconButton } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";
import { usePreferences } from "@/ui/preferences";
import { toast } from "@/ui/view";
import { Attachments } from "./Attachments";
import { takesFocus } from "./arrival";
import type { Draft } from "./drafts";
import { type How, keysFor, meaningOf } from "./keys";
import { Suggestions } from "./Suggestions";
import { type Command, commandIn, nearest, workflowIn } from "./suggestions";
import { ACCEPTED, MOST_FILES, refusal, useUploads } from "./upload";
import { useSuggestions } from "./useSuggestions";

const t = texts.composer;

interface Props {
  draft: Draft;
  onDraft: (change: Partial<Draft>) => void;
  /** Whether it was sent; if not, the text stays. */
  onSend: (how: How) => Promise<boolean>;
  placeholder: string;
  busy: boolean;
  onStop?: (() => void) | undefined;
  /** To the next mode. */
  onMode: () => void;
  commands: readonly Command[];
  workspaceId: string | null;
  /** The model that will read it; null: the default one. */
  model: string | null;
  /** What was sent before, the newest first. */
  history: () => readonly string[];
  /** Starts a workflow; whether it was started. */
  onWorkflow?: ((name: string, args: unknown) => Promise<boolean>) | undefined;
  /** Model and other choices. */
  children: ReactNode;
}

export function Writer(props: Props) {
  const { draft, onDraft, onSend, placeholder, busy, onStop, commands, workspaceId, history } = props;
  const { onWorkflow, children } = props;
  const enterSends = usePreferences(state => state.enterSends);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const files = useRef(draft.files);
  files.current = draft.files;
  const onDone = useCallback((file: FileShown) => onDraft({ files: [...files.current, file] }), [onDraft]);
  const uploads = useUploads(onDone);
  const limits = useLimits(props.model);
  const [sending, setSending] = useState(false);
  /** A text that looks like a command and is none: asked about once. */
  const [unknown, setUnknown] = useState<string | null>(null);
  const [over, setOver] = useState(false);
  const recalled = useRef<{ at: number; text: string } | null>(null);
  const id = useId();

  const write = (text: string, caret: number = text.length) => {
    onDraft({ text });
    requestAnimationFrame(() => area.current?.setSelectionRange(caret, caret));
  };
  const suggesting = useSuggestions({ id, text: draft.text, area, commands, workspaceId, write });

  useEffect(() => {
    if (takesFocus()) area.current?.focus({ preventScroll: true });
  }, []);

  const uploading = uploads.uploads.some(one => one.failed === null);
  const empty = draft.text.trim() === "" && draft.files.length === 0;
  const send = async (how: How) => {
    if (empty || uploading || sending) return;
    const meant = commandIn(draft.text);
    if (meant !== null && draft.files.length === 0 && unknown !== draft.text) {
      if (meant.name === "workflow" && onWorkflow !== undefined) {
        const wanted = workflowIn(meant.rest);
        if (wanted !== null) return void startWorkflow(wanted);
      }
      // Sent all the same when it is sent once more.
      return setUnknown(draft.text);
    }
    setUnknown(null);
    setSending(true);
    recalled.current = null;
    await onSend(how);
    setSending(false);
    // A request that has come meanwhile has the focus.
    if (!leadAfterSending()) area.current?.focus();
  };
  const startWorkflow = async (wanted: NonNullable<ReturnType<typeof workflowIn>>) => {
    if (wanted === "bad_json") return toast(t.badArguments, "attention");
    setSending(true);
    if (await onWorkflow?.(wanted.name, wanted.args)) onDraft({ text: "" });
    setSending(false);
  };
  const attach = (given: readonly File[]) => {
    const room = MOST_FILES - draft.files.length - uploads.uploads.length;
    if (given.length > room) toast(t.tooManyFiles(MOST_FILES), "attention");
    const fitting = given.slice(0, Math.max(0, room)).filter(file => {
      const why = refusal(file, limits);
      if (why !== null) toast(why, "attention");
      return why === null;
    });
    uploads.add(fitting);
  };

  const recall = (step: 1 | -1) => {
    const sent = history();
    const at = (recalled.current?.at ?? -1) + step;
    const text = at < 0 ? "" : sent[at];
    if (text === undefined) return;
    recalled.current = at < 0 ? null : { at, text };
    write(text);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing || suggesting.onKeyDown(event)) return;
    const recalls = draft.text === "" || recalled.current?.text === draft.text;
    const meaning = meaningOf(event, { enterSends, busy, recalls });
    if (meaning === null) return;
    event.preventDefault();
    if (meaning.kind === "send") void send(meaning.how);
    else if (meaning.kind === "recall") recall(meaning.step);
    else if (meaning.kind === "mode") props.onMode();
    else onStop?.();
  };
  const onPaste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    attach([...event.clipboardData.files]);
  };

  return (
    <form
      className="relative mx-auto w-full max-w-3xl px-3 pb-3"
      onSubmit={event => {
        event.preventDefault();
        void send("queue");
      }}
      onDragOver={event => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={event => {
        setOver(false);
        if (event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        attach([...event.dataTransfer.files]);
      }}
    >
      <div
        className={clsx(
          "relative rounded-xl border bg-raised focus-within:border-accent",
          over ? "border-accent border-dashed" : "border-line-strong/60",
        )}
      >
        {suggesting.open && <Suggestions {...suggesting.list} />}
        <Attachments
          files={draft.files}
          onRemove={gone => onDraft({ files: draft.files.filter(file => file.id !== gone) })}
          uploads={uploads}
        />
        <textarea
          ref={area}
          id="composer"
          aria-label={t.label}
          placeholder={placeholder}
          value={draft.text}
          rows={1}
          {...(suggesting.open && suggesting.aria)}
          onChange={event => {
            recalled.current = null;
            onDraft({ text: event.target.value });
          }}
          onSelect={suggesting.onSelect}
          onBlur={suggesting.close}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
          className="field-sizing-content block max-h-[40dvh] min-h-10 w-full resize-none bg-transparent px-3.5 pt-2.5 pb-1 outline-none placeholder:text-faint"
        />
        {unknown !== null && unknown === draft.text && (
          <UnknownCommand
            commands={commands}
            text={unknown}
            onCorrect={text => {
              setUnknown(null);
              write(text);
            }}
            onSend={() => void send("queue")}
          />
        )}
        <div className="flex items-center gap-0.5 px-1.5 pb-1.5">
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            accept={ACCEPTED}
            onChange={event => {
              attach([...(event.target.files ?? [])]);
              event.target.value = "";
            }}
          />
          <IconButton icon={Paperclip} label={t.attach} onClick={() => picker.current?.click()} />
          <div className="flex min-w-0 flex-1 items-center overflow-hidden">{children}</div>
          {busy && onStop && <IconButton icon={CircleStop} label={t.stop} keys="escape" onClick={onStop} />}
          {busy && !empty && <HowMenu enterSends={enterSends} onHow={how => void send(how)} />}
          <IconButton
            type="submit"
            icon={busy ? ListPlus : ArrowUp}
            label={busy ? t.queue : t.send}
            keys={keysFor("queue", enterSends)}
            main
            disabled={empty || uploading || sending}
          />
        </div>
      </div>
    </form>
  );
}

/** There is no such command: the one that was meant, or the text as it is. */
function UnknownCommand(props: {
  commands: readonly Command[];
  text: string;
  onCorrect: (text: string) => void;
  onSend: () => void;
}) {
  const name = commandIn(props.text)?.name ?? "";
  const meant = nearest(props.commands, name);
  return (
    <p role="status" className="flex flex-wrap items-center gap-2 px-3.5 pb-1.5 text-sm text-soft">
      {t.unknownCommand(name)}
      {meant !== null && meant !== name && (
        <Button small onClick={() => props.onCorrect(props.text.replace(/^\s*\/\S+/, `/${meant}`))}>
          {t.correctTo(meant)}
        </Button>
      )}
      <Button small onClick={props.onSend}>
        {t.sendAsText}
      </Button>
    </p>
  );
}

/** What can be attached: by the server, and by the model. */
function useLimits(model: string | null) {
  const maxBytes = useQuery(settingsQuery).data?.file_max_bytes ?? null;
  const used = useModels().data?.find(one => (model === null ? one.default : one.name === model));
  return { maxBytes, model: used?.name ?? null, inputs: used?.inputs ?? null };
}

/** While the agent works: wait, join in, or interrupt. */
function HowMenu({ enterSends, onHow }: { enterSends: boolean; onHow: (how: How) => void }) {
  const item = (how: How, icon: typeof Zap) => (
    <MenuItem icon={icon} hint={t.how[how].hint} keys={keysFor(how, enterSends)} onSelect={() => onHow(how)}>
      {t.how[how].title}
    </MenuItem>
  );
  return (
    <Menu trigger={<IconButton icon={ChevronDown} label={t.howLabel} />}>
      {item("queue", ListPlus)}
      {item("steer", CornerDownRight)}
      {item("interrupt", Zap)}
    </Menu>
  );
}
