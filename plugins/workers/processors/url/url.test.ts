import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { egressFetch } from 'zin'
import { fakeClock } from 'zin/testing'
import { type Bench, type BenchOptions, jobOf, openBench, specOf } from '../test-support.js'
import { sha256Of } from './code-cache.js'
import type { Egress } from './fetch-code.js'
import { allowedHosts } from './source.js'

const code = (result: string): string => `export const ZinTrustProcessor = () => ${JSON.stringify(result)}`
const base64Of = (hex: string): string => Buffer.from(hex, 'hex').toString('base64')

describe('processors from URLs', { concurrency: false }, () => {
  let folder = ''
  let ca = ''
  let server: Server
  let host = ''
  let answer: (request: IncomingMessage, response: ServerResponse) => void
  let requests: IncomingMessage[] = []
  const benches: Bench[] = []

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'zin-url-'))
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const names = 'subjectAltName=DNS:code.example.test,DNS:other.example.test'
    const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=test']
    execFileSync('openssl', [...args, '-addext', names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    ca = await readFile(cert, 'utf8')
    server = createServer({ key: await readFile(key), cert: ca }, (request, response) => {
      requests.push(request)
      answer(request, response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    host = `code.example.test:${(server.address() as AddressInfo).port}`
  })
  beforeEach(async () => {
    requests = []
    answer = (_request, response) => void response.end(code('fetched'))
    await Promise.all(benches.splice(0).map((bench) => bench.close()))
  })
  after(async () => {
    await Promise.all(benches.map((bench) => bench.close()))
    server.close()
    server.closeAllConnections()
    await rm(folder, { recursive: true, force: true })
  })

  const local: Egress = (url, options) => egressFetch(url, { ...options, allowPrivate: true }, { ca, resolver: async () => ['127.0.0.1'] })

  async function open({ settings, ...options }: BenchOptions = {}): Promise<Bench> {
    const bench = await openBench({ egress: local, ...options, settings: { REMOTE_PROCESSOR_ALLOWLIST: [host], ...settings } })
    benches.push(bench)
    return bench
  }

  /** Loads a processor, runs one job, and closes it. */
  async function run(bench: Bench, path: string, at = host): Promise<unknown> {
    const processor = await bench.processors.load(specOf(`https://${at}${path}`))
    try {
      return await processor.run(jobOf(1))
    } finally {
      await processor.close()
    }
  }

  const reply = (text: string, headers: Record<string, string> = {}, status = 200) => {
    answer = (_request, response) => void response.writeHead(status, headers).end(text)
  }

  for (const isolation of ['inline', 'thread', 'process'] as const) {
    it(`run in a child process even if their record says ${isolation}`, async () => {
      reply("import { isMainThread } from 'node:worker_threads'\nexport const ZinTrustProcessor = () => [isMainThread, process.pid]")
      const bench = await open()
      const processor = await bench.processors.load(specOf(`https://${host}/where.mjs`, { isolation }))
      const [isMainThread, pid] = (await processor.run(jobOf(1))) as [boolean, number]
      await processor.close()
      assert.equal(isMainThread, true)
      assert.notEqual(pid, process.pid)
    })
  }

  it('are fetched, cached on disk by digest, and run in a child process without the secrets of the app', async () => {
    process.env.ZIN_TEST_SECRET = 'top-secret'
    try {
      const text = `export const ZinTrustProcessor = () => [process.ppid, process.env.ZIN_TEST_SECRET ?? 'none']`
      reply(text)
      const bench = await open()
      assert.deepEqual(await run(bench, '/a.mjs'), [process.pid, 'none'])
      assert.ok((await readdir(join(bench.dataDir, 'processors'))).includes(`${sha256Of(text)}.mjs`))
      assert.equal(requests[0]?.headers['accept-encoding'], undefined)
    } finally {
      delete process.env.ZIN_TEST_SECRET
    }
  })

  it('must export a function named ZinTrustProcessor', async () => {
    reply('export default () => 1\nexport const processor = () => 2')
    await assert.rejects(run(await open(), '/a.mjs'), { code: 'INVALID_PROCESSOR_URL_EXPORT' })
    reply('export const ZinTrustProcessor = 5; throw new Error("broken on purpose")')
    await assert.rejects(run(await open(), '/a.mjs'), { code: 'PROCESSOR_LOAD_FAILED', message: /broken on purpose/ })
  })

  describe('are refused before anything is fetched', () => {
    const refused: readonly (readonly [url: string, code: string, allow?: readonly string[]])[] = [
      ['https://code.example.test/a.mjs', 'INVALID_PROCESSOR_URL_HOST', []],
      ['https://code.example.test.evil.com/a.mjs', 'INVALID_PROCESSOR_URL_HOST'],
      ['https://sub.code.example.test/a.mjs', 'INVALID_PROCESSOR_URL_HOST'],
      ['https://code.example.test:8443/a.mjs', 'INVALID_PROCESSOR_URL_HOST'],
      ['https://code.example.test/a.mjs', 'INVALID_PROCESSOR_URL_HOST', ['code.example.test:8443']],
      ['https://code.example.test./a.mjs', 'INVALID_PROCESSOR_URL_HOST'],
      ['http://code.example.test/a.mjs', 'INVALID_PROCESSOR_URL'],
      ['file:///etc/passwd.mjs', 'INVALID_PROCESSOR_URL'],
      ['data:text/javascript,export const ZinTrustProcessor = 1', 'INVALID_PROCESSOR_URL'],
      ['https://user:secret@code.example.test/a.mjs', 'INVALID_PROCESSOR_URL'],
      ['https://code.example.test/a.mjs#sha256-short', 'INVALID_PROCESSOR_URL'],
      ['https://code.example.test/a.mjs#', 'INVALID_PROCESSOR_URL'],
    ]
    for (const [url, expected, allow = ['code.example.test']] of refused) {
      it(`${url} with ${expected} when ${allow.join() || 'nothing'} is allowed`, async () => {
        const bench = await open({ settings: { REMOTE_PROCESSOR_ALLOWLIST: allow } })
        const check = bench.processors.check(specOf(url))
        await assert.rejects(
          check,
          ({ code: found, message }: Error & { code: string }) => found === expected && !message.includes('secret'),
        )
        await assert.rejects(bench.processors.load(specOf(url)), { code: expected })
      })
    }

    it('without a pin in production', async () => {
      const bench = await open({ production: true })
      await assert.rejects(bench.processors.check(specOf(`https://${host}/a.mjs`)), { code: 'PROCESSOR_PIN_REQUIRED' })
      await bench.processors.check(specOf(`https://${host}/a.mjs#sha256-${sha256Of('x')}`))
      assert.equal(requests.length, 0)
    })

    it('and an allowlist with anything but hosts is refused at boot', () => {
      for (const entry of ['https://a.example.com', '*.example.com', 'a.example.com/x', 'user@a.example.com', 'a b']) {
        assert.throws(() => allowedHosts(['a.example.com', entry]), { code: 'WORKERS_MISCONFIGURED' }, entry)
      }
      assert.deepEqual(allowedHosts(['A.example.com', 'a.example.com:8443', '[::1]']), ['a.example.com', 'a.example.com:8443', '[::1]'])
    })
  })

  it('go through the egress guard, which sends no request to a host with a private address', async () => {
    const bench = await open({ egress: (url, options) => egressFetch(url, options, { ca, resolver: async () => ['127.0.0.1'] }) })
    await assert.rejects(run(bench, '/a.mjs'), { code: 'PROCESSOR_FETCH_FAILED', message: /this machine/ })
    assert.equal(requests.length, 0)
  })

  it('are not fetched from a host with an untrusted certificate', async () => {
    const untrusted: Egress = (url, options) =>
      egressFetch(url, { ...options, allowPrivate: true }, { resolver: async () => ['127.0.0.1'] })
    const bench = await open({ egress: untrusted, settings: { PROCESSOR_FETCH_RETRY_ATTEMPTS: 1 } })
    await assert.rejects(run(bench, '/a.mjs'), { code: 'PROCESSOR_FETCH_FAILED', message: /self-signed/ })
  })

  it('follow no redirect, not even to the same host', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      requests = []
      answer = ({ url }, response) => {
        if (url === '/a.mjs') response.end(code('redirected'))
        else response.writeHead(status, { location: '/a.mjs' }).end()
      }
      await assert.rejects(run(await open(), '/on.mjs'), {
        code: 'PROCESSOR_FETCH_FAILED',
        message: new RegExp(`on\\.mjs.*responded with ${status}; redirects are not followed`),
      })
      assert.deepEqual(
        requests.map(({ url }) => url),
        ['/on.mjs'],
      )
    }
  })

  it('are limited in size and time', async () => {
    reply('x'.repeat(2000))
    const small = await open({ settings: { PROCESSOR_FETCH_MAX_SIZE: 1000 } })
    await assert.rejects(run(small, '/a.mjs'), { code: 'PROCESSOR_FETCH_SIZE_EXCEEDED' })
    assert.equal(requests.length, 1)
    answer = () => undefined
    const hasty = await open({ settings: { PROCESSOR_FETCH_TIMEOUT: 100, PROCESSOR_FETCH_RETRY_ATTEMPTS: 2 } })
    await assert.rejects(run(hasty, '/a.mjs'), { code: 'PROCESSOR_FETCH_FAILED', message: /within 100 ms; attempts: 2/ })
    assert.equal(requests.length, 3)
  })

  it('are retried after 5xx, 429 and broken connections, and not after other responses', async () => {
    answer = (request, response) => {
      if (requests.length === 1) response.writeHead(503).end()
      else if (requests.length === 2) request.socket.destroy()
      else response.end(code('third'))
    }
    assert.equal(await run(await open(), '/a.mjs'), 'third')
    requests = []
    reply('', {}, 429)
    await assert.rejects(run(await open(), '/a.mjs'), { code: 'PROCESSOR_FETCH_FAILED', message: /responded with 429; attempts: 3/ })
    assert.equal(requests.length, 3)
    for (const status of [204, 304, 404, 418]) {
      requests = []
      reply('', {}, status)
      await assert.rejects(
        run(await open(), '/a.mjs?token=hidden'),
        ({ message }: Error) => message.includes(`responded with ${status}`) && !message.includes('hidden'),
      )
      assert.equal(requests.length, 1)
    }
  })

  it('wait PROCESSOR_FETCH_RETRY_BACKOFF_MS before the second attempt, and twice as long before the next', async () => {
    const at: number[] = []
    answer = (_request, response) => {
      at.push(performance.now())
      response.writeHead(503).end()
    }
    const patient = await open({ settings: { PROCESSOR_FETCH_RETRY_BACKOFF_MS: 60 } })
    await assert.rejects(run(patient, '/a.mjs'), { code: 'PROCESSOR_FETCH_FAILED', message: /attempts: 3/ })
    const [first = 0, second = 0, third = 0] = at
    assert.ok(second - first >= 59 && third - second >= 119, `at ${at}`)
  })

  it('are used for PROCESSOR_CACHE_DEFAULT_TTL seconds if they are unpinned and their host sends no max-age', async () => {
    const clock = fakeClock()
    const bench = await open({ clock, settings: { PROCESSOR_CACHE_DEFAULT_TTL: 10 } })
    for (const [ms, asked] of [
      [0, 1],
      [9_999, 1],
      [1, 2],
    ] as const) {
      clock.advance(ms)
      assert.equal(await run(bench, '/a.mjs'), 'fetched')
      assert.equal(requests.length, asked)
    }
  })

  it('are refused if they are compressed', async () => {
    reply('x', { 'content-encoding': 'br' })
    await assert.rejects(run(await open(), '/a.mjs'), { code: 'PROCESSOR_FETCH_FAILED', message: /compressed/ })
  })

  it('are used while they are fresh if they are unpinned, and then revalidated', async () => {
    const clock = fakeClock()
    const bench = await open({ clock, settings: { PROCESSOR_CACHE_MAX_TTL: 100 } })
    reply(code('one'), { etag: '"1"', 'cache-control': 'public, max-age=50' })
    assert.equal(await run(bench, '/a.mjs'), 'one')
    clock.advance(49_000)
    assert.equal(await run(bench, '/a.mjs'), 'one')
    assert.equal(requests.length, 1)
    clock.advance(2_000)
    reply('', { 'cache-control': 'max-age=9999' }, 304)
    assert.equal(await run(bench, '/a.mjs'), 'one')
    assert.equal(requests[1]?.headers['if-none-match'], '"1"')
    // max-age is capped at the limit.
    clock.advance(99_000)
    await run(bench, '/a.mjs')
    assert.equal(requests.length, 2)
    clock.advance(2_000)
    reply('', {}, 500)
    await assert.rejects(run(bench, '/a.mjs'), { code: 'PROCESSOR_FETCH_FAILED' })
    reply(code('two'), { 'cache-control': 'no-cache' })
    assert.equal(await run(bench, '/a.mjs'), 'two')
    reply(code('three'))
    assert.equal(await run(bench, '/a.mjs'), 'three')
    assert.equal(requests.at(-1)?.headers['if-none-match'], undefined)
  })

  it('match their pin in hex or base64, and are never fetched again', async () => {
    const sha256 = sha256Of(code('pinned'))
    for (const pin of [sha256, sha256.toUpperCase(), base64Of(sha256), base64Of(sha256).replace('=', '')]) {
      const bench = await open({ production: true })
      reply(code('pinned'))
      assert.equal(await run(bench, `/a.mjs#sha256-${pin}`), 'pinned')
      reply('', {}, 500)
      assert.equal(await run(bench, `/a.mjs#sha256-${pin}`), 'pinned')
    }
    assert.equal(requests.length, 4)
  })

  it('are refused and not cached if they do not match their pin', async () => {
    const bench = await open({ production: true })
    reply(code('swapped'))
    await assert.rejects(run(bench, `/a.mjs#sha256-${sha256Of(code('meant'))}`), { code: 'PROCESSOR_PIN_MISMATCH' })
    await assert.rejects(readdir(join(bench.dataDir, 'processors')), { code: 'ENOENT' })
    // The URL must be allowed even if code with the right digest is cached.
    await assert.rejects(run(bench, `/a.mjs#sha256-${sha256Of(code('meant'))}`, 'evil.test'), { code: 'INVALID_PROCESSOR_URL_HOST' })
  })

  it('are fetched again if they were modified on disk, and restored for children that start later', async () => {
    const bench = await open()
    const text = 'export const ZinTrustProcessor = async (job) => { await job.log("here"); return "fetched" }'
    reply(text)
    const path = `/a.mjs#sha256-${sha256Of(text)}`
    const file = join(bench.dataDir, 'processors', `${sha256Of(text)}.mjs`)
    const processor = await bench.processors.load(specOf(`https://${host}${path}`, { concurrency: 3 }))
    await writeFile(file, code('tampered'))
    assert.equal(await run(bench, path), 'fetched')
    assert.equal(requests.length, 2)
    for (const [change, jobs] of [
      [() => writeFile(file, code('tampered')), 2],
      [() => rm(file), 3],
    ] as const) {
      await change()
      // The jobs wait for each other, so each runs in its own child.
      let begun = 0
      let all = (): void => undefined
      const met = new Promise<void>((resolve) => (all = resolve))
      const log = (): Promise<void> => (++begun === jobs && all(), met)
      const results = await Promise.all(Array.from({ length: jobs }, () => processor.run(jobOf(1, { log }))))
      assert.deepEqual(new Set(results), new Set(['fetched']))
      assert.equal(String(await readFile(file)), text)
    }
    assert.equal(requests.length, 2)
    await processor.close()
  })

  it('share their folder with other processes, and ignore a broken index', async () => {
    const dataDir = join(folder, 'shared')
    const [one, two] = [await open({ dataDir }), await open({ dataDir })]
    assert.deepEqual(await Promise.all([run(one, '/a.mjs'), run(two, '/a.mjs'), run(one, '/a.mjs')]), ['fetched', 'fetched', 'fetched'])
    // Concurrent loads in one process are merged.
    assert.equal(requests.length, 2)
    assert.equal(await run(two, '/a.mjs'), 'fetched')
    assert.equal(requests.length, 2)
    const index = join(dataDir, 'processors', `${sha256Of(`https://${host}/a.mjs`)}.json`)
    for (const broken of [
      '',
      '{',
      '{"url":"https://evil.test/","sha256":"x"}',
      `{"url":"https://${host}/a.mjs","sha256":"../../x","etag":null,"expiresAt":9e15}`,
    ]) {
      await writeFile(index, broken)
      assert.equal(await run(two, '/a.mjs'), 'fetched')
    }
    assert.equal(requests.length, 6)
  })

  it('are evicted when there are too many, least recently used first', async () => {
    const bench = await open({ settings: { PROCESSOR_CACHE_MAX_SIZE: 250 } })
    const kept = join(bench.dataDir, 'processors')
    await mkdir(kept, { recursive: true })
    const long = new Date(Date.now() - 7_200_000)
    await writeFile(join(kept, 'cut-off.tmp'), 'x')
    await utimes(join(kept, 'cut-off.tmp'), long, long)
    const pins: string[] = []
    for (const name of ['a', 'b', 'c', 'd']) {
      const text = code(name.repeat(50))
      reply(text)
      await run(bench, `/${name}.mjs#sha256-${sha256Of(text)}`)
      pins.push(`${sha256Of(text)}.mjs`)
      // As if hours had passed in between.
      const used = new Date(Date.now() - 3_600_000 * (10 - pins.length))
      await utimes(join(kept, pins.at(-1) ?? ''), used, used)
    }
    assert.deepEqual((await readdir(kept)).sort(), pins.slice(2).sort())
  })

  it('are aborted when the app stops', async () => {
    const bench = await open()
    const asked = new Promise<void>((resolve) => {
      answer = () => resolve()
    })
    const loading = assert.rejects(run(bench, '/a.mjs'), { code: 'PROCESSOR_FETCH_FAILED', message: /the app stops/ })
    await asked
    await bench.processors.close()
    await loading
  })

  it('are not retried when the app stops between two attempts', async () => {
    let failed = (): void => undefined
    const firstAttempt = new Promise<void>((resolve) => (failed = resolve))
    const egress: Egress = async (url) => {
      failed()
      return { status: 503, headers: {}, body: Buffer.alloc(0), url }
    }
    const bench = await open({ egress, settings: { PROCESSOR_FETCH_RETRY_BACKOFF_MS: 60_000 } })
    const loading = assert.rejects(run(bench, '/a.mjs'), { code: 'PROCESSOR_FETCH_FAILED', message: /the app stops/ })
    await firstAttempt
    // The backoff begins in the meantime.
    await new Promise((resolve) => setImmediate(resolve))
    await bench.processors.close()
    await loading
  })
})
