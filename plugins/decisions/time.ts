const iso = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/
const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses ms since 1970 or an ISO 8601 time (UTC without an offset) to ms since 1970. NaN for anything else. */
export function parseTime(text: string): number {
  if (/^\d{1,16}$/.test(text)) return Number(text)
  if (!iso.test(text)) return Number.NaN
  return Date.parse(text.includes('T') && !/(Z|[+-]\d{2}:\d{2})$/.test(text) ? `${text}Z` : text)
}

/** Like {@link parseTime}, but also accepts relative times: `30m`, `2h`, `7d`. */
export function parseSince(text: string, now: number): number {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  return count === undefined ? parseTime(text) : now - Number(count) * (unitMs[unit] ?? 0)
}
