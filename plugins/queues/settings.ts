import { defineSettings } from 'zin'
import { redisSettings } from 'zin/plugins/redis'

export const queuesSettings = defineSettings({
  ...redisSettings,
  QUEUE_FSYNC: {
    type: 'enum',
    default: 'auto',
    values: ['auto', 'on', 'off'],
    summary:
      'Whether the embedded queue syncs to disk at each commit; `auto` means `on`. With `off`, data survives a crash of the process but not of the machine',
  },
  QUEUE_MAX_JOB_BYTES: {
    type: 'int',
    default: 1_048_576,
    min: 1024,
    max: 104_857_600,
    summary:
      'Maximum size of the data, the result, the progress and a log line of one job, in bytes of JSON each. A request that adds a job is also limited by `app.bodyLimit` (1048576): a larger body is rejected with 413 before the job is checked',
  },
})
