import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { runnable } from '../../../../scripts/testing/runnable.js'
import { fileExports } from '../exported.js'
import { jobOf, lineLogger } from '../test-support.js'
import { childEntry } from './entry.js'
import { sandboxEnvironment } from './environment.js'
import { Sandbox, type SandboxOptions } from './sandbox.js'

describe('the threads and processes of a processor', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'zin-pool-'))
    await writeFile(
      join(folder, 'where.mjs'),
      `import { threadId } from 'node:worker_threads'\nexport default async (job) => (await job.log('here'), threadId)`,
    )
    await writeFile(join(folder, 'hangs.mjs'), 'await new Promise(() => setInterval(() => undefined, 1000))\nexport default () => 1')
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const sandbox = (file: string, options: Partial<SandboxOptions> = {}): Sandbox =>
    new Sandbox({
      kind: 'thread',
      entry: childEntry(),
      env: sandboxEnvironment('test'),
      memoryMb: 64,
      code: { worker: 'emails', processor: file, exports: fileExports, tsx: undefined },
      locate: async () => join(folder, file),
      concurrency: 3,
      limits: { loadMs: 10_000, graceMs: 2_000 },
      idleMs: 30_000,
      clock: { now: () => Date.now(), monotonic: () => performance.now() },
      log: lineLogger([]),
      ...options,
    })

  /** Runs jobs concurrently, none of which ends before all have begun. Returns the threads in which they ran. */
  async function together(own: Sandbox, count: number): Promise<ReadonlySet<unknown>> {
    let begun = 0
    let all = (): void => undefined
    const met = new Promise<void>((resolve) => (all = resolve))
    const log = (): Promise<void> => (++begun === count && all(), met)
    return new Set(await Promise.all(Array.from({ length: count }, () => own.run(jobOf(1, { log })))))
  }

  it('are ended when they have been idle for a while, except for one', async () => {
    const own = sandbox('where.mjs', { idleMs: 50 })
    const places = await together(own, 3)
    assert.deepEqual([places.size, own.size], [3, 3])
    while (own.size > 1) await delay(10)
    const again = await together(own, 1)
    assert.ok([...again].every((place) => places.has(place)))
    assert.equal((await together(own, 3)).size, 3)
    await own.close()
    assert.equal(own.size, 0)
  })

  it('are abandoned if they do not load in time', async () => {
    const own = sandbox('hangs.mjs', { limits: { loadMs: 1_500, graceMs: 100 } })
    await assert.rejects(own.warm(), { code: 'PROCESSOR_LOAD_TIMEOUT', message: /within 1500 ms/ })
    await own.close()
  })

  it('can be closed while they load', async () => {
    const own = sandbox('hangs.mjs')
    const failed = assert.rejects(own.warm(), { code: 'PROCESSOR_CLOSED' })
    await own.close()
    await failed
  })

  it('end with an app that is killed, even if the processor blocks', async () => {
    // A separate app whose processor reports its pid and then blocks.
    await writeFile(join(folder, 'blocks.mjs'), `export default async (job) => { await job.log(process.pid); for (;;); }`)
    const support = runnable(new URL('../test-support.ts', import.meta.url))
    const app = `import { openBench, specOf, jobOf } from ${JSON.stringify(pathToFileURL(support.file).href)}
      import { cpSync } from 'node:fs'
      const bench = await openBench()
      cpSync(${JSON.stringify(join(folder, 'blocks.mjs'))}, bench.root + '/blocks.mjs')
      const { run } = await bench.processors.load(specOf('blocks.mjs', { isolation: 'process' }))
      run(jobOf(1, { log: (pid) => process.stdout.write(bench.root + ' ' + pid + '\\n') }))`
    await writeFile(join(folder, 'app.mjs'), app)
    const cwd = fileURLToPath(new URL('../../../..', import.meta.url))
    const parent = spawn(process.execPath, [...support.execArgv, join(folder, 'app.mjs')], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
    const [text] = (await once(parent.stdout, 'data')) as [Buffer]
    const [root, pid] = String(text).trim().split(' ') as [string, string]
    parent.kill('SIGKILL')
    await once(parent, 'exit')
    for (let round = 0; round < 1200 && isAlive(Number(pid)); round++) await delay(50)
    assert.equal(isAlive(Number(pid)), false)
    await rm(root, { recursive: true, force: true })
  })
})

/** A zombie process does not count as alive. */
function isAlive(pid: number): boolean {
  try {
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z')
  } catch {
    return false
  }
}
