import assert from 'node:assert/strict'
import { type Browser, chromium } from 'playwright-core'

/** Launches the browser at TEST_CHROMIUM. */
export function launch(): Promise<Browser> {
  const executablePath = process.env.TEST_CHROMIUM
  assert.ok(executablePath, 'TEST_CHROMIUM is not set; run the test with npm test -- <part of its path>')
  // Pages of one app share a process, and so what it has cached and compiled.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--process-per-site']
  return chromium.launch({ executablePath, args })
}
