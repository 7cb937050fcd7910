import { messageOf, ZinError } from '../errors.js'
import { BootError } from '../host/boot-error.js'
import { escapeControls } from '../log/escape.js'
import { maskText, redactFacts } from '../log/redact.js'
import { UsageError } from './errors.js'

/** Formats the error of a failed command for stderr with `--json`: one line with the fields of an HTTP error. */
export function jsonError(error: unknown): string {
  const { title, details } = error instanceof ZinError ? error : { title: 'Command failed', details: undefined }
  const report = {
    error: title,
    message: messageOf(error),
    code: codeOf(error) ?? 'ZIN_COMMAND_FAILED',
    ...(details === undefined ? {} : { details: redactFacts({ details }).details }),
  }
  // `printable` uses the same escapes as JSON.
  return printable(JSON.stringify(report))
}

/** Formats the error of a failed command for stderr: one message, or one for each cause of a failed boot. Stacks only when debugging. */
export function describeError(error: unknown, command: string | undefined, debug: boolean): string[] {
  const head = command === undefined ? 'zin' : `zin ${command}`
  const lines =
    error instanceof BootError ? causeLines(error) : [[messageOf(error), error instanceof UsageError ? undefined : codeOf(error)] as const]
  const said = lines.flatMap(([message, code]) => indented(`${head}: ${message}${code === undefined ? '' : ` [${code}]`}`))
  return debug ? [...said, ...stackOf(error)] : said
}

function causeLines(error: BootError): (readonly [string, string | undefined])[] {
  // The details of a boot error are the messages of its causes, in the same order.
  const words = error.details as readonly string[]
  return error.causes.map((cause, index) => [words[index] ?? messageOf(cause.error), codeOf(cause.error)])
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof ZinError ? error.code : (error as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

function stackOf(error: unknown): string[] {
  const errors = error instanceof BootError ? error.causes.map((cause) => cause.error) : [error]
  return errors.flatMap((one) => (one instanceof Error ? (one.stack ?? '').split('\n') : [])).map((line) => `    ${printable(line.trim())}`)
}

/** Indents lines after the first, so that none can pass for a separate message. */
function indented(text: string): string[] {
  return text.split(/\r?\n/).map((line, index) => (index === 0 ? printable(line) : `    ${printable(line)}`))
}

/** Makes untrusted text safe for a terminal: one line, without secrets and control characters. */
export function printable(text: string): string {
  return escapeControls(maskText(text))
}

/** Whether to print stacks: `DEBUG=zin` or `LOG_LEVEL=debug`. */
export function isDebugging(env: Readonly<Record<string, string | undefined>>): boolean {
  return (
    (env.DEBUG ?? '').split(',').some((name) => ['zin', 'zin:*', '*'].includes(name.trim())) ||
    ['debug', 'trace'].includes(env.LOG_LEVEL ?? '')
  )
}
