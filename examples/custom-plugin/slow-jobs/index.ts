import { Type } from 'typebox'
import { defineCommand, definePlugin, deny } from 'zin'
import { workersService } from 'zin/plugins/workers'

/** A job that took longer than allowed. */
export interface SlowJob {
  readonly worker: string
  readonly job: string
  readonly ms: number
}

/** Remembers jobs that take too long, and keeps a worker stopped that has too many of them. */
export const slowJobs = definePlugin({
  name: 'slow-jobs',
  version: '1.0.0',
  description: 'Lists jobs over a time limit',
  uses: { workers: workersService },
  options: {
    schema: Type.Object(
      {
        thresholdMs: Type.Integer({ minimum: 0, description: 'A job that takes this long or longer, in ms, is slow' }),
        keep: Type.Integer({ minimum: 1, description: 'How many slow jobs are remembered; the oldest is forgotten first' }),
        refuseStartAt: Type.Integer({ minimum: 1, description: 'A worker with this many remembered slow jobs is not started' }),
      },
      { additionalProperties: false },
    ),
    defaults: { thresholdMs: 30_000, keep: 100, refuseStartAt: 10 },
  },
  setup({ options, clock, log, hooks, route, command, onStop }) {
    const startedAt = new Map<string, number>()
    let slow: readonly SlowJob[] = []
    const slowOf = (worker: string): readonly SlowJob[] => slow.filter((entry) => entry.worker === worker)

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
      slow = [...slow, { worker, job: job.id, ms }].slice(-options.keep)
      log.warn({ worker, job: job.id, ms }, 'slow job')
    })
    hooks.on('beforeWorkerStart', (worker) =>
      slowOf(worker).length >= options.refuseStartAt
        ? deny(`${slowOf(worker).length} slow jobs; clear them with DELETE /api/slow-jobs`)
        : undefined,
    )

    const answer = Type.Object({
      jobs: Type.Array(Type.Object({ worker: Type.String(), job: Type.String(), ms: Type.Integer() })),
    })
    route({
      method: 'GET',
      path: '/api/slow-jobs',
      summary: 'Jobs over the limit',
      use: ['ops'],
      response: { 200: answer },
      handler: () => ({ jobs: slow }),
    })
    route({
      method: 'DELETE',
      path: '/api/slow-jobs',
      summary: 'Forgets them',
      use: ['ops'],
      response: { 200: answer },
      handler: () => {
        slow = []
        return { jobs: slow }
      },
    })
    command(
      defineCommand({
        name: 'slow-jobs:clear',
        summary: 'Forgets the slow jobs of the running app',
        needs: 'running app',
        run: async ({ app, print }) => {
          await app.request({ method: 'DELETE', path: '/api/slow-jobs' })
          print.line('Forgotten.')
        },
      }),
    )
    onStop(() => startedAt.clear())
  },
})
