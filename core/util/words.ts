/** A duration in words: `340 ms`, `12 s`, `14 min`, `2 h 5 min`, `3 d 4 h`. */
export function durationText(ms: number): string {
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))} ms`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  return hours % 24 === 0 ? `${hours / 24} d` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** A number with its noun: `1 job`, `12,340 jobs`. `many` defaults to `one` with an s. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`
}
