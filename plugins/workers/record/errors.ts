import { defineErrors, ZinError } from 'zin'

/** One problem of an input. The first one determines the code of the error; all are listed in its `details`. */
export interface Problem {
  readonly field: string
  readonly code: string
  readonly message: string
}

/** Errors of invalid input: the message of its first problem, and all problems in `details`. */
function invalid(when: string, fix: string) {
  return {
    status: 400,
    message: (first: Problem, _all: readonly Problem[]) => first.message,
    details: (_first: Problem, all: readonly Problem[]) => all,
    when,
    fix,
  }
}

const asNamed = 'Fix the field that the message names'

export const inputErrors = defineErrors({
  MISSING_OPTIONS: invalid('The input is not an object', 'Pass an object'),
  MISSING_REQUIRED_FIELD: invalid('A required field is missing or empty', 'Add the field that the message names'),
  UNKNOWN_FIELD: invalid('The input has an unknown field', 'Remove it; the message lists the known ones'),
  IMMUTABLE_FIELD: invalid('An update contains a field that cannot be changed', 'Do what the message says instead'),
  INVALID_WORKER_NAME: invalid('The name of a worker is not 3 to 50 letters, digits, `_` or `-`', 'Choose another name'),
  INVALID_QUEUE_NAME: invalid(
    '`queueName` is not 3 to 50 letters, digits, `_` or `-`, or begins with `zin-`, as the queues of plugins do',
    'Choose another name',
  ),
  INVALID_PROCESSOR_PATH_TRAVERSAL: invalid('The path of a processor or health check contains `..`', 'Use a file under a processor root'),
  INVALID_PROCESSOR_EXTENSION: invalid(
    'The path of a processor or health check has another extension than `.ts`, `.js`, `.mjs` and `.cjs`',
    'Use a file with one of these extensions',
  ),
  INVALID_CONCURRENCY: invalid('`concurrency` is not an integer from 1 to 1000', asNamed),
  INVALID_SCALE_REASON: invalid('The `reason` of a scale is longer than 500 characters, or not text', asNamed),
  INVALID_VERSION_FORMAT: invalid('A version is not three integers joined by dots', 'Use a version such as `1.0.0`'),
  INVALID_VERSION_DESCRIPTION: invalid('The `description` of a version is longer than 1000 characters, or not text', asNamed),
  INVALID_REFUSAL: invalid(
    'The refusal of a version has no `reason` of 1 to 500 characters, or its `evidence` is not an object of at most 4096 characters of JSON',
    asNamed,
  ),
  INVALID_ACTIVE_STATUS: invalid('`activeStatus` is not a boolean', asNamed),
  INVALID_AUTO_START: invalid('`autoStart` is neither a boolean nor null', asNamed),
  INVALID_LIMITER_CONFIG: invalid('`rateLimit` is neither `{max, duration}` within the limits nor null', asNamed),
  INVALID_JOB_OPTIONS: invalid('The options of a job, or `jobOptions` of a record, are invalid', asNamed),
  INVALID_FLOW: invalid('A flow is malformed, too deep or too large', 'Fix the job that the message names'),
  INVALID_SCHEDULE: invalid('A schedule or its id is invalid', asNamed),
  SCHEDULE_DEDUPLICATION: invalid(
    'The `deduplication` of a schedule has another mode than `until-done` and `ttl`',
    'Use one of these modes, or `overlap`',
  ),
  INVALID_ISOLATION: invalid(
    '`isolation` is unknown, or cannot be combined with the processor',
    'Use `inline` for a function, and `process` for a URL',
  ),
  INVALID_PLACEMENT: invalid('`placement` is malformed', asNamed),
  INVALID_DATACENTER_REGION: invalid(
    'A region of `placement` is not 3 to 20 lower-case letters, digits or `-`',
    'Use a name such as `eu-west-1`',
  ),
  INVALID_DATACENTER_TOPOLOGY: invalid('`placement` names a region twice', 'Name each region once'),
  INVALID_FEATURES_TYPE: invalid('`features` is not an object', 'Pass an object of booleans'),
  INVALID_FEATURE: invalid('`features` has an unknown name', 'Use one that the message lists'),
  INVALID_FEATURE_VALUE: invalid('A feature is not a boolean', asNamed),
  FEATURE_UNAVAILABLE: invalid('A feature is true, and its plugin is not enabled', 'Enable the plugin, or leave the feature out'),
  INVALID_EXTENSIONS: invalid('`extensions` is not an object of objects, or is too large', asNamed),
  INVALID_EXTENSION: invalid("A plugin's part of `extensions` does not match its schema", asNamed),
  EXTENSION_UNAVAILABLE: invalid('`extensions` has data for a plugin that is not enabled', 'Enable the plugin, or leave its data out'),
  INVALID_INFRASTRUCTURE: invalid('`infrastructure` is malformed, or its `driver` is not that of the app', asNamed),
  INVALID_REDIS_CONFIG: invalid('`infrastructure.redis` is not `{env: true}`, or the queues are not on Redis', asNamed),
  INVALID_PAGE: invalid('In code: `page` of a list is not an integer from 1; over HTTP it is `VALIDATION_FAILED`', asNamed),
  INVALID_LIMIT: invalid('In code: `limit` of a list is not an integer from 1 to 100; over HTTP it is `VALIDATION_FAILED`', asNamed),
  INVALID_COUNTS_QUERY: invalid(
    'In code: a query of counts is malformed, covers too many names or minutes, or starts more than 24 hours ago',
    'Query fewer names at a time, or a later `since`',
  ),
})

type InputCode = keyof typeof inputErrors

/** Codes of problems; the last five are also thrown where code is loaded and stores are opened. */
export type ProblemCode =
  | InputCode
  | 'MISSING_PROCESSOR_SPEC'
  | 'INVALID_PROCESSOR_PATH'
  | 'INVALID_PROCESSOR_URL'
  | 'INVALID_HEALTH_CHECK'
  | 'INVALID_PERSISTENCE_CONFIG'

/** The error for invalid input: code and message of the first problem, all problems in `details`. */
export function refusal(problems: readonly Problem[]): ZinError | undefined {
  const [first] = problems
  if (first === undefined) return undefined
  const { code, message } = first
  return isInputCode(code) ? inputErrors[code](first, problems) : new ZinError(code, message, { status: 400, details: problems })
}

export function refuse(problems: readonly Problem[]): void {
  const error = refusal(problems)
  if (error !== undefined) throw error
}

function isInputCode(code: string): code is InputCode {
  return Object.hasOwn(inputErrors, code)
}
