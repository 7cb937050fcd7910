// Ranks names that contain a text. Pure; used by the page and the server.

export interface Matches<T> {
  /** The name itself first, then names that start with the text, then others that contain it; each by name. */
  readonly best: readonly T[]
  /** Number of all matches. */
  readonly total: number
}

/**
 * Returns the best matches for a text, ignoring case.
 *
 * @param most how many to return.
 */
export function bestMatches<T>(all: Iterable<T>, nameOf: (one: T) => string, text: string, most: number): Matches<T> {
  const wanted = text.toLowerCase()
  const found: { readonly one: T; readonly name: string; readonly rank: number }[] = []
  for (const one of all) {
    const name = nameOf(one).toLowerCase()
    if (name.includes(wanted)) found.push({ one, name, rank: name === wanted ? 0 : name.startsWith(wanted) ? 1 : 2 })
  }
  found.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1))
  return { best: found.slice(0, most).map(({ one }) => one), total: found.length }
}
