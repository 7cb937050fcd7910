import { defineErrors } from 'zin'

const running = 'zin service:list shows all services and their states'

/** Errors of calls, of services, and of their configuration. */
export const microserviceErrors = defineErrors({
  SERVICE_NOT_REGISTERED: {
    status: 404,
    message: (name: string) => `No service is named "${name.slice(0, 100)}"; ${running}`,
    when: 'A service that is neither discovered nor registered was called, started or stopped',
    fix: 'Add it under `src/services` or to the option `services`; see `MICROSERVICES` and `SERVICES`',
  },
  SERVICE_NOT_RUNNING: {
    status: 503,
    message: (name: string, state: string) => `The service "${name}" is ${state}, not running; start it with zin service:start ${name}`,
    when: 'A service was called that is not started, is stopped, or has no healthy instance',
    fix: 'Start it, or run `zin service:list` to see why it is unhealthy',
  },
  SERVICE_START_FAILED: {
    status: 502,
    message: (name: string, why: string) => `The service "${name}" could not be started: ${why}`,
    cause: (_name: string, _why: string, error?: unknown) => error,
    when: 'The module of a service is missing, has the wrong default export or throws, or its port is in use',
    fix: 'Fix the cause in the message, then start it again',
  },
  SERVICE_SCHEMA_MISSING: {
    message: (name: string, schema: string, why: string, statements: string) =>
      `The schema "${schema}" of service "${name}" does not exist, ${why}. Run on the server: ${statements}`,
    when: 'A service with `database.isolation: isolated` was started on a database server, and its schema cannot be created',
    fix: 'Run the statements in the message, then start the service again',
  },
  SERVICE_INVALID_TARGET: {
    status: 400,
    message: (name: string, why: string) => `The call of service "${name}" is refused: ${why}`,
    when: 'The path, the method or a header of a call is malformed, the service responded with a redirect, or its host name now resolves to another network',
    fix: 'Pass a path that begins with a single `/`, without `..`, `\\` or control characters',
  },
  SERVICE_TIMEOUT: {
    status: 504,
    message: (name: string, ms: number) => `The service "${name}" did not respond within ${Math.round(ms)} ms`,
    when: 'A service did not respond in time; it may have processed the request, or may still do so',
    fix: 'Raise `timeout`; repeat the request if that makes no difference to the service, such as one with an `idempotency-key`',
  },
  SERVICE_CIRCUIT_OPEN: {
    status: 503,
    message: (name: string, ms: number) =>
      `Calls of service "${name}" are blocked for ${Math.ceil(ms)} ms more, because most of them failed`,
    headers: (_name: string, ms: number) => ({ 'Retry-After': String(Math.max(1, Math.ceil(ms / 1000))) }),
    when: 'The circuit breaker of every instance is open',
    fix: 'Wait for `Retry-After`, and fix the service',
  },
  SERVICE_BUSY: {
    status: 503,
    message: (name: string, limit: number) => `The service "${name}" has ${limit} calls in flight, the maximum (option maxInFlight)`,
    headers: { 'Retry-After': '1' },
    when: 'A service has `maxInFlight` calls in flight',
    fix: 'Try again later, add instances, or raise the option',
  },
  SERVICE_UNREACHABLE: {
    status: 502,
    message: (name: string, why: string) => `The service "${name}" cannot be reached: ${why}`,
    cause: (_name: string, _why: string, error?: unknown, _sent?: boolean) => error,
    details: (_name: string, _why: string, _error?: unknown, sent?: boolean) => ({ sent: sent === true }),
    when: 'The connection to a service failed, or closed before the response was complete. `details.sent`: the request was sent, and may have been processed',
    fix: 'Check with `zin service:list` that it runs at its address; before you repeat a request that was sent, check what it did, or send an `idempotency-key`',
  },
  SERVICE_RESPONSE_TOO_LARGE: {
    status: 502,
    message: (name: string, limit: number) =>
      `The service "${name}" responded with more than ${limit} bytes, the maximum (option maxResponseBytes)`,
    when: 'A response exceeds `maxResponseBytes`',
    fix: 'Return a smaller response, or raise the option',
  },
  SERVICE_UNAUTHORIZED: {
    status: 401,
    // The reason is for logs and tests only; the response never contains it.
    message: (_why: string) => 'Unauthorized',
    cause: (why: string) => new Error(why),
    when: 'A request to a service has no credential for its auth strategy, or an invalid one',
    fix: 'Call it with `callService`, or send the credential that its strategy requires',
  },
  SERVICE_CONFIG_INVALID: {
    message: (problems: readonly string[]) =>
      `microservices: ${problems.length === 1 ? '' : 'the services cannot be used:\n'}${problems.join('\n')}`,
    when: 'At boot: a service.config.json or the option `services` is invalid, two services share a name or a port, or dependencies are unknown or form a cycle',
    fix: 'Fix every problem that the message lists',
  },
  SERVICE_SECRET_INVALID: {
    message: (problems: readonly string[]) => `microservices: ${problems.join('\nmicroservices: ')}`,
    when: 'At boot: the secret of an auth strategy in use is empty or, in production, too short, or a service cannot use its strategy',
    fix: 'Set the setting named in the message, or change the strategy of the service',
  },
  SERVICE_DOCUMENT_INVALID: {
    message: (place: string, why: string) => `The OpenAPI document at ${place} cannot be used: ${why}`,
    when: '`service:types`, `client:types`: the document cannot be read, is too large, or is not OpenAPI 3',
    fix: 'Check that the service runs and serves `/openapi.json`, or pass the document with `--from`',
  },
  SERVICE_TYPES_FOREIGN: {
    message: (file: string) => `${file} was not written by this command and is not overwritten; choose another --out`,
    when: '`service:types`, `client:types`: the file at `--out` does not start with the generated header',
    fix: 'Choose another `--out`, or delete the file',
  },
  SERVICE_TYPES_USAGE: {
    message: (why: string) => why,
    when: '`service:types` or `client:types` was called with options that cannot be combined',
    fix: 'See `--help` of the command',
  },
  SERVICE_EXISTS: {
    message: (folder: string) => `${folder} already exists; make:service overwrites nothing. Choose another name`,
    when: '`make:service`: the folder already exists',
    fix: 'Choose another name',
  },
  SERVICE_NAME_INVALID: {
    message: (text: string) =>
      `"${text.slice(0, 100)}" is not <domain>/<name>, each made of lower-case letters, digits and single hyphens, such as shop/orders`,
    when: '`make:service`: the name is malformed',
    fix: 'Pass a domain and a name, such as `shop/orders`',
  },
})
