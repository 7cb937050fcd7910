import type { Result, Scenario } from './scenarios.js'

/** The targets that the rule misses in a scenario. */
export function targetsMissed(
  { name, before, jobsPerSecond, successThreshold, tenants }: Scenario,
  results: readonly Result[],
): readonly string[] {
  const part = (which: (result: Result) => boolean): number => results.filter(which).length / results.length
  const rolledBack = part(({ outcome }) => outcome.move === 'rollback')
  const within = (jobs: number): number => part(({ outcome }) => outcome.move === 'rollback' && outcome.canaryJobs <= jobs)
  const promoted = part(({ outcome }) => outcome.move === 'promote')
  const outages = part(({ outcome }) => outcome.judgement.rule === 'canary/outage')
  const targets = [
    { of: /^no difference/, when: successThreshold !== undefined, met: promoted >= 0.75, what: '75 % are promoted' },
    { of: /→ 10 %/, when: successThreshold !== undefined, met: promoted <= 0.01, what: 'at most 1 % are promoted' },
    { of: /^outage/, when: before !== undefined, met: rolledBack <= 0.01, what: 'at most 1 % are rolled back' },
    { of: /^outage/, when: before !== undefined, met: outages >= 0.99, what: '99 % are paused with the reason' },
    { of: /^no difference/, when: tenants === undefined, met: rolledBack <= 0.01, what: 'at most 1 % are rolled back' },
    { of: /^no difference/, when: tenants !== undefined, met: rolledBack <= 0.07, what: 'at most 7 % are rolled back' },
    { of: /→ 100 %/, when: true, met: within(5) >= 0.99, what: '99 % are rolled back within 5 canary jobs' },
    { of: /^1 % → 10 %/, when: jobsPerSecond === 5, met: within(200) >= 0.9, what: '90 % are rolled back within 200 canary jobs' },
  ]
  return targets
    .filter(({ of, when, met }) => of.test(name) && when && !met)
    .map(({ what }) => `${name}, ${jobsPerSecond}/s: target missed: ${what}`)
}
