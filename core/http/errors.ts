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
  BODY_ABORTED: { status: 400, message: () => 'The connection ended before the body was complete' },
  NOT_FOUND: { status: 404, message: (method: string, path: string) => `No route answers ${method} ${shownPath(path)}` },
  PAYLOAD_TOO_LARGE: { status: 413, message: (limit: number) => `The body is larger than ${limit} bytes, the most this route takes` },
  MISDIRECTED: {
    status: 421,
    message: () => 'This app does not serve the host named in the Host header; see app.allowedHosts in zin.config.ts',
  },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: (expected: string) => `The body must be ${expected}` },
  UNSUPPORTED_CONTENT_ENCODING: { status: 415, message: () => 'The body must not be compressed; send it without Content-Encoding' },
  TOO_EARLY: { status: 425, message: () => 'Early data is taken for GET and HEAD only; send the request again after the handshake' },
  BODY_CONSUMED: { status: 500, message: () => 'A middleware read the body stream before captureBody; use captureBody(ctx) in it instead' },
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
