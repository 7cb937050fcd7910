import { defineErrors } from 'zin'

export const breakerErrors = defineErrors({
  CIRCUIT_BREAKER_OFF: {
    status: 409,
    message: (worker: string, why: string) =>
      `The circuit breaker of worker "${worker}" is off because ${why}; change its features with PUT /api/workers/${worker}`,
    when: 'The circuit of a worker is reset, but its feature `circuitBreaker` is not true, or its feature `plugins` is false',
    fix: 'Set `features.circuitBreaker` to true, and remove `features.plugins: false`',
  },
})
