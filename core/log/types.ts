import type { Disposer } from '../util/disposer.js'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** A line of log: facts first, then words: `log.info({ worker: 'emails' }, 'started')`. */
export interface LogMethod {
  (facts: object, message?: string): void
  (message: string): void
}

/** Fields of a line that depend on what runs, such as the id of its trace; undefined: none. Called for each line that is written. */
export type LogFields = () => Readonly<Record<string, unknown>> | undefined

/** The logger a plugin gets; its lines carry the plugin's name. Secrets in well-known fields are masked. */
export interface Logger {
  readonly level: LogLevel
  trace: LogMethod
  debug: LogMethod
  info: LogMethod
  warn: LogMethod
  error: LogMethod
  fatal: LogMethod
  /** Adds fields to every line of this app's log, read when a line is written. Returns a function that removes them. Absent: it has no such fields. */
  addFields?(fields: LogFields): Disposer
  child(bindings: Readonly<Record<string, unknown>>): Logger
}
