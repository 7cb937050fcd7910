import { messageOf, ZinError } from '../errors.js'
import { BootError } from '../host/boot-error.js'
import { escapeControls } from '../log/escape.js'
import { maskText, redactFacts } from '../log/redact.js'
import { UsageError } from './errors.js'

/** What stderr says about a failed command with `--json`: one line with the fields of an HTTP error. */
export function jsonError(error: unknown): string {
  const { title, details } = error instanceof ZinError ? error : { title: 'Command failed', details: undefined }
  const report = {
    error: title,
    message: messageOf(error),
    code: codeOf(error) ?? 'ZIN_COMMAND_FAILED',
    ...(details === undefined ? {} : { details: redactFacts({ details }).details }),
  }
  // Escapes of JSON and of ours are the same.
  return printable(JSON.stringify(report))
}

/** What stderr says about a failed command: one message, or one for each cause of a failed boot. Stacks only when debugging. */
export function describeError(error: unknown, command: string | undefined, debug: boolean): string[] {
  const head = command === undefined ? 'zin' : `zin ${command}`
  const lines =
    error instanceof BootError ? causeLines(error) : [[messageOf(error), error instanceof UsageError ? undefined : codeOf(error)] as const]
  const said = lines.flatMap(([message, code]) => indented(`${head}: ${message}${code === undefined ? '' : ` [${code}]`}`))
  return debug ? [...said, ...stackOf(error)] : said
}

function causeLines(error: BootError): (readonly [string, string | undefined])[] {
  // The details of a boot error are its causes in words, in the same order.
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

/** Lines after the first are indented, so that none can pass for a message of its own. */
function indented(text: string): string[] {
  return text.split(/\r?\n/).map((line, index) => (index === 0 ? printable(line) : `    ${printable(line)}`))
}

/** Foreign text for a terminal: one line, no secret, no control character. */
export function printable(text: string): string {
  return escapeControls(maskText(text))
}

/** Whether stacks are wanted: `DEBUG=zin` or `LOG_LEVEL=debug`. */
export function isDebugging(env: Readonly<Record<string, string | undefined>>): boolean {
  return (
    (env.DEBUG ?? '').split(',').some((name) => ['zin', 'zin:*', '*'].includes(name.trim())) ||
    ['debug', 'trace'].includes(env.LOG_LEVEL ?? '')
  )
}
