import assert from 'node:assert/strict'

/** Polls until `test` passes, less often the longer it takes; fails after 60 s. */
export async function eventually(what: string, test: () => boolean | Promise<boolean>): Promise<void> {
  const began = performance.now()
  while (!(await test())) {
    const waited = performance.now() - began
    if (waited > 60_000) assert.fail(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, Math.min(100, 10 + waited / 10)))
  }
}
