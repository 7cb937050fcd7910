import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import type { CanaryView } from 'zin/plugins/canary'
import { auditPages, launch, phone, pressWithKeys, tabTo, wide } from './testing/browser.js'
import { account, hostile, type OperatedApp, operatedApp } from './testing/operated-app.js'

describe('the pages of workers, decisions, resources and plugins in Chromium', () => {
  let app: OperatedApp
  let browser: Browser
  let context: BrowserContext

  before(async () => {
    app = await operatedApp()
    browser = await launch()
    context = await browser.newContext({ viewport: wide, reducedMotion: 'reduce' })
  })
  after(async () => {
    await browser?.close()
    await app?.host.stop()
  })

  async function open(path: string): Promise<Page> {
    const page = await context.newPage()
    await page.goto(`${app.url}/console${path}`)
    return page
  }

  for (const viewport of [wide, phone]) {
    it(`are shown in both themes without accessibility violations and usable without a mouse, at ${viewport.width} px`, async () => {
      const [node] = await app.workers.nodes()
      const pages = [
        { path: '/workers', title: 'Workers' },
        { path: '/workers/email-sender', title: 'email-sender' },
        { path: '/workers/imports', title: 'imports' },
        { path: '/nodes', title: 'Nodes' },
        { path: `/nodes/${encodeURIComponent(node?.id ?? '')}`, title: node?.id ?? '' },
        { path: '/decisions', title: 'Decisions' },
        { path: '/resources', title: 'Resources' },
        { path: '/plugins?plugin=workers', title: 'Plugins and hooks' },
        { path: '/plugins?tab=hooks', title: 'Plugins and hooks' },
        { path: '/plugins?tab=routes', title: 'Plugins and hooks' },
        { path: '/plugins?tab=settings', title: 'Plugins and hooks' },
        { path: '/access', title: 'Access' },
      ]
      await auditPages(browser, app.url, pages, viewport)
    })
  }

  it('show the canary as intervals, and allow decisions about it with the keyboard alone', async () => {
    const page = await open('/workers')
    await page.getByRole('row', { name: /email-sender/ }).focus()
    await page.keyboard.press('Enter')
    const canary = page.getByRole('region', { name: 'Canary', exact: true })
    await canary.getByRole('img', { name: /failures; limit/ }).waitFor()
    await canary.getByText(/jobs until a verdict|more jobs of the canary/).waitFor()
    await pressWithKeys(page, canary.getByRole('button', { name: 'Pause' }))
    await page.getByRole('dialog').getByText('It keeps its share of the jobs').waitFor()
    await pressWithKeys(page, page.getByRole('dialog').getByRole('button', { name: 'Pause' }))
    await canary.getByText('It was paused manually.', { exact: false }).waitFor()
    await page.close()
  })

  it('stop a worker only after its name is typed, and start it again', async () => {
    const page = await open('/workers/thumbnails')
    await pressWithKeys(page, page.getByRole('button', { name: 'Stop' }))
    const dialog = page.getByRole('dialog')
    assert.equal(await dialog.getByRole('button', { name: 'Stop' }).isDisabled(), true)
    await tabTo(page, dialog.getByRole('textbox'))
    await page.keyboard.type('thumbnails')
    await pressWithKeys(page, dialog.getByRole('button', { name: 'Stop' }))
    await pressWithKeys(page, page.getByRole('button', { name: 'Start', exact: true }))
    await page.getByRole('button', { name: 'Restart' }).waitFor()
    await page.close()
  })

  it('list workers that changed while the list was read, and none that was removed while it was read', async () => {
    const page = await open('/nowhere')
    await page.addInitScript(() => {
      const set = globalThis.setTimeout
      Object.assign(globalThis, {
        // Counts the timers that gather changes, so that the test knows when they have fired.
        gathered: 0,
        setTimeout: (run: () => void, ms?: number) =>
          set(() => {
            run()
            if (ms === 1000) (globalThis as unknown as { gathered: number }).gathered++
          }, ms),
      })
    })
    let lists = 0
    let releaseList = (): void => undefined
    const listReleased = new Promise<void>((resolve) => {
      releaseList = resolve
    })
    await page.route('**/api/workers?includeInactive*', async (route) => {
      lists++
      const response = await route.fetch()
      if (lists === 1) await listReleased
      await route.fulfill({ response })
    })
    const read = page.waitForRequest('**/api/workers?includeInactive*')
    await page.goto(`${app.url}/console/workers`)
    await read
    await page.getByRole('button', { name: 'live' }).waitFor()
    await app.workers.create({ name: 'late', queueName: 'late', processor: () => null })
    await page.waitForFunction(() => (globalThis as unknown as { gathered: number }).gathered > 0)
    releaseList()
    await page.getByRole('row', { name: /late/ }).waitFor()
    assert.equal(lists, 1)

    let releaseOne = (): void => undefined
    const oneReleased = new Promise<void>((resolve) => {
      releaseOne = resolve
    })
    const isRead = new Promise<void>((resolve) => {
      void page.route('**/api/workers/late', async (route) => {
        const response = await route.fetch()
        resolve()
        await oneReleased
        await route.fulfill({ response })
      })
    })
    await app.workers.pause('late')
    await isRead
    await app.workers.remove('late')
    await page.getByRole('row', { name: /late/ }).waitFor({ state: 'detached' })
    const stale = page.waitForEvent('requestfinished', (request) => request.url().endsWith('/api/workers/late'))
    releaseOne()
    await stale
    await app.workers.create({ name: 'latest', queueName: 'latest', processor: () => null })
    await page.getByRole('row', { name: /latest/ }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'late', exact: true }).count(), 0)
    await app.workers.remove('latest')
    await page.close()
  })

  it('start a canary with the entered version, share and duration', async () => {
    await app.workers.create({ name: 'invoices', queueName: 'invoices', processor: () => null })
    for (const version of ['1.1.0', '1.2.0']) await app.workers.registerVersion('invoices', { version, processor: () => null })
    const page = await open('/workers/invoices')
    await pressWithKeys(page, page.getByRole('button', { name: 'Start canary' }))
    const dialog = page.getByRole('dialog')
    await tabTo(page, dialog.getByRole('combobox', { name: 'Version' }))
    await page.keyboard.type('1.2')
    for (const [name, value] of [
      ['Largest share of the jobs, %', '35'],
      ['Total duration, minutes', '90'],
    ] as const) {
      await tabTo(page, dialog.getByRole('spinbutton', { name }))
      await page.keyboard.press('Control+A')
      await page.keyboard.type(value)
    }
    await pressWithKeys(page, dialog.getByRole('button', { name: 'Start', exact: true }))
    await page.getByRole('region', { name: 'Canary', exact: true }).waitFor()
    const { body } = await app.host.inject({ method: 'GET', path: '/api/workers/invoices/canary/status' })
    const { canary, steps } = (body as { canary: CanaryView }).canary
    const sum = steps.reduce((all, { duration }) => all + duration, 0)
    assert.deepEqual([canary.version, steps.at(-1)?.trafficPercentage, sum], ['1.2.0', 35, 90 * 60_000])
    await page.close()
  })

  it('activate a version, and roll back to the previous one', async () => {
    await app.workers.create({ name: 'exports', queueName: 'exports', processor: () => null })
    await app.workers.registerVersion('exports', { version: '2.0.0', processor: () => null })
    const page = await open('/workers/exports')
    const dialog = page.getByRole('dialog')
    await pressWithKeys(page, page.getByRole('button', { name: 'Activate' }))
    await dialog.getByText('All new jobs of exports go to 2.0.0').waitFor()
    await pressWithKeys(page, dialog.getByRole('button', { name: 'Activate' }))
    await page.getByRole('row', { name: /2\.0\.0.*active/ }).waitFor()
    assert.equal((await app.workers.get('exports')).version, '2.0.0')
    await pressWithKeys(page, page.getByRole('button', { name: 'Roll back' }))
    await pressWithKeys(page, dialog.getByRole('button', { name: 'Roll back' }))
    await page.getByRole('row', { name: /1\.0\.0.*active/ }).waitFor()
    await page.close()
  })

  it('remove the devices of an account, including the one in use', async () => {
    const logIn = async () => {
      const response = await fetch(`${app.url}/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(account),
      })
      return (await response.json()) as { readonly jwt: string; readonly deviceId: string; readonly deviceSecret: string }
    }
    const own = await logIn()
    await logIn()
    const page = await open('/access')
    const credential = JSON.stringify({ kind: 'device', jwt: own.jwt, deviceId: own.deviceId, secret: own.deviceSecret })
    await page.evaluate((text) => sessionStorage.setItem('zin-console-credential', text), credential)
    await page.reload()
    const rows = page.getByRole('table', { name: 'Devices' }).locator('tbody tr')
    const [used, spare] = [rows.filter({ hasText: 'this device' }), rows.filter({ hasNotText: 'this device' })]
    await used.waitFor()
    assert.deepEqual([await used.count(), await spare.count()], [1, 1])
    const remove = async (row: Locator, text: string): Promise<void> => {
      await pressWithKeys(page, row.getByRole('button', { name: 'Remove' }))
      await page.getByRole('dialog').getByText(text).waitFor()
      await pressWithKeys(page, page.getByRole('dialog').getByRole('button', { name: 'Remove' }))
    }
    await remove(spare, 'Its signatures are no longer accepted.')
    await spare.waitFor({ state: 'detached' })
    await remove(used, 'this tab will have to sign in again')
    await page.getByText('You are not signed in with a device').waitFor()
    assert.equal(await page.evaluate(() => sessionStorage.getItem('zin-console-credential')), null)
    await page.close()
  })

  it('can be filtered, expanded and switched with the keyboard alone', async () => {
    const page = await open('/workers')
    const wait = (part: string) => page.waitForFunction((text) => location.search.includes(text), part)
    await tabTo(page, page.getByRole('radio', { name: /^All/ }))
    await page.keyboard.press('ArrowRight')
    await wait('show=trouble')
    await page.goto(`${app.url}/console/decisions`)
    await tabTo(page, page.getByRole('combobox', { name: 'Kind' }))
    await page.keyboard.type('brea')
    await wait('kind=breaker')
    await pressWithKeys(page, page.locator('summary', { hasText: 'Evidence' }))
    await page.locator('details[open]').getByText('Rule').waitFor()
    await page.goto(`${app.url}/console/resources`)
    await tabTo(page, page.getByRole('radio', { name: '1 h' }))
    await page.keyboard.press('ArrowRight')
    await wait('hours=6')
    await pressWithKeys(page, page.getByRole('button', { name: 'Stop monitoring' }))
    await pressWithKeys(page, page.getByRole('dialog').getByRole('button', { name: 'Stop monitoring' }))
    await page.getByRole('button', { name: 'Start monitoring' }).waitFor()
    await page.goto(`${app.url}/console/plugins`)
    await tabTo(page, page.getByRole('tab', { name: /Boot graph/ }))
    await page.keyboard.press('ArrowRight')
    await page.getByRole('tab', { name: /Hooks/, selected: true }).waitFor()
    await page.goto(`${app.url}/console/workers/imports`)
    await pressWithKeys(page, page.getByRole('button', { name: 'Close breaker' }))
    await pressWithKeys(page, page.getByRole('dialog').getByRole('button', { name: 'Close breaker' }))
    await page.getByText('The breaker is closed').waitFor()
    await page.close()
  })

  it('show hostile text of decisions and versions as text', async () => {
    const page = await open('/decisions')
    await page.getByText(`Would pause because of ${hostile}`).waitFor()
    await page.getByText('Evidence').last().click()
    await page.locator('pre', { hasText: 'onerror' }).waitFor()
    await page.goto(`${app.url}/console/workers/email-sender`)
    await page.getByText(`Templates ${hostile}`).waitFor()
    assert.equal(await page.locator('#app img').count(), 0)
    assert.equal(await page.evaluate(() => 'hacked' in globalThis), false)
    await page.close()
  })

  it('render only some rows of 1,000 workers, and find one by name', async () => {
    const [one] = (await app.workers.list()).workers
    const page = await open('/access')
    await page.route('**/api/workers?*', (route) => {
      const at = Number(new URL(route.request().url()).searchParams.get('page'))
      const workers = Array.from({ length: 100 }, (_, index) => ({ ...one, name: `worker-${at * 100 + index - 99}` }))
      return route.fulfill({ json: { ok: true, workers, pagination: { page: at, limit: 100, total: 1000, totalPages: 10 } } })
    })
    await page.goto(`${app.url}/console/workers`)
    await page.getByRole('table', { name: 'Workers' }).waitFor()
    assert.equal(await page.getByRole('table', { name: 'Workers' }).getAttribute('aria-rowcount'), '1001')
    assert.ok((await page.locator('tbody tr').count()) < 100)
    await page.getByRole('searchbox').fill('worker-777')
    await page.getByRole('row', { name: /worker-777/ }).waitFor()
    assert.match(page.url(), /q=worker-777/)
    await page.close()
  })

  it('show the dependencies of a plugin selected in the boot graph', async () => {
    const page = await open('/plugins')
    await page.getByRole('link', { name: 'workers, enabled' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 2, name: 'workers' }).waitFor()
    assert.match(page.url(), /plugin=workers/)
    await page.close()
  })
})
