import { STATUS_CODES } from 'node:http'
import { defineErrors, ZinError } from '../errors.js'

/** Longest path that a message repeats. */
const shownPath = (path: string): string => (path.length > 200 ? `${path.slice(0, 200)}…` : path)

/** Errors of the HTTP layer that clients see. */
export const httpErrors = defineErrors({
  BAD_REQUEST_TARGET: { status: 400, message: (why: string) => `The request target ${why}; send a path that a URL parser leaves as it is` },
  DUPLICATE_HEADER: { status: 400, message: (name: string) => `The header "${name}" was sent more than once; send it once` },
  INVALID_JSON: { status: 400, title: 'Invalid JSON', message: (why: string) => `The body is not valid JSON: ${why}` },
  INVALID_FORM: { status: 400, message: (why: string) => `The form could not be read: ${why}` },
  BODY_FRAGMENTED: { status: 400, message: () => 'The body arrives in too many small pieces; send larger chunks' },
  BODY_ABORTED: { status: 400, message: () => 'The connection ended before the body was complete' },
  UNSUPPORTED_TRANSFER_ENCODING: {
    status: 400,
    message: () => 'Of transfer codings only "chunked" is taken, in HTTP/1.1; send the body without any other',
  },
  NOT_FOUND: { status: 404, message: (method: string, path: string) => `No route answers ${method} ${shownPath(path)}` },
  PAYLOAD_TOO_LARGE: { status: 413, message: (limit: number) => `The body is larger than ${limit} bytes, the most this route takes` },
  MISDIRECTED: {
    status: 421,
    message: () => 'This app does not serve the host named in the Host or X-Forwarded-Host header; see app.allowedHosts in zin.config.ts',
  },
  TOO_MANY_STREAMS: {
    status: 429,
    message: (most: number) => `This client has ${most} event streams open, the most it may have; close one first`,
  },
  STREAMS_EXHAUSTED: {
    status: 503,
    message: (most: number) => `${most} event streams are open, the most that there may be; try again later`,
  },
  OTHER_APP: { status: 421, message: () => 'The request is meant for another app, the one that its header X-Zin-App names' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: (expected: string) => `The body must be ${expected}` },
  UNSUPPORTED_CONTENT_ENCODING: { status: 415, message: () => 'The body must not be compressed; send it without Content-Encoding' },
  TOO_EARLY: { status: 425, message: () => 'Early data is taken for GET and HEAD only; send the request again after the handshake' },
  BODY_CONSUMED: {
    status: 500,
    message: () =>
      'The body was read before captureBody; call captureBody(ctx) in each middleware that reads it, or set bodyType on the route',
  },
})

/** 405 with the methods that the path does answer. */
export function methodNotAllowed(method: string, path: string, allow: string): ZinError {
  const message = `${shownPath(path)} does not answer ${method}; it answers ${allow}`
  return new ZinError('METHOD_NOT_ALLOWED', message, { status: 405, headers: { Allow: allow } })
}

/** The error that stands for a bare status: 429 → `TOO_MANY_REQUESTS`. */
export function statusError(status: number, message?: string, headers?: Readonly<Record<string, string>>): ZinError {
  const title = STATUS_CODES[status] ?? 'Error'
  const code = title.toUpperCase().replaceAll(/[^A-Z]+/g, '_')
  return new ZinError(code, message ?? title, { status, title, ...(headers && { headers }) })
}
