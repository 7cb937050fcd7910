import { STATUS_CODES } from 'node:http'
import { defineErrors, ZinError } from '../errors.js'
import type { InvalidInput } from './route.js'

/** Shortens a path for messages. */
const shownPath = (path: string): string => (path.length > 200 ? `${path.slice(0, 200)}…` : path)

const placeOf = ({ part, field }: InvalidInput): string => (field === '' ? part : field.startsWith('[') ? part + field : `${part}.${field}`)

/** Errors of the HTTP layer. Those without a status stop the boot. */
export const httpErrors = defineErrors({
  BAD_REQUEST_TARGET: {
    status: 400,
    stack: false,
    message: (why: string) => `The request target ${why}; send a path that a URL parser leaves unchanged`,
    when: 'URL parsers may interpret the path or query differently',
    fix: 'Send a path that a URL parser leaves unchanged',
  },
  DUPLICATE_HEADER: {
    status: 400,
    stack: false,
    message: (name: string) => `The header "${name}" was sent more than once; send it once`,
    when: 'Host, Authorization or a content header was sent more than once',
    fix: 'Send it once',
  },
  UNSUPPORTED_TRANSFER_ENCODING: {
    status: 400,
    stack: false,
    message: () => 'The only transfer coding accepted is "chunked", over HTTP/1.1; send the body without any other coding',
    when: 'Transfer-Encoding is anything but chunked',
    fix: 'Send the body without any other coding',
  },
  UNSENDABLE_VALUE: {
    status: 500,
    message: (what: string, field: string) =>
      `${what}${field === '' ? '' : ` in the field "${field}"`} cannot be sent as JSON; convert it first, such as a Map with Object.fromEntries, and bytes to text`,
    when: 'Outside of production: a handler returns a value that JSON would empty or leave out, such as a Map, a Set, a promise, a function, or bytes in a field',
    fix: 'Convert the value: a Map with `Object.fromEntries`, a Set to a list, bytes to text; or return bytes by themselves',
  },
  INVALID_JSON: {
    status: 400,
    stack: false,
    title: 'Invalid JSON',
    message: (why: string) => `The body is not valid JSON: ${why}`,
    when: 'The body is not JSON in UTF-8',
    fix: 'Send valid JSON',
  },
  INVALID_FORM: {
    status: 400,
    stack: false,
    message: (why: string) => `The form could not be read: ${why}`,
    when: 'A urlencoded or multipart body is malformed',
    fix: 'Correct the form',
  },
  UPLOAD_PATH_REFUSED: {
    status: 400,
    stack: false,
    message: () => 'A file cannot be stored under this name: a part of it is ".."',
    when: '`moveTo` of an uploaded file gets a path with a part `..`, or a NUL: usually from a name that the client sent',
    fix: 'Send a plain name; in the app, choose the path without what clients send',
  },
  BODY_FRAGMENTED: {
    status: 400,
    stack: false,
    message: () => 'The body arrived in too many small chunks; send larger ones',
    when: 'The framing of a chunked body is larger than the body',
    fix: 'Send larger chunks',
  },
  BODY_ABORTED: {
    status: 400,
    stack: false,
    message: () => 'The connection ended before the body was complete',
    when: 'The client disconnected while sending the body',
    fix: 'Send the request again',
  },
  VALIDATION_FAILED: {
    status: 400,
    stack: false,
    message: (problems: readonly [InvalidInput, ...InvalidInput[]]) => `${placeOf(problems[0])} ${problems[0].message}`,
    details: (problems: readonly [InvalidInput, ...InvalidInput[]]) =>
      problems.map((problem) => ({
        field: placeOf(problem),
        message: problem.message,
        code: problem.keyword.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
      })),
    when: 'Parameters, query or body do not match the schema of the route; `details` lists each field',
    fix: 'Correct the fields that `details` lists',
  },
  NOT_FOUND: {
    status: 404,
    stack: false,
    message: (method: string, path: string) => `No route matches ${method} ${shownPath(path)}`,
    when: 'The path matches no route',
    fix: 'Correct the path; `/docs` lists the routes',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    stack: false,
    message: (method: string, path: string, allow: string) => `${shownPath(path)} does not support ${method}; use ${allow}`,
    headers: (_method: string, _path: string, allow: string) => ({ Allow: allow }),
    when: 'The path has routes of other methods only; `Allow` lists them',
    fix: 'Use one of the methods in `Allow`',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    stack: false,
    message: (limit: number) => `The body is larger than ${limit} bytes, the limit of this route`,
    when: 'The body is larger than the limit of the route',
    fix: 'Send less, or raise `bodyLimit` of the route or the app',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    stack: false,
    message: (expected: string) => `The body must be ${expected}`,
    when: 'The Content-Type is not one that the route accepts',
    fix: 'Send the `Content-Type` that the message names',
  },
  UNSUPPORTED_CONTENT_ENCODING: {
    status: 415,
    stack: false,
    message: (accepted: readonly string[]) =>
      accepted.length === 0
        ? 'The body must not be compressed; send it without Content-Encoding'
        : `The body must have one of the content codings ${accepted.join(', ')}, or none`,
    // RFC 9110 15.5.16
    headers: (accepted: readonly string[]) => ({ 'Accept-Encoding': [...accepted, 'identity'].join(', ') }),
    when: 'The body is compressed, and nothing in the app decodes it',
    fix: 'Send the body without `Content-Encoding`, or with one that `Accept-Encoding` of the response lists',
  },
  UPGRADE_NOT_TAKEN: {
    status: 500,
    message: (protocol: string) =>
      `The upgrade to "${protocol}" was neither taken nor refused: its "accept" must call connection.taken() or throw`,
    when: 'The `accept` of a route with `upgrade` returns without `connection.taken()` and without an error',
    fix: 'Call `connection.taken()` after writing the response 101, or throw an error',
  },
  EXPECTATION_FAILED: {
    status: 417,
    stack: false,
    message: () => 'The only expectation that this app meets is "Expect: 100-continue"',
    when: 'The header `Expect` is not `100-continue`',
    fix: 'Send the request without the header',
  },
  HOST_MISSING: {
    status: 400,
    stack: false,
    message: () => 'The request has no Host header, which HTTP/1.1 requires',
    when: 'An HTTP/1.1 request has no `Host` header',
    fix: 'Send the header, with the name and the port of the app',
  },
  MISDIRECTED: {
    status: 421,
    stack: false,
    message: () => 'This app does not serve the host named in the Host or X-Forwarded-Host header; see app.allowedHosts in zin.config.ts',
    when: 'The host is not one of `app.allowedHosts`',
    fix: 'Use one of the allowed names, or add this one',
  },
  OTHER_APP: {
    status: 421,
    stack: false,
    message: () => 'The request is meant for another app, the one named in its X-Zin-App header',
    when: 'A CLI command reached a different app than its own',
    fix: 'Run the command in the folder of the app that listens there, or give each app its own port',
  },
  TOO_EARLY: {
    status: 425,
    stack: false,
    message: () => 'Early data is accepted for GET and HEAD only; send the request again after the handshake',
    when: 'A request other than GET or HEAD was sent as early data (RFC 8470)',
    fix: 'Send the request again after the handshake',
  },
  TOO_MANY_STREAMS: {
    status: 429,
    stack: false,
    message: (most: number) => `This client has reached the limit of ${most} open event streams; close one first`,
    when: 'A user, or an address without a user, has reached the limit of open event streams',
    fix: 'Close a stream first',
  },
  STREAMS_EXHAUSTED: {
    status: 503,
    message: (most: number) => `The limit of ${most} open event streams has been reached; try again later`,
    when: 'All clients together have reached the limit of open event streams',
    fix: 'Try again later',
  },
  AUTH_STORE_UNAVAILABLE: {
    status: 503,
    message: (_cause: unknown) => 'Authentication is not possible right now; try again in a few seconds',
    headers: { 'Retry-After': '2' },
    cause: (cause: unknown) => cause,
    when: 'A store that authentication depends on did not respond in time',
    fix: 'Try again after `Retry-After`; check Redis and the database',
  },
  INTERNAL_ERROR: {
    status: 500,
    title: 'Internal server error',
    message: (cause: Error) => cause.message,
    cause: (cause: Error) => cause,
    when: 'An unexpected error occurred; it is logged with the request id',
    fix: 'Search the log for the `x-request-id` of the response',
  },
  FILE_NOT_FOUND: {
    status: 404,
    stack: false,
    message: (_cause: Error) => 'The file of this response does not exist',
    cause: (cause: Error) => cause,
    when: 'A handler returned the stream of a file that does not exist',
    fix: 'Correct the path; if the file should exist, check what the handler opens',
  },
  STREAM_BROKEN: {
    status: 500,
    message: (how: string) => `The stream that is the body of the response ${how}; check the handler that returned it`,
    when: 'A returned stream was destroyed, had been read before, gave something else than text and bytes, or differs from its Content-Length',
    fix: 'Search the log for the `x-request-id` of the response, and correct the handler',
  },
  BODY_CONSUMED: {
    status: 500,
    message: (what: string) => `The body ${what}; call captureBody(ctx) in each middleware that reads it, or set bodyType on the route`,
    when: 'A middleware read the body, or a part of it, without `captureBody` before another one needed it, or called `setEncoding`',
    fix: 'Call `captureBody(ctx)` in each middleware that reads the body, or set `bodyType` on the route',
  },
  MIDDLEWARE_STATE_MISSING: {
    status: 500,
    message: (plugin: string, key: string, field: string) =>
      `The middleware "${key}" of plugin "${plugin}" called next() without setting ctx.state.${field}, which its "state" lists; set it, or remove it from the list`,
    when: 'A middleware called `next()` without setting the state that it declares',
    fix: 'Set the state, or remove it from `state`',
  },
  ZIN_MIDDLEWARE_INVALID: {
    message: (plugin: string, key: string, problems: readonly string[]) =>
      `Plugin "${plugin}" registers an invalid middleware${key === '' ? '' : ` "${key}"`}: ${problems.join('; ')}`,
    when: 'A plugin registers an invalid middleware',
    fix: 'Correct what the message names',
  },
  ZIN_MIDDLEWARE_TAKEN: {
    message: (plugin: string, key: string, owner: string) =>
      `Plugin "${plugin}" registers the middleware key "${key}", which belongs to plugin "${owner}"; rename one of them`,
    when: 'Two plugins register the same middleware key',
    fix: 'Rename one of them',
  },
  ZIN_FORM_READER_TAKEN: {
    message: (plugin: string, owner: string) => `Plugin "${plugin}" reads forms, and so does plugin "${owner}"; disable one of them`,
    when: 'Two plugins call `ctx.formReader`',
    fix: 'Disable one of them',
  },
  ZIN_ROUTE_FIELD_TAKEN: {
    message: (plugin: string, field: string, owner: string) =>
      `Plugin "${plugin}" reads the field "${field}" of routes, which plugin "${owner}" already reads; rename one of them`,
    when: 'Two plugins read the same field of routes',
    fix: 'Rename one of them',
  },
  ZIN_ROUTES_INVALID: {
    message: (lines: readonly string[], _problems: readonly object[]) =>
      `${lines.length === 1 ? 'One problem' : `${lines.length} problems`} in the route table:\n${lines.map((line) => `  ${line}`).join('\n')}`,
    details: (_lines: readonly string[], problems: readonly object[]) => problems,
    when: 'Routes conflict, use an unknown middleware key, or have an invalid schema',
    fix: 'Correct each route that the message names',
  },
  ZIN_LISTEN_FAILED: {
    message: (host: string, port: number, reason: string) => `The HTTP server cannot listen on ${host}:${port}: ${reason}`,
    cause: (_host: string, _port: number, _reason: string, cause: Error) => cause,
    when: 'The port cannot be opened',
    fix: 'Choose another `PORT` or `HOST`, or stop the process that listens there',
  },
})

/** Returns the error for a bare status: 429 → `TOO_MANY_REQUESTS`. */
export function statusError(status: number, message?: string, headers?: Readonly<Record<string, string>>): ZinError {
  const title = STATUS_CODES[status] ?? 'Error'
  const code = title.toUpperCase().replaceAll(/[^A-Z]+/g, '_')
  return new ZinError(code, message ?? title, { status, title, ...(headers && { headers }) })
}
