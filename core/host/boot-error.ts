import { relative } from 'node:path'
import { messageOf, ZinError } from '../errors.js'
import { appFrame } from '../util/app-frame.js'
import type { PluginPhase } from './states.js'

export interface BootCause {
  readonly plugin: string
  readonly phase: 'configuration' | 'routes' | 'listen' | Exclude<PluginPhase, 'stop'>
  readonly error: Error
  /** Where in the app's own code it was thrown: `src/orders.ts:12:9`. */
  readonly place?: string
}

/** The app did not start. Lists every cause; all that had been set up was undone. */
export class BootError extends ZinError {
  readonly causes: readonly BootCause[]

  constructor(causes: readonly BootCause[]) {
    super('ZIN_BOOT_FAILED', causes.map(describeCause).join('\n'), { details: causes.map(describeCause), cause: causes[0]?.error })
    this.causes = causes
  }
}

/** Adds where in the app's own code the error was thrown. One that was thrown on purpose says what to do already. */
export function located(cause: BootCause, rootDir: string): BootCause {
  const frame = cause.error instanceof ZinError ? undefined : appFrame(cause.error, rootDir)
  return frame === undefined ? cause : { ...cause, place: `${relative(rootDir, frame.file)}:${frame.line}:${frame.column}` }
}

/** Who, what is wrong, and where the code is. */
export function describeCause({ plugin, phase, error, place }: BootCause): string {
  const message = messageOf(error)
  const words = message.startsWith(`${plugin}: `)
    ? message
    : `${plugin}: ${phase === 'configuration' ? '' : `failed in ${phase}: `}${message}`
  return place === undefined ? words : `${words} (at ${place}; DEBUG=zin shows the stack)`
}
