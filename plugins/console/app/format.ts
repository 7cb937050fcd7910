// Formats numbers, durations and times. Pure, so tests need no browser.

/** `412`, `12.3 k`, `1.2 M`, with a non-breaking space before the unit. */
export function count(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const size = Math.abs(value)
  if (size < 10_000) return plain(value)
  const units = [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const
  for (const [factor, unit] of units) if (size >= factor) return `${short(value / factor)}\u00a0${unit}`
  return plain(value)
}

/** With thousands separators: `12,340`. */
export function exact(value: number): string {
  return Number.isFinite(value) ? value.toLocaleString('en-US') : '–'
}

/** From ms: `340 ms`, `1.2 s`, `14 min`, `2 h 05`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–'
  if (ms < 1) return ms <= 0 ? '0\u00a0ms' : '<\u00a01\u00a0ms'
  if (ms < 999.5) return `${Math.round(ms)}\u00a0ms`
  const seconds = ms / 1000
  if (seconds < 59.5) return `${seconds < 9.95 ? seconds.toFixed(1) : Math.round(seconds)}\u00a0s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes}\u00a0min`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return `${hours}\u00a0h\u00a0${String(minutes % 60).padStart(2, '0')}`
  return `${Math.floor(hours / 24)}\u00a0d\u00a0${hours % 24}\u00a0h`
}

/** From a ratio of 0–1: `14.3 %`. */
export function percent(ratio: number): string {
  if (!Number.isFinite(ratio)) return '–'
  const value = ratio * 100
  return `${value === 0 || Math.abs(value) >= 99.95 ? Math.round(value) : value.toFixed(1)}\u00a0%`
}

/** `0.07`, `4.2`, `412`. */
export function rate(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (value === 0) return '0'
  if (value < 1) return value.toFixed(2)
  return value < 10 ? value.toFixed(1) : count(Math.round(value))
}

export function bytes(value: number): string {
  if (value < 1000) return `${value}\u00a0B`
  for (const [factor, unit] of [
    [1e9, 'GB'],
    [1e6, 'MB'],
    [1e3, 'kB'],
  ] as const)
    if (value >= factor) return `${short(value / factor)}\u00a0${unit}`
  return `${value}\u00a0B`
}

/** `3 min ago`, `in 2 h 05`, `now`. */
export function relative(at: number, now: number): string {
  const gap = now - at
  if (Math.abs(gap) < 1500) return 'now'
  return gap > 0 ? `${duration(gap)} ago` : `in ${duration(-gap)}`
}

/** `1 job`, `12,340 jobs`. */
export function plural(number: number, one: string, many = `${one}s`): string {
  return `${exact(number)} ${number === 1 ? one : many}`
}

function plain(value: number): string {
  return Number.isInteger(value) ? exact(value) : value.toFixed(Math.abs(value) < 10 ? 1 : 0)
}

function short(value: number): string {
  return Math.abs(value) < 9.95 ? value.toFixed(1) : Math.round(value).toString()
}
