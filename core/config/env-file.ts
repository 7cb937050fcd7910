import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ZinError } from '../errors.js'
import { configErrors } from './errors.js'
import type { EnvSource } from './read-settings.js'

type Values = Record<string, string | undefined>

/** Matches one assignment: an optional `export`, the name, and the text after `=`. Names of header settings contain `-`. */
const assignment = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*(.*)$/

/**
 * Parses the text of a `.env` file. A value is unquoted, `'literal'`, or `"text"` with the escapes `\n`, `\r`, `\t`, `\"`, `\$` and
 * `\\`; quoted values may span lines. ` #` starts a comment after an unquoted value. Variables are not expanded. If a name is assigned
 * twice, the last assignment wins.
 *
 * @throws ZinError ZIN_ENV_FILE, which names the file and the line but never a value.
 */
export function parseEnvFile(text: string, file: string): Readonly<Values> {
  const values: Values = Object.create(null)
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (/^\s*(#|$)/.test(line)) continue
    const [, name, rest] = assignment.exec(line) ?? []
    if (name === undefined || rest === undefined) throw malformed(file, at, 'expected NAME=value')
    const quote = rest[0]
    if (quote !== '"' && quote !== "'") {
      values[name] = rest.replace(/(^|\s)#.*$/, '').trim()
      continue
    }
    const start = at
    let body = rest.slice(1)
    let end = closingQuote(body, quote)
    while (end < 0) {
      if (++at >= lines.length) throw malformed(file, start, `the value of ${name} has no closing ${quote}`)
      body += `\n${lines[at]}`
      end = closingQuote(body, quote)
    }
    if (!/^\s*(#.*)?$/.test(body.slice(end + 1))) throw malformed(file, at, `unexpected text after the closing ${quote} of ${name}`)
    values[name] = quote === '"' ? unquote(body.slice(0, end)) : body.slice(0, end)
  }
  return values
}

/** Reads a `.env` file. Returns undefined if it does not exist. */
export async function readEnvFile(file: string): Promise<Readonly<Values> | undefined> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw configErrors.ZIN_ENV_FILE(`cannot read ${file}: ${message}`, error)
  }
  return parseEnvFile(text, file)
}

/**
 * Returns the environment of the app in `rootDir`: the values of its `.env`, overridden by the process environment.
 *
 * Values that only `.env` defines are written into `environment` (normally `process.env`), so that `env.*` in `zin.config.ts`, the
 * app's code and libraries can read them.
 */
export async function loadEnv(rootDir: string, environment: Values): Promise<EnvSource> {
  const file = join(rootDir, '.env')
  const fromFile = (await readEnvFile(file)) ?? {}
  // Equal values count as coming from the file: a second load in this process finds what the first one wrote.
  const names = new Set(Object.keys(fromFile).filter((name) => environment[name] === undefined || environment[name] === fromFile[name]))
  for (const name of names) environment[name] = fromFile[name]
  const values: Readonly<Values> = { ...environment }
  return {
    file,
    values,
    sourceOf: (name) => (values[name] === undefined ? 'default' : names.has(name) ? '.env' : 'environment'),
  }
}

function closingQuote(body: string, quote: string): number {
  for (let index = 0; index < body.length; index++) {
    if (quote === '"' && body[index] === '\\') index++
    else if (body[index] === quote) return index
  }
  return -1
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' }

function unquote(body: string): string {
  return body.replace(/\\([\s\S])/g, (whole, char: string) => escapes[char] ?? whole)
}

function malformed(file: string, index: number, what: string): ZinError {
  return configErrors.ZIN_ENV_FILE(`${file}:${index + 1}: ${what}`)
}
