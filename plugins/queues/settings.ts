import { defineSettings } from 'zin'
import { redisSettings } from 'zin/plugins/redis'

export const queuesSettings = defineSettings({
  ...redisSettings,
  QUEUE_FSYNC: {
    type: 'enum',
    default: 'auto',
    values: ['auto', 'on', 'off'],
    summary:
      'Whether the embedded queue waits for the disk at each commit; `auto` is `on`. `off` survives a crash of the process, not of the machine',
  },
  QUEUE_MAX_JOB_BYTES: {
    type: 'int',
    default: 1_048_576,
    min: 1024,
    max: 104_857_600,
    summary:
      'Most bytes of JSON in the data of one job. A request that brings a job may not be larger than `app.bodyLimit` (1048576) either: it is 413 before the job is looked at',
  },
})
