import { defineErrors } from 'zin'
import { newSecretCommand } from 'zin/plugins/jwt'

export const sessionsErrors = defineErrors({
  CSRF_TOKEN_INVALID: {
    status: 403,
    message: () =>
      'This request uses a session and changes something, so it needs the CSRF token of the session: send it in the header x-csrf-token or the field _csrf; GET /auth/session returns it',
    stack: false,
    when: 'A request other than GET, HEAD and OPTIONS uses a session and has no token of it, or a form of another site uses one',
    fix: 'Send the token from `ctx.session.csrfToken`, `GET /auth/session` or the last `x-csrf-token` of a response; after a login it is another one',
  },
  SESSION_CONFLICT: {
    status: 409,
    message: (what: string) =>
      `Another request has changed the session meanwhile: ${what}. Nothing of this one was stored; load the page again`,
    stack: false,
    when: 'Two requests of one session changed the same property at the same time, or one of them ended or signed in the session',
    fix: 'Send the request again; count in `kv` rather than in sessions',
  },
  SESSION_TOO_LARGE: {
    status: 413,
    message: (bytes: number, most: number) => `The session would have ${bytes} bytes; the maximum is ${most}. Nothing was stored`,
    when: 'The data of a session as JSON exceed `maxBytes`',
    fix: 'Store less in it, such as the id of a record; or raise `maxBytes`',
  },
  SESSION_DATA_INVALID: {
    status: 500,
    message: (property: string, why: string) => `ctx.session.${property} cannot be stored as JSON: ${why}`,
    when: 'A handler put something into a session that JSON cannot express, such as a bigint or a cycle',
    fix: 'Store plain data',
  },
  SESSION_MISSING: {
    status: 500,
    message: () => "The request has no session: enable sessions() with global: true, or list 'sessions' in the use of the route",
    when: 'A service of the plugin is used for a request without a session',
    fix: "List `sessions` in the route's `use`",
  },
  SESSION_SECRET_MISSING: {
    message: () =>
      `sessions: neither SESSION_SECRET nor APP_KEY is set; set one of them to 32 random bytes or more in the environment or .env. A new secret: ${newSecretCommand}`,
    when: 'At boot in production: there is no secret that signs cookies',
    fix: 'Set `SESSION_SECRET` or `APP_KEY`',
  },
  SESSION_SECRET_TOO_SHORT: {
    message: (setting: string, bytes: number) => `sessions: a secret in ${setting} has ${bytes} bytes and production requires 32 or more`,
    when: 'At boot in production: a secret has fewer than 32 bytes',
    fix: 'Use 32 random bytes or more',
  },
  SESSION_OPTIONS_INVALID: {
    message: (what: string) => `sessions: ${what}`,
    when: 'At boot: options that contradict each other',
    fix: 'Correct what the message names',
  },
})
