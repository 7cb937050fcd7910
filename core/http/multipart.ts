import { httpErrors } from './errors.js'

/** One part of a multipart form. */
export interface Part {
  readonly name: string
  /** Set if the part is a file; empty if no file was selected. */
  readonly filename: string | undefined
  readonly type: string | undefined
  /** A view of the form's bytes, unless they were encoded. */
  readonly bytes: Buffer
}

const maxParts = 1000
const maxHeadBytes = 16 * 1024
const headEnd = Buffer.from('\r\n\r\n')

/** Splits a complete multipart form (RFC 7578). Throws 400 `INVALID_FORM`. */
export function splitMultipart(bytes: Buffer, boundary: string): readonly Part[] {
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  const parts: Part[] = []
  let at = bytes.indexOf(delimiter.subarray(2)) === 0 ? delimiter.length - 2 : after(bytes, delimiter, 0)
  while (!bytes.subarray(at, at + 2).equals(dashes)) {
    while (bytes[at] === 0x20 || bytes[at] === 0x09) at++
    if (bytes[at] !== 0x0d || bytes[at + 1] !== 0x0a) throw httpErrors.INVALID_FORM('a boundary is malformed')
    if (parts.length === maxParts) throw httpErrors.INVALID_FORM(`it has more than ${maxParts} parts`)
    const end = bytes.subarray(at, at + maxHeadBytes).indexOf(headEnd)
    if (end === -1) throw httpErrors.INVALID_FORM('the headers of a part are incomplete')
    const headers = headersOf(bytes.toString('utf8', at + 2, at + end))
    const start = at + end + headEnd.length
    at = after(bytes, delimiter, start)
    parts.push(partOf(headers, bytes.subarray(start, at - delimiter.length)))
  }
  return parts
}

const dashes = Buffer.from('--')

/** Returns the position after the next delimiter. */
function after(bytes: Buffer, delimiter: Buffer, from: number): number {
  const found = bytes.indexOf(delimiter, from)
  if (found === -1) throw httpErrors.INVALID_FORM('a boundary is missing')
  return found + delimiter.length
}

const header = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*)$/

function headersOf(text: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (const line of text === '' ? [] : text.split('\r\n')) {
    const [, name, value] = header.exec(line) ?? []
    if (name === undefined || value === undefined) throw httpErrors.INVALID_FORM('a header of a part is malformed')
    headers.set(name.toLowerCase(), value)
  }
  return headers
}

function partOf(headers: ReadonlyMap<string, string>, raw: Buffer): Part {
  const parameters = parametersOf(headers.get('content-disposition') ?? '')
  const name = parameters.get('name')
  if (name === undefined) throw httpErrors.INVALID_FORM('a part has no name')
  // As a key of an object it would set the prototype.
  if (name === '__proto__') throw httpErrors.INVALID_FORM('a part is named "__proto__"')
  return {
    name,
    filename: parameters.get('filename'),
    type: headers.get('content-type'),
    bytes: decode(raw, headers.get('content-transfer-encoding')?.toLowerCase() ?? 'binary'),
  }
}

const parameter = /;[ \t]*([\w-]+\*?)=(?:"((?:\\"|[^"])*)"|([^\s";]*))[ \t]*/gy

/** The parameters of `Content-Disposition`, quoted or tokens, with the escapes of browsers and curl undone. */
function parametersOf(disposition: string): ReadonlyMap<string, string> {
  const [kind = ''] = disposition.split(';', 1)
  if (kind.trim().toLowerCase() !== 'form-data') throw httpErrors.INVALID_FORM('a part is not form-data')
  const found = [...disposition.slice(kind.length).matchAll(parameter)]
  return new Map(found.map(([, name = '', quoted, token = '']) => [name.toLowerCase(), unescaped(quoted ?? token)]))
}

function unescaped(text: string): string {
  return text.replaceAll('\\"', '"').replace(/%(22|0d|0a)/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function decode(raw: Buffer, encoding: string): Buffer {
  if (encoding === 'binary' || encoding === '7bit' || encoding === '8bit') return raw
  if (encoding === 'base64') return Buffer.from(raw.toString('latin1'), 'base64')
  throw httpErrors.INVALID_FORM('a part has an unknown Content-Transfer-Encoding')
}
