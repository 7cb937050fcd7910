/** An app with canaries and a worker whose versions return their name; version 2 fails while the file `fails` exists. */
export const canaryApp: Readonly<Record<string, string>> = {
  'zin.config.mjs': `
import { defineConfig } from 'zin'
import { canary } from 'zin/plugins/canary'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workers } from 'zin/plugins/workers'

export default defineConfig({
  app: { name: 'shop', port: 0 },
  plugins: [database(), kv(), cluster(), queues(), ops(), workers(), canary({ lookMs: 200, flushMs: 50 })],
})
`,
  // A killed process counts as alive for three times this interval.
  '.env': 'WORKER_PERSISTENCE_DRIVER=db\nCLUSTER_HEARTBEAT_MS=1000\n',
  'processors/one.mjs': "export default () => 'one'",
  'processors/two.mjs': `
import { existsSync } from 'node:fs'
export default () => {
  if (existsSync('fails')) throw new Error('broken')
  return 'two'
}
`,
}

/** The API of a running app. */
export function apiOf(url: string) {
  // biome-ignore lint/suspicious/noExplicitAny: as JSON.parse gives it
  const call = async (method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: any }> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { 'x-requested-with': 'test', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json() }
  }
  const poll = async <T>(path: string, found: (body: never) => T | undefined): Promise<T> => {
    for (;;) {
      const result = found((await call('GET', path)).body as never)
      if (result !== undefined) return result
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  return {
    call,
    /** Resolves with the canary of a worker once it is in the given state. */
    // biome-ignore lint/suspicious/noExplicitAny: as JSON.parse gives it
    reaches: (worker: string, state: string): Promise<any> =>
      poll(`/api/workers/${worker}/canary/status`, ({ canary }: { canary: { state: string } }) =>
        canary.state === state ? canary : undefined,
      ),
    /** Adds a job and resolves with its outcome. */
    async run(worker: string, data: unknown): Promise<{ readonly id: string; readonly status: string; readonly result: unknown }> {
      const added = await call('POST', `/api/workers/${worker}/jobs`, { data, options: { attempts: 1 } })
      const path = `/api/workers/${worker}/jobs/${added.body.job.id}`
      return poll(path, ({ job }: { job: { id: string; status: string; result: unknown } }) =>
        job.status === 'completed' || job.status === 'failed' ? job : undefined,
      )
    },
    /** Creates and starts a worker with the versions 1.0.0 and 2.0.0. */
    async create(name: string): Promise<void> {
      await call('POST', '/api/workers', { name, queueName: name, processor: 'one.mjs' })
      await call('POST', `/api/workers/${name}/versions`, { version: '2.0.0', processor: 'two.mjs' })
      await call('POST', `/api/workers/${name}/start`)
    },
  }
}
