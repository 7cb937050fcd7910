import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { defineRoute, type RouteContext, Type } from 'zin'
import { database } from 'zin/plugins/database'
import { type Kv, kv, kvService } from 'zin/plugins/kv'
import { createTestHost, describePlugin, type FakeClock, fake, fakeClock, type TestHost, type TestHostOptions } from 'zin/testing'
import * as z from 'zod'
import fc from '../../scripts/testing/properties.js'
import { sessions, sessionsService } from './index.js'
import { decode, encode, merge, type SessionRecord } from './record.js'
import { env, sessionsContract } from './sessions.contract.js'
import { Browser, sessionRoutes } from './testing/app.js'

const folders: string[] = []
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

sessionsContract('SQLite', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'zin-sessions-'))
  folders.push(dataDir)
  return { options: () => ({ plugins: [database(), kv()], dataDir }) }
})

type Options = Parameters<typeof sessions>[0]

/** A kv in memory that counts its calls. */
class CountedKv implements Pick<Kv, 'driver' | 'get' | 'set'> {
  readonly driver = 'redis'
  readonly values = new Map<string, string>()
  readonly ttls = new Map<string, number | undefined>()
  reads = 0
  writes = 0
  fault: Error | undefined

  get = async (key: string): Promise<string | null> => {
    this.reads += 1
    if (this.fault !== undefined) throw this.fault
    return this.values.get(key) ?? null
  }

  set: Kv['set'] = async (key, value, { ifAbsent, ifValue, ttlMs } = {}) => {
    this.writes += 1
    if (this.fault !== undefined) throw this.fault
    if ((ifAbsent && this.values.has(key)) || (ifValue !== undefined && this.values.get(key) !== ifValue)) return false
    this.values.set(key, value)
    this.ttls.set(key, ttlMs)
    return true
  }
}

interface Lab {
  readonly host: TestHost
  readonly store: CountedKv
  readonly clock: FakeClock
  readonly browser: Browser
}

async function withLab(
  test: (lab: Lab) => Promise<void>,
  { options = {}, use = [], given = {} }: { options?: Options; use?: readonly string[]; given?: TestHostOptions } = {},
): Promise<void> {
  const clock = fakeClock()
  const store = new CountedKv()
  const host = await createTestHost({
    ...given,
    env: { ...env, ...given.env },
    clock,
    services: [fake(kvService, store)],
    plugins: [...(given.plugins ?? []), sessions(options), sessionRoutes(use)],
  })
  try {
    await test({ host, store, clock, browser: new Browser(host) })
  } finally {
    await host.stop()
  }
}

const minute = 60_000

describe('what is stored and sent', () => {
  it('is nothing for a session that nobody touched or changed', () =>
    withLab(async ({ store, browser }) => {
      for (const path of ['/untouched', '/read', '/untouched']) assert.equal((await browser.get(path)).setCookie, undefined)
      assert.deepEqual([store.reads, store.writes], [0, 0])
      await browser.set({ color: 'blue' })
      assert.equal(store.writes, 1)
      for (const path of ['/untouched', '/read']) assert.equal((await browser.get(path)).setCookie, undefined)
      assert.equal((await browser.set({ color: 'blue' })).setCookie, undefined)
      assert.deepEqual([store.reads, store.writes], [3, 1])
    }))

  it('is a cookie that scripts cannot read, and that no cache may keep', () =>
    withLab(async ({ browser }) => {
      const { setCookie = '', headers } = await browser.set({ color: 'blue' })
      assert.match(setCookie, /^session=[\w-]{43}\.[\w-]{43}; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/)
      assert.equal(headers['cache-control'], 'no-store')
      assert.equal(headers.vary, 'Cookie')
      assert.match(String(headers['x-csrf-token']), /^[\w-]{86}$/)
    }))

  for (const [options, form] of [
    [{ secure: true }, /^__Host-session=\S+; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax; Secure$/],
    [{ secure: true, sameSite: 'none', cookieName: 'sid' }, /^__Host-sid=.*; Path=\/; HttpOnly; SameSite=None; Secure$/],
    [{ secure: true, domain: 'example.com' }, /^__Secure-session=.*; Path=\/; Domain=example\.com; HttpOnly; SameSite=Lax; Secure$/],
    [{ sameSite: 'strict' }, /^session=.*; SameSite=Strict$/],
  ] as const)
    it(`follows ${JSON.stringify(options)}`, () =>
      withLab(async ({ browser }) => assert.match((await browser.set({ color: 'blue' })).setCookie ?? '', form), { options }))

  it('is secure in production', () =>
    withLab(async ({ browser }) => assert.match((await browser.set({ color: 'x' })).setCookie ?? '', /^__Host-session=.*Secure$/), {
      given: { env: { NODE_ENV: 'production', APP_NAME: 'shop', ALLOWED_HOSTS: 'localhost' } },
    }))

  it('names no session in the store, and no secret in the log', () =>
    withLab(async ({ store, browser, host }) => {
      await browser.send('POST', '/sign-in', { headers: { 'x-sub': 'ada@example.com' } })
      const id = /session=([\w-]{43})/.exec(browser.cookie ?? '')?.[1] as string
      const keys = [...store.values.keys()].join(' ')
      assert.ok(!keys.includes(id) && !keys.includes('ada') && !host.logText().includes(id))
    }))

  it('is also what a failed request changed', () =>
    withLab(async ({ browser }) => {
      await browser.set({ color: 'blue' })
      assert.equal((await browser.send('POST', '/fails')).status, 500)
      assert.equal((await browser.get('/read')).body.color, 'failed')
    }))

  it('is a new session for what is set after destroy', () =>
    withLab(async ({ browser }) => {
      await browser.set({ visits: 1 })
      const before = browser.cookie
      await browser.get('/restart')
      assert.notEqual(browser.cookie, before)
      assert.deepEqual((await browser.get('/read')).body, { color: 'new', user: null })
    }))

  it('has a bound: nothing of what exceeds it', () =>
    withLab(
      async ({ browser }) => {
        const around = encode(record({ color: '' })).length
        await browser.set({ color: 'x'.repeat(1000 - around) })
        const { status, body } = await browser.set({ color: 'y'.repeat(1000 - around + 1) })
        assert.deepEqual([status, body.code], [413, 'SESSION_TOO_LARGE'])
        assert.match((await browser.get('/read')).body.color, /^x+$/)
      },
      { options: { maxBytes: 1000 } },
    ))

  it('is refused if JSON cannot express it, with the property', () =>
    withLab(async ({ browser, host }) => {
      const { status, body } = await browser.send('POST', '/bigint')
      assert.deepEqual([status, body.code], [500, 'SESSION_DATA_INVALID'])
      assert.match(host.logText(), /ctx\.session\.big cannot be stored as JSON/)
    }))

  it('cannot replace what a session can do, nor its prototype', () =>
    withLab(async ({ browser }) => {
      await browser.set(JSON.parse('{"color":"blue"}'))
      assert.equal((await browser.set({ user: { sub: 'root' } })).status, 500)
      assert.equal((await browser.set({ destroy: 1 })).status, 500)
      assert.deepEqual((await browser.get('/read')).body, { color: 'blue', user: null })
    }))
})

function record(data: Record<string, unknown>): SessionRecord {
  const now = fakeClock().now()
  return { data: new Map(Object.entries(data).map(([name, value]) => [name, JSON.stringify(value)])), createdAt: now, touchedAt: now }
}

describe('how long a session lasts', () => {
  it('is extended once a tenth of its idle time has passed, with a new cookie', () =>
    withLab(async ({ browser, clock, store }) => {
      await browser.set({ color: 'blue' })
      clock.advance(6 * minute - 1)
      assert.equal((await browser.get('/read')).setCookie, undefined)
      assert.equal(store.writes, 1)
      clock.advance(1)
      assert.equal((await browser.get('/untouched')).setCookie, undefined, 'it was not used')
      assert.match((await browser.get('/read')).setCookie ?? '', /Max-Age=3600/)
      assert.equal(store.writes, 2)
      clock.advance(60 * minute - 1)
      assert.equal((await browser.get('/read')).body.color, 'blue')
      clock.advance(60 * minute)
      assert.equal((await browser.get('/read')).body.color, undefined)
    }))

  it('ends after its lifetime, however often it is used, and its cookie never lasts longer', () =>
    withLab(
      async ({ browser, clock, store }) => {
        await browser.set({ color: 'blue' })
        for (const _ of [1, 2, 3]) {
          clock.advance(30 * minute)
          await browser.get('/read')
        }
        clock.advance(29 * minute)
        assert.match((await browser.get('/read')).setCookie ?? '', /Max-Age=60;/)
        assert.equal([...store.ttls.values()].at(-1), minute)
        clock.advance(minute)
        assert.deepEqual((await browser.get('/read')).body, { user: null })
      },
      { options: { lifetimeMs: 120 * minute } },
    ))

  it('begins again with the login', () =>
    withLab(
      async ({ browser, clock }) => {
        await browser.set({ color: 'blue' })
        clock.advance(59 * minute)
        await browser.send('POST', '/sign-in')
        clock.advance(59 * minute)
        assert.deepEqual((await browser.get('/read')).body, { color: 'blue', user: 'ada' })
      },
      { options: { lifetimeMs: 60 * minute } },
    ))
})

describe('the CSRF token', () => {
  const form = (fields: Record<string, string>) => ({
    body: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  const multipart = (fields: Record<string, string>) => ({
    body: `${Object.entries(fields)
      .map(([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
      .join('')}--b--\r\n`,
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  })

  it('is needed by requests that change something with a session, and comes by header, form or JSON', () =>
    withLab(async ({ browser, host }) => {
      await browser.set({ color: 'blue' })
      const token = browser.token as string
      const fresh = (await browser.get('/token')).body.token
      assert.notEqual(fresh, token)
      const stranger = new Browser(host)
      await stranger.set({ color: 'x' })
      const bare = new Browser(host, browser.cookie)
      const header = (value: string) => ({ headers: { 'x-csrf-token': value } })
      const rows: readonly (readonly [what: string, path: string, given: Parameters<Browser['send']>[2], status: number])[] = [
        ['no token', '/sign-out', {}, 403],
        ['a form without one', '/form', form({ color: 'red' }), 403],
        ['an upload without one', '/form', multipart({ color: 'red' }), 403],
        ['JSON without one', '/set', { body: { color: 'red' } }, 403],
        ['a wrong one', '/form', form({ _csrf: 'wrong' }), 403],
        ['one of another session', '/form', form({ _csrf: stranger.token as string }), 403],
        ['two fields', '/form', { ...form({}), body: `_csrf=${token}&_csrf=${token}` }, 403],
        [
          'a wrong header and a right field',
          '/form',
          { ...form({ _csrf: token }), headers: { ...form({}).headers, 'x-csrf-token': 'x' } },
          403,
        ],
        ['the last letter changed', '/set', { body: {}, ...header(`${token.slice(0, -1)}${token.endsWith('A') ? 'Q' : 'A'}`) }, 403],
        ['a header', '/set', { body: {}, ...header(token) }, 200],
        ['another text of the same token', '/set', { body: {}, ...header(fresh) }, 200],
        ['a field of a form', '/form', form({ _csrf: token }), 200],
        ['a field of an upload', '/form', multipart({ _csrf: token }), 200],
        ['a field of JSON', '/set', { body: { _csrf: token } }, 200],
        ['a handler that uses no session', '/ignores', {}, 200],
      ]
      for (const [what, path, given, expected] of rows) {
        const { status, body } = await bare.send('POST', path, given)
        assert.equal(status, expected, what)
        if (status === 403) assert.equal(body.code, 'CSRF_TOKEN_INVALID', what)
      }
      assert.equal((await bare.get('/read')).body.color, 'from a form', 'refused requests changed nothing')
      assert.doesNotMatch(host.logText(), /was not stored/)
    }))

  it('comes by a field that no schema has to list, of any library, and one that does may require it', async () => {
    const post = { method: 'POST', summary: 'For tests' } as const
    const handler = ({ input, session }: RouteContext) => {
      session.color = 'changed'
      return { fields: Object.keys(input.body as object) }
    }
    const strict = { additionalProperties: false }
    const schemas = {
      json: Type.Object({ p: Type.String() }, strict),
      zod: z.object({ p: z.string() }),
      strictZod: z.strictObject({ p: z.string() }),
      lists: Type.Object({ p: Type.String(), _csrf: Type.String() }, strict),
      listsZod: z.strictObject({ p: z.string(), _csrf: z.string() }),
    }
    const routes = Object.entries(schemas).flatMap(([name, body]) => [
      defineRoute({ ...post, path: `/${name}`, body, handler }),
      defineRoute({ ...post, path: `/${name}/form`, bodyType: 'form', body, handler }),
    ])
    await withLab(
      async ({ browser, host }) => {
        await browser.set({ color: 'blue' })
        const bare = new Browser(host, browser.cookie)
        const token = browser.token as string
        for (const name of Object.keys(schemas)) {
          const fields = name.startsWith('lists') ? ['_csrf', 'p'] : ['p']
          for (const [path, given, wrong] of [
            [`/${name}`, { body: { p: 'x', _csrf: token } }, { body: { p: 'x', _csrf: 'x' } }],
            [`/${name}/form`, form({ p: 'x', _csrf: token }), form({ p: 'x', _csrf: 'x' })],
            [`/${name}/form`, multipart({ p: 'x', _csrf: token }), multipart({ p: 'x', _csrf: 'x' })],
          ] as const) {
            const { status, body } = await bare.send('POST', path, given)
            assert.deepEqual([path, status, body.fields?.sort()], [path, 200, fields], JSON.stringify(body))
            assert.equal((await bare.send('POST', path, wrong)).status, 403, path)
          }
        }
      },
      { given: { routes } },
    )
  })

  it('is another one after a new id, and one use does not end it', () =>
    withLab(async ({ browser }) => {
      await browser.set({ color: 'blue' })
      const before = browser.token as string
      for (const _ of [1, 2]) assert.equal((await browser.set({ color: 'red' })).status, 200)
      await browser.send('POST', '/sign-in')
      assert.equal((await browser.set({ color: 'x' }, { 'x-csrf-token': before })).status, 403)
      assert.equal((await browser.set({ color: 'x' })).status, 200)
    }))

  it('is not needed without a session, from which nobody gains anything', () =>
    withLab(async ({ host }) => assert.equal((await new Browser(host, 'session=x').set({ color: 'x' })).status, 200)))

  it('is needed by a form of another site that would sign someone in', () =>
    withLab(async ({ host }) => {
      const signIn = async (headers: Record<string, string>) => {
        const { body, ...all } = form({ name: 'mallory' })
        return (await new Browser(host).send('POST', '/sign-in', { body, headers: { ...all.headers, ...headers } })).status
      }
      assert.equal(await signIn({}), 200)
      assert.equal(await signIn({ 'sec-fetch-site': 'same-origin' }), 200)
      assert.equal(await signIn({ 'sec-fetch-site': 'cross-site' }), 403)
      assert.equal(await signIn({ 'sec-fetch-site': 'same-site' }), 403)
      assert.equal(await signIn({ origin: 'http://evil.example' }), 403)
      assert.equal(await signIn({ origin: 'http://localhost', host: 'localhost' }), 200)
      assert.equal(await signIn({ origin: 'null' }), 403)
    }))
})

describe('a cookie that is not ours', () => {
  it('is as none, and costs no read of the store', () =>
    withLab(async ({ host, browser, store }) => {
      await browser.set({ color: 'blue' })
      const [, id = '', signature = ''] = /session=([\w-]{43})\.([\w-]{43})/.exec(browser.cookie ?? '') ?? []
      const flip = (text: string) => `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`
      const cookies = [
        `session=${flip(id)}.${signature}`,
        `session=${id}.${flip(signature)}`,
        `session=${id}`,
        `session=${id}.`,
        `session=${id}.${signature}.x`,
        `session="${id}.${signature}"`,
        `session=${id}.${signature}${'A'.repeat(7_000)}`,
        `session=${'A'.repeat(8_000)}`,
        'session=',
        `Session=${id}.${signature}`,
        `xsession=${id}.${signature}`,
        'session',
        '=;;=',
      ]
      const { reads } = store
      for (const cookie of cookies)
        assert.deepEqual((await new Browser(host, cookie).get('/read')).body, { user: null }, cookie.slice(0, 99))
      assert.equal(store.reads, reads)
      const last = `a=1;  session=${id}.${signature} ; b=2`
      assert.equal((await new Browser(host, last).get('/read')).body.color, 'blue')
    }))

  it('was signed by an earlier secret: then it stays valid and is signed again', async () => {
    const store = new CountedKv()
    const boot = (given: Record<string, string>) =>
      createTestHost({ env: given, services: [fake(kvService, store)], plugins: [sessions(), sessionRoutes()] })
    const [first, second] = ['first-secret-of-at-least-32-bytes-', 'second-secret-of-at-least-32-bytes']
    const before = await boot({ SESSION_SECRET: first })
    const browser = new Browser(before)
    await browser.set({ color: 'blue' })
    await before.stop()
    const after = await boot({ SESSION_SECRET: second, SESSION_SECRET_BK: JSON.stringify([first]) })
    const returned = new Browser(after, browser.cookie)
    assert.equal((await returned.set({ visits: 1 }, { 'x-csrf-token': browser.token as string })).status, 200, 'its token, too')
    assert.notEqual(returned.cookie, browser.cookie)
    assert.equal((await returned.get('/read')).setCookie, undefined)
    await after.stop()
    const later = await boot({ SESSION_SECRET: second })
    assert.equal((await new Browser(later, browser.cookie).get('/read')).body.color, undefined)
    assert.equal((await new Browser(later, returned.cookie).get('/read')).body.color, 'blue')
    await later.stop()
  })
})

describe('a store that fails', () => {
  it('refuses only requests that use a session, with 503', () =>
    withLab(async ({ browser, host, store }) => {
      await browser.set({ color: 'blue' })
      store.fault = new Error('connection refused')
      assert.equal((await browser.get('/untouched')).status, 200)
      const { status, body } = await browser.get('/read')
      assert.deepEqual([status, body.code], [503, 'AUTH_STORE_UNAVAILABLE'])
      const visitor = await new Browser(host).set({ color: 'x' })
      assert.deepEqual([visitor.status, visitor.setCookie], [503, undefined], 'what cannot be stored has no cookie')
      store.fault = undefined
      assert.equal((await browser.get('/read')).body.color, 'blue')
    }))

  it('that has lost its data has no sessions, and what it holds instead is ignored', () =>
    withLab(async ({ browser, store }) => {
      await browser.set({ color: 'blue' })
      const [key = ''] = store.values.keys()
      for (const text of ['', '{', 'null', '[]', '{"d":1}']) {
        store.values.set(key, text)
        assert.deepEqual((await browser.get('/read')).body, { user: null }, text)
      }
      store.values.clear()
      assert.deepEqual((await browser.get('/read')).body, { user: null })
      assert.equal((await browser.set({ color: 'new' })).status, 200)
      assert.equal((await browser.get('/read')).body.color, 'new')
    }))
})

describe('where a request has a session', () => {
  it('is only the routes that list the key, without `global`', () =>
    withLab(
      async ({ browser, host }) => {
        assert.equal((await browser.get('/read')).status, 500)
        await browser.get('/auth/session')
        assert.match(browser.cookie ?? '', /^session=/)
        assert.throws(() => host.service(sessionsService).of({} as never), { code: 'SESSION_MISSING' })
      },
      { options: { global: false } },
    ))

  it('includes those that list the key, once', () =>
    withLab(
      async ({ browser, store }) => {
        await browser.set({ color: 'blue' })
        assert.equal((await browser.get('/read')).body.color, 'blue')
        assert.deepEqual([store.reads, store.writes], [1, 1])
      },
      { options: { global: true }, use: ['sessions'] },
    ))
})

describe('the routes', () => {
  it('tell the session and its token, and end it', () =>
    withLab(async ({ browser, clock }) => {
      const { body, headers } = await browser.get('/auth/session')
      assert.deepEqual([body.user, body.expiresAt - clock.now(), headers['cache-control']], [null, 60 * minute, 'no-store'])
      browser.token = body.csrfToken
      await browser.send('POST', '/sign-in', { headers: { 'x-sub': 'eve' } })
      assert.deepEqual((await browser.get('/auth/session')).body.user, { sub: 'eve' })
      const { cookie, token } = browser
      browser.token = undefined
      assert.equal((await browser.send('DELETE', '/auth/session')).status, 403)
      browser.token = token
      const { status, setCookie } = await browser.send('DELETE', '/auth/session')
      assert.deepEqual([status, setCookie], [200, 'session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax'])
      browser.cookie = cookie
      assert.deepEqual((await browser.get('/read')).body, { user: null })
    }))

  it('end all sessions of the user', () =>
    withLab(async ({ host }) => {
      const [one, two, other] = [new Browser(host), new Browser(host), new Browser(host)]
      await one.send('POST', '/sign-in')
      await two.send('POST', '/sign-in')
      await other.send('POST', '/sign-in', { headers: { 'x-sub': 'bob' } })
      assert.equal((await one.send('DELETE', '/auth/sessions')).status, 200)
      const users = await Promise.all([one, two, other].map(async (browser) => (await browser.get('/read')).body.user))
      assert.deepEqual(users, [null, null, 'bob'])
      assert.equal((await new Browser(host).send('DELETE', '/auth/sessions')).status, 401)
    }))
})

describe('options and settings', () => {
  const secret = 's'.repeat(32)
  const production = { NODE_ENV: 'production', APP_NAME: 'shop', ALLOWED_HOSTS: 'localhost' }
  const rows: readonly (readonly [options: object, given: Record<string, string>, problem: RegExp])[] = [
    [{ lifetimeMs: 60_000 }, env, /"lifetimeMs" must be at least "idleMs"/],
    [{ sameSite: 'none' }, env, /sameSite: 'none' needs secure: true/],
    [{ idleMs: 59_999 }, env, /idleMs/],
    [{ maxBytes: 255 }, env, /maxBytes/],
    [{ maxBytes: 1_048_577 }, env, /maxBytes/],
    [{ maxPerUser: 0 }, env, /maxPerUser/],
    [{ cookieName: 'a b' }, env, /cookieName/],
    [{ domain: 'localhost' }, env, /domain/],
    [{ store: 'memory' }, env, /unknown option "store"/],
    [{}, production, /neither SESSION_SECRET nor APP_KEY is set/],
    [{}, { ...production, SESSION_SECRET: secret.slice(1) }, /a secret in SESSION_SECRET has 31 bytes/],
    [{}, { ...production, SESSION_SECRET: secret, SESSION_SECRET_BK: '["short"]' }, /a secret in SESSION_SECRET_BK has 5 bytes/],
  ]
  for (const [options, given, problem] of rows)
    it(`refuses ${JSON.stringify(options)} with ${Object.keys(given).join(', ')} at boot`, () =>
      assert.rejects(
        createTestHost({ env: given, services: [fake(kvService, new CountedKv())], plugins: [sessions(options as Options)] }),
        {
          message: problem,
        },
      ))

  it('accepts secrets of exactly 32 bytes, and warns without one elsewhere', async () => {
    for (const given of [{ ...production, SESSION_SECRET: secret }, { ...production, APP_KEY: secret }, {}]) {
      const host = await createTestHost({ env: given, services: [fake(kvService, new CountedKv())], plugins: [sessions()] })
      assert.equal(/sessions last only until this process ends/.test(host.logText()), Object.keys(given).length === 0)
      await host.stop()
    }
  })
})

describe('merging', () => {
  const texts = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2', '3')).map((all) => new Map(Object.entries(all)))

  it('keeps every change of both requests, or names what both changed', () => {
    fc.assert(
      fc.property(texts, texts, texts, (before, mine, theirs) => {
        const names = ['a', 'b', 'c']
        const changes = new Map(names.flatMap((name) => (before.get(name) === mine.get(name) ? [] : [[name, mine.get(name)] as const])))
        const merged = merge(before, changes, theirs)
        const clashes = names.filter(
          (name) => new Set([before.get(name), mine.get(name), theirs.get(name)]).size === 3 || bothChanged(name),
        )
        function bothChanged(name: string): boolean {
          return mine.get(name) !== before.get(name) && theirs.get(name) !== before.get(name) && mine.get(name) !== theirs.get(name)
        }
        if (clashes.length > 0) assert.deepEqual([...(merged as readonly string[])].sort(), clashes)
        else
          for (const name of names)
            assert.equal((merged as Map<string, string>).get(name), changes.has(name) ? mine.get(name) : theirs.get(name))
      }),
    )
  })

  it('reads what it wrote', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (data) => {
        const given = { ...record(data), user: { sub: 'ada' }, loginId: 'x' }
        assert.deepEqual(decode(encode(given)), given)
      }),
    )
  })
})

describePlugin(() => [database(), kv()], sessions, { readme: new URL('./README.md', import.meta.url), env })
