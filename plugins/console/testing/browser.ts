import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, ElementHandle, Locator, Page } from 'playwright-core'

export { launch } from '../../../scripts/testing/chromium.js'

export const wide = { width: 1440, height: 900 }
export const phone = { width: 390, height: 844 }

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Number of Tab presses after which an element counts as unreachable. */
const mostTabs = 300

interface AxeInPage {
  run(
    options?: object,
  ): Promise<{ readonly violations: readonly { readonly help: string; readonly nodes: readonly { readonly html: string }[] }[] }>
}

export interface AuditedPage {
  /** Below `/console`. */
  readonly path: string
  /** The heading of the page. */
  readonly title: string
}

/**
 * Opens each page in a viewport and asserts: axe finds no violations in either theme, nothing is wider than the screen, and on a wide
 * screen every clickable element can be reached with Tab.
 */
export async function auditPages(
  browser: Browser,
  url: string,
  pages: readonly AuditedPage[],
  viewport: { readonly width: number; readonly height: number },
): Promise<void> {
  const context = await browser.newContext({ viewport, bypassCSP: true, reducedMotion: 'reduce' })
  const page = await context.newPage()
  for (const { path, title } of pages) {
    const where = `${path} at ${viewport.width} px`
    await page.emulateMedia({ colorScheme: 'light' })
    await page.goto(`${url}/console${path}`)
    await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
    await page.waitForFunction(() => document.querySelector('.loading') === null)
    await addAxe(page)
    assert.deepEqual(await violations(page), [], where)
    await page.emulateMedia({ colorScheme: 'dark' })
    assert.deepEqual(await violations(page, { runOnly: ['color-contrast', 'link-in-text-block'] }), [], `${where} in the dark`)
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    assert.equal(overflow, 0, `${where} is wider than the screen`)
    if (viewport === wide) assert.deepEqual(await outOfReach(page), [], `${where} without a mouse`)
  }
  await context.close()
}

/** Loads axe into a document, which must not have a policy against it: see `bypassCSP`. */
export async function addAxe(page: Page): Promise<void> {
  await page.evaluate(axe)
}

/** The violations that axe finds, see `addAxe`. */
export function violations(page: Page, options?: object): Promise<readonly string[]> {
  return page.evaluate(async (chosen) => {
    const found = await (globalThis as unknown as { axe: AxeInPage }).axe.run({ resultTypes: ['violations'], ...chosen })
    return found.violations.map(({ help, nodes }) => `${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
  }, options)
}

/**
 * Returns clickable elements that Tab does not reach. Of a group of tabs, rows or radio buttons, Tab reaches one and arrow keys the rest.
 */
async function outOfReach(page: Page): Promise<readonly string[]> {
  await page.evaluate(() => {
    const clickable = 'a[href], button, input, select, textarea, summary'
    const found = [...document.querySelectorAll<HTMLElement>(clickable)].filter(
      (element) => element.checkVisibility() && element.tabIndex >= 0 && !element.matches(':disabled, [type=radio]:not(:checked)'),
    )
    const left = new Set(found)
    Object.assign(globalThis, { left })
    document.addEventListener('focusin', ({ target }) => left.delete(target as HTMLElement))
    ;(document.activeElement as HTMLElement | null)?.blur()
  })
  const read = () =>
    page.evaluate(() =>
      [...(globalThis as unknown as { left: Set<HTMLElement> }).left].flatMap((one) => (one.isConnected ? [one.outerHTML] : [])),
    )
  for (let tabs = 0; tabs < mostTabs; tabs += 10) {
    for (let n = 0; n < 10; n++) await page.keyboard.press('Tab')
    if ((await read()).length === 0) return []
  }
  return read()
}

/** Presses Tab until an element has the focus. */
export async function tabTo(page: Page, what: Locator): Promise<void> {
  // Looking for it again after each Tab would cost more than the rest of most tests.
  let element = await found(what)
  for (let tabs = 0; tabs < mostTabs; tabs++) {
    const state = await element.evaluate((one) => (one === document.activeElement ? 'focused' : one.isConnected ? 'shown' : 'gone'))
    if (state === 'focused') return
    if (state === 'gone') element = await found(what)
    else await page.keyboard.press('Tab')
  }
  assert.fail(`Tab does not reach ${what.toString()}`)
}

async function found(what: Locator): Promise<ElementHandle<Node>> {
  await what.first().waitFor()
  const element = await what.first().elementHandle()
  assert.ok(element)
  return element
}

/** Goes to a button or link with Tab and presses Enter on it. */
export async function pressWithKeys(page: Page, what: Locator): Promise<void> {
  await tabTo(page, what)
  await page.keyboard.press('Enter')
}
