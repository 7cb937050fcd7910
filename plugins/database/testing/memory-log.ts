import type { Logger, LogLevel } from 'zin'

export interface LoggedLine {
  readonly level: LogLevel
  readonly facts: Readonly<Record<string, unknown>>
  readonly message: string
}

/** A logger for tests that keeps its lines. */
export function memoryLog(): { readonly log: Logger; readonly lines: readonly LoggedLine[] } {
  const lines: LoggedLine[] = []
  const at =
    (level: LogLevel) =>
    (facts: object | string, message?: string): void => {
      if (typeof facts === 'string') lines.push({ level, facts: {}, message: facts })
      else lines.push({ level, facts: { ...facts }, message: message ?? '' })
    }
  const log: Logger = {
    level: 'trace',
    trace: at('trace'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
    child: () => log,
  }
  return { log, lines }
}
