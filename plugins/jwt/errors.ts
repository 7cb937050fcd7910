import { defineErrors } from 'zin'

/** A command that prints a new secret. */
export const newSecretCommand = `node -e "console.log(require('crypto').randomBytes(32).toString('base64url'))"`

export const jwtErrors = defineErrors({
  UNAUTHORIZED: {
    status: 401,
    stack: false,
    // The reason is for logs and tests only; the response never contains it.
    message: (_why: string) => 'Unauthorized',
    headers: { 'WWW-Authenticate': 'Bearer' },
    cause: (why: string) => new Error(why),
    when: 'The request has no token, or an invalid or revoked one',
    fix: 'Log in and send the token as `Authorization: Bearer <token>`',
  },
  ROLE_REQUIRED: {
    status: 403,
    stack: false,
    message: (names: readonly string[]) => `This requires the role ${names.join(' or ')}`,
    when: 'A route with `role(name)`: the user has none of its roles',
    fix: 'Log in as a user with the role; `zin user:role` gives it to a built-in user',
  },
  JWT_KEY_MISSING: {
    message: (algorithm: string, names: string) =>
      `jwt: ${algorithm} tokens require ${names}; set it in the environment or .env. A new secret: ${newSecretCommand}`,
    when: 'At boot: no key is set. Or a token is issued without the private key',
    fix: 'Set the key that the message names',
  },
  JWT_KEY_TOO_SHORT: {
    message: (name: string, bytes: number) =>
      `jwt: ${name} has ${bytes} bytes and production needs 32 or more; set a longer one in the environment or .env. A new one: ${newSecretCommand}`,
    when: 'At boot in production: a secret has fewer than 32 bytes',
    fix: 'Set a new one; the message contains the command',
  },
  JWT_KEY_INVALID: {
    message: (name: string, why: string) => `jwt: ${name} cannot be used: ${why}`,
    when: 'At boot: a key is not PEM, has the wrong type, or the two keys are not a pair',
    fix: 'Set a key pair of the type that `JWT_ALGORITHM` requires',
  },
  JWT_LIFETIME_INVALID: {
    message: (seconds: number, max: number) =>
      `jwt: the lifetime of a token cannot be ${seconds} s; the maximum is ${max} s (option maxLifetimeSeconds)`,
    when: 'The lifetime of a token would exceed `maxLifetimeSeconds`',
    fix: 'Shorten the lifetime or raise the option',
  },
  JWT_DEV_IN_PRODUCTION: {
    message: (environment: string) =>
      `jwt:dev creates tokens for anybody and is refused in production (NODE_ENV=${environment}); users log in there`,
    when: '`jwt:dev` in production',
    fix: 'Log in as a user',
  },
  JWT_DEV_NO_KEY: {
    message: () =>
      `neither JWT_SECRET nor APP_KEY is set, so no other process would accept the token; set one in the environment or .env. A new secret: ${newSecretCommand}`,
    when: '`jwt:dev` without a key, so that no other process would accept the token',
    fix: 'Set `JWT_SECRET` or `APP_KEY`',
  },
})
