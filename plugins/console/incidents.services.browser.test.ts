import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { mysqlEnv } from '../../scripts/testing/mysql-database.js'
import { launch, wide } from './testing/browser.js'
import { declined, type IncidentsApp, incidentsApp } from './testing/incidents-app.js'

/** An operator who starts at the overview and looks for a cause, with the mouse. */
interface Walk {
  readonly page: Page
  readonly clicks: number
  click(door: Locator): Promise<void>
  /** Waits until it can be read without scrolling. */
  sees(what: Locator): Promise<void>
  end(): Promise<void>
}

describe('the console on Redis and MariaDB', () => {
  let app: IncidentsApp
  let browser: Browser
  let context: BrowserContext

  before(async () => {
    app = await incidentsApp({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set', ...mysqlEnv() })
    browser = await launch()
    context = await browser.newContext({ viewport: wide, reducedMotion: 'reduce' })
  })
  after(async () => {
    await browser?.close()
    await app?.stop()
  })

  async function walk(): Promise<Walk> {
    const page = await context.newPage()
    await page.goto(`${app.url}/console`)
    let clicks = 0
    return {
      page,
      get clicks() {
        return clicks
      },
      async click(door) {
        clicks++
        await door.click()
      },
      async sees(what) {
        await what.waitFor()
        await page.waitForFunction(
          (element) => {
            const { bottom, top } = (element as HTMLElement).getBoundingClientRect()
            return top >= 0 && bottom <= innerHeight
          },
          await what.elementHandle(),
        )
      },
      end: () => page.close(),
    }
  }

  const need = ({ page }: Walk, words: string): Locator =>
    page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem').filter({ hasText: words })

  it('leads from the overview to the job whose retries block a queue, and to its error', async () => {
    const id = await app.poisonJob()
    const operator = await walk()
    const { page } = operator
    await operator.click(need(operator, `job ${id} (charge-card) has failed`).getByRole('link'))
    await page.getByRole('heading', { level: 1, name: 'charge-card' }).waitFor()
    await operator.sees(page.getByText(declined).first())
    await operator.sees(page.getByText(/Attempt \d+ of 100000 failed/))
    await operator.sees(page.getByRole('definition').filter({ hasText: new RegExp(`^${id}$`) }))
    assert.ok(operator.clicks <= 4, `${operator.clicks} clicks`)
    await operator.end()
  })

  it('leads from the overview to the version that fails 10 %, compared with the one that does not', async () => {
    await app.releaseBadVersion()
    const operator = await walk()
    const { page } = operator
    await operator.click(need(operator, 'version 1.1.0 fails 10.0').getByRole('link', { name: 'email-sender' }))
    await page.getByRole('heading', { level: 1, name: 'email-sender' }).waitFor()
    await operator.sees(page.getByText(/Version 1\.1\.0 fails 10\.0\s%/))
    await page.getByRole('row', { name: /1\.1\.0.*10\.0\s%/ }).waitFor()
    await page.getByRole('row', { name: /1\.0\.0.*0\s%/ }).waitFor()
    assert.ok(operator.clicks <= 4, `${operator.clicks} clicks`)
    await operator.end()
  })

  it('leads from the overview to the process that lost its lease', async () => {
    const node = await app.loseProcess()
    const operator = await walk()
    const { page } = operator
    await operator.click(need(operator, node).getByRole('link'))
    await operator.sees(page.getByRole('heading', { level: 1, name: node }))
    await operator.sees(page.getByText(`${node} lost its lease`).first())
    await page
      .getByRole('definition')
      .filter({ hasText: String(node.split(':')[1]) })
      .waitFor()
    assert.ok(operator.clicks <= 4, `${operator.clicks} clicks`)
    await operator.end()
  })
})
