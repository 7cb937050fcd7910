import type { Disposer } from '../util/disposer.js'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** Writes a log line: facts first, then the message: `log.info({ worker: 'emails' }, 'started')`. */
export interface LogMethod {
  (facts: object, message?: string): void
  (message: string): void
}

/** Returns fields that depend on the current async context, such as the trace id; undefined: none. Called for each line that is written. */
export type LogFields = () => Readonly<Record<string, unknown>> | undefined

/** The logger of a plugin. Lines include the plugin's name; secrets in well-known fields are masked. */
export interface Logger {
  readonly level: LogLevel
  trace: LogMethod
  debug: LogMethod
  info: LogMethod
  warn: LogMethod
  error: LogMethod
  fatal: LogMethod
  /**
   * Adds fields to every line of the app's log, evaluated when a line is written. Returns a function that removes them. Absent if the
   * logger does not support it.
   */
  addFields?(fields: LogFields): Disposer
  child(bindings: Readonly<Record<string, unknown>>): Logger
}
