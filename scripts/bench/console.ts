import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { cluster, database, kv, ops, queueMonitor, queues, webConsole, workers } from 'zin/plugins'
import { queuesService } from 'zin/plugins/queues'
import { workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { findBrowser } from '../servers.mjs'
import { redisServer } from '../testing/redis-server.js'
import { median } from './rounds.js'
import { type BenchRow, below } from './row.js'

const queueCount = 100
const workerCount = 1_000
const jobCount = 10_000
const addedAtOnce = 1_000
const createdAtOnce = 20
/** How often the overview is opened, each time by a browser with an empty cache. */
const loads = 7
const scrollMs = 5_000
/** 38,000 px or 1,200 rows a second at 60 frames. */
const pxPerFrame = 640
/** Two frames of 60 a second. */
const slowFrameMs = 32

/** Measures the console in a browser: first paint of the overview, frames while a long list scrolls, and download size. */
export async function benchConsole(): Promise<BenchRow[]> {
  const server = await redisServer()
  const host = await createTestHost({
    app: { name: 'bench-console' },
    listen: true,
    plugins: [database(), kv(), cluster(), queues(), ops(), workers(), queueMonitor(), webConsole()],
    env: { REDIS_URL: server.url, WORKER_AUTO_START: 'true' },
  })
  const browser = await chromium.launch({
    executablePath: findBrowser() ?? '',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
  try {
    await fill(host)
    return [...(await overviewRows(host, browser)), ...(await scrollRows(host, browser)), bundleRow()]
  } finally {
    await browser.close()
    await host.stop()
    await server.stop()
  }
}

async function fill(host: TestHost): Promise<void> {
  const jobs = host.service(queuesService)
  for (let from = 0; from < jobCount; from += addedAtOnce)
    await jobs.addBulk(
      'long',
      Array.from({ length: addedAtOnce }, (_, n) => ({ name: `send invoice ${from + n}`, data: { n: from + n } })),
    )
  const service = host.service(workersService)
  const create = (n: number) => service.create({ name: `worker-${n}`, queueName: `queue-${n % queueCount}`, processor: () => null })
  for (let from = 0; from < workerCount; from += createdAtOnce)
    await Promise.all(Array.from({ length: createdAtOnce }, (_, n) => create(from + n)))
}

async function overviewRows(host: TestHost, browser: Browser): Promise<readonly BenchRow[]> {
  const found: { readonly paint: number; readonly whole: number }[] = []
  for (let n = 0; n < loads; n++) found.push(await withPage(browser, (page) => openOverview(page, host.url)))
  const what = `overview of ${queueCount} queues and ${workerCount} workers`
  return [
    below(`${what}: first contentful paint`, median(found.map(({ paint }) => paint)), 'ms', 1_000),
    below(`${what}: all its numbers are there`, median(found.map(({ whole }) => whole)), 'ms', 1_500),
  ]
}

async function openOverview(page: Page, url: string): Promise<{ readonly paint: number; readonly whole: number }> {
  await page.goto(`${url}/console`)
  const whole = await page.waitForFunction(() => {
    const isWhole = document.querySelectorAll('.stat').length >= 4 && document.querySelectorAll('tbody tr').length >= 8
    return isWhole && document.querySelector('.loading') === null ? performance.now() : false
  })
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
  return { paint: paint ?? Number.NaN, whole: Number(await whole.jsonValue()) }
}

async function scrollRows(host: TestHost, browser: Browser): Promise<readonly BenchRow[]> {
  const frames = await withPage(browser, async (page) => {
    await page.goto(`${host.url}/console/queues/long?state=waiting`)
    await page.locator('tr[data-index="0"]').waitFor()
    return page.evaluate(scroll, { ms: scrollMs, px: pxPerFrame })
  })
  const slow = (frames.filter((ms) => ms > slowFrameMs).length / frames.length) * 100
  const what = `list of ${jobCount} jobs, scrolled ${pxPerFrame} px a frame`
  return [
    { name: `${what}: frames`, value: (frames.length * 1000) / frames.reduce((sum, ms) => sum + ms, 0), unit: 'frames/s' },
    below(`${what}: frames over ${slowFrameMs} ms`, slow, '%', 5),
    below(`${what}: longest frame`, Math.max(...frames), 'ms', 150),
  ]
}

/** Runs in the page; returns the length of each frame in ms. */
async function scroll({ ms, px }: { readonly ms: number; readonly px: number }): Promise<number[]> {
  const box = document.querySelector('.table-box.long')
  if (box === null) throw new Error('the list does not scroll')
  const frames: number[] = []
  const start = await new Promise<number>((resolve) => requestAnimationFrame(resolve))
  for (let last = start; last - start < ms; ) {
    box.scrollTop += px
    const now = await new Promise<number>((resolve) => requestAnimationFrame(resolve))
    frames.push(now - last)
    last = now
  }
  return frames
}

function bundleRow(): BenchRow {
  const folder = join('dist', 'console')
  const sizes = readdirSync(folder).flatMap((name) => (name.endsWith('.gz') ? [statSync(join(folder, name)).size] : []))
  return below('script and style with gzip', sizes.reduce((sum, size) => sum + size, 0) / 1000, 'kB', 120)
}

/** Runs `work` with a page of a browser with an empty cache. */
async function withPage<T>(browser: Browser, work: (page: Page) => Promise<T>): Promise<T> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  try {
    return await work(await context.newPage())
  } finally {
    await context.close()
  }
}
