/** Inputs that the worker API rejects, by error code. */

type Refusals = Readonly<Record<string, readonly object[]>>

/** Fields of a new worker that is valid without them; the first problem determines the code. */
export const refusedCreations: Refusals = {
  MISSING_REQUIRED_FIELD: [{ name: undefined }, { name: null }, { queueName: '' }],
  INVALID_WORKER_NAME: [{ name: 'ab' }, { name: 'a b c' }, { name: 'x'.repeat(51) }, { name: 7 }],
  INVALID_QUEUE_NAME: [{ queueName: 'a.b' }, { queueName: 1 }, { queueName: 'zin-deliveries' }],
  INVALID_CONCURRENCY: [{ concurrency: 0 }, { concurrency: 1001 }, { concurrency: 1.5 }, { concurrency: '5' }],
  INVALID_ACTIVE_STATUS: [{ activeStatus: 'yes' }, { activeStatus: null }],
  INVALID_AUTO_START: [{ autoStart: 1 }],
  INVALID_FEATURES_TYPE: [{ features: [] }, { features: 'metrics' }],
  INVALID_FEATURE: [{ features: { flying: true } }, { features: { flying: false } }, { features: { constructor: true } }],
  INVALID_EXTENSIONS: [{ extensions: 'all' }, { extensions: { 'a b': {} } }],
  EXTENSION_UNAVAILABLE: [{ extensions: { shaper: { perMinute: 5 } } }],
  FEATURE_UNAVAILABLE: [
    { features: { canary: true } },
    { features: { metrics: true, compliance: true } },
    { features: { autoScaling: true } },
  ],
  INVALID_FEATURE_VALUE: [{ features: { metrics: 'on' } }],
  INVALID_LIMITER_CONFIG: [{ rateLimit: { max: 0, duration: 1000 } }, { rateLimit: { max: 1 } }, { rateLimit: 5 }],
  INVALID_JOB_OPTIONS: [
    { jobOptions: { attempts: 0 } },
    { jobOptions: { backoff: { type: 'linear', delay: 1 } } },
    { jobOptions: { backoff: { type: 'fixed', delay: 1, jitter: 2 } } },
    { jobOptions: { timeout: 0 } },
    { jobOptions: { retries: 1 } },
  ],
  INVALID_ISOLATION: [
    { isolation: 'vm' },
    { isolation: 'inline', processor: 'https://code.example/job.mjs' },
    { isolation: 'thread', processor: 'https://code.example/job.mjs' },
  ],
  INVALID_PLACEMENT: [{ placement: { nodes: 0 } }, { placement: { where: 'here' } }, { placement: { regions: [] } }],
  INVALID_DATACENTER_REGION: [{ placement: { regions: ['EU'] } }, { placement: { regions: ['eu-west-1', 7] } }],
  INVALID_DATACENTER_TOPOLOGY: [{ placement: { regions: ['eu-west-1', 'us-east-1', 'eu-west-1'] } }],
  MISSING_PROCESSOR_SPEC: [{ processor: undefined }, { processor: null }, { processor: '' }],
  INVALID_PROCESSOR_PATH: [{ processor: 'gone.mjs' }, { processor: 'job%2emjs' }, { processor: 7 }],
  INVALID_PROCESSOR_PATH_TRAVERSAL: [{ processor: '../job.mjs' }],
  INVALID_PROCESSOR_EXTENSION: [{ processor: 'job.txt' }, { processor: '.mjs' }],
  INVALID_PROCESSOR_URL: [{ processor: 'http://code.example/job.mjs' }, { processor: 'file:///job.mjs' }],
  INVALID_PROCESSOR_URL_HOST: [{ processor: 'https://code.example/job.mjs' }],
  INVALID_HEALTH_CHECK: [{ healthCheck: 7 }, { healthCheck: 'https://code.example/check.mjs' }, { healthCheck: 'gone.mjs' }],
  INVALID_VERSION_FORMAT: [{ version: '1.0' }, { version: 'v1.0.0' }, { version: '1.0.0-beta' }],
  INVALID_INFRASTRUCTURE: [{ infrastructure: [] }, { infrastructure: { driver: 'kafka' } }, { infrastructure: { host: 'x' } }],
  INVALID_REDIS_CONFIG: [{ infrastructure: { redis: { host: 'x' } } }],
  INVALID_PERSISTENCE_CONFIG: [
    { infrastructure: { persistence: { driver: 'file' } } },
    { infrastructure: { persistence: { driver: 'db', keyPrefix: 'x' } } },
    { infrastructure: { persistence: { driver: 'db', connection: 'elsewhere' } } },
    { infrastructure: { persistence: { driver: 'db', client: {} } } },
  ],
  UNKNOWN_FIELD: [{ colour: 'red' }],
}

/** Bodies of PUT /api/workers/:name. */
export const refusedUpdates: Refusals = {
  IMMUTABLE_FIELD: [
    { name: 'other' },
    { processor: 'job.mjs' },
    { healthCheck: 'check.mjs' },
    { version: '2.0.0' },
    { infrastructure: {} },
  ],
  INVALID_CONCURRENCY: [{ concurrency: -1 }],
  INVALID_LIMITER_CONFIG: [{ rateLimit: {} }],
  FEATURE_UNAVAILABLE: [{ features: { circuitBreaker: true } }],
  INVALID_DATACENTER_TOPOLOGY: [{ placement: { regions: ['eu-west-1', 'eu-west-1'] } }],
  UNKNOWN_FIELD: [{ colour: 'red' }],
}

/** Bodies of POST /api/workers/:name/versions. */
export const refusedVersions: Refusals = {
  MISSING_REQUIRED_FIELD: [{}, { version: '' }],
  INVALID_VERSION_FORMAT: [{ version: '1' }, { version: 100 }],
  INVALID_VERSION_DESCRIPTION: [
    { version: '9.0.0', description: 7 },
    { version: '9.0.0', description: 'x'.repeat(1001) },
  ],
  INVALID_PROCESSOR_PATH: [{ version: '9.0.0', processor: 'gone.mjs' }],
  INVALID_HEALTH_CHECK: [
    { version: '9.0.0', healthCheck: '' },
    { version: '9.0.0', processor: 'job.mjs', healthCheck: 'gone.mjs' },
  ],
  UNKNOWN_FIELD: [{ version: '9.0.0', active: true }],
}

/** Bodies of POST /api/workers/:name/jobs. */
export const refusedJobs: Refusals = {
  INVALID_JOB_OPTIONS: [
    { options: 7 },
    { options: { name: '' } },
    { options: { priority: 'urgent' } },
    { options: { priority: 11 } },
    { options: { attempts: 101 } },
    { options: { backoff: 1000 } },
    { options: { delay: -1 } },
    { options: { timeout: 0 } },
    { options: { deduplication: {} } },
    { options: { deduplication: { id: 'x', mode: 'debounce' } } },
    { options: { repeat: { every: 1000 } } },
    { children: [], options: { deduplication: { id: 'once' } } },
    ...['', '12', 'a:b', 'wait', '..', 'x'.repeat(201), 7].map((jobId) => ({ options: { jobId } })),
    { children: [{ worker: 'other', options: { jobId: 'own' } }] },
    { options: { name: 'nul \0' } },
    { options: { deduplication: { id: '\0' } } },
  ],
  QUEUE_INVALID_JOB: [{ data: { '\0': 1 } }, { data: 'nul \0' }],
  INVALID_JSON: [{ data: 'half \ud800' }, { data: { '\udfff': 1 } }, { options: { deduplication: { id: '\udc00' } } }],
  INVALID_FLOW: [{ children: 'all' }, { children: [7] }, { children: [{ worker: 'nobody', colour: 'red' }] }],
  INVALID_WORKER_NAME: [{ children: [{ worker: 'no' }] }],
  VALIDATION_FAILED: [{ payload: 1 }],
}

/** Bodies of PUT /api/workers/:name/schedules/:id. */
export const refusedSchedules: Refusals = {
  INVALID_SCHEDULE: [
    {},
    { pattern: '* * * * *', every: 5000 },
    { pattern: 'tomorrow' },
    { pattern: '0 0 31 2 *' },
    { every: 10 },
    { every: 5000, tz: 'UTC' },
    { pattern: '* * * * *', tz: 'Mars/Olympus' },
    { every: 5000, startDate: 'soon' },
    { every: 5000, endDate: '2000-01-01T00:00:00Z' },
    { every: 5000, limit: 0 },
    { every: 5000, overlap: 'wait' },
    { every: 5000, overlap: null },
    { every: 5000, catchUp: 'some' },
    { every: 5000, catchUp: ['all'] },
  ],
  INVALID_JOB_OPTIONS: [
    { every: 5000, options: { delay: 5 } },
    { every: 5000, options: { jobId: 'own' } },
    { every: 5000, options: { attempts: 0 } },
    { every: 5000, options: { name: '\0' } },
  ],
  SCHEDULE_DEDUPLICATION: [
    { every: 5000, options: { deduplication: { id: 'x', mode: 'keep-latest' } } },
    { every: 5000, options: { deduplication: { id: 'x', mode: 'debounce', ttl: 5 } } },
  ],
  QUEUE_INVALID_JOB: [{ every: 5000, data: ['nul \0'] }],
  INVALID_JSON: [{ every: 5000, data: ['half \ud800'] }],
  VALIDATION_FAILED: [{ cron: '* * * * *' }],
}

/** Codes that no request of this contract can cause, and the tests that cover them. */
export const testedElsewhere: Readonly<Record<string, string>> = {
  WORKER_DECLARED: 'declare.contract.ts',
  WORKER_NOT_DECLARED: 'declare.contract.ts',
  VERSIONS_ROUTED: 'seams.contract.ts',
  TOO_MANY_CANDIDATES: 'seams.contract.ts',
  VERSION_REFUSED: 'seams.contract.ts',
  INVALID_REFUSAL: 'seams.contract.ts',
  JOB_LOCK_LOST: 'jobs/lost-locks.contract.ts',
  NODE_NOT_ANSWERING: 'control/drains.test.ts',
  WORKER_QUEUE_BROKEN: 'broken-queue.services.test.ts',
  WORKER_NOT_FETCHING: 'node/worker-node.test.ts',
  PROCESSOR_LOAD_TIMEOUT: 'processors/sandbox/pool.test.ts',
  PROCESSOR_DIED: 'processors/sandbox/sandbox.test.ts',
  PROCESSOR_INTERRUPTED: 'processors/sandbox/sandbox.test.ts',
  PROCESSOR_KILLED: 'processors/sandbox/sandbox.test.ts',
  PROCESSOR_CLOSED: 'processors/sandbox/sandbox.test.ts',
  QUEUE_CONNECTION_ERROR: 'redis-down.services.test.ts',
  JOB_OUTCOME_UNKNOWN: 'outcome-unknown.services.test.ts',
  WORKER_STORE_UNAVAILABLE: 'store/registry.test.ts',
  WORKER_CLUSTER_UNAVAILABLE: 'shared/state.services.test.ts',
  WORKER_CHANGE_UNCONFIRMED: 'redis-down.services.test.ts',
  PROCESSOR_NOT_PREBUILT: 'plugin.test.ts',
  INVALID_PROCESSOR_URL_EXPORT: 'processors/url/url.test.ts',
  PROCESSOR_PIN_REQUIRED: 'processors/url/url.test.ts',
  PROCESSOR_PIN_MISMATCH: 'processors/url/url.test.ts',
  PROCESSOR_FETCH_SIZE_EXCEEDED: 'processors/url/url.test.ts',
  PROCESSOR_FETCH_FAILED: 'processors/url/url.test.ts',
  WORKERS_MISCONFIGURED: 'store/open.test.ts',
}
