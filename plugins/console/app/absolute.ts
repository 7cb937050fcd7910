/** Created once: constructing a formatter takes longer than rendering a row. */
const absolutely = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  timeZoneName: 'short',
})

/** In the viewer's time zone, with its name: `23 Nov 2026, 01:13:24.285 UTC`. */
export function absolute(at: number): string {
  return absolutely.format(at)
}
