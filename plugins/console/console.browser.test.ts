import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { queuesService } from 'zin/plugins/queues'
import { basic, type ConsoleApp, consoleApp, hostile, readKey } from './testing/app.js'

const executablePath = process.env.TEST_CHROMIUM
assert.ok(executablePath, 'TEST_CHROMIUM is not set; run: npm test -- console.browser')
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const wide = { width: 1440, height: 900 }
const phone = { width: 390, height: 844 }

describe('the console in Chromium', () => {
  let app: ConsoleApp
  let browser: Browser
  let failedId = ''

  before(async () => {
    app = await consoleApp()
    browser = await chromium.launch({
      executablePath: executablePath as string,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    })
    failedId = await app.fail()
  })
  after(async () => {
    await browser?.close()
    await app?.host.stop()
  })

  /** A page of its own, which fails the test with what its console says. */
  async function open(path: string, options: BrowserContextOptions = {}, url = app.url): Promise<{ page: Page; problems: string[] }> {
    const context = await browser.newContext({ viewport: wide, ...options })
    const page = await context.newPage()
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
    await page.goto(`${url}/console${path}`)
    return { page, problems }
  }

  const pages = (): readonly (readonly [path: string, shows: string])[] => [
    ['', 'Overview'],
    ['/queues', 'Queues'],
    ['/queues/mails?state=failed', 'mails'],
    ['/queues/mails?state=history', 'mails'],
    ['/queues/hostile-data?state=waiting', 'hostile-data'],
    [`/queues/mails/jobs/${failedId}`, hostile],
    [`/queues/mails/jobs/${failedId}?tab=data`, hostile],
    [`/queues/mails/jobs/${failedId}?tab=flow`, hostile],
    ['/schedules', 'Schedules'],
    ['/flows', 'Flows'],
    ['/guest', 'Guest'],
    ['/nowhere', 'Not found'],
  ]

  // Colours do not depend on the width, and widths not on the colours.
  for (const [colorScheme, viewport] of [
    ['light', wide],
    ['dark', phone],
  ] as const) {
    it(`shows each page without a violation of accessibility, ${colorScheme}, at ${viewport.width} px`, async () => {
      const context = await browser.newContext({ viewport, colorScheme, bypassCSP: true, reducedMotion: 'reduce' })
      const page = await context.newPage()
      for (const [path, title] of pages()) {
        await page.goto(`${app.url}/console${path}`)
        await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
        await page.waitForFunction(() => document.querySelector('.loading') === null)
        await page.evaluate(axe)
        const found = await page.evaluate(async () => {
          const { violations } = await (globalThis as unknown as { axe: { run(): Promise<{ violations: AxeViolation[] }> } }).axe.run()
          return violations.map(({ help, nodes }) => `${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
        })
        assert.deepEqual(found, [], `${path} in ${colorScheme} at ${viewport.width} px`)
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
        assert.equal(overflow, 0, `${path} is wider than ${viewport.width} px`)
      }
      await context.close()
    })
  }

  it('shows hostile names and payloads as text under a policy that forbids anything else', async () => {
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
    await page.context().close()
  })

  it('is used by keyboard alone: goes to the queues, opens one, marks jobs, searches, and lists its keys', async () => {
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
    await page.locator('tr[data-index="0"]').focus()
    await page.keyboard.press('x')
    await page.getByText('1 job marked').waitFor()
    await page.keyboard.press('/')
    await page.getByRole('combobox').fill('hostile-data')
    await page
      .getByRole('option', { name: /hostile-data/ })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'hostile-data' }).waitFor()
    await page.keyboard.press('t')
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light')
    assert.deepEqual(problems, [])
    await page.context().close()
  })

  it('retries a job, and deletes all failed ones only after their number was shown and confirmed', async () => {
    await app.fail('again')
    const { page } = await open('/queues/mails?state=failed')
    await page.getByRole('link', { name: failedId, exact: true }).click()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByText(`Job ${failedId} retried`).waitFor()
    await page.goto(`${app.url}/console/queues/mails?state=failed`)
    await page.getByRole('button', { name: 'Delete all…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/^\d+ jobs?: /).waitFor()
    await dialog.getByRole('button', { name: 'Delete all' }).click()
    await page.getByText(/^Delete all: \d+ of/).waitFor()
    await page.getByText('No failed jobs').waitFor()
    failedId = await app.fail()
    await page.context().close()
  })

  it('wants the name of the queue typed for more than 100 jobs, and scrolls through all of them', async () => {
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
    await page.locator('tr[data-index="0"]').focus()
    await page.keyboard.press('End')
    await page.locator('tr[data-index="299"]').getByText('job 299').waitFor()
    assert.ok((await page.locator('tbody tr').count()) < 120)
    await page.context().close()
  })

  it('says that it reconnects while the app cannot be reached, and is live again afterwards', async () => {
    const { page } = await open('/queues')
    await page.getByRole('button', { name: 'live' }).waitFor()
    await page.context().setOffline(true)
    await page.goto('about:blank').catch(() => undefined)
    await page.context().setOffline(false)
    let isDown = true
    await page.route('**/api/queue/events', (route) => (isDown ? route.abort() : route.continue()))
    await page.goto(`${app.url}/console/queues`)
    await page.getByRole('button', { name: /reconnecting/ }).waitFor()
    isDown = false
    await page.getByRole('button', { name: /reconnecting/ }).click()
    await page.getByRole('button', { name: 'live' }).waitFor()
    await page.context().close()
  })

  it('shows pages and panels of a plugin', async () => {
    const { page, problems } = await open('/guest')
    await page.getByText('<b>as text</b>').waitFor()
    await page.goto(`${app.url}/console/queues/mails`)
    await page.getByText('beside mails').waitFor()
    assert.deepEqual(problems, [])
    await page.context().close()
  })

  it('asks for credentials where the app wants some, and has no buttons for those who only read', async () => {
    const guarded = await consoleApp(
      { OPS_AUTH: 'required', BULLETPROOF_SIGNING_SECRET: 'a secret that is long enough for tests only' },
      {},
    )
    try {
      const { page } = await open('/queues/mails', {}, guarded.url)
      await page.getByLabel('User', { exact: true }).fill(basic.username)
      await page.getByLabel('Password', { exact: true }).fill('wrong')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('alert').getByText('not valid').waitFor()
      await page.getByLabel('User', { exact: true }).fill(basic.username)
      await page.getByLabel('Password', { exact: true }).fill(basic.password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
      await page.context().close()

      const reader = await open('/queues/mails', {}, guarded.url)
      await reader.page.getByText('API key', { exact: true }).first().click()
      await reader.page.locator('input[type=password]').fill(readKey)
      await reader.page.getByRole('button', { name: 'Sign in' }).click()
      await reader.page.getByRole('heading', { level: 1, name: 'mails' }).waitFor()
      await reader.page.getByRole('tab', { name: /Failed/ }).waitFor()
      assert.equal(await reader.page.getByRole('button', { name: 'Pause', exact: true }).count(), 0)
      await reader.page.goto(`${guarded.url}/console/schedules`)
      await reader.page.getByText('not signed in for this').waitFor()
      await reader.page.context().close()
    } finally {
      await guarded.host.stop()
    }
  })
})

interface AxeViolation {
  readonly help: string
  readonly nodes: readonly { readonly html: string }[]
}
