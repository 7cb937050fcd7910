import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { workersService } from 'zin/plugins/workers'
import { basic, type ConsoleApp, consoleApp, faultyPath, faultyText } from './testing/app.js'

describe('the console over HTTP', () => {
  let app: ConsoleApp
  let alone = ''

  before(async () => {
    app = await consoleApp({}, { port: 0, auth: basic, readOnly: true })
    const logged = app.host.logs.map((line) => JSON.stringify(line)).find((line) => line.includes('the console is at'))
    alone = /http:\/\/127\.0\.0\.1:\d+/.exec(logged ?? '')?.[0] ?? ''
    assert.notEqual(alone, '', 'the console logs its address')
  })
  after(() => app?.host.stop())

  const authorization = `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}`
  const get = (url: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(url, { headers, redirect: 'manual' })

  it('serves the page for every path below /console, without app data and with an ETag', async () => {
    const page = await get(`${app.url}/console/queues/mails/jobs/1`)
    const text = await page.text()
    assert.equal(page.status, 200)
    assert.equal(page.headers.get('cache-control'), 'no-cache')
    assert.match(
      page.headers.get('content-security-policy') ?? '',
      /default-src 'none'.*script-src 'self'.*require-trusted-types-for 'script'/,
    )
    assert.doesNotMatch(page.headers.get('content-security-policy') ?? '', /unsafe/)
    assert.doesNotMatch(text, /mails|<script>|style=/)
    const etag = page.headers.get('etag') ?? ''
    assert.equal((await get(`${app.url}/console`, { 'if-none-match': etag })).status, 304)
    const slash = await get(`${app.url}/console/?a=1`)
    assert.deepEqual([slash.status, slash.headers.get('location')], [302, '/console?a=1'])
  })

  it('serves its files compressed and cacheable for a year, and returns 404 for unknown files', async () => {
    const script = /\/console\/assets\/main-[^"]+\.js/.exec(await (await get(`${app.url}/console`)).text())?.[0] ?? ''
    for (const [accepts, coding] of [
      ['br, gzip', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip;q=0', null],
    ] as const) {
      const file = await get(`${app.url}${script}`, { 'accept-encoding': accepts })
      assert.equal(file.headers.get('content-encoding'), coding)
      assert.equal(file.headers.get('cache-control'), 'public, max-age=31536000, immutable')
      assert.match(file.headers.get('content-type') ?? '', /^text\/javascript/)
      await file.arrayBuffer()
    }
    const missing = await get(`${app.url}/console/assets/main-OLD.js`)
    assert.deepEqual([missing.status, (await missing.json()).code], [404, 'CONSOLE_FILE_NOT_FOUND'])
  })

  it('returns the permissions of the caller and the modules of plugins at boot', async () => {
    const boot = await (await get(`${app.url}/api/console/boot`)).json()
    assert.deepEqual(boot.may, { write: true, admin: true, payload: true, operate: true, subjects: true })
    assert.equal(boot.readOnly, true)
    assert.deepEqual(
      boot.modules.map(({ plugin }: { readonly plugin: string }) => plugin),
      ['guest'],
    )
    const module = await get(`${app.url}${boot.modules[0].url}`)
    assert.match(await module.text(), /export default/)
  })

  it('requires its user on the separate port, and forwards requests to the app without the credentials of the browser', async () => {
    const refused = await get(`${alone}/console`)
    assert.deepEqual([refused.status, refused.headers.get('www-authenticate')], [401, 'Basic realm="console", charset="UTF-8"'])
    assert.equal((await get(`${alone}/api/queue/stats`)).status, 401)
    assert.equal((await get(`${alone}/console`, { authorization: `Basic ${btoa('ann:wrong')}` })).status, 401)
    assert.equal((await get(`${alone}/console`, { authorization })).status, 200)
    const stats = await get(`${alone}/api/queue/stats`, { authorization })
    assert.deepEqual([stats.status, typeof (await stats.json()).totalQueues], [200, 'number'])
    assert.equal((await get(`${alone}/openapi.json`, { authorization })).status, 404)
  })

  it('answers 500 on the separate port to an error of its own, whose text is only in the log', async () => {
    const response = await get(`${alone}${faultyPath}?q=private`, { authorization })
    const text = await response.text()
    assert.deepEqual([response.status, JSON.parse(text).code], [500, 'CONSOLE_INTERNAL_ERROR'])
    assert.ok(!text.includes(faultyText))
    const [line, ...others] = app.host.logs.map((one) => JSON.stringify(one)).filter((one) => one.includes(faultyText))
    assert.ok(line?.includes(`GET ${faultyPath}`) && !line.includes('private'), line)
    assert.deepEqual(others, [])
  })

  it('finds workers by a part of their name, the best matches first', async () => {
    const workers = app.host.service(workersService)
    for (const name of ['mailer-2', 'bulk-mailer']) await workers.create({ name, queueName: name, autoStart: false, processor: () => null })
    const find = async (query: string) => (await get(`${app.url}/api/console/workers?${query}`)).json()
    const stopped = { state: 'stopped' }
    const found = await find('q=MAILER&limit=3')
    assert.deepEqual(found, {
      workers: [
        { name: 'mailer', state: found.workers[0]?.state },
        { name: 'mailer-2', ...stopped },
        { name: 'bulk-mailer', ...stopped },
      ],
      total: 3,
      searched: 3,
      complete: true,
    })
    const few = await find('q=mailer&limit=1')
    assert.deepEqual([few.workers.length, few.workers[0].name, few.total], [1, 'mailer', 3])
    assert.deepEqual((await find('q=nobody')).workers, [])
    assert.equal((await get(`${app.url}/api/console/workers`)).status, 400)
  })

  it('rejects requests of other sites on the separate port, and changes when it is read-only', async () => {
    const foreign = await get(`${alone}/api/queue/stats`, { authorization, origin: 'https://evil.test' })
    assert.deepEqual([foreign.status, (await foreign.json()).code], [403, 'CONSOLE_FORBIDDEN'])
    const change = await fetch(`${alone}/api/queue/mails/pause`, {
      method: 'POST',
      headers: { authorization, 'x-requested-with': 'test' },
    })
    assert.deepEqual([change.status, (await change.json()).message], [403, 'This console is read-only'])
  })

  it('refuses further wrong passwords of a network after ten within a minute on the separate port, and accepts the right one', async () => {
    const guess = () => get(`${alone}/console`, { authorization: `Basic ${btoa('ann:guess')}` })
    let response = await guess()
    for (let guesses = 0; response.status === 401 && guesses < 20; guesses++) response = await guess()
    assert.deepEqual([response.status, (await response.json()).code], [429, 'CONSOLE_THROTTLED'])
    assert.ok(Number(response.headers.get('retry-after')) > 0)
    assert.equal((await get(`${alone}/console`, { authorization })).status, 200)
    assert.equal((await get(`${alone}/console`)).status, 401)
  })
})

describe('the console on a port of its own without auth', () => {
  it('stops the boot when operators need credentials, and names the option', async () => {
    await assert.rejects(consoleApp({ OPS_AUTH: 'required' }, { port: 0 }), (error: Error) => {
      for (const part of ['console', 'auth', 'OPS_AUTH']) assert.ok(error.message.includes(part), part)
      return true
    })
    const open = await consoleApp({}, { port: 0 })
    await open.host.stop()
  })
})
