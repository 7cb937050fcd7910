import assert from 'node:assert/strict'

/** Polls until `test` passes, every 10 ms at first and every 50 ms in a long wait; fails after 60 s. */
export async function eventually(what: string, test: () => boolean | Promise<boolean>): Promise<void> {
  const start = performance.now()
  while (!(await test())) {
    const waited = performance.now() - start
    if (waited > 60_000) assert.fail(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, Math.min(Math.max(10, waited / 10), 50)))
  }
}
