import { type CommandSpec, defineErrors } from 'zin'
import { spareBytes } from './embedded/disk.js'

/** What a command declares that asks the running app. */
const asking: CommandSpec['needs'] = 'running app'

export const queueErrors = defineErrors({
  QUEUES_NOT_STARTED: {
    status: 503,
    message: () => "The queues are not open. Use them in your plugin's start or later, not in setup or after stop",
    when: 'The queues are used in `setup` or after `stop`',
    fix: 'Use them in `start` or later',
  },
  QUEUE_CONNECTION_ERROR: {
    status: 503,
    message: (where: string, reason: string) => `The queue store (${where}) cannot be reached: ${reason}`,
    when: 'The store cannot be reached',
    fix: 'Check the store of the queues: Redis and `REDIS_URL`, or the data directory; requests can be retried',
  },
  JOB_OUTCOME_UNKNOWN: {
    status: 503,
    message: (where: string, reason: string, repeat: string) =>
      `The outcome is unknown: the queue store (${where}) may have made the change, but did not confirm it (${reason}). ${repeat}`,
    when: 'A change of jobs was sent to the store, and the connection broke or the deadline passed before the reply: it may have been made',
    fix: 'Repeat it as the message says: an added job with the same `jobId`, any other change as it is',
  },
  QUEUE_DISK_FULL: {
    status: 503,
    message: (dir: string, free: number) =>
      `The disk of ${dir} has ${Math.floor(free / 2 ** 20)} MiB of free space, and the embedded queue needs ${spareBytes / 2 ** 20} to write. Free some space; until then jobs can be read, but not added or run`,
    when: 'The disk of the data directory has less than 12 MiB of free space, or a write failed for lack of space',
    fix: 'Free some space; the queue continues by itself',
  },
  QUEUE_BROKEN: {
    status: 503,
    message: (reason: string) =>
      `The queue cannot be read, although its store responds: ${reason}. Another program has overwritten one of its keys`,
    when: 'A key of the queue has another type than the queue gave it; other queues are not affected',
    fix: 'Find the key with `TYPE` in Redis, and delete it or restore it from a backup',
  },
  QUEUE_INVALID_NAME: {
    status: 400,
    message: (name: string) => `"${name.slice(0, 60)}" is not a valid queue name: use 1 to 100 letters, digits, "_", "-" or "."`,
    when: 'A queue name is not 1 to 100 letters, digits, `_`, `-` or `.`',
    fix: 'Choose a name of that form',
  },
  QUEUE_INVALID_JOB: {
    status: 400,
    message: (queue: string, what: string) => `Invalid job for queue "${queue}": ${what}`,
    when: 'A job contains NUL or a lone surrogate, has an id that does not work everywhere, uses `repeat`, or has data that is not JSON',
    fix: 'Fix the part that the message names',
  },
  QUEUE_INVALID_SCHEDULE: {
    status: 400,
    message: (queue: string, what: string) => `Invalid schedule for queue "${queue}": ${what}`,
    when: 'The pattern, interval, time zone, dates, `limit`, `overlap` or `catchUp` of a schedule is invalid',
    fix: 'Fix the part that the message names',
  },
  QUEUE_SCHEDULE_DEDUPLICATION: {
    status: 400,
    message: (queue: string, what: string) => `Invalid schedule for queue "${queue}": its deduplication ${what}`,
    when: 'The template of a schedule has a deduplication with another mode than `until-done` and `ttl`',
    fix: 'Use one of these modes, or `overlap`',
  },
  QUEUE_INVALID_TEXT: {
    status: 400,
    message: () => 'An id or name contains the character NUL, which the queue store cannot store. Remove the character',
    when: 'An id passed to the embedded store contains NUL',
    fix: 'Remove the character',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    message: (queue: string, bytes: number, limit: number, what = 'data') =>
      `The ${what} of the job for queue "${queue}" is ${bytes} bytes of JSON, and the limit is ${limit}. Store the data elsewhere and put its id into the job, or raise QUEUE_MAX_JOB_BYTES`,
    when: 'The data of a job, or data, progress or a log line written by its processor, exceeds `QUEUE_MAX_JOB_BYTES`',
    fix: 'Store the data elsewhere and put its id into the job, or raise the limit',
  },
  JOB_RESULT_TOO_LARGE: {
    message: (queue: string, bytes: number, limit: number) =>
      `The result of a job in queue "${queue}" is ${bytes} bytes of JSON, and the limit is ${limit}. Store the result elsewhere and return its id, or raise QUEUE_MAX_JOB_BYTES`,
    when: 'A processor returns more than `QUEUE_MAX_JOB_BYTES`; its job fails and is not retried, because its work is done',
    fix: 'Store the result elsewhere and return its id, or raise the limit',
  },
  JOB_PAYLOAD_UNREADABLE: {
    status: 500,
    message: (queue: string, what: string, why: string) => `The ${what} of a job in queue "${queue}" cannot be restored: ${why}`,
    cause: (_queue: string, _what: string, _why: string, cause?: unknown) => cause,
    when: '`restoreJobData`, `restoreJobResult` or `restoreJobText` failed',
    fix: 'Provide what the plugin that handles the hook needs, e.g. the key',
  },
  JOB_PAYLOAD_UNSTORABLE: {
    status: 500,
    message: (queue: string, what: string, why: string) =>
      `The ${what} of a job in queue "${queue}" cannot be prepared for the store: ${why}`,
    cause: (_queue: string, _what: string, _why: string, cause?: unknown) => cause,
    when: '`transformJobData`, `transformJobResult` or `transformJobText` failed, or a result cannot be stored',
    fix: 'Fix the part that the message names',
  },
  QUEUE_EVENTS_LOST: {
    status: 410,
    message: (queue: string, after: string) =>
      `The events of queue "${queue}" after ${after} are no longer stored. Read the current state, then follow the events without "after"`,
    when: 'The events after `after` are no longer stored',
    fix: 'Read the current state, then follow the events without `after`',
  },
  QUEUE_FIELD_UNKNOWN: {
    status: 400,
    message: (queue: string, path: string, declared: readonly string[]) =>
      `Queue "${queue}" cannot be searched by "${path}": ${
        declared.length === 0 ? 'it has no searchable fields' : `its searchable fields are ${declared.join(', ')}`
      }. Declare fields with queues({ search })`,
    when: 'A search uses a field that is not declared for the queue',
    fix: 'Declare the field in the option `search`',
  },
  PAYLOAD_VIEW_FORBIDDEN: {
    status: 403,
    message: () => 'This requires the permission payload:read',
    when: 'The caller lacks the permission `payload:read`',
    fix: 'Use credentials with the permission',
  },
  JOB_ACTION_DENIED: {
    status: 403,
    message: (plugin: string, reason: string) => `Plugin "${plugin}" refused this: ${reason}`,
    when: 'A listener of `beforePayloadView` or `beforeJobRetry` denied the action',
    fix: 'See the reason in the message',
  },
  QUEUE_TELEMETRY_SET: {
    status: 409,
    message: () => 'The telemetry of the queues is already set; only one plugin can set it',
    when: 'The telemetry is already set',
    fix: 'Set the telemetry in one plugin only',
  },
  ZIN_DATA_IN_USE: {
    message: (dir: string, holder: string) =>
      `The data directory ${dir} is in use by ${holder}. Only one process can use the embedded queue: stop that one, choose another ZIN_DATA_DIR, or set REDIS_URL to run several processes. A command of a plugin can ask the running app instead: declare needs: '${asking}'`,
    when: 'At boot: another process owns the data directory',
    fix: `Stop that process, choose another \`ZIN_DATA_DIR\`, or set \`REDIS_URL\`; in a command, declare \`needs: '${asking}'\` to ask the running app`,
  },
  QUEUE_DATA_TAKEN: {
    status: 503,
    message: (dir: string, loss: string) =>
      `The lock of the data directory ${dir} ${loss}. So that no job is lost, this process no longer uses the embedded queue. Make sure that only one process uses the directory, and restart this one; or set REDIS_URL to run several processes`,
    when: 'Another process took over the data directory, because this one did not update its lock for 20 s, or the lock was deleted',
    fix: 'Stop the other process, then restart this one; or set `REDIS_URL`',
  },
  QUEUE_DATA_VERSION: {
    message: (dir: string, found: string, embedded: string) =>
      `The queue data in ${dir} was written by PostgreSQL ${found}, and this version of Zin embeds ${embedded}. Run the version that wrote it until its jobs are done, then move the folder away; or set REDIS_URL`,
    when: 'At boot: the files were written by another major version of PostgreSQL',
    fix: 'Run the version that wrote them until its jobs are done, then move the folder away',
  },
  QUEUE_DATA_UNREADABLE: {
    message: (dir: string, reason: string) =>
      `The queue data in ${dir} cannot be opened: ${reason}. Check that the folder is writable; if it is damaged, move it away (its jobs are lost) or restore a backup`,
    when: 'At boot: the files cannot be opened',
    fix: 'Make the folder writable; if it is damaged, restore a backup or move it away',
  },
})
