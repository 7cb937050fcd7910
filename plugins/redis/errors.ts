import { defineErrors } from 'zin'

export const redisErrors = defineErrors({
  REDIS_URL_INVALID: {
    status: 500,
    message: (setting: string, what: string, shapes: string) => `${setting} is not a Redis URL: ${what}. Known forms: ${shapes}`,
  },
  REDIS_EVICTS: {
    status: 500,
    message: (plugin: string, where: string, policy: string, keeps: string) =>
      `${plugin}: ${where} has maxmemory-policy ${policy} and drops keys when its memory is full, so that ${keeps} can be lost. Set maxmemory-policy to noeviction (redis.conf, or the settings of a managed Redis), or give the app a Redis of its own in REDIS_URL`,
  },
  REDIS_UNAVAILABLE: { status: 503, message: (what: string) => what },
})
