import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { queuesService } from 'zin/plugins/queues'
import { basic, type ConsoleApp, consoleApp, hostile, readKey } from './testing/app.js'
import { auditPages, launch, phone, pressWithKeys, tabTo, wide } from './testing/browser.js'

describe('the console in Chromium', () => {
  let app: ConsoleApp
  let browser: Browser
  let context: BrowserContext
  let failedId = ''

  before(async () => {
    app = await consoleApp()
    browser = await launch()
    context = await browser.newContext({ viewport: wide, permissions: ['clipboard-read', 'clipboard-write'] })
    failedId = await app.fail()
    await app.plantHostile()
  })
  after(async () => {
    await browser?.close()
    await app?.host.stop()
  })

  /** Opens a page and collects the errors of its browser console. */
  async function open(path: string, url = app.url): Promise<{ page: Page; problems: string[] }> {
    const page = await context.newPage()
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
    await page.goto(`${url}/console${path}`)
    return { page, problems }
  }

  const pages = () =>
    [
      ['', 'Overview'],
      ['/queues', 'Queues'],
      ['/queues/mails?state=failed', 'mails'],
      ['/queues/mails?state=history', 'mails'],
      ['/queues/hostile-data?state=waiting', 'hostile-data'],
      ...['data', 'error', 'flow'].map((tab) => [`/queues/mails/jobs/${failedId}?tab=${tab}`, hostile]),
      ['/schedules', 'Schedules'],
      ['/flows', 'Flows'],
      ['/guest', 'Guest'],
      ['/nowhere', 'Not found'],
    ].map(([path = '', title = '']) => ({ path, title }))

  for (const viewport of [wide, phone]) {
    it(`shows each page in both themes without accessibility violations and usable without a mouse, at ${viewport.width} px`, async () => {
      await auditPages(browser, app.url, pages(), viewport)
    })
  }

  it('shows hostile names and payloads as text, under a policy that prevents injected HTML', async () => {
    const { page, problems } = await open(`/queues/mails/jobs/${failedId}?tab=data`)
    await page.getByRole('heading', { level: 1, name: hostile, exact: true }).waitFor()
    await page.getByText(JSON.stringify(hostile)).waitFor()
    assert.equal(await page.locator('#app img').count(), 0)
    assert.equal(await page.evaluate(() => 'pwned' in globalThis), false)
    await assert.rejects(
      page.evaluate(() => {
        document.body.innerHTML = '<b>no</b>'
      }),
      /TrustedHTML/,
    )
    assert.deepEqual(
      problems.filter((problem) => !problem.includes('TrustedHTML')),
      [],
    )
    await page.close()
  })

  it('shows hostile names, errors and payloads as text on every page that contains them', async () => {
    const { page, problems } = await open('')
    const { child, flow, retried } = app.hostileIds
    const lists = ['mails?state=failed', 'mails?state=failed&q=mailbox', 'mails?state=delayed', 'hostile-data?state=waiting']
    const shows: readonly (readonly [path: string, text: string])[] = [
      ['', `(${hostile}) has failed`],
      ...[...lists, 'hostile-data?state=delayed', 'hostile-done?state=completed'].map((list) => [`/queues/${list}`, hostile] as const),
      [`/queues/mails/jobs/${retried}`, hostile],
      [`/queues/mails/jobs/${retried}?tab=error`, `no such mailbox ${hostile}`],
      [`/queues/mails/jobs/${retried}?tab=attempts`, `no such mailbox ${hostile}`],
      [`/queues/mails/jobs/${retried}?tab=logs`, hostile],
      [`/queues/mails/jobs/${retried}?tab=raw`, JSON.stringify(hostile)],
      [`/queues/hostile-data/jobs/${child}?tab=flow`, hostile],
      [`/flows?of=hostile-data:${flow}`, hostile],
    ]
    for (const [path, text] of shows) {
      await page.goto(`${app.url}/console${path}`)
      await page.getByText(text).first().waitFor()
      assert.equal(await page.locator('#app img').count(), 0, path)
    }
    await page.goto(`${app.url}/console/queues/mails?state=failed`)
    await page.getByRole('button', { name: 'Retry all…' }).click()
    await page.getByRole('dialog').getByText(hostile).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('/')
    await page.getByRole('combobox').fill('onerror')
    await page.getByRole('option', { name: hostile }).first().waitFor()
    assert.equal(await page.locator('img').count(), 0)
    assert.equal(await page.evaluate(() => 'pwned' in globalThis), false)
    assert.deepEqual(problems, [])
    await page.close()
  })

  it('can be used with the keyboard alone: goes to the queues, opens one, selects jobs, searches, and lists its shortcuts', async () => {
    const { page, problems } = await open('')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Queues').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('g')
    await page.keyboard.press('q')
    await page.getByRole('heading', { level: 1, name: 'Queues' }).waitFor()
    await page.getByRole('row', { name: /mails/ }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'mails' }).waitFor()
    await tabTo(page, page.locator('tr[data-index="0"]'))
    await page.keyboard.press('x')
    await page.getByText('1 job selected').waitFor()
    await page.keyboard.press('/')
    await page.getByRole('combobox').fill('hostile-data')
    const hits = page.getByRole('option', { name: /hostile-data/ })
    await hits.first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'hostile-data' }).waitFor()
    await page.keyboard.press('t')
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light')
    assert.deepEqual(problems, [])
    await page.close()
  })

  it('finds jobs by a declared data field with the keyboard alone, and reports the coverage', async () => {
    const { id } = await app.host.service(queuesService).add('hostile-data', 'sought', { customer: { id: 'Ann 7' } })
    const { page, problems } = await open('/queues/hostile-data?state=waiting')
    const box = page.getByRole('searchbox')
    await page.waitForFunction(() =>
      document.querySelector('input[type=search]')?.getAttribute('placeholder')?.includes('data.customer.id:'),
    )
    await tabTo(page, box)
    await page.keyboard.type('data.customer.id:"Ann 7"')
    await page.keyboard.press('Enter')
    await page.getByText('1 match; searched the index of customer.id').waitFor()
    await page.getByRole('row', { name: /sought/ }).waitFor()
    await page.getByRole('row', { name: /sought/ }).focus()
    await page.keyboard.press('/')
    await page.getByRole('combobox').waitFor()
    await page.keyboard.type('data.customer.id:"Ann 7"')
    await page.getByRole('option', { name: /sought/ }).waitFor()
    await page.getByText('1 job matched; searched the index of customer.id').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'sought' }).waitFor()
    assert.match(page.url(), new RegExp(`/queues/hostile-data/jobs/${id}$`))
    assert.deepEqual(problems, [])
    await page.close()
  })

  it('copies the path of a value and the request for a job with the keyboard alone', async () => {
    const { id } = await app.host.service(queuesService).add('hostile-data', 'copied', { customer: { id: 'Ann 7' } }, { jobId: "it's" })
    const { page } = await open(`/queues/hostile-data/jobs/${id}?tab=data`)
    const copied = () => page.evaluate(() => navigator.clipboard.readText())
    await pressWithKeys(page, page.locator('button[title="Copy $.customer.id"]'))
    await page.getByText('Copied $.customer.id').waitFor()
    assert.equal(await copied(), '$.customer.id')
    await pressWithKeys(page, page.getByRole('button', { name: 'Copy as curl' }))
    await page.getByText(/^Copied curl/).waitFor()
    assert.equal(await copied(), `curl '${app.url}/api/jobs/it%27s?queue=hostile-data'`)
    await page.close()
  })

  it('selects a range of jobs by Shift with arrow keys, x or a click, and cancels it after a confirmation', async () => {
    const { queue } = app.host.service(queuesService)
    await queue('ranges').addBulk(Array.from({ length: 6 }, (_, index) => ({ name: `job ${index}`, data: {} })))
    const { page } = await open('/queues/ranges?state=waiting')
    await tabTo(page, page.locator('tr[data-index="0"]'))
    await page.keyboard.press('ArrowDown')
    for (let n = 0; n < 3; n++) await page.keyboard.press('Shift+ArrowDown')
    await page.getByText('4 jobs selected').waitFor()
    await page.keyboard.press('Shift+ArrowUp')
    await page.getByText('3 jobs selected').waitFor()
    await pressWithKeys(page, page.getByRole('button', { name: 'Clear' }))
    await page.getByRole('checkbox').nth(1).click()
    await page
      .getByRole('checkbox')
      .nth(4)
      .click({ modifiers: ['Shift'] })
    await page.getByText('4 jobs selected').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Shift+X')
    await page.getByText('5 jobs selected').waitFor()
    await pressWithKeys(page, page.getByRole('button', { name: 'Cancel', exact: true }))
    const dialog = page.getByRole('dialog', { name: 'Cancel 5 selected waiting jobs of ranges?' })
    await pressWithKeys(page, dialog.getByRole('button', { name: 'Back' }))
    await dialog.waitFor({ state: 'detached' })
    assert.equal((await app.host.service(queuesService).counts('ranges')).waiting, 6)
    await pressWithKeys(page, page.getByRole('button', { name: 'Cancel', exact: true }))
    await pressWithKeys(page, dialog.getByRole('button', { name: 'Cancel' }))
    await page.getByText('5 jobs cancelled').waitFor()
    assert.equal((await app.host.service(queuesService).counts('ranges')).waiting, 1)
    await page.close()
  })

  it('offers all actions on a queue, a job and a schedule with the keyboard alone', async () => {
    const { page } = await open('/queues/mails?state=failed')
    const dialog = page.getByRole('dialog')
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const confirm = (name: string) => pressWithKeys(page, dialog.getByRole('button', { name, exact: true }))
    await pressWithKeys(page, button('Pause'))
    await confirm('Pause')
    await page.getByText('mails is paused').waitFor()
    await pressWithKeys(page, button('Resume'))
    await page.getByText('mails is resumed').waitFor()
    await tabTo(page, page.getByRole('searchbox'))
    await page.keyboard.type('error:mailbox')
    await page.keyboard.press('Enter')
    await page.getByText(/match(es)?;/).waitFor()
    await tabTo(page, page.getByRole('tab', { name: /Failed/ }))
    await page.keyboard.press('ArrowRight')
    await page.getByRole('tab', { name: /Waiting/, selected: true }).waitFor()

    const later = await app.host.service(queuesService).add('hostile-data', 'later', { n: 1, token: 'kept' }, { delay: 3_600_000 })
    await page.goto(`${app.url}/console/queues/hostile-data/jobs/${later.id}`)
    await pressWithKeys(page, button('Run now'))
    await page.getByText(`Job ${later.id} promoted`).waitFor()
    await pressWithKeys(page, button('Edit and run…'))
    await tabTo(page, dialog.getByRole('textbox'))
    await page.keyboard.press('Control+A')
    await page.keyboard.type('{"n": 2, "token": "[redacted]"}')
    await confirm('Add job')
    const added = await page.getByText(/Added job \w+/).textContent()
    const copy = await app.host.service(queuesService).job('hostile-data', /Added job (\w+)/.exec(added ?? '')?.[1] ?? '')
    assert.deepEqual(copy?.job.data, { n: 2, token: 'kept' })
    await pressWithKeys(page, button('Cancel'))
    await confirm('Cancel')
    await page.getByText(/Job \w+ cancelled/).waitFor()

    await page.goto(`${app.url}/console/schedules`)
    await pressWithKeys(page, button('Remove'))
    await confirm('Remove')
    await page.getByText('No schedules').waitFor()
    await page.close()
  })

  it('numbers the errors of a job by its attempts, of which the store keeps the last ten', async () => {
    const queues = app.host.service(queuesService)
    const { id = '' } = await queues.add('mails', 'often', { bad: true }, { attempts: 12 })
    const { page } = await open(`/queues/mails/jobs/${id}?tab=error`)
    for (const text of ['Latest of 12 errors', 'Attempt 11', 'Attempt 3', '2 earlier errors not shown']) {
      await page.getByText(text, { exact: true }).waitFor()
    }
    assert.equal(await page.getByText('Attempt 2', { exact: true }).count(), 0)
    await queues.queue('mails').remove(id)
    await page.close()
  })

  it('retries a job, and deletes all failed jobs only after showing their number and a confirmation', async () => {
    await app.fail('again')
    const { page } = await open('/queues/mails?state=failed')
    await pressWithKeys(page, page.getByRole('link', { name: failedId, exact: true }))
    await pressWithKeys(page, page.getByRole('button', { name: 'Retry' }))
    await page.getByText(`Job ${failedId} retried`).waitFor()
    await page.goto(`${app.url}/console/queues/mails?state=failed`)
    await pressWithKeys(page, page.getByRole('button', { name: 'Delete all…' }))
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/^\d+ jobs?: /).waitFor()
    await pressWithKeys(page, dialog.getByRole('button', { name: 'Delete all' }))
    await page.getByText(/^Delete all: \d+ of/).waitFor()
    await page.getByText('No failed jobs').waitFor()
    await pressWithKeys(page, page.getByRole('button', { name: 'Undo' }))
    await page.getByText(/^Restored \d+ jobs?$/).waitFor()
    await page.getByRole('link', { name: failedId, exact: true }).click()
    await pressWithKeys(page, page.getByRole('button', { name: 'Delete' }))
    await pressWithKeys(page, dialog.getByRole('button', { name: 'Delete' }))
    await page.getByText(`Job ${failedId} deleted`).waitFor()
    await pressWithKeys(page, page.getByRole('button', { name: 'Undo' }))
    await page.getByRole('heading', { level: 1, name: hostile, exact: true }).waitFor()
    failedId = await app.fail()
    await page.close()
  })

  it('requires the queue name to be typed for more than 100 jobs, and scrolls through all of them', async () => {
    const { queue } = app.host.service(queuesService)
    await queue('many').addBulk(Array.from({ length: 300 }, (_, index) => ({ name: `job ${index}`, data: {} })))
    const { page } = await open('/queues/many?state=waiting')
    await page.getByRole('button', { name: 'Cancel all…' }).click()
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Cancel all' })
    await page.getByRole('dialog').getByText('300 jobs').waitFor()
    assert.equal(await confirm.isDisabled(), true)
    await page.getByRole('textbox', { name: /Type many/ }).fill('many')
    assert.equal(await confirm.isDisabled(), false)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(/page=3/, async (route) => {
      await held
      await route.continue()
    })
    await page.locator('tr[data-index="0"]').focus()
    await page.keyboard.press('End')
    await page.locator('tr.waiting').last().waitFor()
    release()
    await page.locator('tr[data-index="299"]').getByText('job 299').waitFor()
    await page.waitForFunction(() => document.activeElement?.getAttribute('data-index') === '299')
    assert.ok((await page.locator('tbody tr').count()) < 120)
    await page.close()
  })

  it('shows that it is reconnecting while the app cannot be reached, and is live again afterwards', async () => {
    const { page } = await open('/queues')
    await page.getByRole('button', { name: 'live' }).waitFor()
    await context.setOffline(true)
    await page.goto('about:blank').catch(() => undefined)
    await context.setOffline(false)
    let isDown = true
    await page.route('**/api/queue/events', (route) => (isDown ? route.abort() : route.continue()))
    await page.goto(`${app.url}/console/queues`)
    await page.getByRole('button', { name: /reconnecting/ }).waitFor()
    isDown = false
    await page.getByRole('button', { name: /reconnecting/ }).click()
    await page.getByRole('button', { name: 'live' }).waitFor()
    await page.close()
  })

  it('closes a stream with an unreadable event before it connects again', async () => {
    const states: string[] = []
    const broken = createServer((_req, res) => {
      states.push('opened')
      res.once('close', () => states.push('closed'))
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {\n\n')
    }).listen(0, '127.0.0.1')
    await once(broken, 'listening')
    const { page } = await open('/nowhere')
    const url = `http://127.0.0.1:${(broken.address() as AddressInfo).port}/`
    await page.route('**/api/queue/events', (route) => route.continue({ url }))
    const again = once(broken, 'request').then(() => once(broken, 'request'))
    await page.goto(`${app.url}/console/queues`)
    await again
    assert.deepEqual(states, ['opened', 'closed', 'opened'])
    await page.close()
    broken.close()
  })

  it('says why a download or a login gets no response', async () => {
    const { page } = await open(`/queues/mails/jobs/${failedId}?tab=data`)
    await page.route('**/payload?*', () => undefined)
    await page.getByRole('button', { name: 'Download' }).waitFor()
    const expireAtOnce = () => page.evaluate(() => void Object.assign(AbortSignal, { timeout: () => AbortSignal.abort() }))
    await expireAtOnce()
    await page.getByRole('button', { name: 'Download' }).click()
    await page.getByText('The app did not respond within 20 s').waitFor()
    await page.route('**/api/console/boot', (route) => route.fulfill({ status: 401, json: { code: 'X', message: 'No credentials' } }))
    await page.route('**/auth/login', (route) => route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' }))
    await page.reload()
    await page.getByText('App account', { exact: true }).click()
    await page.getByLabel('Email').fill('ann@example.com')
    await page.getByLabel('Password', { exact: true }).fill('a password')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Login failed: the response with status 502 is not JSON').waitFor()
    await expireAtOnce()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The app did not respond within 20 s').waitFor()
    await page.close()
  })

  it('sends no request when updates are paused, and reads again when they are resumed', async () => {
    const { page } = await open('')
    await page.waitForResponse('**/api/attention')
    await page.waitForResponse('**/api/attention')
    let requests = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/api/attention')) requests++
    })
    await page.keyboard.press('p')
    await page.getByRole('button', { name: 'paused' }).waitFor()
    const resumed = page.waitForResponse('**/api/attention')
    await page.keyboard.press('p')
    await resumed
    assert.equal(requests, 1)
    await page.close()
  })

  it('shows pages and panels of a plugin', async () => {
    const { page, problems } = await open('/guest')
    await page.getByText('<b>as text</b>').waitFor()
    await page.goto(`${app.url}/console/queues/mails`)
    await page.getByText('beside mails').waitFor()
    assert.deepEqual(problems, [])
    await page.close()
  })

  it('asks for credentials if the app requires them, and hides actions from read-only callers', async () => {
    const guarded = await consoleApp(
      { OPS_AUTH: 'required', BULLETPROOF_SIGNING_SECRET: 'a secret that is long enough for tests only' },
      {},
    )
    try {
      const { page } = await open('/queues/mails', guarded.url)
      for (let attempt = 1; attempt <= 2; attempt++) {
        await page.getByLabel('User name', { exact: true }).fill(basic.username)
        await page.getByLabel('Password', { exact: true }).fill('wrong')
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.waitForFunction(() => document.querySelector<HTMLInputElement>('input[type=password]')?.value === '')
        await page.getByRole('alert').getByText('not valid').waitFor()
      }
      await page.getByLabel('User name', { exact: true }).fill(basic.username)
      await page.getByLabel('Password', { exact: true }).fill(basic.password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
      await page.close()

      const reader = await open('/queues/mails', guarded.url)
      await reader.page.getByText('API key', { exact: true }).first().click()
      await reader.page.locator('input[type=password]').fill(readKey)
      await reader.page.getByRole('button', { name: 'Sign in' }).click()
      await reader.page.getByRole('heading', { level: 1, name: 'mails' }).waitFor()
      await reader.page.getByRole('tab', { name: /Failed/ }).waitFor()
      assert.equal(await reader.page.getByRole('button', { name: 'Pause', exact: true }).count(), 0)
      const pages = await reader.page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts()
      assert.deepEqual(pages, ['Overview', 'Queues', 'Flows', 'Webhooks', 'Access', 'Guest'])
      for (const path of ['schedules', 'workers', 'workers/mails', 'nodes', 'plugins']) {
        await reader.page.goto(`${guarded.url}/console/${path}`)
        await reader.page.getByText('your credentials do not cover it').waitFor()
      }
      await reader.page.close()
    } finally {
      await guarded.host.stop()
    }
  })
})
