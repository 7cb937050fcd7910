import { messageOf, withDeadline } from 'zin'
import type { CompliancePart, Control } from '../part.js'

/** The controls of the app at one point in time. */
export interface ComplianceReport {
  readonly app: string
  readonly environment: string
  /** ISO 8601. */
  readonly at: string
  readonly summary: { readonly met: number; readonly gaps: number; readonly off: number }
  readonly controls: readonly Control[]
}

export interface ReportInput {
  readonly app: { readonly name: string; readonly environment: string }
  /** ms since 1970. */
  readonly now: number
  /** By name. */
  readonly parts: Readonly<Record<string, CompliancePart>>
  /** Longest wait for a part, in ms. Default: 4000. */
  readonly waitMs?: number
}

/** Collects the controls of every part. A part that fails or times out becomes a gap; the report continues. */
export async function makeReport({ app, now, parts, waitMs = 4_000 }: ReportInput): Promise<ComplianceReport> {
  const controls = (await Promise.all(Object.entries(parts).map(([name, part]) => controlsOf(name, part, waitMs)))).flat()
  const count = (state: Control['state']): number => controls.filter((control) => control.state === state).length
  return {
    app: app.name,
    environment: app.environment,
    at: new Date(now).toISOString(),
    summary: { met: count('met'), gaps: count('gap'), off: count('off') },
    controls,
  }
}

async function controlsOf(name: string, part: CompliancePart, waitMs: number): Promise<readonly Control[]> {
  try {
    return await withDeadline(part.controls(), waitMs, `no response within ${waitMs} ms`)
  } catch (error) {
    const gaps = [`The evidence could not be read: ${messageOf(error)}`]
    return [{ id: `${name}/unread`, title: `The controls of the part "${name}" can be read`, state: 'gap', evidence: {}, gaps }]
  }
}

const marks = { met: '✓', gap: '✗', off: '–' } as const

/** Returns the report as lines of text. */
export function reportText({ app, at, controls, environment, summary }: ComplianceReport): readonly string[] {
  const { gaps, met, off } = summary
  return [
    `Controls of ${app} (${environment}), ${at}`,
    `${met} met, ${gaps} with gaps, ${off} off`,
    ...controls.flatMap(({ evidence, gaps: missing, id, state, title }) => [
      '',
      `${marks[state]} ${title} (${id})`,
      ...Object.entries(evidence).map(([name, value]) => `    ${name}: ${value ?? 'none'}`),
      ...missing.map((gap) => `  ! ${gap}`),
    ]),
  ]
}
