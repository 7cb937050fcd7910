import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import { type ConsoleApp, consoleApp } from './testing/app.js'
import { launch, wide } from './testing/browser.js'

const workerRoute = '**/api/console/workers?*'

describe('the search of the console in Chromium', () => {
  let app: ConsoleApp
  let browser: Browser
  let context: BrowserContext

  before(async () => {
    app = await consoleApp()
    browser = await launch()
    context = await browser.newContext({ viewport: wide })
    const workers = app.host.service(workersService)
    // More than one page of the list of workers, none of them running.
    for (let n = 0; n < 120; n++) {
      const name = `crowd-${String(n).padStart(3, '0')}`
      await workers.create({ name, queueName: 'crowd', autoStart: false, activeStatus: n !== 119, processor: () => null })
    }
    await workers.create({ name: 'a-crowd-11', queueName: 'crowd', autoStart: false, processor: () => null })
    await workers.create({ name: 'crowd-11', queueName: 'crowd', autoStart: false, processor: () => null })
  })
  after(async () => {
    await browser?.close()
    await app?.host.stop()
  })

  async function openSearch(): Promise<Page> {
    const page = await context.newPage()
    await page.goto(`${app.url}/console`)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.keyboard.press('/')
    await page.getByRole('combobox').waitFor()
    return page
  }
  const optionsOf = async (page: Page, kind: string) =>
    (await page.getByRole('option').filter({ hasText: kind }).locator('.hit-title').allTextContents()).map((title) => title.trim())

  it('finds any of more than a hundred workers, also an inactive one, and opens it', async () => {
    const page = await openSearch()
    await page.keyboard.type('CROWD-119')
    await page.getByRole('option', { name: /crowd-119/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'crowd-119' }).waitFor()
    await page.close()
  })

  it('lists a few workers, the best matches first, and says how many there are', async () => {
    const page = await openSearch()
    await page.keyboard.type('crowd-11')
    await page.getByText('8 of 12 matching workers shown').waitFor()
    const first = Array.from({ length: 7 }, (_, n) => `crowd-11${n}`)
    assert.deepEqual(await optionsOf(page, 'worker'), ['crowd-11', ...first])
    await page.close()
  })

  it('lists a few queues, the best matches first, and says how many there are', async () => {
    const { queue } = app.host.service(queuesService)
    for (const name of [...Array.from({ length: 9 }, (_, n) => `bulk-${n}`), 'a-bulk', 'bulk']) await queue(name).add('one', {})
    const page = await openSearch()
    await page.keyboard.type('bulk')
    await page.getByText('8 of 11 matching queues shown').waitFor()
    assert.deepEqual(await optionsOf(page, 'queue'), ['bulk', ...Array.from({ length: 7 }, (_, n) => `bulk-${n}`)])
    await page.close()
  })

  it('shows the matches of the text that was typed last, even if an earlier search responds later', async () => {
    const page = await openSearch()
    const held: (() => void)[] = []
    await page.route(workerRoute, async (route) => {
      if (!route.request().url().includes('crowd-001')) return route.continue()
      const response = await route.fetch()
      await new Promise<void>((resolve) => held.push(resolve))
      return route.fulfill({ response }).catch(() => undefined)
    })
    const asked = page.waitForRequest(/console\/workers\?.*crowd-001/)
    const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('crowd-001'))
    await page.getByRole('combobox').fill('crowd-001')
    await asked
    await page.getByRole('combobox').fill('crowd-002')
    await page.getByRole('option', { name: /crowd-002/ }).waitFor()
    for (const release of held) release()
    await ended
    assert.deepEqual(await optionsOf(page, 'worker'), ['crowd-002'])
    await page.close()
  })

  it('says what could not be searched, and still lists the rest', async () => {
    const page = await openSearch()
    const failure = (message: string) => ({ status: 503, json: { code: 'X', message } })
    await page.route(workerRoute, (route) => route.fulfill(failure('The worker store does not respond')))
    await page.keyboard.type('crowd')
    await page.getByText('Workers could not be searched: The worker store does not respond').waitFor()
    await page.unroute(workerRoute)
    await page.route('**/api/queue/stats', (route) => route.fulfill(failure('The queue store does not respond')))
    await page.getByRole('combobox').fill('crowd-11')
    await page.getByText('Queues could not be searched: The queue store does not respond').waitFor()
    await page
      .getByRole('option', { name: /crowd-11/ })
      .first()
      .waitFor()
    await page.close()
  })
})
