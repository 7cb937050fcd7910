import type { Dialog } from '../host/command.js'
import { cliErrors, UsageError } from './errors.js'

export interface Confirmation {
  readonly appName: string
  readonly loss: string
  /** `--yes` */
  readonly yes: boolean
  /** Absent without a terminal. */
  readonly dialog: Dialog | undefined
  readonly signal: AbortSignal
}

/** Returns only if the user has typed the app's name or passed `--yes`. Throws otherwise. */
export async function confirmLoss({ appName, loss, yes, dialog, signal }: Confirmation): Promise<void> {
  if (yes) return
  if (dialog === undefined) throw new UsageError(`${loss}. Pass --yes to confirm; nothing was changed`)
  // Imported lazily: only prompts need it.
  const { isCancel, text } = await import('@clack/prompts')
  const answer = await text({ message: `${loss}.\nType the name of the app, ${appName}, to continue`, ...dialog, signal })
  if (isCancel(answer) || answer.trim() !== appName) throw cliErrors.ZIN_NOT_CONFIRMED()
}
