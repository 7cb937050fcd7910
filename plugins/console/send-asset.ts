import type { IncomingHttpHeaders } from 'node:http'
import type { Asset } from './assets.js'

/** Content Security Policy: no other origin, nothing inline, and no text evaluated as HTML or code. */
export const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

export interface AssetResponse {
  readonly status: 200 | 304
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** Builds the response for a file. A file named by its hash never changes, so it is cached as immutable. */
export function assetResponse(asset: Asset, request: IncomingHttpHeaders, named: 'by its content' | 'by its place'): AssetResponse {
  const headers: Record<string, string> = {
    'Cache-Control': named === 'by its content' ? 'public, max-age=31536000, immutable' : 'no-cache',
    'Content-Security-Policy': contentPolicy,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    ETag: asset.etag,
    'Referrer-Policy': 'no-referrer',
    Vary: 'Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
  }
  const known = (request['if-none-match'] ?? '').split(',').some((one) => one.trim() === asset.etag)
  if (known) return { status: 304, headers, body: undefined }
  const form = formFor(request['accept-encoding'])
  const body = asset.forms[form]
  Object.assign(headers, { 'Content-Type': asset.type, 'Content-Length': String(body.length) })
  if (form !== 'identity') headers['Content-Encoding'] = form
  return { status: 200, headers, body }
}

/** Returns the smallest encoding the client accepts. An encoding with `q=0` is not accepted. */
function formFor(accepted: string | string[] | undefined): keyof Asset['forms'] {
  const codings = String(accepted ?? '')
    .split(',')
    .map((one) => one.trim().toLowerCase())
    .filter((one) => !/;\s*q=0(\.0*)?$/.test(one))
    .map((one) => one.split(';')[0])
  if (codings.includes('br')) return 'br'
  return codings.includes('gzip') ? 'gzip' : 'identity'
}
