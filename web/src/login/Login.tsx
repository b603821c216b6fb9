// Signing in: with the token of the link (`/login#token=...`), or with one that is pasted.

import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Anchor } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import { sessionQuery } from "@/api/queries";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { TextField } from "@/ui/Field";

const t = texts.login;

/** A token, or the whole link that has one. Pure. */
export function tokenIn(given: string): string {
  const text = given.trim();
  return /[#?&]token=([^&\s]+)/.exec(text)?.[1] ?? text;
}

/** The command that makes a link for the server that this page is from. */
const command = (): string =>
  location.origin === "http://127.0.0.1:8420" ? t.command : `${t.command} --url ${location.origin}`;

export function Login() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const next = useSearch({ from: "/login" }).next ?? "/";
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const signIn = useCallback(
    async (given: string) => {
      setBusy(true);
      setError(undefined);
      try {
        queries.setQueryData(
          sessionQuery.queryKey,
          await call("POST /session", { body: { token: tokenIn(given) } }),
        );
        await navigate({ to: next, replace: true });
      } catch (problem) {
        setError(textOf(problem));
        setBusy(false);
      }
    },
    [navigate, next, queries],
  );

  // Once: a link's token works once, and effects may run twice.
  const tried = useRef<string | null>(null);
  useEffect(() => {
    const follow = () => {
      const found = new URLSearchParams(location.hash.slice(1)).get("token");
      if (found === null || tried.current === found) return;
      tried.current = found;
      history.replaceState(history.state, "", location.pathname + location.search);
      void signIn(found);
    };
    follow();
    // A link that is opened in this tab changes nothing but the part after "#".
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [signIn]);

  return (
    <main className="flex min-h-dvh items-center justify-center bg-sunken p-4">
      <form
        className="flex w-full max-w-sm flex-col gap-4 rounded-xl border bg-raised p-6 shadow-lift"
        onSubmit={event => {
          event.preventDefault();
          void signIn(token);
        }}
      >
        <h1 className="flex items-center gap-2 font-semibold text-lg">
          <Anchor aria-hidden className="size-5 text-accent-text" />
          {t.title}
        </h1>
        <TextField
          label={t.token}
          type="password"
          autoComplete="current-password"
          value={token}
          onValue={setToken}
          error={error}
          required
          autoFocus
        />
        <Button weight="main" type="submit" busy={busy} disabled={token.trim() === ""}>
          {busy ? t.signingIn : t.submit}
        </Button>
        <p className="text-soft text-xs">
          {t.hint} <code className="rounded bg-sunken px-1 py-0.5 font-mono">{command()}</code>
        </p>
      </form>
    </main>
  );
}
