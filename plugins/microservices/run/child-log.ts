import type { Logger, LogLevel, LogMethod } from 'zin'
import type { ChildLine } from './child-protocol.js'

export const lineLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
/** Maximum number of lines not yet received by the app; further lines are dropped and counted. */
const maxPending = 10_000

/** Logger of a service in a child process. The app writes the lines, so that all logs are in one place. */
export function childLog(level: LogLevel, send: (line: ChildLine, done: () => void) => void): Logger {
  let pending = 0
  let dropped = 0
  const post = (line: ChildLine): void => {
    if (pending >= maxPending) {
      dropped++
      return
    }
    pending++
    send(line, received)
  }
  const received = (): void => {
    pending--
    // Wait until there is room again, so that a flood of lines causes one warning.
    if (dropped === 0 || pending > maxPending / 2) return
    const facts = { dropped }
    dropped = 0
    post({ type: 'log', level: 'warn', facts, message: 'log lines were dropped: the service logs faster than the app receives them' })
  }
  const first = level === 'silent' ? lineLevels.length : lineLevels.indexOf(level)
  const make = (bindings: object): Logger => {
    const method = (at: (typeof lineLevels)[number]): LogMethod => {
      if (lineLevels.indexOf(at) < first) return () => undefined
      return (facts: object | string, message?: string) => {
        if (typeof facts === 'string') post({ type: 'log', level: at, facts: bindings, message: facts })
        else post({ type: 'log', level: at, facts: { ...bindings, ...facts }, message: message ?? '' })
      }
    }
    const [trace, debug, info, warn, error, fatal] = lineLevels.map(method) as [
      LogMethod,
      LogMethod,
      LogMethod,
      LogMethod,
      LogMethod,
      LogMethod,
    ]
    return { level, trace, debug, info, warn, error, fatal, child: (more) => make({ ...bindings, ...more }) }
  }
  return make({})
}
