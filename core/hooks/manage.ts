import { hookErrors } from './errors.js'
import type { GateSlot, SettleSlot } from './kinds.js'

/** Who acts. */
export interface ActionActor {
  readonly kind: 'user' | 'key' | 'local' | 'plugin'
  /** User id, key id, `local`, or name of the plugin. */
  readonly id: string
  /** Id of the device that signed the request. */
  readonly device?: string
  readonly via: 'http' | 'cli' | 'plugin'
}

/** What becomes known of an action while it is done. */
export interface ActionFacts {
  /** Default: who makes the request; outside of requests, the plugin. */
  readonly actor?: ActionActor
  /** What it acted on, where that is known only afterwards, such as the job that it added. Default: the target that was asked for. */
  readonly target?: string
  /** State of the target before and after it. Listeners may keep a digest of them, and nothing else. */
  readonly before?: unknown
  readonly after?: unknown
  /** Why, as whoever acts says it. No payload, no secret. */
  readonly reason?: string
}

/** What a plugin is about to do because somebody asked for it. */
export interface NewManagementAction extends ActionFacts {
  /** `<subject>.<verb>`: `canary.pause`, `device.remove`. */
  readonly action: string
  /** What it acts on, as `<type>:<id>`: `worker:email-sender`. */
  readonly target: string
}

export interface ManagementAction extends NewManagementAction {
  /** The plugin that does it. */
  readonly plugin: string
}

/** How an action ended. */
export interface ActionEnd extends ActionFacts {
  readonly outcome: 'done' | 'failed'
  /** Of a failed one. */
  readonly error?: Error
}

/** Does a management action, see `PluginContext.manage`. */
export type Manage = <T>(action: NewManagementAction, work: (note: (facts: ActionFacts) => void) => Promise<T>) => Promise<T>

export interface ManageParts {
  readonly plugin: string
  readonly before: GateSlot<[action: ManagementAction]>
  readonly after: SettleSlot<[action: ManagementAction, end: ActionEnd]>
  readonly onFailure: (plugin: string, action: ManagementAction, error: Error) => void
}

/** Does an action: listeners may refuse it before, and hear how it ended before its caller does. */
export async function manage<T>(
  { plugin, before, after, onFailure }: ManageParts,
  asked: NewManagementAction,
  work: (note: (facts: ActionFacts) => void) => Promise<T>,
): Promise<T> {
  if (!before.active && !after.active) return work(() => undefined)
  const action: ManagementAction = { ...asked, plugin }
  let facts: ActionFacts = {}
  const tell = async (end: ActionEnd): Promise<void> => {
    for (const failure of await after.call(action, end)) onFailure(failure.plugin, action, failure.error)
  }
  try {
    const verdict = await before.call(action)
    if (verdict.denied) throw verdict.error ?? hookErrors.ACTION_DENIED(action.action, action.target, verdict.plugin, verdict.reason)
    const result = await work((more) => {
      facts = { ...facts, ...more }
    })
    await tell({ ...facts, outcome: 'done' })
    return result
  } catch (error) {
    await tell({ ...facts, outcome: 'failed', error: error instanceof Error ? error : new Error(String(error)) })
    throw error
  }
}
