/** The time since when each field has been declared, as JSON: unchanged for known fields, `now` for new ones. Pure. */
export function sinceOf(known: string | undefined, paths: readonly string[], now: number): string {
  const before = JSON.parse(known ?? '{}') as Readonly<Record<string, number>>
  return JSON.stringify(Object.fromEntries([...paths].sort().map((path) => [path, before[path] ?? now])))
}
