import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import type { BodyDecoder } from 'zin'
import { compressionErrors } from './errors.js'

const unzip = { br: promisify(brotliDecompress), gzip: promisify(gunzip), zlib: promisify(inflate), raw: promisify(inflateRaw) }

/** Compression method 8, in the first byte of zlib's format. Some clients send `deflate` without that. */
const isZlib = (bytes: Buffer): boolean => ((bytes[0] as number) & 0x0f) === 8

/** Decoders of request bodies by content coding. They stop at the limit, and hold at most one piece more. */
export const decoders: ReadonlyMap<string, BodyDecoder> = new Map([
  ['br', decoder('br', () => unzip.br)],
  ['gzip', decoder('gzip', () => unzip.gzip)],
  ['x-gzip', decoder('gzip', () => unzip.gzip)],
  ['deflate', decoder('deflate', (bytes) => (isZlib(bytes) ? unzip.zlib : unzip.raw))],
])

type Unzip = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>

function decoder(coding: string, unzipOf: (bytes: Buffer) => Unzip): BodyDecoder {
  return async (bytes, limit) => {
    try {
      return await unzipOf(bytes)(bytes, { maxOutputLength: Math.max(1, limit) })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined
      throw compressionErrors.BODY_NOT_DECODABLE(coding)
    }
  }
}
