import { defineErrors } from 'zin'

export const kvErrors = defineErrors({
  KV_NO_STORE: {
    status: 500,
    message: () => 'The plugin kv has no store. Set REDIS_URL, or add database() to plugins in zin.config.ts',
  },
  KV_NOT_STARTED: {
    status: 503,
    message: () => "The key-value store is not open. Use it in your plugin's start or later, not in setup or after stop",
  },
  KV_UNAVAILABLE: {
    status: 503,
    message: (where: string, reason: string) => `The key-value store (${where}) cannot be reached: ${reason}`,
  },
  KV_NOT_A_NUMBER: { status: 500, message: (key: string) => `increment works on whole numbers, and the value at key "${key}" is none` },
})
