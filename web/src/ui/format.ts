// Numbers, money and times as people read them. Pure: the moment is passed in.

// Made once: making one costs more than drawing a message.
const DAY = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const EXACT = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const MOMENT = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

export function tokens(count: number): string {
  if (count < 1000) return String(count);
  if (count < 100_000) return `${(count / 1000).toFixed(1).replace(/\.0$/, "")}K`;
  if (count < 1_000_000) return `${Math.round(count / 1000)}K`;
  return `${(count / 1_000_000).toFixed(1).replace(/\.0$/, "")}M`;
}

export function money(micros: number): string {
  const dollars = micros / 1_000_000;
  if (dollars === 0) return "$0";
  if (dollars < 0.01) return "<$0.01";
  return `$${dollars.toFixed(dollars < 100 ? 2 : 0)}`;
}

export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Short, for lists: "now", "5m", "3h", then the day. */
export function age(at: string, now: Date): string {
  const minutes = Math.floor((now.getTime() - Date.parse(at)) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes}m`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)}h`;
  return DAY.format(new Date(at));
}

/** With seconds, for traces. */
export function exactMoment(at: string): string {
  return EXACT.format(new Date(at));
}

export function moment(at: string): string {
  return MOMENT.format(new Date(at));
}

export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 * 1024) return `${Math.round(size / 1024)} KB`;
  return `${(size / 1024 / 1024).toFixed(1)} MB`;
}
