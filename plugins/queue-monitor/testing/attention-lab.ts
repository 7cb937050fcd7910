import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { type CommandContext, ZinError } from 'zin'
import { breaker } from 'zin/plugins/breaker'
import { canary } from 'zin/plugins/canary'
import { cluster } from 'zin/plugins/cluster'
import { compliance } from 'zin/plugins/compliance'
import { database, databaseService } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { health } from 'zin/plugins/health'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { type Queues, queues, queuesService } from 'zin/plugins/queues'
import { resources } from 'zin/plugins/resources'
import { type Workers, workers, workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { type ForkedApp, forkApp } from '../../../scripts/testing/forked-app.js'
import { writeProcessors } from '../../../scripts/testing/processor-files.js'
import { attentionCommands } from '../attention/cli.js'
import type { AttentionList } from '../attention/item.js'
import { queueMonitor } from '../index.js'
import { Receiver } from './receiver.js'

export type Env = Readonly<Record<string, string>>

const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const processors = {
  'one.mjs': 'export default () => 1',
  'two.mjs': 'export default () => 2',
  'fails.mjs': "export default () => { throw new Error('no') }",
  'shaky.mjs': "export default (job) => { if (job.data?.bad) throw new Error('bad'); return 1 }",
  'broken.mjs': "throw new Error('broken at import')",
  // Forked processes have APP_ROLES.
  'licensed.mjs': "if (process.env.APP_ROLES) throw new Error('no licence on this machine'); export default () => 1",
}

/** An app with every plugin that reports what needs attention, and ways to cause it. */
export class AttentionLab {
  /** Whether data of subjects cannot be erased. */
  keepsData = false
  #aheadMs = 0
  readonly #env: Env
  readonly #rootDir: string
  readonly #receiver: Receiver
  #host: TestHost | undefined
  #other: ForkedApp | undefined

  private constructor(env: Env, rootDir: string, receiver: Receiver) {
    this.#env = env
    this.#rootDir = rootDir
    this.#receiver = receiver
  }

  static async open(env: Env): Promise<AttentionLab> {
    const rootDir = await mkdtemp(join(tmpdir(), 'zin-attention-'))
    await writeProcessors(rootDir, processors)
    await mkdir(join(rootDir, 'anchor'))
    // A database belongs to one app.
    const name = { APP_NAME: `attention-${randomUUID().slice(0, 8)}` }
    const common = { ...name, APP_KEY: 'a key of 32 bytes for these tests.', WORKER_AUTO_START: 'true', WORKER_PERSISTENCE_DRIVER: 'db' }
    const lab = new AttentionLab({ QUEUE_FSYNC: 'off', CLUSTER_HEARTBEAT_MS: '1000', ...common, ...env }, rootDir, await Receiver.open())
    await lab.#boot()
    return lab
  }

  async close(): Promise<void> {
    await this.#other?.kill()
    await this.#host?.stop()
    await this.#receiver.close()
    await rm(this.#rootDir, { recursive: true, force: true })
  }

  async #boot(): Promise<void> {
    const alerts = { queueSize: { threshold: 5 }, processingTime: false, failureRate: false, coolDown: 0 } as const
    const slack = { action: 'slack', webhook: this.#receiver.url('/slack') } as const
    this.#host = await createTestHost({
      rootDir: this.#rootDir,
      dataDir: join(this.#rootDir, 'data'),
      clock: { now: () => this.now(), monotonic: () => performance.now() },
      env: { ...this.#env, WORKER_AUDIT_LOG: 'true', WORKER_AUDIT_ANCHOR_FILE: 'anchor/seals.txt', WORKER_GDPR: 'true' },
      hooks: {
        eraseSubject: () => {
          if (this.keepsData) throw new Error('the archive is read-only')
          return 0
        },
      },
      plugins: [
        ...[database(), kv(), cluster(), queues(), ops(), decisions(), health(), workers(), breaker(), canary()],
        compliance({ subjects: { orders: ['user.id'] }, auditAnchorSeconds: 1 }),
        resources({ intervalSeconds: 1, heap: 0.001 }),
        queueMonitor({
          monitor: {
            interval: 1000,
            alerts: { ...alerts, attention: slack },
            webhookSecret: secret,
            webhooks: [{ url: this.#receiver.url('/attention'), events: ['attention.raised', 'attention.cleared'] }],
            delivery: { retries: [1], allowPrivate: true, timeout: 2_000 },
          },
        }),
      ],
    })
  }

  /** Stops the process and starts another one on the same stores. */
  async restart(): Promise<void> {
    await this.host.stop()
    this.#host = undefined
    await this.#boot()
  }

  get host(): TestHost {
    return this.#host ?? assert.fail('the app runs')
  }

  /** The clock of the process, in ms since 1970. */
  now(): number {
    return Date.now() + this.#aheadMs
  }

  setClock(aheadMs: number): void {
    this.#aheadMs = aheadMs
  }

  /** Lets time pass for what is listed once it has lasted long enough: after a check has seen it. */
  async pass(ms: number): Promise<void> {
    await this.checked()
    this.#aheadMs += ms
  }

  /** Resolves after a check that begins from now on. */
  async checked(): Promise<void> {
    const from = this.now()
    let checks = new Set<string>()
    // The first one may have begun before.
    await eventually('it is checked', async () => {
      const { at } = await this.list()
      if (Date.parse(at) > from) checks = checks.add(at)
      return checks.size > 1
    })
  }

  get rootDir(): string {
    return this.#rootDir
  }

  get receiver(): Receiver {
    return this.#receiver
  }

  get hasServers(): boolean {
    return this.#env.REDIS_URL !== undefined
  }

  get queues(): Queues {
    return this.host.service(queuesService)
  }

  get workers(): Workers {
    return this.host.service(workersService)
  }

  async call(method: string, path: string, body?: unknown) {
    const headers = { 'x-requested-with': 'test' }
    const { body: answer, status } = await this.host.inject({ method, path, headers, ...(body === undefined ? {} : { body }) })
    return { status, body: answer }
  }

  /** As `call`; fails unless the status is 2xx. */
  async ok(method: string, path: string, body?: unknown) {
    const answer = await this.call(method, path, body)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  async list(): Promise<AttentionList> {
    return (await this.ok('GET', '/api/attention')) as unknown as AttentionList
  }

  /** Kinds that a webhook was told about, sorted. A message that came twice, as the end of a process can cause, counts once. */
  told(event: 'attention.raised' | 'attention.cleared', subject: RegExp): readonly string[] {
    const messages = this.#receiver.at('/attention').filter(({ body }) => body.event === event && subject.test(body.data.subject))
    return [...new Map(messages.map(({ body, headers }) => [headers['webhook-id'], body.data.kind])).values()].sort((a, b) =>
      String(a).localeCompare(String(b)),
    )
  }

  /** Runs `zin status`. */
  async status(): Promise<{ readonly code: unknown; readonly text: string }> {
    const lines: string[] = []
    const app = {
      baseUrl: '',
      request: async ({ method, path }: { readonly method: string; readonly path: string }) => {
        const { body, status } = await this.call(method, path)
        if (status >= 300) throw new ZinError(String(body.code), String(body.message), { status })
        return body
      },
    }
    const print = { json: false, line: (text = '') => void lines.push(text), record: () => undefined }
    const context = { app, args: {}, options: {}, print } as unknown as CommandContext
    const code = await attentionCommands.find(({ name }) => name === 'status')?.run(context)
    return { code, text: lines.join('\n') }
  }

  async renameTable(from: string, to: string): Promise<void> {
    await sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(this.host.service(databaseService).tables())
  }

  /** A worker with a queue of its own, which runs. */
  async worker(name: string, processor: string, more: object = {}): Promise<void> {
    await this.workers.create({ name, queueName: name, processor, ...more })
  }

  async enqueue(worker: string, data: readonly object[], options: object = { attempts: 1 }): Promise<void> {
    await Promise.all(data.map((one) => this.workers.enqueue(worker, one, options)))
  }

  /** The other process of the app, which needs servers; started with the first call. */
  async other(): Promise<ForkedApp> {
    const app = new URL('../../workers/testing/app-child.ts', import.meta.url)
    this.#other ??= await forkApp({ app, env: this.#env, rootDir: this.#rootDir })
    return this.#other
  }
}
