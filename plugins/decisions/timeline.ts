import type { Decision } from './contract.js'
import { errorsIn, errorText } from './error-counts.js'

/** Formats decisions as lines in chronological order, grouped by day, in UTC. If they are all about one subject, it is not repeated. */
export function timelineOf(newestFirst: readonly Decision[], about?: string): readonly string[] {
  const lines: string[] = []
  let day = ''
  for (const { acted, actor, at, inputs, kind, reason, subject, verdict } of [...newestFirst].reverse()) {
    const [date = '', time = ''] = at.split('T')
    if (date !== day) lines.push(...(day === '' ? [] : ['']), `${date} (UTC)`)
    day = date
    const by = actor.kind === 'plugin' ? '' : `, by ${actor.kind === actor.id ? 'a local caller' : `${actor.kind} ${actor.id}`}`
    const what = `${kind} ${verdict}`
    lines.push(
      `  ${time.slice(0, 8)}  ${subject === about ? what : `${subject}: ${what}`}${acted ? '' : ' (dry run: nothing was changed)'}${by}`,
    )
    lines.push(`            ${reason}`)
    for (const [version, errors] of errorsIn(inputs)) for (const error of errors) lines.push(`            ${version}: ${errorText(error)}`)
  }
  return lines
}
