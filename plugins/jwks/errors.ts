import { defineErrors } from 'zin'

export const jwksErrors = defineErrors({
  JWKS_OPTION_INVALID: {
    message: (issuer: string, what: string) => `jwks: the issuer "${issuer}" ${what}`,
    when: 'At boot: an issuer is listed twice, or it or its `jwksUrl` is not a URL that may be fetched',
    fix: 'Correct the option that the message names; `allowPrivate` allows http and addresses of the own network',
  },
  JWKS_UNAVAILABLE: {
    status: 503,
    message: (_issuer: string, _why: string) => 'The keys of the issuer of this token cannot be fetched; try again',
    headers: { 'Retry-After': '30' },
    cause: (issuer: string, why: string) => new Error(`${issuer}: ${why}`),
    when: 'The keys of an issuer could not be fetched yet, or are older than `staleSeconds`',
    fix: 'Retry after `Retry-After`. The log says why the fetch failed',
  },
})
