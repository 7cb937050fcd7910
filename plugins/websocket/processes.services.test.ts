import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { eventually } from '../../scripts/testing/eventually.js'
import { type ForkedApp, forkApp } from '../../scripts/testing/forked-app.js'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { type Client, connect } from './testing/client.js'

const app = new URL('./testing/app-child.ts', import.meta.url)

/** Sockets of two processes that share a store. */
function processesContract(store: string, env: () => Readonly<Record<string, string>>): void {
  describe(`sockets of two processes on ${store}`, () => {
    let rootDir: string
    let settings: Readonly<Record<string, string>>
    let one: ForkedApp
    let two: ForkedApp
    const clients: Client[] = []
    const join2 = async (url: string, room: string): Promise<Client> => {
      const client = await connect(`${url}/rooms/${room}`)
      clients.push(client)
      assert.deepEqual(await client.next(), { joined: room })
      return client
    }

    before(async () => {
      rootDir = await mkdtemp(join(tmpdir(), 'zin-sockets-'))
      settings = {
        APP_NAME: `sockets-${randomUUID().slice(0, 8)}`,
        APP_KEY: 'an-app-key-of-at-least-thirty-two-bytes',
        CLUSTER_HEARTBEAT_MS: '1000',
        ...env(),
      }
      one = await forkApp({ env: settings, rootDir, app })
      two = await forkApp({ env: settings, rootDir, app })
    })
    after(async () => {
      for (const { ws } of clients) ws.terminate()
      await Promise.all([one, two].map((process) => process?.stop()))
      await rm(rootDir, { recursive: true, force: true })
    })

    it('end with their access at once, wherever it was revoked', async () => {
      const open = async (url: string, sub: string): Promise<Client> => {
        const { token } = (await two.call('POST', `/token/${sub}`)).body
        const client = await connect(`${url}/mine`, { headers: { authorization: `Bearer ${token}` } })
        clients.push(client)
        assert.equal(await client.next(), 'hello')
        return client
      }
      const [here, there, other] = [await open(one.url, 'ada'), await open(two.url, 'ada'), await open(one.url, 'bob')]
      const ends: unknown[] = []
      for (const { ended } of [here, there]) void ended.then((end) => ends.push(end))
      assert.deepEqual((await two.call('POST', '/log-out/ada')).body, { done: true })
      await eventually('both are closed', () => ends.length === 2)
      const end = { code: 1008, reason: 'ACCESS_ENDED' }
      assert.deepEqual(ends, [end, end])
      other.send('still there?')
      assert.equal(await other.next(), 'here')
    })

    it('get what either publishes, once and in order; when one is killed, its clients see it, and go on at the other', async () => {
      const [first, second, elsewhere] = await Promise.all([join2(one.url, 'a'), join2(two.url, 'a'), join2(two.url, 'b')])
      const texts = Array.from({ length: 20 }, (_, i) => `${i}`)
      for (const text of texts) first.send({ text })
      for (const client of [first, second]) for (const text of texts) assert.deepEqual(await client.next(), { text, pid: one.pid })
      second.send({ text: 'back' })
      for (const client of [first, second]) assert.deepEqual(await client.next(), { text: 'back', pid: two.pid })
      await one.kill()
      assert.equal((await first.ended).code, 1006)
      const again = await join2(two.url, 'a')
      again.send({ text: 'alive' })
      for (const client of [second, again]) assert.deepEqual(await client.next(), { text: 'alive', pid: two.pid })
      assert.equal(elsewhere.received.length, 1)
    })

    it('lose and repeat nothing for the clients of one process while another is killed', async () => {
      const three = await forkApp({ env: settings, rootDir, app })
      const [sender, listener, doomed] = await Promise.all([join2(two.url, 'c'), join2(two.url, 'c'), join2(three.url, 'c')])
      sender.send({ text: '0' })
      for (const client of [sender, listener, doomed]) assert.deepEqual(await client.next(), { text: '0', pid: two.pid })
      const texts = Array.from({ length: 40 }, (_, i) => `${i + 1}`)
      for (const text of texts.slice(0, 20)) sender.send({ text })
      await three.kill()
      for (const text of texts.slice(20)) sender.send({ text })
      for (const client of [sender, listener]) for (const text of texts) assert.deepEqual(await client.next(), { text, pid: two.pid })
      await doomed.ended
      // What it had received before is in order, without gaps.
      assert.deepEqual(
        doomed.received.slice(1).map((message) => (message as { text: string }).text),
        ['0', ...texts].slice(0, doomed.received.length - 1),
      )
      one = await forkApp({ env: settings, rootDir, app })
      const again = await join2(one.url, 'c')
      sender.send({ text: 'after it' })
      for (const client of [sender, listener, again]) assert.deepEqual(await client.next(), { text: 'after it', pid: two.pid })
      assert.deepEqual([sender.received.length, listener.received.length, again.received.length], [43, 43, 2])
    })

    it('are drained at shutdown: the running handler reaches all processes, then 1001; clients go on at another', async () => {
      const [idle, busy, elsewhere] = await Promise.all([join2(two.url, 'd'), join2(two.url, 'd'), join2(one.url, 'd')])
      busy.send({ text: 'now' })
      for (const client of [idle, busy, elsewhere]) assert.deepEqual(await client.next(), { text: 'now', pid: two.pid })
      busy.send({ text: 'last' })
      assert.deepEqual(await busy.next(), { waiting: true })
      const stopped = two.stop()
      for (const client of [busy, elsewhere]) assert.deepEqual(await client.next(), { text: 'last', pid: two.pid })
      for (const client of [idle, busy]) assert.deepEqual(await client.ended, { code: 1001, reason: 'SOCKETS_CLOSED' })
      await stopped
      const again = await join2(one.url, 'd')
      elsewhere.send({ text: 'on' })
      for (const client of [elsewhere, again]) assert.deepEqual(await client.next(), { text: 'on', pid: one.pid })
    })
  })
}

processesContract('Redis', () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }))

describe('on MariaDB or MySQL', () => {
  const { env, create, drop } = mysqlDatabase('sockets')
  before(create)
  after(drop)
  processesContract('MariaDB or MySQL', () => env)
})
