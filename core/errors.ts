/** Extra facts of one error occurrence. */
export interface ZinErrorOptions {
  /** HTTP status that an answer carrying this error has. Default 500. */
  readonly status?: number
  /** Short text of the error body's `error` field. Default: derived from the code. */
  readonly title?: string
  /** Machine-readable facts for the error body's `details` field. Never secrets. */
  readonly details?: unknown
  /** Headers for the HTTP answer, e.g. `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/**
 * Every error that Zin throws on purpose: a stable `code`, a message that says who, what, where and what to do,
 * and the HTTP status it maps to.
 *
 * @example
 * throw new ZinError('WORKER_NOT_FOUND', 'No worker is named "emails"; see GET /api/workers', { status: 404 })
 */
export class ZinError extends Error {
  override readonly name = 'ZinError'
  readonly code: string
  readonly status: number
  readonly title: string
  readonly details: unknown
  readonly headers: Readonly<Record<string, string>>

  constructor(code: string, message: string, options: ZinErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = options.status ?? 500
    this.title = options.title ?? titleOf(code)
    this.details = options.details
    this.headers = options.headers ?? {}
  }
}

/** One row of an error table: the status, an optional short text, and the message built from its arguments. */
export interface ErrorRow {
  readonly status: number
  readonly title?: string
  // biome-ignore lint/suspicious/noExplicitAny: each row fixes its own argument types
  readonly message: (...args: any[]) => string
}

/** What {@link defineErrors} makes of a row: a function that builds the error. */
export type ErrorFactory<R extends ErrorRow> = (...args: Parameters<R['message']>) => ZinError

/**
 * Turns a table of codes into functions that build errors.
 *
 * @example
 * const errors = defineErrors({
 *   WORKER_NOT_FOUND: { status: 404, message: (name: string) => `No worker is named "${name}"; see GET /api/workers` },
 * })
 * throw errors.WORKER_NOT_FOUND('emails')
 */
export function defineErrors<T extends Record<string, ErrorRow>>(table: T): { readonly [K in keyof T]: ErrorFactory<T[K]> } {
  const factories = Object.entries(table).map(([code, row]) => [
    code,
    (...args: unknown[]) =>
      new ZinError(code, row.message(...args), row.title === undefined ? { status: row.status } : { status: row.status, title: row.title }),
  ])
  return Object.fromEntries(factories)
}

/** `WORKER_NOT_FOUND` → `Worker not found`. */
function titleOf(code: string): string {
  const words = code.replace(/^ZIN_/, '').toLowerCase().replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
