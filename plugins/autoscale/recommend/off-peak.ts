/** A daily window in minutes after midnight. If `from` is after `to`, it wraps around midnight; if they are equal, it is the whole day. */
export interface DailyWindow {
  readonly from: number
  readonly to: number
}

const time = /^([01]\d|2[0-3]):([0-5]\d)$/

/** Parses a window such as `22:00-06:00`; undefined for anything else. */
export function parseWindow(text: string): DailyWindow | undefined {
  const [from, to, ...rest] = text.split('-').map((part) => time.exec(part.trim()))
  if (!from || !to || rest.length > 0) return undefined
  return { from: Number(from[1]) * 60 + Number(from[2]), to: Number(to[1]) * 60 + Number(to[2]) }
}

/** Whether a time is in the window by the wall clock of the time zone, including daylight saving changes. The end is exclusive. */
export function isWithin({ from, to }: DailyWindow, at: number, timeZone: string): boolean {
  const minute = minuteOfDay(at, timeZone)
  if (from === to) return true
  return from < to ? minute >= from && minute < to : minute >= from || minute < to
}

function minuteOfDay(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).formatToParts(at)
  const numberOf = (type: string): number => Number(parts.find((part) => part.type === type)?.value)
  return numberOf('hour') * 60 + numberOf('minute')
}

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** Returns the capacity reduced by a share, at least 1: a reduction of 0.7 leaves 3 of 10. */
export function reduced(workers: number, reduction: number): number {
  // 10 × (1 - 0.7) is a little more than 3.
  return Math.max(1, Math.floor(workers * (1 - reduction) + 1e-9))
}
