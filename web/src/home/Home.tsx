// A new chat: the composer, and for a first visit three things to try.

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Anchor } from "lucide-react";
import { useState } from "react";
import { call, newKey } from "@/api/client";
import { textOf } from "@/api/problem";
import { settingsQuery } from "@/api/queries";
import { ListToggle } from "@/chat/TopBar";
import { know } from "@/chats/store";
import { Composer } from "@/composer/Composer";
import { openPanel } from "@/panels/actions";
import { texts } from "@/texts";
import { toast, useView } from "@/ui/view";
import { TRIES, type Try } from "./tries";

const t = texts.home;

export function Home() {
  const demo = useQuery(settingsQuery).data?.demo ?? false;
  return (
    <>
      <header className="flex h-12 shrink-0 items-center px-2 sm:px-3">
        <ListToggle />
      </header>
      <main
        id="conversation"
        tabIndex={-1}
        className="flex min-h-0 flex-1 flex-col overflow-y-auto outline-none"
      >
        <div className="mx-auto my-auto flex w-full max-w-3xl flex-col gap-6 py-6">
          <div className="flex flex-col items-center gap-2 px-4 text-center">
            <Anchor aria-hidden className="size-8 text-accent-text" />
            <h1 className="text-balance font-semibold text-2xl">{t.title}</h1>
            <p className="max-w-lg text-pretty text-soft text-sm">{t.lead}</p>
          </div>
          <Composer chatId={null} />
          {demo && <Tries />}
        </div>
      </main>
    </>
  );
}

function Tries() {
  const navigate = useNavigate();
  const [starting, setStarting] = useState<string | null>(null);
  const start = async (one: Try) => {
    setStarting(one.id);
    try {
      const body = { content: one.content, title: one.title };
      const chat = await call("POST /chats", { body, once: newKey() });
      know(chat);
      await navigate({ to: "/chats/$chatId", params: { chatId: chat.id } });
      // On a narrow screen it would hide the chat.
      if (useView.getState().wide) openPanel(one.panel);
    } catch (error) {
      setStarting(null);
      toast(textOf(error), "bad");
    }
  };
  return (
    <section aria-labelledby="tries" className="flex flex-col gap-3 px-3">
      <h2 id="tries" className="font-medium text-sm">
        {t.tryTitle}
      </h2>
      <ul className="grid gap-2 sm:grid-cols-3">
        {TRIES.map(one => (
          <li key={one.id}>
            <button
              type="button"
              disabled={starting !== null}
              onClick={() => void start(one)}
              className="flex h-full w-full flex-col gap-1 rounded-lg border bg-raised p-3 text-left hover:border-accent hover:bg-hover"
            >
              <span className="flex items-center gap-2 font-medium text-sm">
                <one.icon aria-hidden className="size-4 text-accent-text" />
                {one.title}
              </span>
              <span className="text-soft text-xs">{one.text}</span>
            </button>
          </li>
        ))}
      </ul>
      <p className="text-faint text-xs">
        {t.demoLead}{" "}
        <Link
          to="/settings/$section"
          params={{ section: "models" }}
          className="text-accent-text underline underline-offset-2"
        >
          {t.addProvider}
        </Link>
      </p>
    </section>
  );
}
