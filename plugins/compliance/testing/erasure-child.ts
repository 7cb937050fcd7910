// An app in a separate process, with accounts, a worker that runs jobs of subjects, and a plugin that keeps files about users.
import { access, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, defineRoute, Type } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { login, loginUsersService } from 'zin/plugins/login'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost } from 'zin/testing'
import { compliance } from '../index.js'

const { APP_ENV = '{}', APP_ROOT = '', APP_ROLES = 'http,worker' } = process.env
const env = JSON.parse(APP_ENV) as Record<string, string>
const files = join(APP_ROOT, 'vault')
const exists = (name: string): Promise<boolean> =>
  access(join(APP_ROOT, name)).then(
    () => true,
    () => false,
  )
await mkdir(files, { recursive: true })

/** Has a file for each user, by id. Its erasure never ends while there is a file `hang`. */
const vault = definePlugin({
  name: 'vault',
  version: '1.0.0',
  uses: { users: loginUsersService },
  setup({ hooks, routes, services }) {
    hooks.on('eraseSubject', async (subject) => {
      const known = (await readdir(files)).filter((name) => name === subject)
      if ((await exists('hang')) && known.length > 0) {
        await writeFile(join(APP_ROOT, 'reached'), '')
        await new Promise(() => undefined)
      }
      for (const name of known) await rm(join(files, name))
      return known.length
    })
    routes([
      defineRoute({
        method: 'POST',
        path: '/users',
        summary: 'Adds a user',
        body: Type.Object({ email: Type.String(), password: Type.String() }),
        async handler({ input }) {
          const { id } = await services.users.add(input.body)
          await writeFile(join(files, id), '')
          return { id }
        },
      }),
    ])
  },
})

/** Says that it has begun, waits for a file `go`, and repeats the note of the job in everything that it can store. */
const shop = definePlugin({
  name: 'shop',
  version: '1.0.0',
  uses: { workers: workersService },
  setup: ({ services }) =>
    void services.workers.register('orders', async (job) => {
      const { fails, note } = job.data as { readonly fails: boolean; readonly note: string }
      await job.log(`begun ${note}`)
      await writeFile(join(APP_ROOT, `begun-${job.id}`), String(process.pid))
      while (!(await exists('go'))) await new Promise((resolve) => setTimeout(resolve, 20))
      const late = [() => job.log(`late ${note}`), () => job.updateProgress({ late: note }), () => job.updateData({ late: note })]
      for (const store of late) await store().catch(() => undefined)
      await writeFile(join(APP_ROOT, `ended-${job.id}`), '')
      if (fails) throw new Error(`late ${note}`)
      return `late ${note}`
    }),
})

const host = await createTestHost({
  plugins: [
    database(),
    kv(),
    cluster(),
    queues(),
    ops(),
    workers({ jobLockMs: 2000 }),
    queueMonitor(),
    compliance({ subjects: { orders: ['user.id'] } }),
    jwt(),
    bulletproof(),
    login(),
    vault(),
    shop(),
  ],
  env: {
    APP_KEY: 'a master key of more than 32 bytes, for tests',
    QUEUE_FSYNC: 'off',
    WORKER_GDPR: 'true',
    // So that what is left would be seen.
    WORKER_ENCRYPTION: 'false',
    WORKER_AUTO_START: 'true',
    WORKER_PERSISTENCE_DRIVER: 'db',
    ...env,
  },
  rootDir: APP_ROOT,
  dataDir: join(APP_ROOT, 'REDIS_URL' in env ? `data-${process.pid}` : 'data'),
  roles: APP_ROLES.split(',') as ('http' | 'worker')[],
  listen: true,
})
process.on('message', (message) => {
  if (message === 'stop') void host.stop().then(() => process.disconnect())
})
process.send?.({ url: host.url, pid: process.pid })
