import type { Step } from '../judge/types.js'
import { simulationErrors } from './errors.js'

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const longestMs = 30 * 86_400_000
const mostSteps = 20

/** `3%`, `0.5 %` or `0.005`, as a ratio. */
export function parseRatio(option: string, text: string): number {
  return ratioOf(text) ?? refuse(option, text, 'a percentage from 0% to 100%, such as 1%')
}

/** `5/s`, `300/m` or `2000/h`, as jobs per second. */
export function parseRate(option: string, text: string): number {
  const [, value, unit] = /^(\d+(?:\.\d+)?)\s*(?:\/\s*([smh]))?$/.exec(text.trim()) ?? []
  const rate = (Number(value) * 1000) / (unitMs[unit ?? 's'] as number)
  return rate >= 1e-4 && rate <= 1000 ? rate : refuse(option, text, 'jobs per second, minute or hour, such as 5/s or 300/m, at most 1000/s')
}

/** `5%:20%`: one value for stable and one for the canary. */
export function parsePair(option: string, text: string): readonly [stable: number, canary: number] {
  const [stable, canary, more] = text.split(':').map(ratioOf)
  if (stable === undefined || canary === undefined || more !== undefined || text.split(':').length !== 2) {
    return refuse(option, text, 'the percentages of slow jobs on stable and on the canary, such as 5%:20%')
  }
  return [stable, canary]
}

/** `5%:10m,25%:1h`: ascending shares with their durations. */
export function parseSteps(option: string, text: string): readonly Step[] {
  const expected = `at most ${mostSteps} ascending shares with durations, such as 5%:10m,25%:1h, at most 30 days in total`
  const steps = text.split(',').map((part) => stepOf(part) ?? refuse(option, text, expected))
  const rising = steps.every(({ share }, i) => share > (steps[i - 1]?.share ?? 0))
  const durationMs = steps.reduce((sum, { minDurationMs }) => sum + minDurationMs, 0)
  return rising && steps.length <= mostSteps && durationMs <= longestMs ? steps : refuse(option, text, expected)
}

function stepOf(text: string): Step | undefined {
  const [, shareText = '', amount, unit] = /^([^:]+):\s*(\d+(?:\.\d+)?)\s*([smhd])$/.exec(text.trim()) ?? []
  const share = ratioOf(shareText)
  const minDurationMs = Number(amount) * (unitMs[unit ?? ''] ?? 0)
  return share !== undefined && share > 0 && minDurationMs > 0 ? { share, minDurationMs } : undefined
}

function ratioOf(text: string): number | undefined {
  const [, value, sign] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(text.trim()) ?? []
  if (value === undefined) return undefined
  const ratio = sign === '%' ? Number(value) / 100 : Number(value)
  return ratio <= 1 ? ratio : undefined
}

function refuse(option: string, value: string, expected: string): never {
  throw simulationErrors.CANARY_SIMULATION_OPTION(option, value, expected)
}
