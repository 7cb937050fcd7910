import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { AttentionFact, AttentionReport } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { compliance } from 'zin/plugins/compliance'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { health } from 'zin/plugins/health'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues } from 'zin/plugins/queues'
import { resources } from 'zin/plugins/resources'
import { workers } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { webConsole } from './index.js'
import { auditPages, launch, phone, wide } from './testing/browser.js'

const user = { username: 'ann', password: 'correct horse' } as const
/** Screenshots for people, if a folder for them is named. */
const shot = async (page: Page, name: string): Promise<void> => {
  const folder = process.env.SCREENSHOTS
  if (folder === undefined) return
  await page.screenshot({ path: join(folder, `${name}.png`) })
  await page.setViewportSize(phone)
  await page.screenshot({ path: join(folder, `${name}-phone.png`), fullPage: true })
  await page.setViewportSize(wide)
}
const fact = (n: number): AttentionFact => ({
  kind: 'mailbox-full',
  subject: `mailbox:box-${n}`,
  severity: n === 0 ? 'bad' : 'warn',
  cause: `The mailbox "box-${n}" is full: 1,000 of 1,000 messages`,
  act: { label: 'Open the queues', href: '/console/queues' },
})

describe('what needs attention, on the console', () => {
  let host: TestHost
  let browser: Browser
  let report: AttentionReport = { facts: [] }

  before(async () => {
    host = await createTestHost({
      listen: true,
      env: { APP_KEY: 'a key that is long enough for tests only' },
      hooks: { collectAttention: (where) => (where === 'app' ? report : { facts: [] }) },
      plugins: [
        ...[database(), kv(), cluster(), queues(), ops()],
        queueMonitor({ monitor: { interval: 1000 }, auth: { type: 'basic', ...user } }),
        webConsole({ refreshInterval: 1000 }),
      ],
    })
    browser = await launch()
  })
  after(async () => {
    await browser?.close()
    await host?.stop()
  })

  const open = async (work: (page: Page, context: BrowserContext) => Promise<void>): Promise<void> => {
    const context = await browser.newContext({ viewport: wide, reducedMotion: 'reduce' })
    const page = await context.newPage()
    try {
      await page.goto(`${host.url}/console`)
      await work(page, context)
    } finally {
      await context.close()
    }
  }
  const listOf = (page: Page) => page.getByRole('region', { name: 'Needs attention' })

  it('is listed with a way to all items, acknowledged with a note, and gone with its cause', async () => {
    report = { facts: Array.from({ length: 12 }, (_, n) => fact(n)) }
    await open(async (page) => {
      const list = listOf(page)
      await list.getByText('The mailbox "box-0" is full').waitFor()
      assert.match((await list.getByRole('listitem').first().textContent()) ?? '', /Failing.*box-0/)
      assert.equal(await list.getByRole('listitem').count(), 8)
      await shot(page, 'overview')
      await list.getByRole('link', { name: '4 more' }).click()
      await page.getByRole('heading', { level: 1, name: 'Needs attention' }).waitFor()
      const all = page.getByRole('region', { name: 'Open: 12' })
      await all.waitFor()
      assert.equal(await all.getByRole('listitem').count(), 12)
      const box3 = all.getByRole('listitem').filter({ hasText: 'box-3' })
      await box3.getByRole('img', { name: 'In 1 of the last 24 hours' }).waitFor()
      await box3.getByRole('button', { name: 'Acknowledge…' }).click()
      await page.getByRole('dialog').getByLabel('Note').fill('Bob empties it')
      await page.getByRole('dialog').getByRole('button', { name: 'Acknowledge' }).click()
      await page.getByRole('region', { name: 'Acknowledged: 1' }).getByText('Bob empties it').waitFor()
      await page.getByRole('region', { name: 'Open: 11' }).waitFor()
      report = { facts: [fact(3)] }
      await page.getByRole('link', { name: 'Overview' }).first().click()
      await listOf(page).getByText('Nothing needs attention.').waitFor()
      await listOf(page).getByRole('link', { name: '1 acknowledged' }).waitFor()
    })
  })

  it('is not well while something was not checked', async () => {
    report = { facts: [], notChecked: [{ kind: 'mailbox-full', reason: 'The mail server does not respond' }] }
    await open(async (page) => {
      await listOf(page).getByText('Not checked: 1 kind').waitFor()
      await listOf(page).getByText('The mail server does not respond').waitFor()
      assert.equal(await listOf(page).getByText('Nothing needs attention').count(), 0)
      report = { facts: [] }
      await listOf(page).getByText('Nothing needs attention.').waitFor()
      await page.route('**/api/attention*', (route) => route.abort())
      await page.reload()
      await listOf(page).getByText('Not checked: what needs attention could not be read.').waitFor()
      assert.equal(await listOf(page).getByText('Nothing needs attention').count(), 0)
    })
  })

  it('is not shown to a session that has ended: it says so, and goes on after a new sign-in', async () => {
    await open(async (page) => {
      await listOf(page).getByText('Nothing needs attention.').waitFor()
      const body = JSON.stringify({
        error: 'Unauthorized',
        message: 'The user name, password or API key is not valid',
        code: 'MONITOR_UNAUTHORIZED',
      })
      await page.route('**/api/**', (route) => route.fulfill({ status: 401, contentType: 'application/json', body }))
      await page.getByRole('alert').getByText('Your session has ended; sign in again.').waitFor()
      assert.equal(await page.getByText('reconnecting').count(), 0)
      await page.unroute('**/api/**')
      await page.getByLabel('User name', { exact: true }).fill(user.username)
      await page.getByLabel('Password', { exact: true }).fill(user.password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      // With credentials for queues, which other APIs refuse, the end is noticed, too.
      await page.route('**/api/**', (route) => route.fulfill({ status: 401, contentType: 'application/json', body }))
      await page.getByRole('alert').getByText('Your session has ended; sign in again.').waitFor()
    })
  })

  it('stops to reconnect to updates that the app refuses', async () => {
    await open(async (page) => {
      // Otherwise the page that is left asks, too.
      await page.getByRole('button', { name: 'live', exact: true }).waitFor()
      let asked = 0
      await page.route('**/api/queue/events*', (route) => {
        asked++
        return route.fulfill({ status: 401, contentType: 'application/json', body: '{"code":"MONITOR_UNAUTHORIZED","message":"no"}' })
      })
      await page.reload()
      await page.getByRole('button', { name: 'no updates' }).waitFor()
      await listOf(page).getByText('Nothing needs attention.').waitFor()
      assert.equal(await page.getByText('reconnecting').count(), 0)
      assert.equal(asked, 1)
    })
  })
})

/** Every path of the console that another plugin names, such as in the act of what needs attention, with `x` for names and ids. */
async function namedPaths(): Promise<readonly string[]> {
  const folder = new URL('..', new URL('.', import.meta.url)).pathname
  const found = new Set<string>()
  for (const file of await readdir(folder, { recursive: true })) {
    if (!/^(?!console\/).*\.ts$/.test(file) || /\.(test|contract|d)\.ts$|\/testing\//.test(file)) continue
    for (const [, path = ''] of (await readFile(join(folder, file), 'utf8')).matchAll(/[`'](\/console\/[^`'\s]*)[`']/g))
      found.add(path.replaceAll(/\$\{[^}]*\}/g, 'x'))
  }
  return [...found].sort()
}

describe('the next step of what needs attention, on the console', () => {
  let host: TestHost
  let browser: Browser
  let report: AttentionReport = { facts: [] }

  /** Accepts nothing. */
  const receiver = createServer((_, response) => response.writeHead(500).end())
  const portOf = (server: Server) => (server.address() as AddressInfo).port

  before(async () => {
    receiver.listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    const monitor = {
      interval: 1000,
      webhookSecret: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
      webhooks: [{ url: `http://127.0.0.1:${portOf(receiver)}/`, events: ['attention.raised'] as const }],
      delivery: { retries: [1], allowPrivate: true },
    }
    host = await createTestHost({
      listen: true,
      env: { APP_KEY: 'a key that is long enough for tests only', WORKER_AUDIT_LOG: 'true', WORKER_GDPR: 'true' },
      hooks: { collectAttention: (where) => (where === 'app' ? report : { facts: [] }) },
      plugins: [
        ...[database(), kv(), cluster(), queues(), ops(), decisions(), health(), workers(), compliance(), resources()],
        queueMonitor({ monitor, auth: { type: 'basic', ...user } }),
        webConsole({ refreshInterval: 1000 }),
      ],
    })
    browser = await launch()
  })
  after(async () => {
    await browser?.close()
    await host?.stop()
    receiver.close()
  })

  it('is a page of the console for every path that a plugin names, and never a route of the app', async () => {
    const paths = await namedPaths()
    for (const path of ['/console/webhooks/x', '/console/health', '/console/queues/x', '/console/nodes/x'])
      assert.ok(paths.includes(path), `${path} is not among ${paths.join(', ')}`)
    const routes = ['/api/queue/webhooks', '/health/ready']
    report = {
      facts: [...paths, ...routes].map((href, n) => ({ ...fact(n), subject: `mailbox:box-${n}`, act: { label: `Go to ${n}`, href } })),
    }
    const context = await browser.newContext({ viewport: wide, reducedMotion: 'reduce' })
    try {
      const page = await context.newPage()
      await page.goto(`${host.url}/console/attention`)
      const items = page.getByRole('listitem')
      await items.filter({ hasText: `"box-${paths.length}"` }).waitFor()
      const hrefs = await page.locator('main a').evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
      assert.deepEqual(
        hrefs.filter((href) => !href.startsWith('/console')),
        [],
      )
      for (const [n, path] of paths.entries()) {
        await page.getByRole('button', { name: `Go to ${n}`, exact: true }).click()
        await page.waitForURL((url) => url.pathname + url.search === path)
        assert.notEqual(await page.getByRole('heading', { level: 1 }).textContent(), 'Not found', path)
        await page.goBack()
      }
      for (const n of [paths.length, paths.length + 1])
        assert.equal(await page.getByRole('button', { name: `Go to ${n}`, exact: true }).count(), 0)
    } finally {
      await context.close()
    }
  })

  it('shows what it is about', async () => {
    const context = await browser.newContext({ viewport: wide, reducedMotion: 'reduce' })
    try {
      const page = await context.newPage()
      for (const [subject, href] of [
        ['app:counts', '/console/health'],
        ['node:far', '/console/health'],
        ['node:far', '/console/nodes/far'],
      ] as const) {
        report = { facts: [{ ...fact(1), kind: 'planted', subject, cause: `It is planted at ${href}`, act: { label: 'Look', href } }] }
        await page.goto(`${host.url}/console`)
        const item = page.getByRole('listitem').filter({ hasText: `planted at ${href}` })
        await item.getByRole('button', { name: 'Look' }).click()
        await page.waitForURL(`**${href}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await item.waitFor()
        await item.getByRole('button', { name: 'Acknowledge…' }).waitFor()
        assert.equal(await item.getByRole('button', { name: 'Look' }).count(), 0)
      }
    } finally {
      await context.close()
    }
  })

  it('is a page that people with a keyboard, a phone or a screen reader can use', async () => {
    const pages = [
      { path: '/webhooks', title: 'Webhooks' },
      { path: '/health', title: 'Health' },
    ]
    for (const viewport of [wide, phone]) await auditPages(browser, host.url, pages, viewport)
  })

  it('of a webhook that fails is the page of its deliveries, where they are sent again', async () => {
    report = { facts: [fact(0)] }
    const context = await browser.newContext({ viewport: wide, reducedMotion: 'reduce' })
    try {
      const page = await context.newPage()
      await page.goto(`${host.url}/console`)
      const item = page.getByRole('listitem').filter({ hasText: `does not reach http://127.0.0.1:${portOf(receiver)}` })
      await item.getByRole('button', { name: 'See its deliveries' }).click()
      await page
        .getByText(`http://127.0.0.1:${portOf(receiver)}`)
        .first()
        .waitFor()
      const row = page.getByRole('table', { name: 'Deliveries' }).getByRole('row').filter({ hasText: 'attention.raised' }).first()
      await row.getByText('failed', { exact: true }).waitFor()
      await shot(page, 'webhook')
      await row.getByRole('button', { name: 'Send again' }).click()
      await page.getByText('The delivery is being sent again').waitFor()
      await page.goto(`${host.url}/console/health`)
      await page.getByRole('table', { name: 'Health checks' }).getByRole('row').filter({ hasText: 'database' }).first().waitFor()
      await shot(page, 'health')
      await page.goto(`${host.url}/console/webhooks`)
      await page.getByRole('table', { name: 'Webhooks' }).getByRole('row').nth(1).waitFor()
      await shot(page, 'webhooks')
    } finally {
      await context.close()
    }
  })
})
