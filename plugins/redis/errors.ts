import { defineErrors } from 'zin'

/** How plugins fail that reach Redis; each lists them beside its own. */
export const redisErrors = defineErrors({
  REDIS_URL_INVALID: {
    message: (setting: string, what: string, shapes: string) => `${setting} is not a Redis URL: ${what}. Known forms: ${shapes}`,
    when: 'At boot: `REDIS_URL` has none of the known forms; the message does not repeat it',
    fix: 'Use one of the forms that the message lists',
  },
  REDIS_EVICTS: {
    message: (plugin: string, where: string, policy: string, keeps: string) =>
      `${plugin}: ${where} has maxmemory-policy ${policy} and drops keys when its memory is full, so that ${keeps} can be lost. Set maxmemory-policy to noeviction (redis.conf, or the settings of a managed Redis), or give the app a Redis of its own in REDIS_URL`,
    when: 'At boot in production: `maxmemory-policy` is not `noeviction`',
    fix: 'Set it to `noeviction`, or give the app its own Redis',
  },
  REDIS_UNAVAILABLE: {
    status: 503,
    message: (what: string) => what,
    when: 'Redis was not reachable within the bounded time, or refused the login',
    fix: 'Check Redis and `REDIS_URL`',
  },
})
