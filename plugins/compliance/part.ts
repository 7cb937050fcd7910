import type { OptionsOf, PluginContext } from 'zin'
import type { complianceOptions } from './options.js'
import type { complianceSettings } from './settings.js'
import type { complianceUses } from './uses.js'

/** The context that every part of the plugin gets, with typed options, settings and services. */
export type ComplianceContext = PluginContext<OptionsOf<typeof complianceOptions>, typeof complianceUses, typeof complianceSettings>

/** One control of the report, with its evidence and gaps. */
export interface Control {
  /** `<part>/<control>`: `audit/chain`. */
  readonly id: string
  /** The objective, as a sentence without a full stop. */
  readonly title: string
  /** `met`: effective. `gap`: not fully effective, for the reasons in `gaps`. `off`: turned off by a setting. */
  readonly state: 'met' | 'gap' | 'off'
  /** Facts read from the app for this report: settings, counts, times. No secrets or payloads. */
  readonly evidence: Readonly<Record<string, string | number | boolean | null>>
  /** What is missing and how to fix it, one sentence each. */
  readonly gaps: readonly string[]
}

/** A part of the plugin. It registers its routes, commands and listeners when it is created. */
export interface CompliancePart {
  /** Returns the controls of the part, read again for each report. */
  controls(): readonly Control[] | Promise<readonly Control[]>
}
