import { defineErrors } from 'zin'

export const kvErrors = defineErrors({
  KV_NO_STORE: {
    message: () => 'The plugin kv has no store. Set REDIS_URL, or add database() to plugins in zin.config.ts',
    when: 'At boot: neither `REDIS_URL` is set nor the plugin `database` is enabled',
    fix: 'Set `REDIS_URL` or enable `database`',
  },
  KV_NOT_STARTED: {
    status: 503,
    message: () => "The key-value store is not open. Use it in your plugin's start or later, not in setup or after stop",
    when: 'The store is used in `setup` or after `stop`',
    fix: 'Use it in `start` or later',
  },
  KV_UNAVAILABLE: {
    status: 503,
    message: (where: string, reason: string) => `The key-value store (${where}) cannot be reached: ${reason}`,
    when: 'Redis cannot be reached or does not respond',
    fix: 'Check Redis and `REDIS_URL`; requests can be retried',
  },
  KV_OUTCOME_UNKNOWN: {
    status: 503,
    message: (where: string, reason: string) =>
      `The key-value store (${where}) may have made the change, but did not confirm it: ${reason}. A plain set or a delete can be repeated; before you repeat an increment, or a set with ifAbsent or ifValue, read the key`,
    when: 'A change was sent to Redis, and the connection broke or the deadline passed before the reply: it may have been made',
    fix: 'Repeat a plain `set` or `delete`; before you repeat anything else, read the key',
  },
  KV_CONTENDED: {
    status: 503,
    message: (key: string) => `Other writes to the key "${key}" came first in every attempt; retry`,
    when: '`updateKey` on a key that other writers changed 100 times in a row',
    fix: 'Retry; when many callers write to one key, split it into several keys',
  },
  KV_NOT_A_NUMBER: {
    status: 500,
    message: (key: string, what = 'the value there') => `increment of the key "${key}" requires integers, and ${what} is not an integer`,
    when: '`increment` of a value that is not an integer, or by a number that is not a safe integer',
    fix: 'Use another key for it, or pass an integer',
  },
  KV_TTL_INVALID: {
    status: 500,
    message: (key: string, ttlMs: number) =>
      `The key "${key}" cannot be written with ttlMs ${ttlMs}: pass a finite number of ms above 0, or omit it for a key that does not expire`,
    when: '`set` or `increment` with a `ttlMs` that is not a finite number above 0',
    fix: 'Pass a finite number of ms, or omit it for a key that does not expire',
  },
})
