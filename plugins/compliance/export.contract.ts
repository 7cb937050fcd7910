import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { it } from 'node:test'
import { promisify } from 'node:util'
import { runnable } from '../../scripts/testing/runnable.js'

const child = runnable(new URL('./testing/export-child.ts', import.meta.url))

/** The memory of an export. */
export function exportContract(name: string, env: Readonly<Record<string, string>>): void {
  it(`an export that is larger than the heap of its process is complete on ${name}`, async () => {
    const jobs = 200
    const { stdout } = await promisify(execFile)(process.execPath, ['--max-old-space-size=160', ...child.execArgv, child.file], {
      env: { ...process.env, APP_ENV: JSON.stringify(env), JOBS: String(jobs) },
    })
    const { bytes, end, status } = JSON.parse(stdout)
    assert.equal(status, 200)
    assert.ok(bytes > jobs * 900_000)
    assert.match(end, /"records":\[\],"complete":true,"problems":\[\]\}$/)
  })
}
