import { defineErrors } from 'zin'

export const breakerErrors = defineErrors({
  CIRCUIT_BREAKER_OFF: {
    status: 409,
    message: (worker: string, why: string) =>
      `The circuit breaker of worker "${worker}" is off, because ${why}; PUT /api/workers/${worker} changes its features`,
    when: 'Reset of a worker whose feature `circuitBreaker` is not true, or whose feature `plugins` is false',
    fix: 'Set `features.circuitBreaker` to true, and `features.plugins` not to false',
  },
})
