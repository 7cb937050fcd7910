import { defineOptions, type OptionsOf, Type } from 'zin'

export type SecurityHeadersOptions = OptionsOf<typeof securityHeadersOptions>

const policy = (defaults: Readonly<Record<string, readonly string[]>>, description: string) =>
  Type.Union([Type.Literal(false), Type.Record(Type.String(), Type.Array(Type.String()))], { default: defaults, description })

const literals = <const T extends readonly string[]>(values: T, standard: T[number] | false, description: string) =>
  Type.Unsafe<T[number] | false>(
    Type.Union([Type.Literal(false), ...values.map((value) => Type.Literal(value))], { default: standard, description }),
  )

/** A response of an API loads and embeds nothing, and nothing embeds it. */
const ofApi = { 'default-src': ["'none'"], 'base-uri': ["'none'"], 'form-action': ["'none'"], 'frame-ancestors': ["'none'"] }

/** A page loads from its own origin only, and inlines nothing but styles. */
const ofPages = {
  'default-src': ["'self'"],
  'base-uri': ["'self'"],
  'form-action': ["'self'"],
  'frame-ancestors': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'object-src': ["'none'"],
  'script-src-attr': ["'none'"],
  'style-src': ["'self'", "'unsafe-inline'"],
}

export const securityHeadersOptions = defineOptions(
  Type.Object({
    contentSecurityPolicy: policy(
      ofApi,
      '`Content-Security-Policy` of every response, by directive; keywords in quotes: `"\'self\'"`. A route that sets its own keeps it',
    ),
    pages: policy(ofPages, '`Content-Security-Policy` of the pages that `staticFiles` serves, likewise; `false`: that of every response'),
    strictTransportSecurity: Type.Union(
      [
        Type.Literal(false),
        Type.Object(
          {
            maxAgeSeconds: Type.Integer({ minimum: 0, maximum: 63_072_000 }),
            includeSubDomains: Type.Optional(Type.Boolean()),
            preload: Type.Optional(Type.Boolean()),
          },
          { additionalProperties: false },
        ),
      ],
      {
        default: { maxAgeSeconds: 31_536_000, includeSubDomains: true },
        description: '`Strict-Transport-Security`: how long browsers use only HTTPS for the host. They ignore it over plain HTTP',
      },
    ),
    frameOptions: literals(['DENY', 'SAMEORIGIN'], 'DENY', '`X-Frame-Options`: which pages may embed a response, for old browsers'),
    referrerPolicy: literals(
      [
        'no-referrer',
        'no-referrer-when-downgrade',
        'origin',
        'origin-when-cross-origin',
        'same-origin',
        'strict-origin',
        'strict-origin-when-cross-origin',
        'unsafe-url',
      ],
      'no-referrer',
      '`Referrer-Policy`',
    ),
    crossOriginResourcePolicy: literals(
      ['same-origin', 'same-site', 'cross-origin'],
      'same-origin',
      '`Cross-Origin-Resource-Policy`: which sites may load a response without CORS, such as an image. `cross-origin` for public files',
    ),
    crossOriginOpenerPolicy: literals(
      ['same-origin', 'same-origin-allow-popups', 'noopener-allow-popups', 'unsafe-none'],
      'same-origin',
      '`Cross-Origin-Opener-Policy`: which windows may refer to a page. Logins in a popup need `same-origin-allow-popups`',
    ),
  }),
)
