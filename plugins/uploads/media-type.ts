import { isUtf8 } from 'node:buffer'

/** Bytes from the start of a file that show its type. */
export const sampleBytes = 4100

/** Finds the media type of bytes by their signature, as the package file-type does. */
export type Detect = (bytes: Uint8Array) => Promise<{ readonly mime: string } | undefined>

/** Types of text have no signature: what the client says is accepted for text only. */
const textual = /^text\/[a-z0-9.+-]+$|^application\/(json|xml|yaml|[a-z0-9.-]+\+(json|xml))$/

/**
 * Returns the media type of a file by its first bytes: that of its signature; for text, what the client says it is, if that is a type of text;
 * otherwise `application/octet-stream`.
 *
 * @param whole whether the bytes are the whole file.
 */
export async function mediaTypeOf(bytes: Buffer, whole: boolean, declared: string, detect: Detect): Promise<string> {
  const found = await detect(bytes)
  if (found !== undefined) return found.mime
  if (bytes.length === 0 || !isText(bytes, whole)) return 'application/octet-stream'
  return textual.test(declared) ? declared : 'text/plain'
}

/** Whether bytes are UTF-8 without control characters. */
function isText(bytes: Buffer, whole: boolean): boolean {
  // The last character may continue after the sample.
  const text = whole ? [bytes] : [0, 1, 2, 3].map((cut) => bytes.subarray(0, bytes.length - cut))
  if (!text.some((part) => isUtf8(part))) return false
  return !bytes.some((byte) => byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && byte !== 0x0c && byte !== 0x1b)
}

/** Whether a media type is one of a list, such as `image/*`. An empty list accepts any. */
export function isAccepted(type: string, types: readonly string[]): boolean {
  const family = `${type.split('/')[0]}/*`
  return types.length === 0 || types.some((accepted) => accepted === type || accepted === family)
}
