/** Maximum length of a normalized message, in characters. */
export const mostMessage = 160
const mostClass = 60
/** Only the beginning of a message is read: it identifies the error. */
const mostRead = 1_000

/** An error by its kind: equal for all jobs that fail in the same way. */
export interface NormalError {
  /** Name of the error class. */
  readonly class: string
  /** First line of the message, without numbers, ids, addresses and quoted values. */
  readonly message: string
}

const url = /\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'`<>]+/gi
const email = /[^\s@<>"'`(),;:]{1,64}@[^\s@<>"'`(),;:]{1,255}/g
/** Values in quotes; an apostrophe within a word is none. A quote that is not closed lasts until the end of the line. */
const quoted = /"[^"]*(?:"|$)|`[^`]*(?:`|$)|“[^”]*(?:”|$)|«[^»]*(?:»|$)|(?<![\p{L}\p{N}])'[^']*'(?![\p{L}\p{N}])/gu
const word = /[\p{L}\p{N}_-]+/gu
/** Numbers joined by signs, such as `127.<n>`, times and decimals, once their parts are replaced. */
const joined = /<(?:n|id)>(?:[.,:/+-]{1,3}<(?:n|id)>)+/g
/** Words of this length that contain a digit are ids, shorter ones words with a number, such as `utf8`. */
const idLength = 8

/**
 * Returns the kind of an error: its class, and the first line of its message with `<n>`, `<id>`, `<value>`, `<url>` and `<email>` in place of
 * what differs from job to job, at most 160 characters. A name in plain text remains. Pure, never throws, and takes time linear in the
 * length that it reads.
 */
export function normalizeError(error: unknown): NormalError {
  const { message, name } = textsOf(error)
  return { class: plain(name, mostClass) || 'Error', message: normalized(message) || '(no message)' }
}

function textsOf(error: unknown): { readonly message: string; readonly name: string } {
  try {
    const { message, name } = (error ?? {}) as { readonly message?: unknown; readonly name?: unknown }
    return { message: typeof message === 'string' ? message : String(error), name: typeof name === 'string' ? name : 'Error' }
  } catch {
    return { message: '', name: 'Error' }
  }
}

function normalized(message: string): string {
  const [line = ''] = message
    .slice(0, mostRead)
    .trim()
    .split(/[\r\n\u2028\u2029]/, 1)
  const text = line.replace(quoted, '<value>').replace(url, '<url>').replace(email, '<email>')
  return plain(text.replace(word, withoutNumbers).replace(joined, '<n>'), mostMessage)
}

/** The other placeholders contain no digits. */
function withoutNumbers(text: string): string {
  if (!/\p{N}/u.test(text)) return text
  return text.length >= idLength && /\p{L}/u.test(text) ? '<id>' : text.replace(/\p{N}+/gu, '<n>')
}

/** One line of printable characters. */
function plain(text: string, most: number): string {
  const line = text.replace(/[\s\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ').trim()
  return line.length > most ? `${line.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : line
}
