import type { TestContext } from 'node:test'

/** Collects what to do when the test has ended, and does the last first: hooks of `t.after` run the first first. */
export function cleanUp(t: TestContext): (step: () => unknown) => void {
  const steps: (() => unknown)[] = []
  t.after(async () => {
    for (const step of steps.toReversed()) await step()
  })
  return (step) => {
    steps.push(step)
  }
}
