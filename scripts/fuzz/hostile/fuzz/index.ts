import { Readable } from 'node:stream'
import { definePlugin, Type, ZinError } from 'zin'
import { databaseService } from 'zin/plugins/database'
import { microservicesService } from 'zin/plugins/microservices'
import { workersService } from 'zin/plugins/workers'
import { messages } from './messages.js'

const modes = ['thread', 'process'] as const
const attemptMs = 15_000

const failure = (): ZinError => new ZinError('FUZZ_STREAM_FAILED', 'This stream fails at its first byte', { status: 422 })

/** Streams that fail at their first byte. */
const streams = {
  read: () =>
    new Readable({
      read() {
        this.destroy(failure())
      },
    }),
  construct: () => new Readable({ construct: (done) => done(failure()), read() {} }),
  web: () => new ReadableStream({ pull: () => Promise.reject(failure()) }),
}

/** Routes that pass what the fuzzer sends to parts of Zin that no route of the full example reaches. */
export const fuzz = definePlugin({
  name: 'fuzz',
  version: '1.0.0',
  description: 'Passes hostile values to streams, columns, and messages between processes',
  uses: { database: databaseService, services: microservicesService, workers: workersService },
  setup({ services, route, hooks }) {
    const { database, workers } = services
    /** Called when an attempt of a job ends. */
    const waiting = new Map<string, () => void>()
    hooks.on('onAttemptEnd', ({ job }) => waiting.get(`${job.queue} ${job.id}`)?.())

    for (const [kind, stream] of Object.entries(streams))
      route({ method: 'POST', path: `/fuzz/streams/${kind}`, summary: 'A stream that fails at its first byte', handler: () => stream() })

    route({
      method: 'POST',
      path: '/fuzz/columns',
      summary: 'A row with the column',
      body: Type.Object({ column: Type.String({ pattern: '^[A-Za-z_]{1,60}$' }), value: Type.Unknown() }),
      handler: async ({ input }) => {
        const { column, value } = input.body
        const bound = typeof value === 'object' ? JSON.stringify(value) : value
        return database
          .tables()
          .selectNoFrom((of) => of.val(bound).as(column))
          .execute()
      },
    })

    route({
      method: 'POST',
      path: '/fuzz/messages/service',
      summary: 'The process of a service sends the message to its parent',
      body: Type.Unknown(),
      documented: { body: messages.service },
      handler: async ({ input }) => {
        const { status } = await services.services.callService('fuzz-says', { method: 'POST', path: '/say', body: { message: input.body } })
        return { status }
      },
    })

    for (const mode of modes)
      route({
        method: 'POST',
        path: `/fuzz/messages/${mode}`,
        summary: 'An isolated processor sends the message to its parent',
        body: Type.Unknown(),
        documented: { body: messages.sandbox },
        handler: async ({ input }) => {
          const { id, queue } = await workers.enqueue(`fuzz-${mode}`, input.body, { attempts: 1 })
          const key = `${queue} ${id}`
          await new Promise<void>((resolve, reject) => {
            const late = setTimeout(() => reject(new Error(`job ${id} did not end`)), attemptMs)
            waiting.set(key, () => resolve(clearTimeout(late)))
          }).finally(() => waiting.delete(key))
          return { id }
        },
      })
  },
  async ready({ services, plugin }) {
    for (const mode of modes)
      await services.workers.as(plugin.name).create({
        name: `fuzz-${mode}`,
        queueName: `fuzz-${mode}`,
        processor: 'processors/fuzz-says.ts',
        isolation: mode,
        concurrency: 4,
        autoStart: true,
      })
  },
})
