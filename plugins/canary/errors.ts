import { defineErrors } from 'zin'

export const canaryErrors = defineErrors({
  CANARY_IN_PROGRESS: {
    status: 409,
    message: (worker: string, version: string, state: string) =>
      `Worker "${worker}" already has a canary: version ${version} is ${state}; complete it or roll it back first`,
    when: 'The worker already has an active canary',
    fix: 'Complete it or roll it back first',
  },
  NO_CANARY: {
    status: 409,
    message: (worker: string) => `Worker "${worker}" has no canary; start one with POST /api/workers/${worker}/canary/start`,
    when: 'The worker has no canary that the request could act on',
    fix: 'Start one',
  },
  CANARY_STATE: {
    status: 409,
    message: (worker: string, verb: string, state: string, allowed: string) =>
      `The canary of worker "${worker}" is ${state}; ${verb} is only possible while it is ${allowed}`,
    when: 'The action is not possible in the current state of the canary',
    fix: 'Wait until the canary is in one of the states that the message names',
  },
  CANARY_CHANGED: {
    status: 409,
    message: (what: string) => `The canary was changed concurrently too many times (${what}); try again`,
    when: 'The canary was changed concurrently too many times',
    fix: 'Try again',
  },
  CANARY_OFF: {
    status: 409,
    message: (worker: string) => `"features.canary" of worker "${worker}" is false; set it to true first`,
    when: '`features.canary` of the worker is false',
    fix: 'Set it to true',
  },
  CANARY_FEATURE_OFF: {
    status: 409,
    message: (worker: string, feature: string, effect: string) =>
      `"features.${feature}" of worker "${worker}" is false, so ${effect}; set it to true first`,
    when: '`features.versioning` of the worker is false, or `features.plugins` with `shield` or `inFlight: "abort"`',
    fix: 'Set the feature that the message names to true, or leave out the field',
  },
  CANARY_WORKER_NOT_RUNNING: {
    status: 409,
    message: (worker: string, state: string, fix: string) => `Worker "${worker}" is ${state}, so a canary would see no jobs; ${fix}`,
    when: 'The worker is stopped, FAILED or inactive',
    fix: 'Start the worker, or set its `activeStatus` to true first',
  },
  CANARY_VERSION_REFUSED: {
    status: 409,
    message: (worker: string, version: string, by: string, reason: string) =>
      `Version ${version} of worker "${worker}" was refused by "${by}": ${reason}; register a fixed version, or start with "force": true`,
    when: 'The version was rolled back before, or its rollout was halted',
    fix: 'Register a fixed version, or start with `"force": true`',
  },
  CANARY_PROMOTION_DENIED: {
    status: 409,
    message: (worker: string, plugin: string, reason: string) =>
      `The canary of worker "${worker}" cannot be promoted: ${reason} (denied by ${plugin})`,
    when: 'A listener of `beforeCanaryPromote` denied the promotion',
    fix: 'See the reason in the message',
  },
  CANARY_STORE_UNAVAILABLE: {
    status: 503,
    message: (why: string) => `The canary store is unavailable: ${why}; try again`,
    when: 'The key-value store did not respond in time',
    fix: 'Check Redis or the database; requests can be retried',
  },
  INVALID_CANARY: {
    status: 400,
    message: (what: string) => what,
    when: 'A field of the request is unknown or invalid, and no other code applies',
    fix: 'Correct the field that the message names',
  },
  INVALID_TRAFFIC_PERCENTAGE: {
    status: 400,
    message: (what: string) => what,
    when: '`trafficPercentage` is not a number above 0 and at most 100',
    fix: 'Send a value in this range',
  },
  INVALID_DURATION: {
    status: 400,
    message: (what: string) => what,
    when: '`duration` is not a whole number of ms from 1 to 30 days',
    fix: 'Send a value in this range',
  },
  INVALID_THRESHOLD: {
    status: 400,
    message: (what: string) => what,
    when: '`successThreshold` or `rollbackThreshold` is not a number from 0 to 100',
    fix: 'Send a value in this range',
  },
  INVALID_STEPS: {
    status: 400,
    message: (what: string) => what,
    when: '`steps` are not ascending, are more than 20, or exceed `trafficPercentage`',
    fix: 'Correct the field that the message names',
  },
  INVALID_CANARY_VERSION: {
    status: 400,
    message: (what: string) => what,
    when: '`newVersion` is missing, not a version, not registered, or the active one',
    fix: 'Register the version first, or name another one',
  },
})
