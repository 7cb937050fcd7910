/** Base64 for browsers, Node and workerd. */

const step = 0x2000

/** Encodes bytes as standard base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  // The number of arguments of a call is limited.
  for (let at = 0; at < bytes.length; at += step) binary += String.fromCharCode(...bytes.subarray(at, at + step))
  return btoa(binary)
}

/** Decodes standard base64 with padding; throws on anything else. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
}

/** Returns whether a text is canonical standard base64 with padding. */
export function isBase64(text: string): boolean {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return false
  // Unused bits of the last character must be zero.
  if (text.endsWith('==')) return /[AQgw]==$/.test(text)
  return !text.endsWith('=') || /[AEIMQUYcgkosw048]=$/.test(text)
}
