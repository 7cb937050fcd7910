import type { TestContext } from 'node:test'

/** Registers clean-up steps that run in reverse order when the test has ended; hooks of `t.after` run in the order of registration. */
export function cleanUp(t: TestContext): (step: () => unknown) => void {
  const steps: (() => unknown)[] = []
  t.after(async () => {
    for (const step of steps.toReversed()) await step()
  })
  return (step) => {
    steps.push(step)
  }
}
