import { defineErrors, ZinError } from 'zin'

export const opsErrors = defineErrors({
  FORBIDDEN: { status: 403, message: (why: string) => why },
  MISDIRECTED: {
    status: 421,
    message: () => 'Without credentials this route answers on a loopback name only: 127.0.0.1, localhost or [::1] with the port of the app',
  },
  OPS_OPEN_IN_PRODUCTION: { status: 500, message: () => 'ops: OPS_AUTH=open is refused in production; set it to required, or to auto' },
  OPS_OPEN_ON_NETWORK: {
    status: 500,
    message: (host: string) =>
      `ops: OPS_AUTH=open is refused on ${host}, which other machines reach; bind to 127.0.0.1 (HOST), or set OPS_AUTH to required or auto`,
  },
  OPS_NO_CREDENTIALS: {
    status: 500,
    message: (why: string) =>
      `ops: ${why}, so callers need credentials, and no plugin checks any; enable bulletproof (signed requests) or jwt (tokens) in zin.config.ts`,
  },
})

/** Which check failed is not said. */
export function unauthorized(): ZinError {
  return new ZinError('UNAUTHORIZED', 'This needs a request signed with the shared secret, or the token of a user with an ops role', {
    status: 401,
    title: 'Unauthorized',
    headers: { 'WWW-Authenticate': 'Bearer' },
  })
}
