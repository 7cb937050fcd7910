import { defineErrors } from 'zin'

export const processorErrors = defineErrors({
  MISSING_PROCESSOR_SPEC: {
    status: 400,
    message: (name: string) => `Worker "${name}" has no processor; pass a file path, or register one under that name when the app boots`,
    when: 'No processor is passed or registered',
    fix: 'Pass a file path, or register one when the app boots',
  },
  INVALID_PROCESSOR_PATH: {
    status: 400,
    message: (path: string, why: string) => `The processor "${path}" cannot be used: ${why}`,
    when: 'The path of a processor cannot be used: the file does not exist, or is not under a root',
    fix: 'Use a file under a processor root',
  },
  PROCESSOR_LOAD_FAILED: {
    status: 422,
    message: (path: string, why: string) => `The processor "${path}" did not load: ${why}`,
    when: 'The code of a processor throws, or exports no function',
    fix: 'Fix the code',
  },
  PROCESSOR_LOAD_TIMEOUT: {
    status: 503,
    message: (path: string, ms: number) => `The processor "${path}" did not load within ${ms} ms`,
    when: 'The code of a processor did not load in time: it blocks or waits while it loads, or the machine is overloaded',
    fix: 'Wait for nothing at the top level of the file; check the load of the machine. The start is repeated',
  },
  PROCESSOR_DIED: {
    status: 500,
    message: (worker: string, job: string, kind: string, how: string) =>
      `The ${kind} in which worker "${worker}" ran job "${job}" ended before the job did: ${how}`,
    when: 'The thread or process of the processor ended during an attempt',
    fix: 'Check its output; raise `sandbox.memoryMb` if it ran out of memory',
  },
  PROCESSOR_INTERRUPTED: {
    status: 500,
    message: (worker: string, job: string, kind: string, other: string) =>
      `The ${kind} in which worker "${worker}" ran job "${job}" ended because of code of job "${other}", which had ended before; job "${job}" was returned to its queue`,
    when: 'Code of an earlier job failed in the same thread or process during an attempt; the attempt is not used up',
    fix: 'Await or stop everything that a job starts',
  },
  PROCESSOR_KILLED: {
    status: 500,
    message: (worker: string, job: string, kind: string, ms: number) =>
      `Job "${job}" of worker "${worker}" was still running ${ms} ms after it was cancelled, so its ${kind} was killed; make its processor handle the abort signal`,
    when: 'A cancelled attempt did not end, and was killed',
    fix: 'Handle the abort signal in the processor',
  },
  PROCESSOR_CLOSED: {
    status: 503,
    message: (worker: string) => `The processor of worker "${worker}" takes no more jobs: the worker is stopping`,
    when: 'An attempt was to start while its worker was stopping',
    fix: 'No action is needed; the job will run again',
  },
  PROCESSOR_NOT_ISOLATED: {
    status: 400,
    message: (worker: string, isolation: string) =>
      `Worker "${worker}" has isolation "${isolation}", but its processor is a function, which can only run inline; pass a file path, or use isolation "inline"`,
    when: 'A function cannot run in a child thread or process',
    fix: 'Pass a file path, or use isolation `inline`',
  },
  PROCESSOR_NOT_PREBUILT: {
    status: 400,
    message: (processor: string) =>
      `The processor "${processor}" is not part of this build, and an edge runtime cannot load code; register it with registerPrebuilt under exactly this text`,
    when: 'On an edge runtime: the processor is not part of the build',
    fix: 'Register it with `registerPrebuilt`',
  },
  INVALID_PROCESSOR_URL: {
    status: 400,
    message: (url: string, why: string) => `The processor URL "${url}" cannot be used: ${why}`,
    when: 'The URL of a processor cannot be used',
    fix: 'Correct the part that the message names',
  },
  INVALID_PROCESSOR_URL_HOST: {
    status: 400,
    message: (host: string) => `Processors may not be fetched from "${host}": it is not in REMOTE_PROCESSOR_ALLOWLIST`,
    when: 'The host of the URL is not in `REMOTE_PROCESSOR_ALLOWLIST`',
    fix: 'Add the host to the setting',
  },
  INVALID_PROCESSOR_URL_EXPORT: {
    status: 422,
    message: (url: string) => `The processor at "${url}" exports no function named ZinTrustProcessor`,
    when: 'The code behind the URL exports no function',
    fix: 'Export a function named `ZinTrustProcessor`',
  },
  PROCESSOR_PIN_REQUIRED: {
    status: 400,
    message: (url: string) =>
      `The processor URL "${url}" has no digest; in production it must end in #sha256-<base64 or hex of the file's SHA-256>`,
    when: 'In production: the URL has no digest',
    fix: 'Append `#sha256-<digest>`',
  },
  PROCESSOR_PIN_MISMATCH: {
    status: 422,
    message: (url: string, found: string) =>
      `The processor at "${url}" has the SHA-256 ${found}, which does not match the pinned digest; it was not used`,
    when: 'The code does not match the pinned digest',
    fix: 'Review the code, then pin its new digest',
  },
  PROCESSOR_FETCH_SIZE_EXCEEDED: {
    status: 422,
    message: (url: string, limit: number) => `The processor at "${url}" is larger than ${limit} bytes (PROCESSOR_FETCH_MAX_SIZE)`,
    when: 'The code is larger than `PROCESSOR_FETCH_MAX_SIZE`',
    fix: 'Make it smaller, or raise the limit',
  },
  PROCESSOR_FETCH_FAILED: {
    status: 502,
    message: (url: string, why: string) => `The processor at "${url}" could not be fetched: ${why}`,
    when: 'The URL could not be fetched',
    fix: 'Check the host, and try again',
  },
  INVALID_HEALTH_CHECK: {
    status: 400,
    message: (path: string, why: string) => `The health check "${path}" cannot be used: ${why}`,
    when: 'The path of a health check cannot be used',
    fix: 'Use a file under a processor root',
  },
})
