import { messageOf, ZinError } from '../errors.js'

export interface BootCause {
  readonly plugin: string
  readonly phase: 'configuration' | 'setup' | 'routes' | 'start' | 'ready' | 'listen'
  readonly error: Error
}

/** The app did not start. Lists every cause; all that had been set up was undone. */
export class BootError extends ZinError {
  readonly causes: readonly BootCause[]

  constructor(causes: readonly BootCause[]) {
    super('ZIN_BOOT_FAILED', causes.map(describeCause).join('\n'), { details: causes.map(describeCause), cause: causes[0]?.error })
    this.causes = causes
  }
}

/** One line: who, and what is wrong. */
export function describeCause(cause: BootCause): string {
  const message = messageOf(cause.error)
  return message.startsWith(`${cause.plugin}: `)
    ? message
    : `${cause.plugin}: ${cause.phase === 'configuration' ? '' : `failed in ${cause.phase}: `}${message}`
}
