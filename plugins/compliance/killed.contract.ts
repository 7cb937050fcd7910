import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { type ForkedApp, forkApp } from '../../scripts/testing/forked-app.js'

const app = new URL('./testing/erasure-child.ts', import.meta.url)

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )

export interface KilledBackend {
  readonly env: Readonly<Record<string, string>>
  /** Whether several processes share the stores. Then one can be frozen, and go on after the erasure. */
  readonly shared: boolean
  /** Where the stores contain a text. */
  readonly leaksOf: (rootDir: string, text: string) => Promise<readonly string[]>
}

/** Erasures by real processes, of which others are killed or frozen. */
export function killedContract(title: string, { env, leaksOf, shared }: KilledBackend): void {
  describe(`an erasure on ${title}`, { timeout: 150_000 }, () => {
    const scene = async (t: TestContext) => {
      const rootDir = await mkdtemp(join(tmpdir(), 'zin-erasure-'))
      const atEnd = cleanUp(t)
      atEnd(() => rm(rootDir, { recursive: true, force: true }))
      const start = async (roles: string): Promise<ForkedApp> => {
        const started = await forkApp({ app, env, rootDir, roles })
        atEnd(() => started.kill())
        return started
      }
      return { rootDir, start }
    }
    const erasureOf = async (by: ForkedApp, subject: string, wait: number) => {
      const { body, status } = await by.call('DELETE', `/api/compliance/subjects/${encodeURIComponent(subject)}?wait=${wait}`)
      assert.ok(status === 200 || status === 202, JSON.stringify(body))
      return body.erasure
    }

    it(`takes the jobs of a process that was killed${shared ? ', and of one that is frozen,' : ''} without a worker`, async (t) => {
      const { rootDir, start } = await scene(t)
      const marker = `marker-${randomUUID()}`
      const doomed = [await start('http,worker')]
      if (shared) doomed.push(await start('http,worker'), await start('http,worker'))
      const [first] = doomed as [ForkedApp]
      const created = await first.call('POST', '/api/workers', { name: 'orders', queueName: 'orders', concurrency: 1 })
      assert.equal(created.status, 201, JSON.stringify(created.body))
      const ids: string[] = []
      const pids: number[] = []
      for (const fails of doomed.map((_one, index) => index === 1)) {
        const data = { user: { id: 'ann' }, note: marker, fails }
        const added = await first.call('POST', '/api/workers/orders/jobs', { data, options: { attempts: 1 } })
        assert.equal(added.status, 202, JSON.stringify(added.body))
        ids.push(added.body.job?.id ?? added.body.id)
        const begun = join(rootDir, `begun-${ids.at(-1)}`)
        const pid = async () => Number(await readFile(begun, 'utf8').catch(() => '0'))
        await eventually('it runs', async () => (await pid()) > 0)
        pids.push(await pid())
      }
      // Any of them may have taken the first job.
      const frozen = doomed.filter((one) => one.pid !== pids[0])
      for (const one of frozen) one.freeze()
      await doomed.find((one) => one.pid === pids[0])?.kill()

      const other = await start('http')
      const state = async (id: string | undefined) => (await other.call('GET', `/api/jobs/orders:${id}`)).status
      const [id] = ids
      assert.equal(await state(id), 200)
      let erasure = await erasureOf(other, 'ann', 0)
      const looked = async () => {
        erasure = (await other.call('GET', `/api/compliance/erasures/${erasure.id}`)).body.erasure
        return erasure
      }
      const lost = async () => ((await looked()).waitsFor as { readonly lost: boolean }[]).filter((one) => one.lost).length
      if (shared) await eventually('all locks have ended', async () => (await lost()) === ids.length)
      await eventually('it is complete', async () => !['running', 'waiting'].includes((await looked()).state))
      assert.deepEqual([erasure.state, erasure.error, erasure.erased, erasure.pending], ['completed', null, ids.length, 0])
      for (const one of ids) assert.equal(await state(one), 404)
      assert.deepEqual(await leaksOf(rootDir, marker), [])

      await writeFile(join(rootDir, 'go'), '')
      for (const one of frozen) process.kill(one.pid, 'SIGCONT')
      for (const one of ids.slice(1)) await eventually('it ends', () => exists(join(rootDir, `ended-${one}`)))
      // Waits for what they report.
      for (const one of frozen) await one.stop()
      for (const one of ids) assert.equal(await state(one), 404)
      assert.deepEqual(await leaksOf(rootDir, marker), [])
      assert.equal((await erasureOf(other, 'ann', 10_000)).erased, 0)
      await other.stop()
    })

    it('of an account, whose process is killed while another plugin erases, is complete when another process repeats it', async (t) => {
      const { rootDir, start } = await scene(t)
      const email = `${randomUUID()}@example.com`
      const first = await start('http')
      const { id } = (await first.call('POST', '/users', { email, password: 'correct horse' })).body
      const vault = () => readdir(join(rootDir, 'vault'))
      assert.deepEqual(await vault(), [id])
      await writeFile(join(rootDir, 'hang'), '')
      const asked = erasureOf(first, email, 10_000).catch(() => undefined)
      await eventually('the plugin erases', () => exists(join(rootDir, 'reached')))
      await first.kill()
      await asked
      await rm(join(rootDir, 'hang'))

      const second = await start('http')
      const loggedIn = await second.call('POST', '/auth/login', { email, password: 'correct horse' })
      assert.equal(loggedIn.status, 401, JSON.stringify(loggedIn.body))
      const { elsewhere, state } = await erasureOf(second, email, 10_000)
      // The account and the file.
      assert.deepEqual([state, elsewhere, await vault()], ['completed', 2, []])
      assert.deepEqual(await leaksOf(rootDir, email), [])
      await second.stop()
    })
  })
}
