import type { OptionsOf, PluginContext } from 'zin'
import type { complianceOptions } from './options.js'
import type { complianceSettings } from './settings.js'
import type { complianceUses } from './uses.js'

/** What every part of the plugin gets: the context of the plugin, with its options, settings and services typed. */
export type ComplianceContext = PluginContext<OptionsOf<typeof complianceOptions>, typeof complianceUses, typeof complianceSettings>

/** One control of the report: what is in place, how that is known, and what is missing. */
export interface Control {
  /** `<part>/<control>`: `audit/chain`. */
  readonly id: string
  /** What it is for, as a sentence without a full stop. */
  readonly title: string
  /** `met`: it acts. `gap`: it should, and does not; `gaps` says why. `off`: a setting turned it off. */
  readonly state: 'met' | 'gap' | 'off'
  /** Facts that were read from the app for this report: settings, counts, times. No secrets, no payload. */
  readonly evidence: Readonly<Record<string, string | number | boolean | null>>
  /** What is missing and what to do, one sentence each. */
  readonly gaps: readonly string[]
}

/** A part of the plugin. It registers its routes, commands and listeners when it is created. */
export interface CompliancePart {
  /** Its controls, read afresh for each report. */
  controls(): readonly Control[] | Promise<readonly Control[]>
}
