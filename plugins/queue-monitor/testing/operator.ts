import assert from 'node:assert/strict'
import type { QueueCounts } from 'zin/plugins/queues'
import type { MonitorAction } from '../hooks.js'
import type { MonitoredApp, Response } from './app.js'

/** Helpers for tests of operator actions. */
export interface Operator {
  post(path: string, body?: unknown, key?: string): Promise<Response>
  counts(queue: string): Promise<QueueCounts>
  /** The actions reported to `onMonitorAction` so far. */
  actions(): readonly MonitorAction[]
  /** Creates a queue without a consumer whose first jobs have failed. */
  failed(queue: string, jobs: number): Promise<void>
}

export function operatorOf(app: () => MonitoredApp): Operator {
  return {
    post: (path, body = {}, key) => app().call('POST', path, { body, ...(key === undefined ? {} : { key }) }),
    counts: (queue) => app().queues.counts(queue),
    actions: () =>
      app()
        .host.recorded('onMonitorAction')
        .map(([action]) => action as MonitorAction),
    async failed(queue, jobs) {
      const { queues } = app()
      const added = await queues.addBulk(
        queue,
        Array.from({ length: jobs }, (_, n) => ({ name: `f${n}`, data: { n } })),
      )
      for (const { id } of added) assert.ok(await queues.fail(queue, id ?? '', 'planted'))
    },
  }
}
