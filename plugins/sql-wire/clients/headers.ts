/** Headers that are set by the client or fetch, frame a message, or identify a browser. */
const reserved: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-digest',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'expect',
  'host',
  'keep-alive',
  'origin',
  'proxy-connection',
  'referer',
  'signature',
  'signature-input',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
])

const name = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/
const value = /^[\t\x20-\x7e]*$/

/** Returns why a header cannot be sent in addition to the client's own; undefined if it can. Never includes the value. */
export function headerFault(header: string, text: string, headerPrefix = 'x-sig-'): string | undefined {
  const lower = header.toLowerCase()
  if (!name.test(header)) return `${JSON.stringify(header.slice(0, 100))} is not a header name`
  if (reserved.has(lower)) return `the header ${lower} is set by the client or the connection itself`
  if (lower.startsWith(headerPrefix)) return `the header ${lower} is part of the signature`
  if (lower.startsWith('sec-')) return `the header ${lower} is reserved for browsers`
  if (!value.test(text) || text.length > 8_000) return `the value of the header ${lower} must be at most 8,000 printable ASCII characters`
  return undefined
}
