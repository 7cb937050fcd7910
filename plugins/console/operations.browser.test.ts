import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { hostile, type OperatedApp, operatedApp } from './testing/operated-app.js'

const executablePath = process.env.TEST_CHROMIUM
assert.ok(executablePath, 'TEST_CHROMIUM is not set; run: npm test -- operations.browser')
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const wide = { width: 1440, height: 900 }
const phone = { width: 390, height: 844 }

interface Violation {
  readonly help: string
  readonly nodes: readonly { readonly html: string }[]
}

const pages: readonly (readonly [path: string, title: string])[] = [
  ['/workers', 'Workers'],
  ['/workers/email-sender', 'email-sender'],
  ['/workers/imports', 'imports'],
  ['/decisions', 'Decisions'],
  ['/resources', 'Resources'],
  ['/plugins?plugin=workers', 'Plugins and hooks'],
  ['/plugins?tab=hooks', 'Plugins and hooks'],
  ['/plugins?tab=routes', 'Plugins and hooks'],
  ['/plugins?tab=settings', 'Plugins and hooks'],
  ['/access', 'Access'],
]

describe('the pages of workers, decisions, resources and plugins in Chromium', () => {
  let app: OperatedApp
  let browser: Browser

  before(async () => {
    app = await operatedApp()
    browser = await chromium.launch({
      executablePath: executablePath as string,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    })
  })
  after(async () => {
    await browser?.close()
    await app?.host.stop()
  })

  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: wide, reducedMotion: 'reduce', ...options })
    const page = await context.newPage()
    await page.goto(`${app.url}/console${path}`)
    return page
  }

  // Colours do not depend on the width, and widths not on the colours.
  for (const [colorScheme, viewport] of [
    ['light', wide],
    ['dark', phone],
  ] as const) {
    it(`are shown without a violation of accessibility, ${colorScheme}, at ${viewport.width} px`, async () => {
      const page = await open('/workers', { viewport, colorScheme, bypassCSP: true })
      for (const [path, title] of pages) {
        await page.goto(`${app.url}/console${path}`)
        await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
        await page.waitForFunction(() => document.querySelector('.loading') === null)
        await page.evaluate(axe)
        const found = await page.evaluate(async () => {
          const { violations } = await (globalThis as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }).axe.run()
          return violations.map(({ help, nodes }) => `${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
        })
        assert.deepEqual(found, [], `${path} in ${colorScheme} at ${viewport.width} px`)
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
        assert.equal(overflow, 0, `${path} is wider than ${viewport.width} px`)
      }
      await page.context().close()
    })
  }

  it('show the canary as intervals, and decide about it by keyboard alone', async () => {
    const page = await open('/workers')
    await page.getByRole('row', { name: /email-sender/ }).focus()
    await page.keyboard.press('Enter')
    const canary = page.getByRole('region', { name: 'Canary', exact: true })
    await canary.getByRole('img', { name: /failures; limit/ }).waitFor()
    await canary.getByText(/jobs until a verdict|more jobs of the canary/).waitFor()
    await canary.getByRole('button', { name: 'Pause' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('It keeps its share of the jobs').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).focus()
    await page.keyboard.press('Enter')
    await canary.getByText('Somebody paused it.', { exact: false }).waitFor()
    await page.context().close()
  })

  it('stop a worker only when its name is typed, and start it again', async () => {
    const page = await open('/workers/thumbnails')
    await page.getByRole('button', { name: 'Stop' }).click()
    const dialog = page.getByRole('dialog')
    assert.equal(await dialog.getByRole('button', { name: 'Stop' }).isDisabled(), true)
    await dialog.getByRole('textbox').fill('thumbnails')
    await dialog.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.getByRole('button', { name: 'Restart' }).waitFor()
    await page.context().close()
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
    await page.context().close()
  })

  it('keep few rows of 1,000 workers in the document, and find one by name', async () => {
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
    await page.context().close()
  })

  it('show what a plugin needs when it is chosen in the boot graph', async () => {
    const page = await open('/plugins')
    await page.getByRole('link', { name: 'workers, enabled' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 2, name: 'workers' }).waitFor()
    assert.match(page.url(), /plugin=workers/)
    await page.context().close()
  })
})
