import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { databaseService } from 'zin/plugins/database'
import type { TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { addAxe, launch, phone, violations, wide } from './testing/browser.js'
import { compliantApp, hostile } from './testing/compliant-app.js'

const readKey = 'a key that only reads queues'

describe('the pages of the audit log and of data subjects in Chromium', () => {
  let host: TestHost
  let browser: Browser
  let context: BrowserContext

  before(async () => {
    host = await compliantApp(readKey)
    browser = await launch()
    context = await newContext()
  })
  after(async () => {
    await browser?.close()
    await host?.stop()
  })

  const newContext = (options: BrowserContextOptions = {}): Promise<BrowserContext> =>
    browser.newContext({ viewport: wide, reducedMotion: 'reduce', ...options })
  async function open(path: string, within = context): Promise<Page> {
    const page = await within.newPage()
    await page.goto(`${host.url}/console${path}`)
    return page
  }
  const lookUp = async (page: Page, subject: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Subject id' }).fill(subject)
    await page.getByRole('button', { name: 'Look up' }).click()
  }

  // Colours do not depend on the width, and widths not on the colours.
  for (const [colorScheme, viewport] of [
    ['light', wide],
    ['dark', phone],
  ] as const) {
    it(`are shown without accessibility violations, ${colorScheme}, at ${viewport.width} px`, async () => {
      const audited = await newContext({ viewport, colorScheme, bypassCSP: true })
      const page = await open('/audit', audited)
      const check = async (what: string): Promise<void> => {
        await page.waitForFunction(() => document.querySelector('.loading') === null)
        await addAxe(page)
        assert.deepEqual(await violations(page), [], `${what} in ${colorScheme} at ${viewport.width} px`)
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
        assert.equal(overflow, 0, `${what} is wider than ${viewport.width} px`)
      }
      await page
        .getByRole('row', { name: /worker\.create/ })
        .first()
        .getByRole('link')
        .click()
      await page.getByRole('heading', { level: 2, name: /^Entry \d+: worker\.create/ }).waitFor()
      await check('audit')
      await page.goto(`${host.url}/console/subjects`)
      await lookUp(page, 'ann')
      await page.getByRole('table', { name: 'Jobs of the subject' }).waitFor()
      await check('subjects')
      await audited.close()
    })
  }

  it('filter entries, and show text from clients as text', async () => {
    const page = await open('/audit')
    await page.getByRole('searchbox', { name: 'Action' }).fill('worker.create')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2)
    await page.getByRole('cell', { name: hostile }).first().waitFor()
    await page.getByRole('combobox', { name: 'Outcome' }).selectOption('asked')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    assert.match(page.url(), /action=worker\.create&outcome=asked/)
    await page.getByRole('searchbox', { name: 'Target' }).fill('worker:nobody')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page
      .getByRole('row', { name: /job\.end/ })
      .first()
      .waitFor()
    assert.equal(await page.locator('#app img').count(), 0)
    assert.equal(await page.evaluate(() => 'hacked' in globalThis), false)
    await page.close()
  })

  it('keep the text typed into a filter while the list is reloaded', async () => {
    const page = await open('/audit')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length > 2)
    const reads: (() => void)[] = []
    await page.route('**/api/compliance/audit?*', async (route) => {
      await new Promise<void>((resolve) => reads.push(resolve))
      await route.continue()
    })
    await page.getByRole('combobox', { name: 'Range' }).selectOption('hour')
    await page.getByRole('searchbox', { name: 'Action' }).fill('worker.create')
    const answered = page.waitForResponse('**/api/compliance/audit?*')
    await eventually('the list is asked for', () => reads.length > 0)
    reads.shift()?.()
    await (await answered).finished()
    await page.unrouteAll()
    await page.waitForFunction(() => document.querySelector('.loading') === null)
    assert.equal(await page.getByRole('searchbox', { name: 'Action' }).inputValue(), 'worker.create')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2)
    await page.close()
  })

  it('show the progress and result of a verification', async () => {
    const page = await open('/audit')
    const integrity = page.getByRole('region', { name: 'Integrity' })
    await integrity.getByRole('button', { name: 'Verify' }).waitFor()
    // A verification of a long log is already running when the page opens.
    let verifying: object | null = { entries: 40_000, of: 100_000 }
    await page.route('**/api/compliance/audit/status', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ json: { ...(await response.json()), verifying } })
    })
    await page.reload()
    await integrity.getByText('40,000 of 100,000 entries read').waitFor()
    assert.equal(await integrity.getByRole('button', { name: 'Verifying…' }).isDisabled(), true)
    verifying = null
    await page.reload()
    await integrity.getByRole('button', { name: 'Verify' }).click()
    await integrity.getByText('intact', { exact: true }).waitFor()
    await integrity.getByText(/\d+ entries in 1 chain/).waitFor()
    await page
      .getByRole('row', { name: /audit\.verify/ })
      .first()
      .waitFor()

    const db = host.service(databaseService).tables()
    const { id, actor } = await db.selectFrom('zin_audit').select(['id', 'actor']).orderBy('id').executeTakeFirstOrThrow()
    const setActor = (to: string) => db.updateTable('zin_audit').set({ actor: to }).where('id', '=', id).execute()
    await setActor('user:other')
    await integrity.getByRole('button', { name: 'Verify' }).click()
    await integrity.getByText('changed', { exact: true }).waitFor()
    await integrity.getByText(`entry ${id} was altered`, { exact: false }).waitFor()
    await setActor(actor)
    await page.close()
  })

  it('erase a subject only after its id is typed, and show the progress', async () => {
    const page = await open('/subjects')
    await lookUp(page, 'ann')
    await page.getByRole('heading', { level: 2, name: '2 jobs and 0 other records' }).waitFor()
    assert.doesNotMatch(page.url(), /ann/)
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    const file = JSON.parse(readFileSync(await (await saved).path(), 'utf8'))
    assert.deepEqual([file.jobs.length, file.jobs[0].data], [2, { user: { id: 'ann' } }])

    await page.getByRole('button', { name: 'Erase…' }).click()
    const dialog = page.getByRole('dialog')
    assert.equal(await dialog.getByRole('button', { name: 'Erase' }).isDisabled(), true)
    await dialog.getByRole('textbox').fill('ann')
    await dialog.getByRole('button', { name: 'Erase' }).click()
    const erasure = page.getByRole('region', { name: 'Erasure' })
    await erasure.getByText('completed').waitFor()
    await erasure.getByText('2 jobs and 0 other records erased', { exact: false }).waitFor()
    await erasure.getByRole('button', { name: 'Close' }).click()
    await lookUp(page, 'ann')
    await page.getByText('No data about this subject').waitFor()
    await lookUp(page, hostile)
    await page.getByRole('heading', { level: 2, name: '1 job and 0 other records' }).waitFor()
    assert.equal(await page.locator('#app img').count(), 0)
    await page.close()
  })

  it('are visible only to callers with the permission', async () => {
    const page = await open('')
    const rail = page.getByRole('navigation', { name: 'Pages' })
    await rail.getByRole('link', { name: 'Data subjects' }).waitFor()
    await page.route('**/api/console/boot', async (route) => {
      const boot = await (await route.fetch({ headers: { ...route.request().headers(), 'x-api-key': readKey } })).json()
      assert.deepEqual([boot.may.operate, boot.may.subjects], [false, false])
      await route.fulfill({ json: boot })
    })
    await page.goto(`${host.url}/console/subjects`)
    await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor()
    await rail.getByRole('link', { name: 'Queues' }).waitFor()
    assert.equal(await rail.getByRole('link', { name: /Data subjects|Audit log/ }).count(), 0)
    await page.close()
  })
})
