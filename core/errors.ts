/** Additional data of one error occurrence. */
export interface ZinErrorOptions {
  /** HTTP status of a response with this error. Default 500. */
  readonly status?: number
  /** Short text for the error body's `error` field. Default: derived from the code. */
  readonly title?: string
  /** Machine-readable data for the error body's `details` field. Never secrets. */
  readonly details?: unknown
  /** Headers of the HTTP response, e.g. `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
  /** Whether a wrong command line caused it: the command then exits with 2 instead of 1. Default false. */
  readonly usage?: boolean
}

/**
 * An error that Zin throws on purpose, with a stable `code`, a message that states who, what, where and how to fix it,
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
  readonly usage: boolean

  constructor(code: string, message: string, options: ZinErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = options.status ?? 500
    this.title = options.title ?? titleOf(code)
    this.details = options.details
    this.headers = options.headers ?? {}
    this.usage = options.usage ?? false
  }
}

// biome-ignore lint/suspicious/noExplicitAny: each row fixes its own argument types
type OfArguments<T> = (...args: any[]) => T

/**
 * One row of an error table. Its functions receive the arguments of the error; `details` and `cause` may use more of them than
 * `message` does, such as the caught error.
 */
export interface ErrorRow {
  /** HTTP status of the response. Omit it for an error that stops the boot or ends a command and never appears in a response. */
  readonly status?: number
  /** Short text for the body's `error` field. Default: derived from the code. */
  readonly title?: string | OfArguments<string>
  /** The message: who, what, where, and how to fix it. */
  readonly message: OfArguments<string>
  /** Headers of the response, e.g. `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>> | OfArguments<Readonly<Record<string, string>>>
  /** Machine-readable data for the body's `details` field. Never secrets. */
  readonly details?: OfArguments<unknown>
  /** The error behind this one, for logs. */
  readonly cause?: OfArguments<unknown>
  /** Whether a wrong command line causes it: the command exits with 2. */
  readonly usage?: boolean
  /** False: without a stack, whose capture costs more than the rest of a small response. For what clients cause. Default: with one. */
  readonly stack?: false
  /** When it happens; for the README and the OpenAPI document. */
  readonly when?: string
  /** How to fix it; for the README and the OpenAPI document. */
  readonly fix?: string
}

type ArgumentsOf<F> = F extends (...args: infer A) => unknown ? A : []
type Longer<A extends readonly unknown[], B extends readonly unknown[]> = A extends readonly [...B, ...unknown[]] ? A : B

/** A function that builds the error of a row, created by {@link defineErrors}. Its properties are the code and the row. */
export interface ErrorFactory<R extends ErrorRow = ErrorRow> {
  (...args: Longer<ArgumentsOf<R['cause']>, Longer<ArgumentsOf<R['details']>, Parameters<R['message']>>>): ZinError
  readonly code: string
  readonly row: ErrorRow
}

/** A table of errors, by code. */
// biome-ignore lint/suspicious/noExplicitAny: rows of any arguments
export type ErrorTable = Readonly<Record<string, ErrorFactory<any>>>

/**
 * Declares the errors of a plugin. Returns functions that build them; the README table and the error codes in the OpenAPI document are
 * generated from the same rows. List the table in the plugin's `errors`.
 *
 * @example
 * const mailErrors = defineErrors({
 *   MAILBOX_FULL: {
 *     status: 429,
 *     message: (name: string, seconds: number) => `The mailbox "${name}" is full; try again in ${seconds} s`,
 *     headers: (_name: string, seconds: number) => ({ 'Retry-After': String(seconds) }),
 *     when: 'A mailbox has reached its maximum number of messages',
 *     fix: 'Delete messages, or wait for `Retry-After`',
 *   },
 * })
 * throw mailErrors.MAILBOX_FULL('anna', 30)
 */
export function defineErrors<T extends Readonly<Record<string, ErrorRow>>>(table: T): { readonly [K in keyof T]: ErrorFactory<T[K]> } {
  const factories = Object.entries(table).map(([code, row]) => [code, errorFactory(code, row)])
  return Object.fromEntries(factories)
}

function errorFactory(code: string, row: ErrorRow): ErrorFactory {
  const title = row.title ?? titleOf(code)
  const make = (args: readonly unknown[]): ZinError => {
    // An undefined option counts as one that is missing.
    const options = {
      status: row.status,
      usage: row.usage,
      title: called(title, args),
      headers: called(row.headers, args),
      details: row.details?.(...args),
      cause: row.cause?.(...args),
    }
    return new ZinError(code, row.message(...args), options as ZinErrorOptions)
  }
  const build = (...args: unknown[]): ZinError => (row.stack === false ? withoutStack(() => make(args)) : make(args))
  return Object.assign(build, { code, row })
}

function withoutStack<T>(make: () => T): T {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return make()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

function called<T>(value: T | OfArguments<T> | undefined, args: readonly unknown[]): T | undefined {
  return typeof value === 'function' ? (value as OfArguments<T>)(...args) : value
}

/** `WORKER_NOT_FOUND` → `Worker not found`. */
function titleOf(code: string): string {
  const words = code.replace(/^ZIN_/, '').toLowerCase().replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/**
 * Returns one error for several: the only one, or an AggregateError with all messages.
 *
 * @example
 * const errors = ['MAIL_HOST', 'MAIL_KEY'].filter((name) => !process.env[name]).map((name) => new Error(`set ${name}`))
 * if (errors.length > 0) throw joinErrors(errors)
 */
export function joinErrors(errors: readonly Error[]): Error {
  const [only, ...others] = errors
  return only !== undefined && others.length === 0 ? only : new AggregateError(errors, errors.map(messageOf).join('; '))
}

/** Returns the message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
