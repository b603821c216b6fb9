// Which titles are meant by a few letters, the likeliest first. Pure.

export function best<T>(query: string, items: readonly T[], titleOf: (item: T) => string): T[] {
  if (query === "") return [...items];
  const wanted = query.toLowerCase();
  return items
    .map(item => ({ item, worth: worth(wanted, titleOf(item).toLowerCase()) }))
    .filter(one => one.worth > 0)
    .sort((one, other) => other.worth - one.worth)
    .map(one => one.item);
}

/** 0: not meant at all. Whole words count more than beginnings, and those more than scattered letters. */
export function worth(query: string, title: string): number {
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
