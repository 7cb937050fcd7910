import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import { type ConsoleApp, consoleApp } from './testing/app.js'
import { launch, wide } from './testing/browser.js'

describe('the lists of the console in Chromium', () => {
  let app: ConsoleApp
  let browser: Browser
  let context: BrowserContext

  before(async () => {
    app = await consoleApp()
    browser = await launch()
    context = await browser.newContext({ viewport: wide })
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

  /** A queue of waiting jobs named `job 0`, `job 1`, …, whose page shows the last of them. */
  async function scrolledTo(queue: string, jobs: number): Promise<Page> {
    const ofQueue = app.host.service(queuesService).queue(queue)
    await ofQueue.addBulk(Array.from({ length: jobs }, (_, index) => ({ name: `job ${index}`, data: {}, opts: { jobId: `id-${index}` } })))
    const page = await open(`/queues/${queue}?state=waiting`)
    await page.locator('tr[data-index="0"]').focus()
    await page.keyboard.press('End')
    await page
      .locator(`tr[data-index="${jobs - 1}"]`)
      .getByText(`job ${jobs - 1}`)
      .waitFor()
    return page
  }

  it('read again the rows on the screen, and only those, when a scrolled list is reloaded', async () => {
    const page = await scrolledTo('deep', 300)
    const asked: (string | null)[] = []
    page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.pathname === '/api/jobs/waiting') asked.push(url.searchParams.get('page'))
    })
    await app.host.service(queuesService).queue('deep').remove('id-290')
    await page.getByText('1 gone').waitFor()
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.locator('tr[data-index="298"]').getByText('job 299').waitFor()
    await page.locator('tr[data-index="290"]').getByText('job 291').waitFor()
    assert.equal(await page.locator('tr.waiting').count(), 0)
    assert.ok(!asked.includes('1') && asked.length <= 2, `pages ${asked.join(', ')} were read`)
    // The pages before are read when they are scrolled to.
    await page.locator('tr[data-index="298"]').focus()
    await page.keyboard.press('Home')
    await page.locator('tr[data-index="0"]').getByText('job 0').waitFor()
    await page.close()
  })

  it('keep their rows if they cannot be reloaded, and say why', async () => {
    const page = await scrolledTo('kept', 120)
    await page.route('**/api/jobs/waiting?*', (route) =>
      route.fulfill({ status: 503, json: { code: 'QUEUE_CONNECTION_ERROR', message: 'The queue store does not respond' } }),
    )
    await app.host.service(queuesService).queue('kept').remove('id-110')
    await page.getByText('1 gone').waitFor()
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.getByText(/Last updated .* ago: The queue store does not respond/).waitFor()
    await page.locator('tr[data-index="119"]').getByText('job 119').waitFor()
    await page.unroute('**/api/jobs/waiting?*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('tr[data-index="110"]').getByText('job 111').waitFor()
    assert.equal(await page.getByText('The queue store does not respond').count(), 0)
    await page.close()
  })

  it('update the workers that can be read, and mark the one that cannot', async () => {
    const workers = app.host.service(workersService)
    for (const name of ['alpha', 'beta']) await workers.create({ name, queueName: name, processor: () => null })
    const page = await open('/workers')
    const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
    await row('alpha').getByText('running').waitFor()
    await page.getByRole('button', { name: 'live' }).waitFor()
    await page.route('**/api/workers/alpha', (route) =>
      route.fulfill({ status: 503, json: { code: 'WORKER_STORE_UNAVAILABLE', message: 'The worker store does not respond' } }),
    )
    await Promise.all(['alpha', 'beta'].map((name) => workers.pause(name)))
    await row('beta').getByText('paused').waitFor()
    await row('alpha').getByText('not updated').waitFor()
    await page.getByText('alpha could not be read: The worker store does not respond').waitFor()
    assert.equal(await page.getByText('not updated').count(), 1)
    await page.unroute('**/api/workers/alpha')
    await page.getByRole('button', { name: 'Try again' }).click()
    await row('alpha').getByText('paused').waitFor()
    assert.equal(await page.getByText('not updated').count(), 0)
    await page.close()
  })
})
