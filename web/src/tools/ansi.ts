// What a command printed, as a terminal would leave it: colours as names, a line that was written over as it
// ended, everything else that moves a cursor left out. Pure.

export interface Run {
  text: string;
  colour: string | null;
  bold: boolean;
}

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the signs that terminals know
const SEQUENCE = /\x1b(?:\[([\d;:]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what no screen shows
const UNSEEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

export function runsOf(output: string): Run[] {
  const runs: Run[] = [];
  let style: Omit<Run, "text"> = { colour: null, bold: false };
  let from = 0;
  const put = (text: string) => {
    const seen = text.replace(UNSEEN, "");
    if (seen === "") return;
    const last = runs.at(-1);
    if (last !== undefined && last.colour === style.colour && last.bold === style.bold) last.text += seen;
    else runs.push({ text: seen, ...style });
  };
  const text = written(output);
  for (const found of text.matchAll(SEQUENCE)) {
    put(text.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[2] === "m") style = styled(style, found[1] ?? "");
  }
  put(text.slice(from));
  return runs;
}

function styled(style: Omit<Run, "text">, codes: string): Omit<Run, "text"> {
  let { colour, bold } = style;
  const numbers = codes === "" ? [0] : codes.split(/[;:]/).map(Number);
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at] ?? 0;
    if (code === 0) [colour, bold] = [null, false];
    else if (code === 1) bold = true;
    else if (code === 22) bold = false;
    else if (code >= 30 && code <= 37) colour = COLOURS[code - 30] ?? null;
    else if (code >= 90 && code <= 97) colour = COLOURS[code - 90] ?? null;
    else if (code === 39) colour = null;
    else if (code === 38 || code === 48) at += numbers[at + 1] === 5 ? 2 : 4;
  }
  return { colour, bold };
}

/** A carriage return goes back to the beginning of the line: progress bars leave their last state. */
function written(output: string): string {
  const lines = output.replaceAll("\r\n", "\n");
  if (!lines.includes("\r")) return lines;
  return lines
    .split("\n")
    .map(line => line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1).replace(/\r+$/, ""))
    .join("\n");
}
