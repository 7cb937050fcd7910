import { STATUS_CODES } from 'node:http'
import { defineErrors, ZinError } from '../errors.js'
import type { InvalidInput } from './route.js'

/** Longest path that a message repeats. */
const shownPath = (path: string): string => (path.length > 200 ? `${path.slice(0, 200)}…` : path)

const rows = defineErrors({
  BAD_REQUEST_TARGET: { status: 400, message: (why: string) => `The request target ${why}; send a path that a URL parser leaves as it is` },
  DUPLICATE_HEADER: { status: 400, message: (name: string) => `The header "${name}" was sent more than once; send it once` },
  INVALID_JSON: { status: 400, title: 'Invalid JSON', message: (why: string) => `The body is not valid JSON: ${why}` },
  INVALID_FORM: { status: 400, message: (why: string) => `The form could not be read: ${why}` },
  BODY_FRAGMENTED: { status: 400, message: () => 'The body arrives in too many small pieces; send larger chunks' },
  BODY_ABORTED: { status: 400, message: () => 'The connection ended before the body was complete' },
  UNSUPPORTED_TRANSFER_ENCODING: {
    status: 400,
    message: () => 'The only transfer coding accepted is "chunked", in HTTP/1.1; send the body without any other',
  },
  NOT_FOUND: { status: 404, message: (method: string, path: string) => `No route matches ${method} ${shownPath(path)}` },
  PAYLOAD_TOO_LARGE: { status: 413, message: (limit: number) => `The body is larger than ${limit} bytes, the most this route accepts` },
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
  TOO_EARLY: { status: 425, message: () => 'Early data is accepted for GET and HEAD only; send the request again after the handshake' },
  BODY_CONSUMED: {
    status: 500,
    message: () =>
      'The body was read before captureBody; call captureBody(ctx) in each middleware that reads it, or set bodyType on the route',
  },
  MIDDLEWARE_STATE_MISSING: {
    status: 500,
    message: (plugin: string, key: string, field: string) =>
      `The middleware "${key}" of plugin "${plugin}" called next() without setting ctx.state.${field}, which its "state" lists; set it, or take it out of the list`,
  },
  ZIN_MIDDLEWARE_INVALID: {
    status: 500,
    message: (plugin: string, key: string, problems: readonly string[]) =>
      `Plugin "${plugin}" registers a middleware${key === '' ? '' : ` "${key}"`} that is not valid: ${problems.join('; ')}`,
  },
  ZIN_MIDDLEWARE_TAKEN: {
    status: 500,
    message: (plugin: string, key: string, owner: string) =>
      `Plugin "${plugin}" registers the middleware key "${key}", which belongs to plugin "${owner}"; rename one of them`,
  },
})

/** Errors of the HTTP layer, with those that carry headers, details or a cause. */
export const httpErrors = {
  ...rows,
  /** 405 with the methods that the path supports. */
  METHOD_NOT_ALLOWED: (method: string, path: string, allow: string): ZinError =>
    new ZinError('METHOD_NOT_ALLOWED', `${shownPath(path)} does not support ${method}; use ${allow}`, {
      status: 405,
      headers: { Allow: allow },
    }),
  VALIDATION_FAILED: (problems: readonly InvalidInput[]): ZinError => {
    const details = problems.map(({ part, field, keyword, message }) => ({
      field: field === '' ? part : field.startsWith('[') ? part + field : `${part}.${field}`,
      message,
      code: keyword.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
    }))
    const first = details[0]
    return new ZinError('VALIDATION_FAILED', `${first?.field} ${first?.message}`, { status: 400, title: 'Validation failed', details })
  },
  INTERNAL_ERROR: (cause: Error): ZinError =>
    new ZinError('INTERNAL_ERROR', cause.message, { status: 500, title: 'Internal server error', cause }),
  AUTH_STORE_UNAVAILABLE: (cause: unknown): ZinError =>
    new ZinError('AUTH_STORE_UNAVAILABLE', 'Authentication is not possible right now; try again in a few seconds', {
      status: 503,
      headers: { 'Retry-After': '2' },
      cause,
    }),
  ZIN_ROUTES_INVALID: (lines: readonly string[], details: unknown): ZinError => {
    const count = lines.length === 1 ? 'One problem' : `${lines.length} problems`
    return new ZinError('ZIN_ROUTES_INVALID', `${count} in the route table:\n${lines.map((line) => `  ${line}`).join('\n')}`, { details })
  },
  ZIN_LISTEN_FAILED: (host: string, port: number, reason: string, cause: Error): ZinError =>
    new ZinError('ZIN_LISTEN_FAILED', `The HTTP server cannot listen on ${host}:${port}: ${reason}`, { cause }),
}

/** The error that stands for a bare status: 429 → `TOO_MANY_REQUESTS`. */
export function statusError(status: number, message?: string, headers?: Readonly<Record<string, string>>): ZinError {
  const title = STATUS_CODES[status] ?? 'Error'
  const code = title.toUpperCase().replaceAll(/[^A-Z]+/g, '_')
  return new ZinError(code, message ?? title, { status, title, ...(headers && { headers }) })
}
