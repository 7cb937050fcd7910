import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { CanaryView } from 'zin/plugins/canary'
import { eventually } from '../../scripts/testing/eventually.js'
import { launch, phone } from './testing/browser.js'
import { type OperatedApp, operatedApp } from './testing/operated-app.js'

const laptop = { width: 1280, height: 800 }
const longName = 'a-worker-with-a-very-long-name-for-nightly-reports'

describe('the pages of the console in Chromium, on small screens and with unusual values', () => {
  let app: OperatedApp
  let browser: Browser
  let context: BrowserContext
  let flowParent = ''

  before(async () => {
    app = await operatedApp()
    const { workers } = app
    const idle = { autoStart: false, processor: () => null }
    await workers.create({ name: longName, queueName: longName, ...idle })
    await workers.enqueue(longName, {})
    await workers.schedule(longName, 'weekly-digest', { pattern: '0 8 * * 1' })
    await workers.schedule(longName, 'every-night', { pattern: '0 2 * * *', overlap: 'skip', catchUp: 'all' })
    const flow = { worker: longName, data: {}, children: [{ worker: longName, data: {} }] }
    flowParent = `${longName}:${(await workers.enqueueFlow(flow)).id}`
    browser = await launch()
    context = await browser.newContext({ reducedMotion: 'reduce' })
  })
  after(async () => {
    await browser?.close()
    await app?.host.stop()
  })

  async function open(path: string, viewport = laptop): Promise<Page> {
    const page = await context.newPage()
    await page.setViewportSize(viewport)
    await page.goto(`${app.url}/console${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    return page
  }

  for (const viewport of [laptop, phone]) {
    it(`show all columns of their tables at ${viewport.width} px, also with long names`, async () => {
      const page = await open('', viewport)
      const tables: readonly (readonly [path: string, table: string])[] = [
        ['', 'Queues by the age of their oldest waiting job'],
        ['/queues', 'Queues'],
        ['/workers', 'Workers'],
        ['/workers/email-sender', 'Nodes'],
        ['/workers/email-sender', 'Versions'],
        ['/nodes', 'Nodes'],
        ['/schedules', 'Schedules'],
        ['/plugins', 'Plugins'],
        ['/plugins?tab=hooks', 'Hooks'],
      ]
      for (const [path, label] of tables) {
        await page.goto(`${app.url}/console${path}`)
        const table = page.getByRole('table', { name: label, exact: true })
        await table.locator('tbody tr').first().waitFor()
        const hidden = await table.evaluate((element) => element.scrollWidth - (element.parentElement?.clientWidth ?? 0))
        assert.ok(hidden <= 0, `${hidden} px of the table ${label} on ${path} are cut off`)
      }
      await page.close()
    })
  }

  it('say in words what a schedule does with runs that overlap or were missed', async () => {
    const page = await open('/schedules')
    const cells = async (id: string) => {
      const row = page.getByRole('row').filter({ hasText: id })
      await row.waitFor()
      return row.getByRole('cell').allTextContents()
    }
    assert.deepEqual((await cells('weekly-digest')).slice(4, 6), ['next runs too', 'one is made up'])
    assert.deepEqual((await cells('every-night')).slice(4, 6), ['next is left out', 'all are made up'])
    await page.getByTitle('A run that is due while the one before still waits or runs is left out').waitFor()
    if (process.env.SCREENSHOT !== undefined) await page.screenshot({ path: process.env.SCREENSHOT })
    await page.close()
  })

  it('show all columns of the versions of a worker, also with long descriptions and reasons of refusals', async () => {
    const page = await open('')
    const long = 'sends by the new provider, because the old one refuses attachments'
    await page.route('**/api/workers/email-sender/versions', async (route) => {
      const response = await route.fetch()
      const { versions, ...rest } = (await response.json()) as { readonly versions: readonly object[] }
      const refused = { state: 'refused', description: long, refused: { reason: long, at: new Date().toISOString() } }
      const json = { ...rest, versions: versions.map((version) => ({ ...version, ...refused, activatedAt: '2026-01-01T00:00:00Z' })) }
      await route.fulfill({ response, json })
    })
    for (const width of [1280, 1440, 1920]) {
      await page.setViewportSize({ width, height: 800 })
      await page.goto(`${app.url}/console/workers/email-sender`)
      const table = page.getByRole('table', { name: 'Versions', exact: true })
      await table.getByText(long).first().waitFor()
      const hidden = await table.evaluate((element) => element.scrollWidth - (element.parentElement?.clientWidth ?? 0))
      assert.ok(hidden <= 0, `${hidden} px are cut off at ${width} px`)
    }
    await page.close()
  })

  it('give the name of a flow the whole width of a phone', async () => {
    const page = await open('/flows', phone)
    const row = page.getByRole('listitem').filter({ hasText: 'with 1 child job' })
    const [link, whole] = [await row.getByRole('link', { name: flowParent }).boundingBox(), await row.boundingBox()]
    assert.ok(link !== null && whole !== null && link.width > whole.width / 2, `${link?.width} of ${whole?.width} px`)
    await page.close()
  })

  it('do not say that an operator stopped a worker that was never started', async () => {
    const page = await open('/workers')
    const row = page.getByRole('row').filter({ hasText: longName })
    await row.getByText('not meant to run').waitFor()
    await page.close()
  })

  it('separate the number of a pause from its duration', async () => {
    const fails = () => Promise.reject(new Error('smtp: 421 try again later'))
    await app.workers.create({ name: 'retried', queueName: 'retried', processor: fails })
    const { id } = await app.workers.enqueue('retried', {}, { attempts: 2, backoff: { type: 'fixed', delay: 50 } })
    const attempts = async () =>
      (await app.host.inject({ path: `/api/jobs/${id}/attempts?queue=retried` })).body as { attempts?: unknown[] }
    await eventually('both attempts are stored', async () => (await attempts()).attempts?.length === 2)
    const page = await open(`/queues/retried/jobs/${id}`)
    await page
      .getByRole('listitem')
      .filter({ hasText: /^pause 1, \d/ })
      .waitFor()
    await page.close()
  })

  it('use the singular for one job of a canary', async () => {
    const page = await open('/access')
    await page.route('**/canary/status', async (route) => {
      const response = await route.fetch()
      const { canary } = (await response.json()) as { readonly canary: CanaryView }
      const one = { casualties: { ...canary.casualties, recorded: 1, replayed: 0 }, needs: { jobs: 1, minutes: null }, verdict: 'CONTINUE' }
      await route.fulfill({ response, json: { ok: true, canary: { ...canary, ...one } } })
    })
    await page.goto(`${app.url}/console/workers/email-sender`)
    await page.getByText('1 job failed permanently on 1.1.0').waitFor()
    await page.getByText('About 1 more canary job until a verdict.').waitFor()
    await page.close()
  })

  it('draw charts again in the colours of the system when those change', async () => {
    const page = await open('/workers/email-sender')
    await page.emulateMedia({ colorScheme: 'light' })
    const chart = page.locator('.plot canvas').first()
    await chart.waitFor()
    // Nothing else draws it again.
    await page.keyboard.press('p')
    await page.getByRole('button', { name: 'paused' }).waitFor()
    await chart.evaluate((element) => element.setAttribute('data-before', ''))
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.waitForFunction(() => document.querySelector('canvas[data-before]') === null)
    await chart.waitFor()
    await page.close()
  })
})
