import { defineErrors } from 'zin'

const generate = `node -e "console.log(require('crypto').randomBytes(32).toString('base64url'))"`

export const jwtErrors = defineErrors({
  UNAUTHORIZED: {
    status: 401,
    // Why is for logs and tests only; the response never carries it.
    message: (_why: string) => 'Unauthorized',
    headers: { 'WWW-Authenticate': 'Bearer' },
    cause: (why: string) => new Error(why),
    when: 'The request has no token, a bad one, or a revoked one',
    fix: 'Log in and send the token as `Authorization: Bearer <token>`',
  },
  JWT_KEY_MISSING: {
    message: (algorithm: string, names: string) =>
      `jwt: ${algorithm} tokens need ${names}; set it in the environment or .env. A new secret: ${generate}`,
    when: 'At boot: there is no key. Or a token is to be issued without the private key',
    fix: 'Set the key that the message names',
  },
  JWT_KEY_TOO_SHORT: {
    message: (name: string, bytes: number) => `jwt: ${name} has ${bytes} bytes and production needs 32 or more. A new one: ${generate}`,
    when: 'At boot in production: a secret has fewer than 32 bytes',
    fix: 'Set a new one; the message has the command',
  },
  JWT_KEY_INVALID: {
    message: (name: string, why: string) => `jwt: ${name} cannot be used: ${why}`,
    when: 'At boot: a key is not PEM, is of the wrong kind, or the two halves do not belong together',
    fix: 'Set a key pair of the kind that `JWT_ALGORITHM` needs',
  },
  JWT_LIFETIME_INVALID: {
    message: (seconds: number, max: number) => `jwt: a token cannot live ${seconds} s; the most is ${max} s (option maxLifetimeSeconds)`,
    when: 'A token would live longer than `maxLifetimeSeconds`',
    fix: 'Shorten its life or raise the option',
  },
  JWT_DEV_IN_PRODUCTION: {
    message: (environment: string) =>
      `jwt:dev creates tokens for anybody and is refused in production (NODE_ENV=${environment}); users log in there`,
    when: '`jwt:dev` in production',
    fix: 'Log in as a user',
  },
  JWT_DEV_NO_KEY: {
    message: () =>
      `neither JWT_SECRET nor APP_KEY is set, so no other process would accept the token; set one in the environment or .env. A new secret: ${generate}`,
    when: '`jwt:dev` without a key, so that no other process would accept the token',
    fix: 'Set `JWT_SECRET` or `APP_KEY`',
  },
})
