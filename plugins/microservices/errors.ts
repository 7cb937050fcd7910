import { defineErrors } from 'zin'

const running = 'zin service:list shows all services and their states'

/** Errors of calls, of services, and of their configuration. */
export const microserviceErrors = defineErrors({
  SERVICE_NOT_REGISTERED: {
    status: 404,
    message: (name: string) => `No service is named "${name.slice(0, 100)}"; ${running}`,
    when: 'A call, a start or a stop of a service that is neither discovered nor registered',
    fix: 'Add it below `src/services` or to the option `services`; see `MICROSERVICES` and `SERVICES`',
  },
  SERVICE_NOT_RUNNING: {
    status: 503,
    message: (name: string, state: string) => `The service "${name}" is ${state}, not running; start it with zin service:start ${name}`,
    when: 'A call of a service that is not started, is stopped, or has no healthy instance',
    fix: 'Start it, or see why it is not healthy: `zin service:list`',
  },
  SERVICE_START_FAILED: {
    status: 502,
    message: (name: string, why: string) => `The service "${name}" could not be started: ${why}`,
    cause: (_name: string, _why: string, error?: unknown) => error,
    when: 'The module of a service is missing, exports something else or fails, or its port is taken',
    fix: 'Fix what the message names, then start it again',
  },
  SERVICE_SCHEMA_MISSING: {
    message: (name: string, schema: string, why: string, statements: string) =>
      `The schema "${schema}" of service "${name}" does not exist, ${why}. Run on the server: ${statements}`,
    when: 'The start of a service with `database.isolation: isolated` on a server, whose schema cannot be created',
    fix: 'Run the statements of the message, then start the service again',
  },
  SERVICE_INVALID_TARGET: {
    status: 400,
    message: (name: string, why: string) => `The call of service "${name}" is refused: ${why}`,
    when: 'The path, method or a header of a call is malformed; or the service redirects, or its address has changed to another network',
    fix: 'Give a path that begins with one `/`, without `..`, `\\` and control characters',
  },
  SERVICE_TIMEOUT: {
    status: 504,
    message: (name: string, ms: number) => `The service "${name}" did not respond within ${Math.round(ms)} ms`,
    when: 'A service did not respond in time',
    fix: 'Try again, or raise `timeout`',
  },
  SERVICE_CIRCUIT_OPEN: {
    status: 503,
    message: (name: string, ms: number) =>
      `Calls of service "${name}" are blocked for ${Math.ceil(ms)} ms more, because most of them failed`,
    headers: (_name: string, ms: number) => ({ 'Retry-After': String(Math.max(1, Math.ceil(ms / 1000))) }),
    when: 'The circuit breaker of each instance is open',
    fix: 'Wait for `Retry-After`; repair the service',
  },
  SERVICE_BUSY: {
    status: 503,
    message: (name: string, limit: number) => `The service "${name}" has ${limit} calls in flight, the maximum (option maxInFlight)`,
    headers: { 'Retry-After': '1' },
    when: 'A service has as many calls in flight as `maxInFlight` allows',
    fix: 'Try again later, add instances, or raise the option',
  },
  SERVICE_UNREACHABLE: {
    status: 502,
    message: (name: string, why: string) => `The service "${name}" cannot be reached: ${why}`,
    cause: (_name: string, _why: string, error?: unknown) => error,
    when: 'The connection to a service cannot be made, or ends before the response',
    fix: 'Check that it runs at its address: `zin service:list`',
  },
  SERVICE_RESPONSE_TOO_LARGE: {
    status: 502,
    message: (name: string, limit: number) =>
      `The service "${name}" responded with more than ${limit} bytes, the maximum (option maxResponseBytes)`,
    when: 'A response is larger than `maxResponseBytes`',
    fix: 'Return a smaller response, or raise the option',
  },
  SERVICE_UNAUTHORIZED: {
    status: 401,
    // The reason is for logs and tests only; the response never contains it.
    message: (_why: string) => 'Unauthorized',
    cause: (why: string) => new Error(why),
    when: 'A request to a service has no credential of its strategy, or an invalid one',
    fix: 'Call it with `callService`, or send the credential of its strategy',
  },
  SERVICE_CONFIG_INVALID: {
    message: (problems: readonly string[]) =>
      `microservices: ${problems.length === 1 ? '' : 'the services cannot be used:\n'}${problems.join('\n')}`,
    when: 'At boot: a service.config.json or the option `services` has wrong values; two services share a name or a port; dependencies are unknown or form a cycle',
    fix: 'Fix each line of the message',
  },
  SERVICE_SECRET_INVALID: {
    message: (problems: readonly string[]) => `microservices: ${problems.join('\nmicroservices: ')}`,
    when: 'At boot: the secret of a strategy in use is missing, empty or, in production, short; or a strategy cannot be used for a service',
    fix: 'Set the setting that the message names, or change the strategy of the service',
  },
  SERVICE_DOCUMENT_INVALID: {
    message: (place: string, why: string) => `The OpenAPI document at ${place} cannot be used: ${why}`,
    when: '`service:types`: the document cannot be read, is too large, or is not OpenAPI 3',
    fix: 'Check that the service runs and has `/openapi.json`, or name the document with `--from`',
  },
  SERVICE_TYPES_FOREIGN: {
    message: (file: string) => `${file} was not written by service:types, and is left as it is; choose another --out`,
    when: '`service:types`: the file at `--out` does not begin with the line that it writes',
    fix: 'Choose another `--out`, or remove the file',
  },
  SERVICE_TYPES_USAGE: {
    message: (why: string) => why,
    when: '`service:types` with options that do not go together',
    fix: 'See `zin service:types --help`',
  },
  SERVICE_EXISTS: {
    message: (folder: string) => `${folder} exists; make:service overwrites nothing. Choose another name`,
    when: '`make:service` with the name of a folder that exists',
    fix: 'Choose another name',
  },
  SERVICE_NAME_INVALID: {
    message: (text: string) =>
      `"${text.slice(0, 100)}" is not <domain>/<name>, each of lower-case letters, digits and single hyphens: shop/orders`,
    when: '`make:service` with a malformed name',
    fix: 'Give a domain and a name, such as `shop/orders`',
  },
})
