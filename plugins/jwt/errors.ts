import { defineErrors, ZinError } from 'zin'

const generate = `node -e "console.log(require('crypto').randomBytes(32).toString('base64url'))"`

export const jwtErrors = defineErrors({
  JWT_KEY_MISSING: {
    status: 500,
    message: (algorithm: string, names: string) =>
      `jwt: ${algorithm} tokens need ${names}; set it in the environment or .env. A new secret: ${generate}`,
  },
  JWT_KEY_TOO_SHORT: {
    status: 500,
    message: (name: string, bytes: number) => `jwt: ${name} has ${bytes} bytes and production needs 32 or more. A new one: ${generate}`,
  },
  JWT_KEY_INVALID: { status: 500, message: (name: string, why: string) => `jwt: ${name} cannot be used: ${why}` },
  JWT_DEV_IN_PRODUCTION: {
    status: 500,
    message: (environment: string) =>
      `jwt:dev makes tokens for anybody and is refused in production (NODE_ENV=${environment}); users log in there`,
  },
  JWT_DEV_NO_KEY: {
    status: 500,
    message: () =>
      `neither JWT_SECRET nor APP_KEY is set, so no other process would take the token; set one in the environment or .env. A new secret: ${generate}`,
  },
  JWT_LIFETIME_INVALID: {
    status: 500,
    message: (seconds: number, max: number) => `jwt: a token cannot live ${seconds} s; the most is ${max} s (option maxLifetimeSeconds)`,
  },
})

/** A token that fails a check. `why` is for logs and tests only; the response never carries it. */
export function unauthorized(why: string): ZinError {
  return new ZinError('UNAUTHORIZED', 'Unauthorized', {
    status: 401,
    title: 'Unauthorized',
    headers: { 'WWW-Authenticate': 'Bearer' },
    cause: new Error(why),
  })
}
