// Which titles are meant by a few letters, the likeliest first. Pure.

export function best<T>(query: string, items: readonly T[], titleOf: (item: T) => string): T[] {
  if (query === "") return [...items];
  return items
    .map(item => ({ item, worth: worth(query, titleOf(item)) }))
    .filter(one => one.worth > 0)
    .sort((one, other) => other.worth - one.worth)
    .map(one => one.item);
}

export interface Group<T> {
  heading: string;
  /** The likeliest first. */
  items: readonly T[];
}

/** Those with something in them; the one with the likeliest title first, else as they are. */
export function bestFirst<T>(
  query: string,
  groups: readonly Group<T>[],
  titleOf: (item: T) => string,
): Group<T>[] {
  const some = groups.filter(group => group.items.length > 0);
  if (query === "") return some;
  const worthOf = ({ items: [first] }: Group<T>) => (first === undefined ? 0 : worth(query, titleOf(first)));
  return some.sort((one, other) => worthOf(other) - worthOf(one));
}

/** 0: not meant at all. Whole words count more than beginnings, and those more than scattered letters. */
export function worth(asked: string, named: string): number {
  const [query, title] = [asked.toLowerCase(), named.toLowerCase()];
  if (title.startsWith(query)) return 4;
  if (title.includes(` ${query}`)) return 3;
  if (query.split(/\s+/).every(word => title.includes(word))) return 2;
  let at = 0;
  for (const letter of query) {
    at = title.indexOf(letter, at) + 1;
    if (at === 0) return 0;
  }
  return query.length > 2 ? 1 / title.length : 0;
}
