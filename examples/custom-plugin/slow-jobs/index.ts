import { definePlugin, deny } from 'zin'
import { workersService } from 'zin/plugins/workers'
import { clearCommand } from './cli.js'
import { slowJobsOptions } from './options.js'
import { slowJobsRoutes } from './routes.js'
import { SlowJobList } from './service.js'

export type { SlowJob } from './service.js'

/** Records jobs that take too long, and prevents workers with too many slow jobs from starting. */
export const slowJobs = definePlugin({
  name: 'slow-jobs',
  version: '1.0.0',
  description: 'Lists jobs over a time limit',
  uses: { workers: workersService },
  options: slowJobsOptions,
  setup({ options, clock, log, hooks, routes, command, onStop }) {
    const startedAt = new Map<string, number>()
    const slow = new SlowJobList(options.keep)

    hooks.on('onJobStart', (worker, job) => {
      startedAt.set(`${worker}:${job.id}`, clock.monotonic())
    })
    hooks.on('onJobFailed', (worker, job) => {
      startedAt.delete(`${worker}:${job.id}`)
    })
    hooks.on('onJobComplete', (worker, job) => {
      const key = `${worker}:${job.id}`
      const began = startedAt.get(key)
      startedAt.delete(key)
      const ms = Math.round(clock.monotonic() - (began ?? clock.monotonic()))
      if (began === undefined || ms < options.thresholdMs) return
      slow.add({ worker, job: job.id, ms })
      log.warn({ worker, job: job.id, ms }, 'slow job')
    })
    hooks.on('beforeWorkerStart', (worker) =>
      slow.countOf(worker) >= options.refuseStartAt
        ? deny(`${slow.countOf(worker)} slow jobs; clear them with DELETE /api/slow-jobs`)
        : undefined,
    )
    routes(slowJobsRoutes(slow))
    command(clearCommand)
    onStop(() => startedAt.clear())
  },
})
