import { defineErrors } from 'zin'

export const monitorErrors = defineErrors({
  QUEUE_NOT_FOUND: {
    status: 404,
    message: (queue: string) =>
      `Queue "${queue.slice(0, 100)}" does not exist, or your credentials do not cover it; see GET /api/queue/stats`,
    when: 'The queue does not exist, or the API key does not cover it',
    fix: 'Use a name from `GET /api/queue/stats`',
  },
  JOB_NOT_FOUND: {
    status: 404,
    message: (id: string) =>
      `No job with the id "${id.slice(0, 200)}" exists in the queues covered by your credentials; finished jobs are kept for a limited time only`,
    when: 'No job has this id, or the API key does not cover its queue',
    fix: 'Check the id; finished jobs are removed after their retention period',
  },
  AMBIGUOUS_JOB_ID: {
    status: 409,
    message: (id: string, queues: readonly string[]) =>
      `${queues.length} queues have a job with the id "${id.slice(0, 200)}"; add ?queue= with one of: ${queues.slice(0, 10).join(', ')}`,
    details: (id: string, queues: readonly string[]) => ({ candidates: queues.slice(0, 100).map((queue) => ({ id, queue })) }),
    when: 'Jobs of several queues have this id; `details.candidates` lists them',
    fix: 'Add `?queue=`, or use `<queue>:<id>` as the id',
  },
  QUEUE_CONNECTION_ERROR: {
    status: 503,
    message: (why: string) => `The queue metrics could not be collected because the queue store cannot be reached: ${why}`,
    when: 'The queue store cannot be reached',
    fix: 'Check Redis and `REDIS_URL`; requests can be retried',
  },
  QUEUE_BROKEN: {
    status: 503,
    message: (reason: string) => `The queue cannot be read, although its store responds: ${reason}`,
    when: 'Another program has overwritten a key of the queue; other queues are not affected',
    fix: 'Find the key with `TYPE` in Redis, and delete it or restore it from a backup',
  },
  METRIC_COLLECTION_ERROR: {
    status: 503,
    message: (why: string) => `The queue metrics could not be collected: ${why}`,
    when: 'The counts of the workers or the last snapshot cannot be read',
    fix: 'Check the stores of the plugins `workers` and `kv`; requests can be retried',
  },
  MONITOR_UNAUTHORIZED: {
    status: 401,
    // The response does not reveal which check failed.
    message: () => 'The user name, password or API key is not valid',
    headers: { 'WWW-Authenticate': 'Basic realm="queue monitor", charset="UTF-8"' },
    when: 'The user name, password or API key is wrong',
    fix: 'Send the configured user name and password, or an API key in the header `x-api-key`',
  },
  MONITOR_AUTH_THROTTLED: {
    status: 429,
    message: (seconds: number) => `Too many failed sign-in attempts from your network; try again in ${seconds} s`,
    headers: (seconds: number) => ({ 'Retry-After': String(seconds) }),
    when: 'More than 10 failed sign-in attempts came from one network within a minute',
    fix: 'Wait for `Retry-After`',
  },
  MONITOR_BUSY: {
    status: 429,
    message: (most: number) => `${most} lists and searches of yours are running or waiting; wait until some have ended`,
    headers: { 'Retry-After': '1' },
    when: 'A caller requests more than 100 lists and searches of jobs while 3 are running',
    fix: 'Wait for `Retry-After`, and send fewer at the same time',
  },
  MONITOR_FORBIDDEN: {
    status: 403,
    message: (why: string) => why,
    when: 'The credentials lack a permission, a required header is missing, or a page of another site sent the request',
    fix: 'Use credentials with the permission given in the message',
  },
  JOB_STATE_CONFLICT: {
    status: 409,
    message: (id: string, queue: string, state: string, what: string) => `Job "${id}" of queue "${queue}" is ${state}: ${what}`,
    details: (_id: string, _queue: string, state: string) => ({ state }),
    when: 'The state of the job does not allow the action',
    fix: 'Read the job again; the message states which state the action requires',
  },
  INVALID_JOB_FILTER: {
    status: 400,
    message: (what: string) => `The filter is not valid: ${what}`,
    when: 'A filter of an operation or of a search is malformed',
    fix: 'Fix the field named in the message',
  },
  MONITOR_KEY_TOO_SHORT: {
    message: (length: number, least: number) =>
      `queue-monitor: an API key in apiKeys has ${length} characters; production requires at least ${least}. Create one with "openssl rand -hex 32"`,
    when: 'At boot in production: an API key has fewer than 16 characters',
    fix: 'Use a longer key, such as one of `openssl rand -hex 32`',
  },
  REDACTED_VALUE_MOVED: {
    status: 400,
    message: (path: string, why: string) =>
      `"[redacted]" at ${path} cannot be replaced by the value of the job: ${why}. Send the value itself, or leave the list as it was`,
    when: 'Edited data has a placeholder where no value was redacted, or in a list whose length or order has changed',
    fix: 'Send the value itself, or leave the list as it was',
  },
  CONFIRMATION_REQUIRED: {
    status: 400,
    message: (queue: string) =>
      `This deletes all jobs of queue "${queue}" that are not running; send "confirm": "${queue}", or "dryRun": true to see what would be deleted`,
    when: 'A purge with the status `all` lacks `confirm` with the queue name',
    fix: 'Send the queue name as `confirm`',
  },
  GRAPHQL_LIMIT: {
    status: 400,
    message: (what: string, limit: number) =>
      `The GraphQL request is too large: the limit for ${what} is ${limit}${what === 'cost' ? ', roughly the number of jobs read' : ''}`,
    details: (what: string, limit: number) => ({ what, limit }),
    when: 'A GraphQL request has more than 1000 tokens, 5 levels, 15 aliases or a cost of 300',
    fix: 'Request less, or split the request',
  },
  GRAPHQL_INVALID: {
    status: 400,
    message: (why: string) => `The GraphQL request is not valid: ${why.slice(0, 300)}`,
    when: 'A GraphQL request has a syntax error, or contains something other than queries',
    fix: 'Fix the query',
  },
  QUEUE_OPERATION_NOT_FOUND: {
    status: 404,
    message: (id: string) => `Operation "${id.slice(0, 60)}" does not exist; operations are kept for a day`,
    when: 'The operation does not exist, is older than a day, or concerns a queue that the API key does not cover',
    fix: 'Check the id',
  },
  UNDO_NOT_POSSIBLE: {
    status: 409,
    message: (id: string, why: string) => `Operation "${id.slice(0, 60)}" cannot be undone: ${why}`,
    when: 'The operation is still running, deletes nothing, or deleted permanently',
    fix: 'See the reason in the message',
  },
  UNDO_EXPIRED: {
    status: 410,
    message: (id: string, until: string) =>
      `Operation "${id.slice(0, 60)}" could be undone until ${until}; its jobs are permanently deleted`,
    when: 'Ten minutes have passed since the delete',
    fix: 'Add the jobs again',
  },
  TOO_MANY_OPERATIONS: {
    status: 429,
    message: (limit: number) => `${limit} operations are running in this process; wait until one has ended, or cancel one`,
    headers: { 'Retry-After': '5' },
    when: 'The process already runs the maximum number of operations on jobs',
    fix: 'Wait until one has ended, or cancel one',
  },
  WEBHOOK_NOT_FOUND: {
    status: 404,
    message: (id: string) =>
      `Webhook endpoint "${id.slice(0, 60)}" does not exist, or your credentials do not cover it; see GET /api/queue/webhooks`,
    when: 'The endpoint does not exist, or concerns a queue that the API key does not cover',
    fix: 'Use an id from `GET /api/queue/webhooks`',
  },
  WEBHOOK_INVALID: {
    status: 400,
    message: (why: string) => `The webhook endpoint is not valid: ${why}`,
    when: 'The URL of an endpoint is not allowed, or `monitor.webhookSecret` is not set',
    fix: 'Fix the cause given in the message',
  },
  WEBHOOK_LIMIT: {
    status: 409,
    message: (limit: number) => `The limit of ${limit} added webhook endpoints is reached; remove one first`,
    when: 'The maximum number of endpoints has been added',
    fix: 'Remove an endpoint',
  },
  WEBHOOK_IN_OPTIONS: {
    status: 409,
    message: (id: string) => `Endpoint "${id.slice(0, 60)}" is defined in the options of the plugin; change it there, or disable it`,
    when: 'An endpoint defined in the options cannot be changed or removed through the API',
    fix: 'Change `monitor.webhooks` or `monitor.alerts` in `zin.config.ts`, or disable the endpoint',
  },
  WEBHOOK_CONFLICT: {
    status: 503,
    message: () => 'The webhook endpoints are being changed elsewhere; try again',
    when: 'Endpoints are being changed concurrently',
    fix: 'Try again',
  },
  WEBHOOK_OPTIONS: {
    status: 500,
    message: (why: string) => `queueMonitor(): ${why}`,
    when: 'At boot: `monitor.webhooks`, `monitor.webhookSecret` or the action of an alert is not valid',
    fix: 'Fix the option named in the message',
  },
  DELIVERY_NOT_FOUND: {
    status: 404,
    message: (id: string) =>
      `Delivery "${id.slice(0, 100)}" does not exist, or your credentials do not cover it; delivered ones are kept for a day, failed ones for 7 days`,
    when: 'The delivery no longer exists, or concerns a queue that the API key does not cover',
    fix: 'Use an id from `GET /api/queue/webhooks/deliveries`',
  },
  DELIVERY_PENDING: {
    status: 409,
    message: (id: string) => `Delivery "${id.slice(0, 100)}" has not ended yet; it is retried automatically`,
    when: 'A delivery that has not ended cannot be resent',
    fix: 'Wait until it has ended',
  },
  INVALID_JOB_DATA: {
    status: 400,
    usage: true,
    message: (why: string) => `--data is not JSON: ${why}`,
    when: 'The option `--data` of a command is not JSON',
    fix: 'Pass JSON, quoted for the shell',
  },
  ATTENTION_NOT_FOUND: {
    status: 404,
    message: (id: string) =>
      `Nothing with the id "${id.slice(0, 60)}" needs attention, or your credentials do not cover it; see GET /api/attention`,
    when: 'The cause of the item has gone, its id is wrong, or the API key does not cover it',
    fix: 'Use an id from `GET /api/attention`',
  },
  ATTENTION_NOTE_INVALID: {
    status: 400,
    message: (most: number) => `"note" must be a text of 1 to ${most} characters that says why no more is to be done now`,
    when: 'The note of an acknowledgement is empty or too long',
    fix: 'Send `{"note": "…"}` with 1 to 500 characters',
  },
})
