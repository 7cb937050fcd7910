import { randomBytes } from 'node:crypto'

/** A UUID version 7: unique, and with the time in milliseconds, where `iat` has only seconds. */
export function newJti(nowMs: number): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(nowMs, 0, 6)
  bytes[6] = 0x70 | (bytes.readUInt8(6) & 0x0f)
  bytes[8] = 0x80 | (bytes.readUInt8(8) & 0x3f)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const version7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** When a token was issued, in ms. Other ids contain no time: then the start of the second `iat` counts. */
export function issuedAtMs(claims: { readonly jti: string; readonly iat: number }): number {
  const match = version7.exec(claims.jti)
  if (match === null) return claims.iat * 1000
  return Math.min(Number.parseInt(`${match[1]}${match[2]}`, 16), claims.iat * 1000 + 999)
}
