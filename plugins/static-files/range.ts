/** Bytes of a file, both ends included. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

const single = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i

/**
 * Reads the header `Range` (RFC 9110 14.1.2). Undefined: the whole file is sent, because the header is malformed, has another unit, or lists
 * several ranges, which a server may ignore. `unsatisfiable`: it asks for bytes behind the end only.
 *
 * @param bytes size of the file.
 */
export function parseRange(header: string, bytes: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = single.exec(header) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') {
    if (Number(last) === 0) return 'unsatisfiable'
    // The last bytes of an empty file are the whole file, which no `Content-Range` can say.
    return bytes === 0 ? undefined : { start: bytes - Math.min(Number(last), bytes), end: bytes - 1 }
  }
  const start = Number(first)
  const end = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  if (last !== '' && Number(last) < start) return undefined
  return start >= bytes ? 'unsatisfiable' : { start, end }
}
