import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createTestHost, type FakeClock, type TestHost, type TestHostOptions } from 'zin/testing'
import { sessions, sessionsService } from './index.js'
import { Browser, Gate, sessionRoutes } from './testing/app.js'

export const env = { APP_KEY: 'an-app-key-of-at-least-thirty-two-bytes' }

export interface SessionsBackend {
  readonly options: () => TestHostOptions
  readonly clock?: FakeClock
}

/** The behaviour of every store, with two hosts that share it. */
export function sessionsContract(name: string, open: () => Promise<SessionsBackend>): void {
  describe(`sessions on ${name}`, () => {
    const gates = new Map<string, Gate>()
    let one: TestHost
    let two: TestHost
    before(async () => {
      const { options, clock } = await open()
      const boot = (): Promise<TestHost> => {
        const given = options()
        const plugins = [...(given.plugins ?? []), sessions({ maxPerUser: 3 }), sessionRoutes([], gates)]
        return createTestHost({ ...given, env: { ...env, ...given.env }, ...(clock && { clock }), plugins })
      }
      one = await boot()
      two = await boot()
    })
    after(async () => {
      await one.stop()
      await two.stop()
    })

    /** Sends a change and holds its request after it read the session, before it is stored. */
    const hold = async (browser: Browser, data: object, path = '/set') => {
      const gate = new Gate()
      const key = `gate-${gates.size}`
      gates.set(key, gate)
      const reply = browser.send('POST', path, { headers: { 'x-gate': key }, ...(path === '/set' && { body: data }) })
      await gate.reached
      return {
        go: () => {
          gate.open()
          return reply
        },
      }
    }

    it('keeps properties from request to request, on all hosts', async () => {
      const browser = new Browser(one)
      assert.equal((await browser.set({ color: 'blue', cart: ['a'] })).status, 200)
      assert.deepEqual((await browser.get('/read')).body, { color: 'blue', cart: ['a'], user: null })
      assert.deepEqual((await new Browser(two, browser.cookie).get('/read')).body, { color: 'blue', cart: ['a'], user: null })
      await browser.set({ color: null, cart: ['a', 'b'] })
      assert.deepEqual((await browser.get('/read')).body, { color: null, cart: ['a', 'b'], user: null })
    })

    it('keeps the changes of two requests to different properties', async () => {
      const browser = new Browser(one)
      await browser.set({ color: 'blue' })
      const slow = await hold(browser, { cart: ['slow'] })
      const other = new Browser(two, browser.cookie)
      other.token = browser.token
      assert.equal((await other.set({ visits: 1 })).status, 200)
      assert.equal((await slow.go()).status, 200)
      assert.deepEqual((await browser.get('/read')).body, { color: 'blue', visits: 1, cart: ['slow'], user: null })
    })

    it('tells the second of two requests that change the same property, and stores nothing of it', async () => {
      const browser = new Browser(one)
      await browser.set({ visits: 1 })
      const slow = await hold(browser, { visits: 2, color: 'red' })
      assert.equal((await browser.copy().set({ visits: 3 })).status, 200)
      const { status, body } = await slow.go()
      assert.deepEqual([status, body.code], [409, 'SESSION_CONFLICT'])
      assert.match(body.message, /both changed visits/)
      assert.deepEqual((await browser.get('/read')).body, { visits: 3, user: null })
    })

    it('lets only one of 10 concurrent changes of a property pass, and tells each other one', async () => {
      const browser = new Browser(one)
      await browser.set({ visits: 0 })
      const held = await Promise.all(Array.from({ length: 10 }, (_, i) => hold(browser.copy(), { visits: i + 1 })))
      const statuses = (await Promise.all(held.map(({ go }) => go()))).map(({ status }) => status).sort()
      assert.deepEqual(statuses, [200, ...Array.from({ length: 9 }, () => 409)])
    })

    for (const path of ['/sign-out', '/regenerate', '/sign-in'])
      it(`does not store a session again that ${path} ended meanwhile, and says so`, async () => {
        const browser = new Browser(one)
        await browser.set({ color: 'blue' })
        const { cookie } = browser
        const slow = await hold(browser.copy(), { color: 'red' })
        assert.ok((await browser.send('POST', path)).status < 300)
        const { status, body, setCookie } = await slow.go()
        assert.deepEqual([status, body.code, setCookie], [409, 'SESSION_CONFLICT', undefined])
        assert.deepEqual((await new Browser(two, cookie).get('/read')).body, { user: null }, 'the old id is worthless')
        assert.equal((await browser.get('/read')).body.color, path === '/sign-out' ? undefined : 'blue')
      })

    it('takes a change along that another request stored while the id was changed', async () => {
      const browser = new Browser(one)
      await browser.set({ color: 'blue' })
      const copy = browser.copy()
      const rotation = await hold(browser, {}, '/regenerate')
      assert.equal((await copy.set({ cart: ['x'] })).status, 200)
      assert.equal((await rotation.go()).status, 204)
      assert.notEqual(browser.cookie, copy.cookie)
      assert.deepEqual((await browser.get('/read')).body, { color: 'blue', cart: ['x'], user: null })
    })

    it('gives a new id at sign-in, and keeps the data: who planted the old id has nothing', async () => {
      const attacker = new Browser(one)
      await attacker.set({ color: 'planted' })
      const victim = attacker.copy()
      const { setCookie } = await victim.send('POST', '/sign-in')
      assert.ok(setCookie !== undefined && victim.cookie !== attacker.cookie)
      assert.deepEqual((await victim.get('/read')).body, { color: 'planted', user: 'ada' })
      assert.deepEqual((await attacker.get('/read')).body, { user: null })
    })

    it('ends all sessions of a user and nobody else, and the oldest one beyond the maximum', async () => {
      const signIn = async (sub: string): Promise<Browser> => {
        const browser = new Browser(one)
        await browser.send('POST', '/sign-in', { headers: { 'x-sub': sub } })
        return browser
      }
      const userOf = async (browser: Browser): Promise<string> => (await browser.get('/read')).body.user
      const [bob, ...eves] = [await signIn('bob'), await signIn('eve'), await signIn('eve'), await signIn('eve'), await signIn('eve')]
      assert.deepEqual(await Promise.all(eves.map(userOf)), [null, 'eve', 'eve', 'eve'])
      assert.equal(await two.service(sessionsService).endAll('eve'), 3)
      assert.deepEqual(await Promise.all([...eves, bob as Browser].map(userOf)), [null, null, null, null, 'bob'])
      assert.equal(await two.service(sessionsService).endAll('eve'), 0)
    })
  })
}
