import { defineErrors } from 'zin'

export const workerHealthErrors = defineErrors({
  WORKER_UNHEALTHY: {
    message: (failures: number, why: string) =>
      `${failures} consecutive health checks failed. Last error: ${why}. Fix the cause and restart the worker`,
    when: 'In `lastError` of a worker that is `FAILED` because of its health checks',
    fix: 'Fix the cause that the message names, then restart the worker',
  },
})
