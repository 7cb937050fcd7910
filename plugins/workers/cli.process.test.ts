import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder, type CommandResult, type RunningApp } from '../../scripts/testing/app-folder.js'

const config = `
import { defineConfig, definePlugin } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workerHealth } from 'zin/plugins/worker-health'
import { workers } from 'zin/plugins/workers'

const audit = definePlugin({
  name: 'audit',
  version: '1.0.0',
  setup({ hooks, route }) {
    const changes = []
    hooks.on('onWorkerChange', ({ action, worker, actor }) => void changes.push({ action, worker, actor }))
    route({ method: 'GET', path: '/changes', summary: 'Changes of workers', handler: () => changes })
  },
})
export default defineConfig({ app: { name: 'shop', port: 0 }, plugins: [database(), kv(), cluster(), queues(), ops(), workers(), workerHealth(), audit()] })
`

interface CommandRow {
  readonly args: readonly string[]
  /** What it prints; absent: it runs with `--json` only. */
  readonly says?: RegExp
  /** Exit code with and without `--json`. Default 0. */
  readonly code?: number
  /** The checked part of the JSON output; absent: it does not run with `--json`. */
  readonly json?: (value: never) => unknown
  readonly gives?: unknown
}

/** The fields of the JSON output that are checked. */
const operation = ({
  ok,
  message,
  worker,
  operation: { applied, failed },
}: {
  readonly ok: boolean
  readonly message: string
  readonly worker: { readonly state: string }
  readonly operation: { readonly applied: readonly string[]; readonly failed: readonly string[] }
}) => [ok, message, worker.state, applied.length, failed.length]
const fields =
  (...keys: readonly string[]) =>
  (value: Readonly<Record<string, unknown>>) =>
    keys.map((key) => value[key])
const rows =
  (...keys: readonly string[]) =>
  (values: readonly Readonly<Record<string, unknown>>[]) =>
    values.map(fields(...keys))
const keysOf = (value: object): readonly string[] => Object.keys(value)

/** A sequence of commands; each runs as given, and then again with `--json`. */
const story: readonly CommandRow[] = [
  {
    args: ['worker:list'],
    says: /^name +queue +state +desired +version +concurrency\n(-.*\n)?away .*\nbroken .*\nmailer +mail +stopped +stopped +1\.0\.0 +5\n$/,
    json: rows('name', 'queue', 'state', 'desired', 'version', 'concurrency'),
    gives: [
      ['away', 'mail', 'stopped', 'stopped', '1.0.0', 5],
      ['broken', 'mail', 'stopped', 'stopped', '1.0.0', 5],
      ['mailer', 'mail', 'stopped', 'stopped', '1.0.0', 5],
    ],
  },
  { args: ['worker:list', '--all'], json: rows('name'), gives: [['away'], ['broken'], ['mailer'], ['retired']] },
  { args: ['worker:list', '--status', 'active'], json: rows('name'), gives: [] },
  {
    args: ['worker:summary'],
    says: /total +4\n[\s\S]*stopped +4\n[\s\S]*disabled +1/,
    json: (value: object) => value,
    gives: { total: 4, running: 0, paused: 0, starting: 0, stopping: 0, stopped: 4, FAILED: 0, unknown: 0, disabled: 1 },
  },
  {
    args: ['worker:show', 'mailer'],
    says: /name +mailer[\s\S]*processor +job\.mjs/,
    json: fields('name', 'queueName', 'generation'),
    gives: ['mailer', 'mail', 3],
  },
  {
    args: ['worker:status', 'mailer'],
    says: /state +stopped[\s\S]*health +100/,
    json: keysOf,
    gives: ['name', 'state', 'version', 'desiredVersion', 'health', 'queue', 'queuePaused', 'concurrency', 'metrics'],
  },
  {
    args: ['worker:start', 'mailer'],
    says: /^Worker "mailer" is running\n$/,
    json: operation,
    gives: [true, 'Worker "mailer" is already running', 'running', 1, 0],
  },
  { args: ['worker:pause', 'mailer'], says: /^Worker "mailer" is paused\n$/ },
  { args: ['worker:resume', 'mailer'], says: /^Worker "mailer" is running\n$/ },
  { args: ['worker:restart', 'mailer'], json: operation, gives: [true, 'Worker "mailer" was restarted', 'running', 1, 0] },
  {
    args: ['worker:scale', 'mailer', '7', '--reason', 'many wait'],
    says: /^Worker "mailer" is scaled to 7 jobs at a time\n$/,
    json: ({ worker: { concurrency, scaled } }: { readonly worker: { readonly concurrency: number; readonly scaled: object } }) => ({
      ...scaled,
      own: concurrency,
      at: '',
    }),
    gives: { concurrency: 7, reason: 'many wait', own: 5, at: '' },
  },
  { args: ['worker:list', '--status', 'active'], says: /^name .* concurrency +scaled\n(-.*\n)?mailer .* 5 +7\n$/ },
  { args: ['worker:scale', 'mailer', 'own'], says: /^Worker "mailer" is not scaled: 5 jobs at a time\n$/ },
  {
    args: ['worker:versions', 'mailer'],
    says: /^version +state +busy +processor +description\n(-.*\n)?1\.0\.0 +active +0 +job\.mjs *\n1\.1\.0 +registered +0 +job\.mjs +the next one\n/,
    json: rows('version', 'state', 'description'),
    gives: [
      ['1.0.0', 'active', ''],
      ['1.1.0', 'registered', 'the next one'],
      ['2.0.0', 'registered', ''],
    ],
  },
  {
    args: ['worker:activate', 'mailer', '1.1.0'],
    says: /^Worker "mailer" runs version 1\.1\.0\n$/,
  },
  {
    args: ['worker:nodes'],
    says: /^id +region +consumes +draining +busy +alive +startedAt\n(-.*\n)?\S+ +us-east-1 +(true|yes) +(false|no) +\d+ +(true|yes) +\d{4}-/,
    json: rows('region', 'consumes', 'alive'),
    gives: [['us-east-1', true, true]],
  },
  {
    args: ['worker:nodes', '--worker', 'mailer'],
    says: /^node +state +version +concurrency +busy +observedGeneration +error\n(-.*\n)?\S+ +running +1\.1\.0 +5 +0 /,
  },
  {
    args: ['worker:health', 'mailer'],
    says: /^mailer: 100 of 100, not monitored\n$/,
    json: fields('name', 'score', 'terms'),
    gives: ['mailer', 100, []],
  },
  {
    args: ['worker:stop', 'mailer'],
    says: /^Worker "mailer" is stopped\n$/,
    json: operation,
    gives: [true, 'Worker "mailer" is stopped', 'stopped', 1, 0],
  },
  {
    args: ['worker:start', 'away'],
    code: 1,
    json: operation,
    gives: [true, 'Accepted; no live node can run it (role, placement); the next eligible node applies it', 'unknown', 0, 0],
  },
  {
    args: ['migrate:worker', '--status'],
    says: /0001_create_zin_workers[\s\S]*applied/,
  },
]

describe('zin worker:* and migrate:worker', () => {
  let app: AppFolder
  before(async () => {
    app = await appFolder({
      'zin.config.mjs': config,
      '.env': 'WORKER_PERSISTENCE_DRIVER=db\n',
      'processors/job.mjs': 'export default () => 1',
      'processors/broken.mjs': 'throw new Error("broken on purpose")',
    })
  })
  after(() => app.remove())

  /** Two at a time, because the test machine may have two cores. */
  const zinAll = async (commands: readonly (readonly string[])[]): Promise<readonly CommandResult[]> => {
    const results: CommandResult[] = []
    for (let n = 0; n < commands.length; n += 2) results.push(...(await Promise.all(commands.slice(n, n + 2).map((args) => app.zin(args)))))
    return results
  }

  it('report in one line that no app is running, with exit code 1', async () => {
    const { code, out, err } = await app.zin(['worker:list'])
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /^zin worker:list: .*"zin start".*\[ZIN_APP_\w+\]\n$/)
  })

  describe('with a running app', () => {
    let running: RunningApp | undefined
    before(async () => {
      running = await app.start()
      const { url } = running
      const post = async (path: string, body: object): Promise<void> => {
        const answer = await fetch(`${url}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-requested-with': 'test' },
          body: JSON.stringify(body),
        })
        assert.equal(answer.status, 201, await answer.text())
      }
      for (const [name, more] of [
        ['mailer', {}],
        ['broken', { processor: 'broken.mjs' }],
        ['away', { placement: { regions: ['eu-west-1'] } }],
        ['retired', { activeStatus: false }],
      ] as const) {
        await post('/api/workers', { name, queueName: 'mail', processor: 'job.mjs', ...more })
      }
      await post('/api/workers/mailer/versions', { version: '1.1.0', description: 'the next one', processor: 'job.mjs' })
      await post('/api/workers/mailer/versions', { version: '2.0.0', processor: 'broken.mjs' })
    })
    after(() => running?.end())

    for (const { args, says, code = 0, json, gives } of story) {
      it(`zin ${args.join(' ')}${says === undefined ? ' --json' : json === undefined ? '' : ', as text and as JSON'}`, async () => {
        if (says !== undefined) {
          const plain = await app.zin(args)
          assert.deepEqual([plain.code, plain.err], [code, ''], plain.out)
          assert.match(plain.out, says)
        }
        if (json !== undefined) {
          const result = await app.zin([...args, '--json'])
          assert.deepEqual([result.code, result.err], [code, ''], result.out)
          assert.deepEqual(json(JSON.parse(result.out) as never), gives)
        }
      })
    }

    it('cover all commands of the plugins', async () => {
      const { out } = await app.zin(['plugins', '--plan', '--json'])
      const { commands } = JSON.parse(out) as { readonly commands: readonly { readonly name: string }[] }
      const known = commands.map(({ name }) => name).filter((name) => /^worker:|^migrate:worker$/.test(name))
      assert.deepEqual([...new Set(story.map(({ args }) => args[0]))].sort(), known.toSorted())
    })

    it('have the command line as their actor', async () => {
      const changes = (await (await fetch(`${running?.url}/changes`)).json()) as readonly {
        readonly action: string
        readonly actor: object
      }[]
      const { actor } = changes.find(({ action }) => action === 'scale') ?? {}
      assert.deepEqual(actor, { kind: 'local', id: 'local', via: 'cli' })
    })

    it('report in one line why a worker rejects a change, with exit code 1', async () => {
      const refusals = [
        [['worker:status', 'nobody'], /^zin worker:status: .*Worker "nobody" not found;.*\[WORKER_NOT_FOUND\]\n$/],
        [['worker:activate', 'mailer', '9.9.9'], /^zin worker:activate: .*\[VERSION_NOT_FOUND\]\n$/],
        [['worker:scale', 'mailer', 'many'], /^zin worker:scale: .*integer from 1 to 1000.*\[INVALID_CONCURRENCY\]\n$/],
        [['worker:start', 'broken'], /^zin worker:start: .*broken on purpose.*\[PROCESSOR_LOAD_FAILED\]\n$/],
      ] as const
      for (const [index, { code, out, err }] of (await zinAll(refusals.map(([args]) => args))).entries()) {
        assert.deepEqual([code, out, err.split('\n').length], [1, '', 2], err)
        assert.match(err, refusals[index]?.[1] ?? /$./)
      }
    })

    it('reject unknown options, arguments and values, with exit code 2', async () => {
      const refusals = [
        [['worker:list', '--everything'], /^zin worker:list: unknown option --everything/],
        [['worker:start'], /^zin worker:start: missing argument <name>/],
      ] as const
      for (const [index, { code, out, err }] of (await zinAll(refusals.map(([args]) => args))).entries()) {
        assert.deepEqual([code, out], [2, ''], err)
        assert.match(err, refusals[index]?.[1] ?? /$./)
      }
    })
  })
})
