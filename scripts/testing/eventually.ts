import assert from 'node:assert/strict'

/** Polls until `test` passes; fails after 60 s. */
export async function eventually(what: string, test: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await test())) {
    if (performance.now() > deadline) assert.fail(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
