import { defineSettings } from 'zin'

export const queuesSettings = defineSettings({
  REDIS_URL: { type: 'string', default: '', secret: true, summary: 'Redis, Redis Cluster or Sentinel URL; empty for the embedded stores' },
  REDIS_CONNECT_TIMEOUT_MS: { type: 'int', default: 10_000, min: 100, max: 600_000, summary: 'How long the boot waits for Redis, in ms' },
  QUEUE_FSYNC: {
    type: 'enum',
    default: 'auto',
    values: ['auto', 'on', 'off'],
    summary:
      'Whether the embedded queue waits for the disk at each commit; `auto` is on. Off survives a crash of the process, not of the machine',
  },
  QUEUE_MAX_JOB_BYTES: {
    type: 'int',
    default: 1_048_576,
    min: 1024,
    max: 104_857_600,
    summary: 'Most bytes of JSON in the data of one job',
  },
})
