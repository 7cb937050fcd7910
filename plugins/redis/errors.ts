import { defineErrors } from 'zin'

/** Errors of plugins that use Redis; each plugin lists them with its own. */
export const redisErrors = defineErrors({
  REDIS_URL_INVALID: {
    message: (setting: string, what: string, shapes: string) => `${setting} is not a Redis URL: ${what}. Supported forms: ${shapes}`,
    when: 'At boot: `REDIS_URL` has none of the supported forms; the message does not repeat the URL',
    fix: 'Use one of the forms that the message lists',
  },
  REDIS_EVICTS: {
    message: (plugin: string, where: string, policy: string, keeps: string) =>
      `${plugin}: ${where} has maxmemory-policy ${policy} and drops keys when its memory is full, so ${keeps} can be lost. Set maxmemory-policy to noeviction (redis.conf, or the settings of a managed Redis), or set REDIS_URL to a separate Redis for the app`,
    when: 'At boot in production: `maxmemory-policy` is not `noeviction`',
    fix: 'Set it to `noeviction`, or use a separate Redis for the app',
  },
  REDIS_UNAVAILABLE: {
    status: 503,
    message: (what: string) => what,
    when: 'Redis was not reachable before the deadline, or refused the login',
    fix: 'Check Redis and `REDIS_URL`',
  },
})
