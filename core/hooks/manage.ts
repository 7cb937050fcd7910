import { hookErrors } from './errors.js'
import type { GateSlot, SettleSlot } from './kinds.js'

/** Who performs an action. */
export interface ActionActor {
  readonly kind: 'user' | 'key' | 'local' | 'plugin'
  /** User id, key id, `local`, or plugin name. */
  readonly id: string
  /** Id of the device that signed the request. */
  readonly device?: string
  readonly via: 'http' | 'cli' | 'plugin'
}

/** Facts about an action that may become known only while it runs. */
export interface ActionFacts {
  /** Default: the caller of the current request; outside of requests, the plugin. */
  readonly actor?: ActionActor
  /** What it acted on, if that is known only afterwards, such as an added job. Default: the requested target. */
  readonly target?: string
  /** State of the target before and after the action. Listeners may keep a digest of it, and nothing else. */
  readonly before?: unknown
  readonly after?: unknown
  /** The reason given by the actor. No payloads or secrets. */
  readonly reason?: string
}

/** A requested action that a plugin is about to perform. */
export interface NewManagementAction extends ActionFacts {
  /** `<subject>.<verb>`: `canary.pause`, `device.remove`. */
  readonly action: string
  /** What it acts on, as `<type>:<id>`: `worker:email-sender`. */
  readonly target: string
}

export interface ManagementAction extends NewManagementAction {
  /** The plugin that performs it. */
  readonly plugin: string
}

/** How an action ended. */
export interface ActionEnd extends ActionFacts {
  readonly outcome: 'done' | 'failed'
  /** Set if it failed. */
  readonly error?: Error
}

/** Performs a management action, see `PluginContext.manage`. */
export type Manage = <T>(action: NewManagementAction, work: (note: (facts: ActionFacts) => void) => Promise<T>) => Promise<T>

export interface ManageParts {
  readonly plugin: string
  readonly before: GateSlot<[action: ManagementAction]>
  readonly after: SettleSlot<[action: ManagementAction, end: ActionEnd]>
  readonly onFailure: (plugin: string, action: ManagementAction, error: Error) => void
}

/** Performs an action. Listeners may deny it beforehand, and are notified of its outcome before the caller gets the result. */
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
