import type { Logger, LogLevel, LogMethod } from 'zin'
import type { ChildLine } from './child-protocol.js'

export const lineLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
/** Lines that the app has not taken yet; more are dropped. */
const mostPending = 10_000

/** The log of a service in a process of its own: the app writes its lines, so that all are in one place. */
export function childLog(level: LogLevel, send: (line: ChildLine, done: () => void) => void): Logger {
  let pending = 0
  const post = (line: ChildLine): void => {
    if (pending >= mostPending) return
    pending++
    send(line, () => pending--)
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
