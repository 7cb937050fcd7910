export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** A line of log: facts first, then words: `log.info({ worker: 'emails' }, 'started')`. */
export interface LogMethod {
  (facts: object, message?: string): void
  (message: string): void
}

/** The logger a plugin gets; its lines carry the plugin's name. Secrets in well-known fields are masked. */
export interface Logger {
  readonly level: LogLevel
  trace: LogMethod
  debug: LogMethod
  info: LogMethod
  warn: LogMethod
  error: LogMethod
  fatal: LogMethod
  child(bindings: Readonly<Record<string, unknown>>): Logger
}
