import { defineErrors } from 'zin'

export const redisErrors = defineErrors({
  REDIS_URL_INVALID: {
    status: 500,
    message: (setting: string, what: string, shapes: string) => `${setting} is not a Redis URL: ${what}. Known forms: ${shapes}`,
  },
  REDIS_UNAVAILABLE: { status: 503, message: (what: string) => what },
})
