import { defineOptions, type OptionsOf, Type } from 'zin'

export type SessionsOptions = OptionsOf<typeof sessionsOptions>

const minute = 60_000
const day = 86_400_000

export const sessionsOptions = defineOptions(
  Type.Object({
    global: Type.Boolean({
      default: true,
      description: 'Whether all requests have `ctx.session`. Otherwise only routes that list `sessions` in `use`',
    }),
    idleMs: Type.Integer({
      minimum: minute,
      maximum: 400 * day,
      default: 60 * minute,
      description: 'How long a session lasts without use, in ms. A used one is extended once a tenth of it has passed',
    }),
    lifetimeMs: Type.Integer({
      minimum: minute,
      maximum: 400 * day,
      default: day,
      description: 'How long a session lasts at most, in ms, from its creation or the login on; at least `idleMs`',
    }),
    cookieName: Type.String({
      pattern: '^[A-Za-z0-9_-]{1,64}$',
      default: 'session',
      description: 'Name of the cookie. A secure one gets the prefix `__Host-`, or with `domain` the prefix `__Secure-`',
    }),
    secure: Type.Optional(
      Type.Boolean({ description: 'Whether browsers send the cookie over HTTPS only (and to localhost). Default: in production' }),
    ),
    sameSite: Type.Union([Type.Literal('lax'), Type.Literal('strict'), Type.Literal('none')], {
      default: 'lax',
      description: '`SameSite` of the cookie. `none`, for a front end on another site, needs `secure`',
    }),
    domain: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)+$',
        maxLength: 253,
        description: 'Domain whose subdomains all get the cookie. Default: only the host of the app',
      }),
    ),
    maxBytes: Type.Integer({
      minimum: 256,
      maximum: 1_048_576,
      default: 16_384,
      description: 'Maximum size of the data of a session as JSON, in bytes',
    }),
    maxPerUser: Type.Integer({
      minimum: 1,
      maximum: 1_000,
      default: 50,
      description: 'Signed-in sessions per user; a further login ends the oldest one',
    }),
    auth: Type.Boolean({
      default: true,
      description: 'Whether the middleware `auth` (plugin jwt) accepts a signed-in session beside tokens',
    }),
  }),
)
