import { type Problem, problem } from './problem.js'

/** Where a remote processor is, and the digest that its text must have. */
export interface ProcessorUrl {
  /** Without the pin. */
  readonly url: URL
  /** SHA-256 in lower-case hex; undefined: not pinned. */
  readonly sha256: string | undefined
}

const scheme = /^[a-z][a-z0-9+.-]*:/i
const pin = /^#sha256-(?:([0-9a-f]{64})|([A-Za-z0-9+/]{43}=?))$/i

/** Whether a processor is meant as a URL rather than a path. */
export function isUrl(value: string): boolean {
  return scheme.test(value)
}

/** Reads `https://host/path` with an optional `#sha256-<hex or base64>`; undefined when it is invalid. Does no I/O. */
export function processorUrl(value: string): ProcessorUrl | undefined {
  // URL parsers drop blanks and turn backslashes around: what is stored would not be what is fetched.
  if (value.length > 2048 || !/^[\u0021-\u005b\u005d-\u007e]+$/.test(value) || !URL.canParse(value)) return undefined
  const url = new URL(value)
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') return undefined
  const { hash } = url
  const [, hex, base64] = pin.exec(hash) ?? []
  if (value.includes('#') && hex === undefined && base64 === undefined) return undefined
  url.hash = ''
  return { url, sha256: hex?.toLowerCase() ?? (base64 === undefined ? undefined : hexOf(base64)) }
}

function hexOf(base64: string): string {
  return Array.from(atob(base64), (byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join('')
}

/** The fault of a processor that is a URL. Whether its host is allowed is decided when it is loaded. */
export function checkProcessorUrl(field: string, value: string): Problem | undefined {
  return processorUrl(value) === undefined
    ? problem(
        field,
        'INVALID_PROCESSOR_URL',
        `"${field}" is a URL, so it must be https: without a user, of at most 2048 plain characters, and its fragment can only be #sha256-<hex or base64>`,
      )
    : undefined
}
