/** Since when fields are declared, as JSON: known ones as before, further ones since `now`. Pure. */
export function sinceOf(known: string | undefined, paths: readonly string[], now: number): string {
  const before = JSON.parse(known ?? '{}') as Readonly<Record<string, number>>
  return JSON.stringify(Object.fromEntries([...paths].sort().map((path) => [path, before[path] ?? now])))
}
