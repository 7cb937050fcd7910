import type { IncomingHttpHeaders } from 'node:http'

/** All in ms. */
export interface FreshnessLimits {
  readonly defaultTtl: number
  readonly maxTtl: number
}

/** Returns how long a response may be used without another request, in ms: its `max-age` up to the limit, else the default. */
export function freshFor(headers: IncomingHttpHeaders, { defaultTtl, maxTtl }: FreshnessLimits): number {
  const directives = (headers['cache-control'] ?? '')
    .toLowerCase()
    .split(',')
    .map((text) => text.trim())
  if (directives.some((directive) => directive === 'no-store' || directive.startsWith('no-cache'))) return 0
  const [, seconds] = directives.map((directive) => /^max-age="?(\d{1,10})"?$/.exec(directive)).find((match) => match !== null) ?? []
  return Math.min(seconds === undefined ? defaultTtl : Number(seconds) * 1000, maxTtl)
}
