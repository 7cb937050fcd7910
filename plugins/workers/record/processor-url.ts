import { type Problem, problem } from './problem.js'

/** The location of a remote processor, and the required digest of its code. */
export interface ProcessorUrl {
  /** Without the pin. */
  readonly url: URL
  /** SHA-256 in lower-case hex; undefined: not pinned. */
  readonly sha256: string | undefined
}

const scheme = /^[a-z][a-z0-9+.-]*:/i
const pin = /^#sha256-(?:([0-9a-f]{64})|([A-Za-z0-9+/]{43}=?))$/i

/** Whether the text of a processor is a URL rather than a path. */
export function isUrl(value: string): boolean {
  return scheme.test(value)
}

/** Parses `https://host/path` with an optional `#sha256-<hex or base64>`; undefined when it is invalid. Does no I/O. */
export function processorUrl(value: string): ProcessorUrl | undefined {
  // URL parsers remove whitespace and replace backslashes, so the stored URL would differ from the fetched one.
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

/** Checks the text of a processor URL. Whether its host is allowed is checked when it is loaded. */
export function checkProcessorUrl(field: string, value: string): Problem | undefined {
  return processorUrl(value) === undefined
    ? problem(
        field,
        'INVALID_PROCESSOR_URL',
        `"${field}" must be an https: URL without credentials, of at most 2048 ASCII characters, with no fragment other than #sha256-<hex or base64>`,
      )
    : undefined
}
