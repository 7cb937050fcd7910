import { defineSettings } from 'zin'

export const kvSettings = defineSettings({
  REDIS_URL: { type: 'string', default: '', secret: true, summary: 'Redis, Redis Cluster or Sentinel URL; empty for the embedded stores' },
  REDIS_CONNECT_TIMEOUT_MS: { type: 'int', default: 10_000, min: 100, max: 600_000, summary: 'How long the boot waits for Redis, in ms' },
})
