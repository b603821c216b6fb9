// One connection for all tabs: the first that comes has it and tells the others; when it goes, another takes
// over. Where browsers have no locks (pages that came without TLS), every tab has its own.

interface Shared<E, S> {
  /** Begins; answers with what ends it. */
  lead: (events: (batch: E) => void, state: (state: S) => void) => () => void;
  onEvents: (batch: E) => void;
  onState: (state: S) => void;
}

type Told<E, S> = { events: E } | { state: S } | { asks: true };

/** Takes part until the answer is called. */
export function shared<E, S>(name: string, { lead, onEvents, onState }: Shared<E, S>): () => void {
  if (!("locks" in navigator) || typeof BroadcastChannel === "undefined") return lead(onEvents, onState);
  const channel = new BroadcastChannel(name);
  const gone = new AbortController();
  let last: S | null = null;
  let leads = false;
  const tell = (told: Told<E, S>) => {
    if (!gone.signal.aborted) channel.postMessage(told);
  };
  channel.onmessage = ({ data }: MessageEvent<Told<E, S>>) => {
    if ("events" in data) onEvents(data.events);
    else if ("state" in data) onState(data.state);
    else if (leads && last !== null) tell({ state: last });
  };
  tell({ asks: true });
  const leading = async () => {
    leads = true;
    const end = lead(
      batch => {
        onEvents(batch);
        tell({ events: batch });
      },
      state => {
        last = state;
        onState(state);
        tell({ state });
      },
    );
    await new Promise(resolve => gone.signal.addEventListener("abort", resolve));
    end();
  };
  // Refused only because it was given up before its turn.
  void navigator.locks.request(name, { signal: gone.signal }, leading).catch(() => undefined);
  return () => {
    gone.abort();
    channel.close();
  };
}
