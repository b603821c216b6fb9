// Server-sent events, from pieces of text that may be cut anywhere.

export interface Frame {
  event: string;
  id: string | null;
  data: string;
}

export class SseReader {
  private rest = "";
  private fields: { event?: string; id?: string; data?: string } = {};

  /** The events that this piece completes. */
  read(piece: string): Frame[] {
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop() ?? "";
    const frames: Frame[] = [];
    for (const line of lines) {
      if (line === "") {
        if (this.fields.data !== undefined) {
          frames.push({
            event: this.fields.event ?? "message",
            id: this.fields.id ?? null,
            data: this.fields.data,
          });
        }
        this.fields = {};
      } else {
        this.field(line);
      }
    }
    return frames;
  }

  private field(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "event" || name === "id") this.fields[name] = value;
    if (name === "data")
      this.fields.data = this.fields.data === undefined ? value : `${this.fields.data}\n${value}`;
  }
}
